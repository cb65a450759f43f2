"""A topic is deleted and made again, and its positions begin anew: what a person does, and what comes of it."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from typer.testing import CliRunner, Result

from retable.cli import clock
from retable.cli.app import app
from retable.cli.run import baseline
from retable.cli.run import stages as run
from retable.session import build_session
from retable.settings.load import Settings
from servers.kafka_broker import Broker, Record

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FIRST = datetime(2026, 3, 1, 0, 30, tzinfo=UTC)
SETTINGS = """
[lake]
catalog = "sqlite:///lake.db"
warehouse = "lake"

[sources.shop]
kind = "kafka"
format = "canal_json"
bootstrap = "{bootstrap}"
topics = ["made-anew"]
source_epoch = {epoch}
"""


@pytest.fixture
def retable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spark: "SparkSession") -> Callable[..., Result]:
    """Call `retable`, half an hour into one hour more with every run, on a Spark that is there already."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("RETABLE_SETTINGS", raising=False)
    hours = 0

    @contextmanager
    def running(settings: Settings) -> Iterator["SparkSession"]:
        yield build_session(settings, "retable tests")

    def now() -> datetime:
        return FIRST + timedelta(hours=hours)

    for module in (clock, run):
        monkeypatch.setattr(module, "now", now)
    for module in (run, baseline):
        monkeypatch.setattr(module, "running_spark", running)

    def call(*words: str) -> Result:
        nonlocal hours
        hours += words[0] == "run"
        return CliRunner().invoke(app, words, prog_name="retable")

    return call


def change(hour: int, kind: str, number: int, value: str, partition: int = 0) -> Record:
    stamp = int((FIRST + timedelta(hours=hour)).timestamp() * 1000)
    told = {"database": "shop", "table": "orders", "type": kind, "isDdl": False, "es": stamp, "ts": stamp, "id": 1}
    types = {"mysqlType": {"id": "int", "v": "varchar(9)"}, "sqlType": {"id": 4, "v": 12}, "sql": "", "old": None}
    row = {"data": [{"id": str(number), "v": value}], "pkNames": ["id"]}
    return Record(json.dumps({**told, **types, **row}).encode(), stamp, partition, str(number).encode())


def test_a_topic_made_anew_stops_the_run_and_goes_on_under_a_new_source_epoch(
    kafka: Broker, retable: Callable[..., Result], tmp_path: Path
) -> None:
    def set_epoch(epoch: int) -> None:
        (tmp_path / "retable.toml").write_text(SETTINGS.format(bootstrap=kafka.bootstrap, epoch=epoch), "utf-8")

    def rows() -> dict[int, str]:
        shown = map(json.loads, retable("rows", "gold_shop.orders").stdout.splitlines())
        return {row["id"]: row["v"] for row in shown}

    set_epoch(0)
    kafka.create("made-anew", 1)
    kafka.produce("made-anew", [change(0, "INSERT", number, "old") for number in range(1, 5)])
    first = retable("run", "shop")
    assert first.exit_code == 0, first.output
    kafka.delete("made-anew")
    kafka.create("made-anew", 2)
    kafka.produce("made-anew", [change(1, "INIT", 1, "one"), change(1, "INIT", 6, "six", partition=1)])
    lost = retable("run", "shop")
    assert lost.exit_code == 1
    assert "the topic made-anew was created again" in lost.stderr
    assert "source_epoch to 1" in lost.stderr
    assert rows() == dict.fromkeys(range(1, 5), "old")
    set_epoch(1)
    again = retable("run", "shop")
    assert again.exit_code == 0, again.output
    assert rows() == {1: "one", 2: "old", 3: "old", 4: "old", 6: "six"}
    resynced = retable("resync", "gold_shop.orders", "--reason", "the new topic has a full load")
    assert resynced.exit_code == 0, resynced.output
    assert rows() == {1: "one", 6: "six"}
    kafka.produce("made-anew", [change(3, "DELETE", 1, "one")])
    assert retable("run", "shop").exit_code == 0
    assert rows() == {6: "six"}
    verified = retable("verify", "gold_shop.orders")
    assert verified.exit_code == 0, verified.output
