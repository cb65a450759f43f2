"""Objects that grew, came late or changed, in a format that only the order of its lines orders."""

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from lakes import CANAL_LINES, FreshLake, SettingsWriter
from laws.spark_world import gold_of
from retable.cli.run.baseline import find_table, part_of
from retable.decode.spark import decode
from retable.gold.read import gold_states
from retable.land.objects.files import list_objects
from retable.land.spark import land_window
from retable.ledger.windows.recording import read_windows, record_windows
from retable.replay.spark import replay
from retable.verify.windows import check_tiling

DAY = datetime(2026, 3, 1, tzinfo=UTC)
NOW = DAY + timedelta(days=1)


def line(number: int, text: str, op: str = "INSERT", table: str = "t") -> str:
    row = {"id": str(number), "c": text}
    told = {
        "id": 1,
        "database": "shop",
        "table": table,
        "pkNames": ["id"] if table == "t" else None,
        "isDdl": False,
        "type": op,
        "es": 1772341200000,
        "ts": 1772341200123,
        "sql": "",
        "sqlType": {"id": -5, "c": 12},
        "mysqlType": {"id": "bigint", "c": "text"},
        "data": [row],
        "old": [{"c": ""}] if op == "UPDATE" else None,
    }
    return json.dumps(told) + "\n"


class Erp:
    """A lake whose source has an object for each hour; `put` writes one, `run` replays all windows up to it."""

    def __init__(self, fresh: FreshLake, folder: Path) -> None:
        self.spark, self.lake, settings = fresh
        self.source, self.folder = settings.source("erp"), folder

    def put(self, hour: int, *lines: str, name: str = "") -> None:
        (self.folder / f"2026-03-01T{hour:02}{name}.jsonl").write_text("".join(lines), encoding="utf-8")

    def run(self, hour: int) -> None:
        end = DAY + timedelta(hours=hour + 1)
        for window in record_windows(self.lake, self.source, lambda: list_objects(self.source), end, NOW):
            for step in (land_window, decode):
                step(self.spark, self.lake, self.source, window.name, "run", NOW)
            replay(self.spark, self.lake, self.source, window.name, "run", NOW, lambda _: None)

    def rows(self, table: str = "t") -> list[tuple[int, str]]:
        rows = [json.loads(row) for row in gold_of(self.lake)[f"gold_shop.{table}"].rows]
        return sorted((row["id"], row["c"]) for row in rows)

    def hold(self) -> str | None:
        hold = gold_states(self.lake)["gold_shop.t"].hold
        return None if hold is None else hold.code


@pytest.fixture
def erp(lake_on_spark: Callable[..., FreshLake], write_settings: SettingsWriter, tmp_path: Path) -> Erp:
    (tmp_path / "in").mkdir()
    return Erp(lake_on_spark(write_settings(CANAL_LINES)), tmp_path / "in")


def test_an_object_that_grew_after_newer_ones_changes_nothing_twice_and_nothing_back(erp: Erp) -> None:
    old = [line(1, "a"), line(2, "b"), line(7, "x", table="keyless")]
    erp.put(5, *old)
    erp.run(5)
    erp.put(6, line(1, "newer", "UPDATE"), line(2, "b", "DELETE"))
    erp.run(6)
    erp.put(5, *old, line(3, "c"), line(7, "x", table="keyless"))
    erp.run(7)
    assert (erp.rows(), erp.hold()) == ([(1, "newer"), (3, "c")], None)
    assert erp.rows("keyless") == [(7, "x"), (7, "x")]
    assert check_tiling(read_windows(erp.lake, "erp")) == []


@pytest.mark.parametrize("name", ["", "-b"])
def test_a_late_object_holds_a_table_if_it_has_a_key_of_other_objects(erp: Erp, name: str) -> None:
    erp.put(4, line(9, "z"))
    erp.put(6, line(1, "newer"))
    erp.run(6)
    erp.put(5, line(1, "older"), name=name)
    erp.run(7)
    assert (erp.rows(), erp.hold()) == ([(1, "newer"), (9, "z")], "ORDER_UNDEFINED")
    hold = gold_states(erp.lake)["gold_shop.t"].hold
    assert hold is not None
    assert "the partitions erp/0 and erp/-3 both have changes of one key" in hold.reason
    assert "erp/-3 is an object that came late or was changed" in hold.reason


def test_a_late_object_with_keys_of_its_own_is_replayed(erp: Erp) -> None:
    erp.put(4, line(9, "z"))
    erp.put(6, line(1, "newer"))
    erp.run(6)
    erp.put(5, line(2, "b"), line(2, "c", "UPDATE"))
    erp.run(7)
    assert (erp.rows(), erp.hold()) == ([(1, "newer"), (2, "c"), (9, "z")], None)
    assert part_of(erp.lake, find_table(erp.lake, "gold_shop.t"), None) == ("erp", 0)
    assert check_tiling(read_windows(erp.lake, "erp")) == []


def test_an_object_that_changed_is_late(erp: Erp) -> None:
    erp.put(5, line(1, "a"))
    erp.run(5)
    erp.put(5, line(1, "b"))
    erp.run(6)
    assert (erp.rows(), erp.hold()) == ([(1, "a")], "ORDER_UNDEFINED")
