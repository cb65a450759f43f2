"""Windows in which nothing arrived, many in a row: one row of ops each stage, and readers see every window."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recorded import record_windows
from retable.ledger.lake.catalog import Lake, open_lake
from retable.ledger.read import read_ledger, read_ledger_whole, scan
from retable.ledger.rows import LedgerRow
from retable.ledger.windows.empty import close_empty
from retable.ledger.windows.objects import FoundObject
from retable.ledger.windows.recording import _read, _record, _stretches, find_window, read_windows
from retable.ledger.write import append_rows
from retable.model.window import PartitionRange, SourceObject, Window, window_name
from retable.settings.load import Settings

DAY = datetime(2026, 3, 1, tzinfo=UTC)
NOW = DAY + timedelta(days=400)
EMPTY = 24 * 365


def hour(number: int) -> datetime:
    return DAY + timedelta(hours=number)


def named(number: int) -> FoundObject:
    return FoundObject(f"{hour(number):%Y-%m-%dT%H}.jsonl", 1, DAY, NOW, lambda: "e", lambda _: False)


@pytest.fixture
def settings(write_settings, tmp_path) -> Settings:
    (tmp_path / "in").mkdir()
    pattern = r"hour = '(\d{4}-\d\d-\d\dT\d\d)'"
    return write_settings(f"[sources.erp]\nkind='files'\nformat='canal_json'\npath='in'\nlayout='lines'\n{pattern}\n")


@pytest.fixture
def lake(settings) -> Lake:
    return open_lake(settings)


def rows_of(lake: Lake, name: str) -> int:
    return scan(lake, lake.find(name), source="erp").num_rows


def test_one_old_object_makes_a_year_of_windows_and_a_few_rows(lake: Lake, settings: Settings):
    found = [named(0), named(EMPTY + 1)]
    made = record_windows(lake, settings.source("erp"), lambda: found, hour(EMPTY + 4), NOW)
    assert len(made) == EMPTY + 4
    assert read_windows(lake, "erp") == made
    assert rows_of(lake, "ops.windows") == 4
    middle = made[EMPTY // 2]
    assert find_window(lake, "erp", middle.name) == middle
    assert read_windows(lake, "erp", middle.name) == made[EMPTY // 2 :]

    quiet = made[1 : EMPTY + 1]
    close_empty(lake, quiet, "run", NOW)
    assert rows_of(lake, "ops.ledger") == 3
    ledger = read_ledger(lake, "erp")
    assert {(row.window, row.stage) for row in ledger} == {
        (window.name, stage) for window in quiet for stage in ("land", "decode", "replay")
    }
    assert {(row.first, row.count, row.run_id) for row in ledger} == {(None, None, "run")}
    assert {row.stage for row in read_ledger(lake, "erp", middle.name)} == {"land", "decode", "replay"}
    assert {row.window for row in read_ledger(lake, "erp", middle.name)} == {middle.name}
    assert read_ledger(lake, "erp", made[0].name) == read_ledger(lake, "erp", made[-1].name) == []
    assert len(read_ledger(lake, "erp", at_least={"window": quiet[-2].name})) == 6
    assert len(read_ledger_whole(lake, "erp")) == 3 * EMPTY

    close_empty(lake, made[1 : EMPTY + 1], "again", NOW)
    assert rows_of(lake, "ops.ledger") == 3


def test_what_is_done_of_some_of_them_is_not_said_again(lake: Lake, settings: Settings):
    made = record_windows(lake, settings.source("erp"), lambda: [named(0)], hour(9), NOW)
    close_empty(lake, made[3:5], "first", NOW)
    landed = next(row for row in read_ledger(lake, "erp") if row.stage == "land")
    append_rows(lake, [replace(landed, window=made[7].name, run_id="by hand")])
    close_empty(lake, made[1:9], "second", NOW)
    by = {(row.window, row.stage): row.run_id for row in read_ledger(lake, "erp")}
    assert len(by) == 3 * 8
    assert {window for (window, _), run in by.items() if run == "first"} == {made[3].name, made[4].name}
    assert [at for at, run in by.items() if run == "by hand"] == [(made[7].name, "land")]
    assert rows_of(lake, "ops.ledger") == 3 + 1 + (3 + 2 + 2)


def test_a_newer_row_of_one_of_them_wins(lake: Lake, settings: Settings):
    made = record_windows(lake, settings.source("erp"), lambda: [named(0)], hour(9), NOW)
    close_empty(lake, made[1:], "quiet", NOW)
    late = next(row for row in read_ledger(lake, "erp", made[4].name) if row.stage == "replay")
    append_rows(lake, [replace(late, counts={"rows": 5}, run_id="late", recorded_at=NOW + timedelta(hours=1))])
    told = {row.window: row.run_id for row in read_ledger(lake, "erp") if row.stage == "replay"}
    assert [window for window, run in told.items() if run == "late"] == [made[4].name]
    assert len(told) == 8


def test_the_tables_of_an_earlier_version_are_read_and_go_on(lake: Lake, settings: Settings):
    made = record_windows(lake, settings.source("erp"), lambda: [named(0)], hour(1), NOW)
    row = LedgerRow(
        source="erp",
        window=made[0].name,
        stage="land",
        table=None,
        counts={"landed": 1},
        lowest={},
        highest={},
        snapshot_id=None,
        identity=None,
        run_id="old",
        seconds=1.0,
        bytes=0,
        recorded_at=NOW,
    )
    append_rows(lake, [row])
    for name in ("ops.windows", "ops.ledger"):
        with lake.load(name).update_schema(allow_incompatible_changes=True) as update:
            for column in {"ops.windows": ("count",), "ops.ledger": ("first", "count")}[name]:
                update.delete_column(column)
    assert read_ledger(lake, "erp") == read_ledger(lake, "erp", made[0].name) == [row]
    assert [each.name for each in read_windows(lake, "erp")][:1] == [made[0].name]
    later = record_windows(lake, settings.source("erp"), lambda: [named(0)], hour(40), NOW)
    close_empty(lake, later[3:], "quiet", NOW)
    assert len(read_windows(lake, "erp")) == 40
    assert len(read_ledger(lake, "erp")) == 1 + 3 * 37
    assert {"first", "count"} <= set(lake.load("ops.ledger").schema().column_names)


@given(st.lists(st.sampled_from(["", "object", "range", "partition"]), max_size=12), st.booleans())
def test_windows_are_read_as_they_were_recorded(contents: list[str], is_topic: bool):
    windows, reached, partitions = list[Window](), 0, 1
    for number, content in enumerate(contents):
        objects = (SourceObject(number, f"o{number}", "e", 1),) if content == "object" else ()
        begin, reached = reached, reached + 3 * (content == "range")
        partitions += content == "partition"
        empty = (PartitionRange("t", number, "", 0, 0, 0) for number in range(1, partitions))
        ranges = (PartitionRange("t", 0, "", 0, begin, reached), *empty) if is_topic else ()
        windows.append(
            Window(
                source="erp",
                ordinal=number,
                start=hour(number),
                end=hour(number + 1),
                objects=objects,
                recorded_at=NOW,
                ranges=ranges,
                epoch=0,
            )
        )
    rows = [_record(stretch) for stretch in _stretches(windows)]
    assert [window for row in rows for window in _read("erp", dict(row))] == windows
    assert [row["window"] for row in rows] == [window_name(row["end"] - timedelta(hours=1)) for row in rows]
    for before, row in pairwise(rows):
        assert before["ranges"] != row["ranges"] or row["objects"] or before["objects"]
