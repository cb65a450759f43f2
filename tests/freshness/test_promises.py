"""Promises of tables: few rows say what a row for every window would."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from retable.freshness.gate import Blocker, Cause, SourceFacts, standing_of
from retable.freshness.promises import TablePromises
from retable.freshness.watermark import SourceLine, to_rows
from retable.ledger.rows import WatermarkRow
from retable.model.evidence import GRADES, Grade
from retable.model.window import window_name

DAY = datetime(2026, 3, 1, tzinfo=UTC)
TABLE = "gold_shop.orders"
Step = tuple[Mapping[Grade, int], Mapping[Grade, int] | None]
"""How far the source is in a window, and up to where what stands in the table's way lets it be (None: nothing does)."""

marks = st.dictionaries(st.sampled_from(GRADES), st.integers(0, 5))
steps = st.lists(st.tuples(marks, st.none() | marks), min_size=1, max_size=8)


def _times(marks: Mapping[Grade, int]) -> dict[Grade, datetime]:
    return {grade: DAY + timedelta(hours=hours) for grade, hours in marks.items()}


def _facts(line: SourceLine, blocked: Mapping[Grade, int] | None) -> SourceFacts:
    blockers = [] if blocked is None else [Blocker(Cause("HELD", "it is held", "release it"), _times(blocked))]
    return SourceFacts(
        source="dump",
        line=line,
        ordered=True,
        stuck=None,
        recorded=None,
        ahead={},
        blockers={TABLE: blockers},
        own=(),
        paused=None,
        topic_a_table=False,
    )


@given(found=steps)
def test_few_rows_promise_what_a_row_for_every_window_would(found: list[Step]) -> None:
    last, kept = SourceLine(), TablePromises([])
    rows: list[WatermarkRow] = []
    source: dict[str, dict[Grade, datetime]] = {}
    dense: dict[str, dict[Grade, datetime]] = {}
    free = ""
    best: dict[Grade, datetime] = {}
    for at, (moved, blocked) in enumerate(found):
        window = window_name(DAY + timedelta(hours=at))
        watermarks = dict(last.watermarks)
        for grade, reached in _times(moved).items():
            watermarks[grade] = max(reached, watermarks.get(grade, reached))
        line = SourceLine(window, 0, {}, watermarks)
        facts = _facts(line, blocked)
        rows += kept.next_rows(facts, last, DAY)
        kept = TablePromises(rows)
        source[window] = watermarks
        for grade in GRADES:
            reached = standing_of(facts, TABLE, grade).watermark
            if reached is not None:
                best[grade] = max(reached, best.get(grade, reached))
        dense[window] = dict(best)
        free = window if blocked is None else free
        last = line
        assert kept.free_until(TABLE, window) == free
        promised = {**kept.watermarks(TABLE), **(watermarks if kept.is_free(TABLE) else {})}
        assert _of_grades(promised) == _of_grades(best)
        assert kept.next_rows(facts, line, DAY) == []
    for grade in GRADES:
        for through in {at for each in dense.values() for at in each.values()}:
            proven = [name for name, each in source.items() if _reaches(each, grade, through)]
            first = next(
                (name for name, each in dense.items() if each.get(grade, DAY - DAY.resolution) >= through), None
            )
            assert kept.first_through(TABLE, through, grade, proven) == first


def _of_grades(marks: Mapping[Grade, datetime]) -> dict[Grade, datetime]:
    """What a table is complete to by evidence of at least each grade."""
    found = {grade: [marks[each] for each in GRADES[: at + 1] if each in marks] for at, grade in enumerate(GRADES)}
    return {grade: max(each) for grade, each in found.items() if each}


def _reaches(marks: Mapping[Grade, datetime], grade: Grade, through: datetime) -> bool:
    reached = _of_grades(marks).get(grade)
    return reached is not None and reached >= through


def test_a_source_of_many_quiet_tables_promises_them_nothing_again() -> None:
    tables = [f"gold_shop.t{number}" for number in range(500)]
    line = SourceLine("20260301T0500Z", 0, {}, _times({"row": 5}))
    facts = _facts(line, None)
    rows = TablePromises([]).next_rows(_of(facts, tables), SourceLine(), DAY)
    assert len({row.table for row in rows}) == 500
    further = _of(_facts(SourceLine("20260301T0600Z", 0, {}, _times({"row": 6})), None), tables)
    assert TablePromises(rows).next_rows(further, line, DAY) == []
    assert to_rows("dump", further.line, DAY)


def _of(facts: SourceFacts, tables: list[str]) -> SourceFacts:
    return replace(facts, blockers=dict.fromkeys(tables, ()))
