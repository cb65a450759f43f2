"""Quarantine, a fix in the settings, `quarantine redecode`: gold as if the settings had been right from the first."""

import gzip
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from typer.testing import CliRunner, Result

from formats.events import INSERT
from lakes import FreshLake, SettingsWriter
from retable.cli.app import app
from retable.cli.look_after import quarantine
from retable.cli.run import stages as run
from retable.gold.read import read_rows
from retable.gold.render import json_rows
from retable.ledger.counts import check_events, check_messages, check_rows
from retable.ledger.lake.catalog import Lake, open_lake
from retable.ledger.quarantine import list_quarantined
from retable.ledger.read import read_ledger
from retable.settings.load import Settings

W5, W6 = "20260301T0500Z", "20260301T0600Z"
LONG = "x" * 3000
CHECKS = {"decode": (check_messages, check_events), "replay": (check_rows,), "land": ()}


def source(max_message: int, key: str) -> str:
    return f"""
[sources.erp]
kind = "files"
format = "canal_json"
path = "in"
layout = "lines"
max_message = {max_message}
hour = '(\\d{{4}}-\\d\\d-\\d\\dT\\d\\d)'

[tables."shop.t"]
keys = ["{key}"]
types = {{ c = "string" }}
"""


WRONG, RIGHT = source(1024, "no"), source(1 << 20, "id")


def line(**fields: object) -> str:
    return json.dumps({**INSERT, "pkNames": None, **fields})


HOURS = {
    5: [
        line(data=[{"id": "1", "c": "a"}, {"id": "2", "c": "b"}, {"id": "3", "c": "c"}]),
        line(data=[{"id": "4", "c": LONG}]),
        line(table="u", pkNames=["id"], data=[{"id": "1", "c": "good"}]),
        "{",
    ],
    6: [
        line(type="UPDATE", data=[{"id": "1", "c": "new"}], old=[{"c": "a"}]),
        line(type="DELETE", data=[{"id": "2", "c": "b"}]),
    ],
}


class Erp:
    """One source of two hours, and the command line on the session that is there."""

    def __init__(self, write: SettingsWriter, spark_of: Callable[[Settings], FreshLake], folder: Path) -> None:
        self._write, self._spark_of = write, spark_of
        (folder / "in").mkdir()
        for hour, lines in HOURS.items():
            (folder / "in" / f"2026-03-01T{hour:02}.jsonl").write_text("\n".join(lines), encoding="utf-8")

    def retable(self, *args: str) -> Result:
        return CliRunner().invoke(app, args, prog_name="retable")

    def configure(self, settings: str) -> Lake:
        return open_lake(self._write(settings))

    @contextmanager
    def session(self, settings: Settings) -> Iterator[SparkSession]:
        yield self._spark_of(settings).spark


@pytest.fixture
def erp(
    write_settings: SettingsWriter,
    lake_on_spark: Callable[[Settings], FreshLake],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Erp:
    erp = Erp(write_settings, lake_on_spark, tmp_path)
    monkeypatch.chdir(tmp_path)
    for module in (run, quarantine):
        monkeypatch.setattr(module, "running_spark", erp.session)
    return erp


def rows(lake: Lake, table: str) -> list[Any]:
    return sorted((json.loads(row) for batch in read_rows(lake, table) for row in json_rows(batch)), key=str)


def assert_balanced(lake: Lake) -> None:
    for row in read_ledger(lake, "erp"):
        for check in CHECKS[row.stage] if row.table is None else ():
            check(row.counts)


def counts(lake: Lake, window: str, stage: str) -> dict[str, int]:
    return next(row.counts for row in read_ledger(lake, "erp", window) if (row.stage, row.table) == (stage, None))


def test_what_is_refused_otherwise_did_not_leave_quarantine(erp: Erp) -> None:
    lake = erp.configure(WRONG)
    assert erp.retable("run", "erp", "--to", "2026-03-01T07:00:00Z").exit_code == 2
    erp.configure(RIGHT.replace('c = "string"', 'c = "int"'))
    again = erp.retable("quarantine", "redecode")
    assert "erp: 1 of 5 left quarantine; 3 are refused at another stage or row now; 6 are in quarantine" in again.stderr
    assert "erp: changes in the outcomes of rows in these windows: +1 applied, +5 rejected" in again.stderr
    assert {row.stage for row in list_quarantined(lake, "erp")} == {"decode", "replay"}


def test_what_the_settings_kept_out_comes_into_gold_once_they_are_right(erp: Erp) -> None:
    lake = erp.configure(WRONG)
    first = erp.retable("run", "erp", "--to", "2026-03-01T07:00:00Z")
    assert (first.exit_code, first.exception is None or isinstance(first.exception, SystemExit)) == (2, True)
    assert [(row.window, row.offset % (1 << 40), row.code) for row in list_quarantined(lake, "erp")] == [
        (W5, 0, "KEY_NOT_IN_IMAGE"),
        (W5, 1, "MALFORMED"),
        (W5, 3, "MALFORMED"),
        (W6, 0, "KEY_NOT_IN_IMAGE"),
        (W6, 1, "KEY_NOT_IN_IMAGE"),
    ]
    assert rows(lake, "gold_shop.u") == [{"id": 1, "c": "good"}]
    lake = erp.configure(RIGHT)
    again = erp.retable("quarantine", "redecode")
    assert again.exit_code == 2, again.stderr
    assert "erp: 4 of 5 left quarantine; 1 are in quarantine" in again.stderr
    assert "erp: changes in the outcomes of rows in these windows: +6 applied" in again.stderr
    expected = [{"id": 1, "c": "new"}, {"id": 3, "c": "c"}, {"id": 4, "c": LONG}]
    assert rows(lake, "gold_shop.t") == expected
    assert rows(lake, "gold_shop.u") == [{"id": 1, "c": "good"}]
    assert_balanced(lake)
    assert counts(lake, W5, "decode") | {"decoded": 3, "quarantined": 1, "rows": 5} == counts(lake, W5, "decode")
    assert counts(lake, W6, "replay")["rows"] == 2
    (lost,) = list_quarantined(lake, "erp")
    assert erp.retable("quarantine", "accept", lost.id, "--reason", "half a line of a killed writer").exit_code == 0
    assert erp.retable("status", "--check").exit_code == 0
    snapshots = len(lake.load("gold_shop.t").snapshots())
    once_more = erp.retable("quarantine", "redecode", "--id", lost.id)
    assert once_more.exit_code == 0, once_more.stderr
    assert rows(lake, "gold_shop.t") == expected
    assert len(lake.load("gold_shop.t").snapshots()) == snapshots
    assert_balanced(lake)


def test_a_window_of_rubbish_keeps_a_sample_and_is_not_decoded(erp: Erp, tmp_path: Path) -> None:
    rubbish = ["{"] * 7
    (tmp_path / "in" / "2026-03-01T06.jsonl").write_text("\n".join([*HOURS[6], *rubbish]), encoding="utf-8")
    lake = erp.configure(RIGHT.replace("max_message", "quarantine_limit = 3\nmax_message"))
    full = erp.retable("run", "erp", "--to", "2026-03-01T07:00:00Z")
    assert full.exit_code == 1
    assert "7 of 9 messages of the window 20260301T0600Z of erp cannot be decoded" in full.stderr
    before = [{"id": 1, "c": "a"}, {"id": 2, "c": "b"}, {"id": 3, "c": "c"}, {"id": 4, "c": LONG}]
    assert rows(lake, "gold_shop.t") == before
    assert [row.window for row in list_quarantined(lake, "erp")] == [W5, W6, W6, W6]
    assert erp.retable("status", "--check").exit_code != 0
    checked = erp.retable("verify", "gold_shop.t", "--against", "bronze")
    assert checked.exit_code == 0, checked.output
    again = erp.retable("run", "erp", "--to", "2026-03-01T07:00:00Z")
    assert again.exit_code == 1
    lake = erp.configure(RIGHT)
    assert erp.retable("run", "erp", "--to", "2026-03-01T07:00:00Z").exit_code == 2
    assert rows(lake, "gold_shop.t") == [{"id": 1, "c": "new"}, {"id": 3, "c": "c"}, {"id": 4, "c": LONG}]
    assert [row.window for row in list_quarantined(lake, "erp")] == [W5, *[W6] * 7]
    assert_balanced(lake)


def test_settings_that_read_nothing_of_a_decoded_window_change_nothing_of_it(erp: Erp) -> None:
    lake = erp.configure(RIGHT)
    assert erp.retable("run", "erp", "--to", "2026-03-01T07:00:00Z").exit_code == 2
    known = [row.id for row in list_quarantined(lake, "erp")]
    erp.configure(WRONG.replace("max_message", "quarantine_limit = 1\nmax_message"))
    wrong = erp.retable("quarantine", "redecode", "--window", W5)
    assert wrong.exit_code == 1
    assert "quarantine_limit is 1" in wrong.stderr
    assert [row.id for row in list_quarantined(lake, "erp")] == known
    lake = erp.configure(RIGHT)
    checked = erp.retable("verify", "gold_shop.t", "--against", "bronze")
    assert checked.exit_code == 0, checked.output
    assert_balanced(lake)


def test_a_packed_bomb_breaks_off_and_comes_whole_once_its_setting_allows_it(erp: Erp, tmp_path: Path) -> None:
    filler = [line(table="u", pkNames=["id"], data=[{"id": "1", "c": "good"}])] * 1500
    content = "\n".join([*filler, *HOURS[6]]).encode()
    (tmp_path / "in" / "2026-03-01T06.jsonl").write_bytes(gzip.compress(content))
    erp.configure(RIGHT.replace("max_message", "max_lines = 1000\nmax_message"))
    cut = erp.retable("run", "erp", "--to", "2026-03-01T07:00:00Z")
    assert cut.exit_code == 2, cut.stderr
    shown = erp.retable("quarantine", "list", "--window", W6, "--json").stdout
    assert "max_lines allows more" in json.loads(shown)[0]["reason"]
    lake = erp.configure(RIGHT)
    assert erp.retable("quarantine", "redecode", "--window", W6).exit_code == 0
    assert rows(lake, "gold_shop.t") == [{"id": 1, "c": "new"}, {"id": 3, "c": "c"}, {"id": 4, "c": LONG}]
    assert_balanced(lake)
