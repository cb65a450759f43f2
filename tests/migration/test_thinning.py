"""Rows of ops that are left out change nothing that a reader is told."""

from dataclasses import asdict, fields, replace
from datetime import UTC, datetime, timedelta

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from retable.freshness.promises import TablePromises
from retable.ledger.cuts import Cuts
from retable.ledger.lake.tables import COMMITTED, OPS
from retable.ledger.rows import CutRow, WatermarkRow
from retable.migration.thinning import thin_cuts, thin_promises
from retable.model.evidence import GRADES
from retable.model.window import window_name

DAY = datetime(2026, 3, 1, tzinfo=UTC)
HOURS = [window_name(DAY + timedelta(hours=at)) for at in range(12)]
WINDOWS = HOURS[:6]
TABLE = "gold_shop.a"

snapshots = st.dictionaries(
    st.sampled_from("abc"), st.tuples(st.sampled_from([1, 2, None]), st.sampled_from(["live", "held", "dropped"]))
)


@given(cuts=st.lists(st.tuples(st.integers(0, 5), snapshots), max_size=10), names=st.permutations("xyz"))
def test_every_cut_is_as_it_was(cuts: list[tuple[int, dict[str, tuple[int | None, str]]]], names: list[str]) -> None:
    rows: list[CutRow] = []
    for commit, (at, tables) in enumerate(cuts):
        window = WINDOWS[at]
        revision = 1 + max((row.revision for row in rows if row.window == window), default=-1)
        # A cut of an older lake had each table that there was, and one without any had no row.
        rows += [
            CutRow(
                source="dump",
                window=window,
                revision=revision,
                table=f"gold_shop.{dict(zip('abc', names, strict=True))[identity]}",
                identity=identity,
                snapshot_id=snapshot,
                state=state,
                recorded_at=DAY + timedelta(minutes=commit),
            )
            for identity, (snapshot, state) in tables.items()
        ]
    thin = _cuts(thin_cuts(_table("ops.cuts", rows)))
    before, after = Cuts(rows), Cuts(thin)
    assert after.recorded_at.keys() == before.recorded_at.keys()
    for window in WINDOWS:
        assert _told(after.at(window)) == _told(before.at(window))
    for window, revision in {(row.window, row.revision) for row in rows}:
        assert (window, revision) in {(row.window, row.revision) for row in thin}
    assert len(thin) <= len(rows)
    again = _table("ops.cuts", thin)
    assert thin_cuts(again).num_rows == again.num_rows


def _told(cut: dict[str, CutRow]) -> dict[str, tuple[object, ...]]:
    return {identity: (row.table, row.snapshot_id, row.state) for identity, row in cut.items()}


def test_of_many_tables_that_stay_as_they_are_a_window_keeps_one_row() -> None:
    row = CutRow(
        source="dump",
        window=WINDOWS[0],
        revision=0,
        table="gold_shop.t",
        identity="t",
        snapshot_id=1,
        state="live",
        recorded_at=DAY,
    )
    rows = [replace(row, window=window, identity=f"t{number}") for window in WINDOWS for number in range(50)]
    thin = _cuts(thin_cuts(_table("ops.cuts", rows)))
    assert len(thin) == 50 + len(WINDOWS) - 1


marks = st.dictionaries(st.sampled_from(GRADES), st.integers(0, 5), min_size=1)
steps = st.lists(st.tuples(marks, st.none() | st.integers(0, 5)), max_size=12)
"""How far the source goes in a window, and beyond which hour something keeps the table back (None: nothing does)."""


@given(found=steps)
def test_every_promise_is_as_it_was(found: list[tuple[dict[str, int], int | None]]) -> None:
    rows = [replace(_promise("x", "row", 3, 3, is_free=True), table=None)]
    source: dict[str, dict[str, int]] = {}
    line: dict[str, int] = {}
    promised: dict[str, int] = {}
    for at, (moved, bound) in enumerate(found):
        line = {grade: max(moved.get(grade, -1), line.get(grade, -1)) for grade in moved.keys() | line}
        source[HOURS[at]] = line
        for grade, hour in line.items():
            reached = hour if bound is None else min(hour, bound)
            # An older Retable recorded what went further, of every table in every window.
            if reached > promised.get(grade, -1):
                promised[grade] = reached
                rows.append(_promise(TABLE, grade, at, reached, is_free=bound is None))
    thin = [
        WatermarkRow(**{**row, "evidence": {}})
        for row in _rows(thin_promises(_table("ops.watermarks", rows)), WatermarkRow)
    ]
    assert len(thin) <= len(rows)
    assert [row for row in thin if row.table is None] == rows[:1]
    before, after = TablePromises(rows), TablePromises(thin)
    assert after.is_free(TABLE) == before.is_free(TABLE)
    assert after.watermarks(TABLE) == before.watermarks(TABLE)
    for last in (None, *source):
        assert after.free_until(TABLE, last) == before.free_until(TABLE, last)
    for grade in GRADES:
        for hour in range(6):
            proven = [window for window, each in source.items() if each.get(grade, -1) >= hour]
            through = DAY + timedelta(hours=hour)
            assert after.first_through(TABLE, through, grade, proven) == before.first_through(
                TABLE, through, grade, proven
            )


def test_a_table_that_nothing_held_back_keeps_its_first_and_its_last_promise() -> None:
    free = [_promise("gold_shop.a", "row", at, at, is_free=True) for at in range(100)]
    held = [_promise("gold_shop.a", "row", at, 99, is_free=False) for at in range(100, 200)]
    thin = thin_promises(_table("ops.watermarks", [*free, *held]))
    assert sorted(thin["window"].to_pylist()) == [free[0].window, free[-1].window, held[0].window, held[-1].window]


def _promise(table: str, grade: str, at: int, reached: int, is_free: bool) -> WatermarkRow:
    return WatermarkRow(
        source="dump",
        table=table,
        grade=grade,
        window=window_name(DAY + timedelta(hours=at)),
        watermark=DAY + timedelta(hours=reached),
        epoch=0,
        evidence={},
        because=None if is_free else "HELD",
        recorded_at=DAY,
    )


def _table(name: str, rows: list[object]) -> pa.Table:
    records = [{**asdict(row), COMMITTED: commit} for commit, row in enumerate(rows)]
    return pa.Table.from_pylist(records, schema=OPS[name].columns)


def _cuts(rows: pa.Table) -> list[CutRow]:
    return [CutRow(**row) for row in _rows(rows, CutRow)]


def _rows(rows: pa.Table, kind: type) -> list[dict[str, object]]:
    names = [field.name for field in fields(kind)]
    return [{name: row[name] for name in names} for row in rows.sort_by(COMMITTED).to_pylist()]
