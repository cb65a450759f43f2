"""The lake and the sources that the running Airflow replays, and what its gold must be."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from retable.gold.read import read_rows
from retable.gold.render import json_rows
from retable.ledger.lake.catalog import Lake, open_lake
from retable.ledger.read import read_tables
from retable.model.window import window_name
from retable.settings.load import load_settings

HOUR = timedelta(hours=1)
SHOP, NIGHT = "replay_changes__shop", "replay_changes__night"
SHOP_HOURS = int(os.environ.get("SHOP_HOURS", "7"))
VICTIM_HOURS = 4
QUIET_HOURS = 4
"""How many hours each source has; the last of them is the last full one."""

_HERE = Path(__file__).resolve().parent
_LAKE = """
[lake]
catalog = "sqlite:///lake/catalog.db"
warehouse = "lake"
"""
_FILES = """
[sources.{name}]
kind = "files"
path = "{name}"
layout = "kafka_dump"
format = "streamx_json"
hour = '(\\d{{4}}-\\d{{2}}-\\d{{2}}T\\d{{2}})'
applications = "window"
"""
_TOLD = 'notify = [{{ notifier = "retable_airflow.notify.FileNotifier", path = "{path}" }}]\n'
_POSTED = (
    'notify = [{{ notifier = "retable_airflow.notify.FileNotifier", path = "{path}" }},\n'
    '          {{ notifier = "retable_airflow.notify.WebhookNotifier", conn_id = "canary" }}]\n'
)
_DAGS = '''\
"""A DAG file as a user writes it: two lines."""
from retable_airflow import dags

dags({settings!r})
'''
_VICTIMS = '''\
"""Runs of one window by hand, made to be killed."""
from datetime import timedelta

from airflow.sdk import DAG

from retable_airflow.freshness import fresh
from retable_airflow.replay_changes import WINDOW
from retable_airflow.stage import stage

WAYS = {{
    "victim_again": {{"retries": 2, "retry_delay": timedelta(seconds=1)}},
    "victim_once": {{"retries": 0}},
    "victim_in_haste": {{"retries": 0, "execution_timeout": timedelta(seconds=30)}},
}}
for dag_id, way in WAYS.items():
    with DAG(dag_id, schedule=None, params={{"window": WINDOW}}, max_active_runs=1):
        stage("window", "shop", {settings!r}, **way) >> fresh("shop", {settings!r})
'''


@dataclass(frozen=True, slots=True)
class World:
    """A folder with settings, sources and truths; `now` is the end of the last full hour when it was made."""

    folder: Path
    now: datetime

    @property
    def lake(self) -> Lake:
        return open_lake(load_settings(self.folder / "retable.toml"))

    def window(self, hours_ago: int) -> str:
        """The window that began so many hours ago; 1 is the last full one."""
        return window_name(self.now - hours_ago * HOUR)

    def start(self, hours_ago: int) -> datetime:
        return self.now - hours_ago * HOUR

    def alerts(self, source: str) -> list[Mapping[str, object]]:
        """What was told of a source, in order."""
        file = self.folder / f"{source}.alerts.jsonl"
        return [json.loads(line) for line in file.read_text("utf-8").splitlines()] if file.exists() else []

    def held(self) -> dict[str, str]:
        """The shop's tables that are held, each with the code of its reason."""
        rows = read_tables(self.lake, "shop")
        return {row.gold: json.loads(row.hold)["code"] for row in rows if row.state == "held" and row.hold}

    def release(self) -> None:
        """Release the shop's tables that a late statement holds, as a person does: by a rebuild."""
        if held := self.held():
            release = ["hold", "release", *held, "--rebuild", "--yes", "--reason", "late statements"]
            retable("--settings", self.folder / "retable.toml", *release, ends=(0, 2))

    def differences(self) -> dict[str, tuple[int, int]]:
        """Gold tables whose rows are not those of the simulated shop, with how many are only here and only there."""
        found, lake = {}, self.lake
        for truth in sorted((self.folder / "truth").glob("*.jsonl")):
            # A value may have what Python takes for the end of a line.
            wanted = sorted(filter(None, truth.read_text("utf-8").split("\n")))
            rows = sorted(line for batch in read_rows(lake, truth.stem) for line in json_rows(batch))
            if rows != wanted:
                found[truth.stem] = len(set(rows) - set(wanted)), len(set(wanted) - set(rows))
        return found


def make_world(folder: Path, dags: Path) -> World:
    """Make a lake of a shop, of a source in which nothing arrives, and of a slow one; and the DAG file of a user."""
    now = _last_hour()
    texts = [_LAKE, _simulated(folder, 1, SHOP_HOURS, now)]
    for name, start in (("night", now - QUIET_HOURS * HOUR), ("slow", now - HOUR)):
        (folder / name).mkdir()
        texts.append(_FILES.format(name=name) + f'start = "{start.isoformat()}"\n')
    # The hours that end while the tests run have an object each, too.
    for hour in (now - HOUR, now, now + HOUR):
        (folder / "slow" / f"{hour:%Y-%m-%dT%H}.jsonl").write_text("{}\n", encoding="utf-8")
    texts.append('sla = "1m"\nowner = "orders-team"\nseverity = "error"\nspark_door = "slow_door:slow"\n')
    texts.append(_POSTED.format(path=folder / "slow.alerts.jsonl"))
    settings = folder / "retable.toml"
    settings.write_text("".join(texts), encoding="utf-8")
    load_settings(settings)
    shutil.copy(_HERE / "slow_door.py", dags)
    (dags / "retable_dags.py").write_text(_DAGS.format(settings=str(settings)), encoding="utf-8")
    return World(folder, now)


def make_victim(folder: Path, dags: Path) -> World:
    """Make a lake of a shop whose runs are killed, and the DAGs that a test kills."""
    now, settings = _last_hour(), folder / "retable.toml"
    texts = [_LAKE, _simulated(folder, 2, VICTIM_HOURS, now)]
    settings.write_text("".join(texts), encoding="utf-8")
    (dags / "victims.py").write_text(_VICTIMS.format(settings=str(settings)), encoding="utf-8")
    return World(folder, now)


def retable(*arguments: str | Path, ends: tuple[int, ...] = (0,)) -> str:
    """Run the command line, which may end so, and give what it prints."""
    command = [str(Path(sys.executable).with_name("retable")), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode in ends, done.stderr
    return done.stdout


def _last_hour() -> datetime:
    return datetime.now(UTC).replace(minute=0, second=0, microsecond=0)


def _simulated(folder: Path, seed: int, hours: int, now: datetime) -> str:
    """Write a shop's messages of the hours before `now`; give the settings of its source and tables."""
    start = (now - hours * HOUR).isoformat()
    asked = ["--seed", str(seed), "--hours", str(hours), "--changes", str(12 * hours), "--start", start]
    retable("simulate", folder, *asked)
    (folder / "landing").rename(folder / "shop")
    text = (folder / "retable.toml").read_text("utf-8")
    tables = text[text.index("\n[tables") :] if "\n[tables" in text else ""
    return _FILES.format(name="shop") + tables
