"""The laws of verification: after any story nothing is found; one planted difference is found, and that alone."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from laws.drawing import EXAMPLES
from laws.memory import Row, Table
from laws.story import SUPPORTED, Story, tell
from laws.test_laws import COLUMN_KINDS, LAW, orders, replay_all, stories
from laws.world import World
from retable.errors import NotKept
from retable.gold.state import SEQUENCE_COLUMN
from retable.model.sequence import Sequence
from retable.simulate import HELD_KINDS, ROW_KINDS, Delivery
from retable.verify import rows
from retable.verify.findings import Verification
from retable.verify.rows import Share
from verify.pure import Verifier

FEWER = settings(LAW, max_examples=EXAMPLES // 8 or 1)


def found(report: Verification) -> tuple[object, ...]:
    """What a report says is wrong."""
    return (report.findings, report.rows and report.rows.samples)


@FEWER
@given(st.data())
def test_after_any_story_nothing_is_found(data: st.DataObject) -> None:
    story = data.draw(stories((*SUPPORTED, *HELD_KINDS)))
    order = data.draw(orders(story))
    world = replay_all(story, order)
    states = world.states()
    for name, report in Verifier(story, world).every().items():
        hold = states[name].hold
        # One that is held as it stands may have read ahead in the windows that were not its turn yet.
        if hold is None or hold.position is not None or order == sorted(order):
            assert (name, *found(report)) == (name, (), [])


@FEWER
@given(st.data())
def test_a_table_that_a_late_statement_holds_is_compared_as_it_was_before(data: st.DataObject) -> None:
    story = data.draw(stories(COLUMN_KINDS, late_statements=True))
    world = replay_all(story, list(range(len(story.windows))))
    for name, report in Verifier(story, world).every().items():
        assert (name, *found(report)) == (name, (), [])


@FEWER
@given(st.data())
def test_parts_of_the_keys_find_together_what_the_whole_finds(data: st.DataObject) -> None:
    story = data.draw(stories())
    world = replay_all(story, data.draw(orders(story)))
    lost = data.draw(lose_one(story))
    verifier = Verifier(lost, world)
    of = data.draw(st.integers(2, 4))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rows, "ROWS_AT_ONCE", data.draw(st.integers(1, 20)))
        for name, state in world.states().items():
            parts = [verifier.verify(name, Share(number + 1, of)).rows for number in range(of if state.keys else 1)]
            patch.setattr(rows, "ROWS_AT_ONCE", 10**9)
            whole = verifier.verify(name).rows
            assert whole is not None
            for count in ("left", "right", "only_left", "only_right", "different"):
                assert sum(getattr(part, count) for part in parts) == getattr(whole, count), (name, count)


@st.composite
def lose_one(draw: st.DrawFn, story: Story) -> Story:
    """The story as bronze has it where one message is lost."""
    places = [(window, at) for window, records in enumerate(story.windows) for at in range(len(records))]
    window, at = draw(st.sampled_from(places))
    windows = [list(records) for records in story.windows]
    del windows[window][at]
    return Story(story.format, story.history, windows, f"{story.recipe} without {window}:{at}")


@FEWER
@given(st.data())
def test_a_lost_message_is_found_if_and_only_if_gold_would_be_another_without_it(data: st.DataObject) -> None:
    source_format = data.draw(st.sampled_from(("canal_json", "streamx_json")))
    story = tell(data.draw(st.integers(0, 2**32)), source_format, Delivery(windows=2), 25, ROW_KINDS)
    world = replay_all(story, [0, 1])
    lost = data.draw(lose_one(story))
    without = replay_all(lost, [0, 1])
    reports = Verifier(lost, world).every()
    others = without.gold()
    for name, table in world.gold().items():
        report = reports[name]
        rows_differ = name not in others or (others[name].columns, others[name].rows) != (table.columns, table.rows)
        if rows_differ:
            assert not report.is_equal, name
        elif report.rows is not None and not report.is_equal:
            assert set(report.rows.columns) <= {SEQUENCE_COLUMN}, name


@FEWER
@given(st.data())
def test_a_row_that_gold_lost_is_found_and_nothing_else(data: st.DataObject) -> None:
    story, world, name, table = data.draw(filled())
    number = data.draw(st.integers(0, len(table.rows) - 1))
    del table.rows[number]
    counts = counted(Verifier(story, world).verify(name))
    assert counts == (0, 1, 0)
    assert all(report.is_equal for other, report in Verifier(story, world).every().items() if other != name)


@FEWER
@given(st.data())
def test_a_row_that_somebody_added_is_found_and_nothing_else(data: st.DataObject) -> None:
    story, world, name, table = data.draw(filled())
    table.rows.append(data.draw(st.sampled_from(table.rows)))
    assert counted(Verifier(story, world).verify(name)) == (1, 0, 0)


@FEWER
@given(st.data())
def test_a_changed_value_is_found_in_its_column_and_nothing_else(data: st.DataObject) -> None:
    story, world, name, table = data.draw(filled())
    state = world.states()[name]
    others = [column for column in state.columns if column.name not in state.keys]
    number = data.draw(st.integers(0, len(table.rows) - 1))
    column = data.draw(st.sampled_from(others)) if others else None
    if column is None:
        table.rows[number] = moved(table.rows[number])
    else:
        cells, sequence, part = table.rows[number]
        changed = 1 if table.value(table.rows[number], column.field_id) is None else None
        table.rows[number] = ({**cells, column.field_id: _of(column.type.kind, changed)}, sequence, part)
    report = Verifier(story, world).verify(name)
    if state.keys:
        assert counted(report) == (0, 0, 1)
        assert report.rows is not None
        assert dict(report.rows.columns) == {column.gold if column else SEQUENCE_COLUMN: 1}
    elif column is not None:
        assert counted(report) == (1, 1, 0)


@st.composite
def filled(draw: st.DrawFn) -> tuple[Story, World, str, Table]:
    """A story that is replayed, and one of its tables with rows."""
    story = draw(stories())
    world = replay_all(story, draw(orders(story)))
    names = sorted(name for name, table in world.catalog.tables.items() if table.rows and world.states()[name].columns)
    if not names:
        story = tell(1, "canal_json", Delivery(windows=2), 40)
        world = replay_all(story, [0, 1])
        names = sorted(name for name, table in world.catalog.tables.items() if table.rows)
    name = draw(st.sampled_from(names))
    return story, world, name, world.catalog.tables[name]


def moved(row: Row) -> Row:
    """A row from another place in the order of its source."""
    cells, sequence, part = row
    return cells, Sequence(sequence.epoch, sequence.hi, sequence.lo + 1), part


def counted(report: Verification) -> tuple[int, int, int]:
    """Rows only in gold, only in bronze, and different; there is no other finding."""
    assert report.findings == ()
    assert report.rows is not None
    return report.rows.only_left, report.rows.only_right, report.rows.different


def _of(kind: str, number: int | None) -> object:
    """A value of a type, for a number."""
    match kind:
        case "string" if number is not None:
            return str(number)
        case "binary" if number is not None:
            return bytes([number])
        case "boolean" if number is not None:
            return True
        case "float" | "double" if number is not None:
            return float(number)
    return number


@FEWER
@given(st.data())
def test_without_old_messages_nothing_is_found_in_what_can_be_told_and_a_lost_row_is(data: st.DataObject) -> None:
    story = data.draw(stories())
    world = replay_all(story, list(range(len(story.windows))))
    verifier = Verifier(story, world, data.draw(st.integers(1, len(story.windows))))
    for name in world.states():
        try:
            report = verifier.verify(name)
        except NotKept:
            continue
        assert (name, *found(report)) == (name, (), [])
        table, floor = world.catalog.tables[name], verifier.floor(name)
        above = [row for row in table.rows if floor is None or not floor.reaches(row[2], row[1])]
        if report.rows is not None and report.rows.left and above:
            kept, table.rows = table.rows, [row for row in table.rows if row is not above[0]]
            again = verifier.verify(name).rows
            table.rows = kept
            assert again is not None
            assert again.only_right == (again.right - again.left)
