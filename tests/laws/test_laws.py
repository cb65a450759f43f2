"""The laws of replay, on the pure core: whatever a shop does, and however it is cut, sent and replayed, gold is it."""

import json

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from laws.drawing import EXAMPLES, PHASES, SAME
from laws.seam import Seam
from laws.story import FORMATS, SUPPORTED, Options, Story, differences, tell
from laws.world import Crash, World
from retable.decode.silver import events_to_batch, rows_to_events
from retable.simulate import FORMATS as SIMULATED
from retable.simulate import HELD_KINDS, ROW_KINDS, Delivery, Record
from retable.simulate.streams import lindorm_debezium, streamx_json
from retable.simulate.streams.debezium import json as debezium_json

LAW = settings(
    max_examples=EXAMPLES,
    phases=PHASES,
    derandomize=SAME,
    database=None,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)

COLUMN_KINDS = tuple(kind for kind in SUPPORTED if kind in ROW_KINDS or "column" in kind)
"""Without statements after which a name means another table: rows that came before such a one made a table of it."""

IN_PARTS = frozenset({"debezium_json"})
"""Formats that tell one entry of the log in several messages, each of which counts by itself."""

OPTIONS: dict[str, st.SearchStrategy[Options]] = {
    **dict.fromkeys(
        ("streamx_json", "datahub_blob"),
        st.builds(streamx_json.Options, updates=st.sampled_from(("mixed", "halves", "whole")), row_ids=st.booleans()),
    ),
    "debezium_json": st.builds(debezium_json.Options, schemas=st.booleans(), transactions=st.booleans()),
    "lindorm_debezium": st.builds(lindorm_debezium.Options, schemas=st.booleans(), before=st.booleans()),
}
"""What of a format may be set one way or the other."""

seeds = st.integers(0, 2**32)
sizes = st.integers(3, 60)


@st.composite
def deliveries(draw: st.DrawFn, source_format: str, late_statements: bool = False) -> Delivery:
    """How a queue may treat this format's messages: an order that only offsets tell must be kept."""
    windows = draw(st.integers(1, 6))
    if SIMULATED[source_format].by_offset:
        return Delivery(windows=windows)
    shares = st.sampled_from((0.0, 0.1, 0.4))
    return Delivery(
        draw(st.integers(1, 3)),
        draw(st.sampled_from(("any", "key"))),
        windows,
        0.0 if SIMULATED[source_format].partial else draw(shares),
        draw(shares),
        draw(st.booleans()),
        late_statements,
    )


@st.composite
def stories(draw: st.DrawFn, kinds: tuple[str, ...] = SUPPORTED, late_statements: bool = False) -> Story:
    source_format = draw(st.sampled_from(FORMATS[:1] if late_statements else FORMATS))
    options = draw(OPTIONS[source_format]) if source_format in OPTIONS else None
    delivery = draw(deliveries(source_format, late_statements))
    return tell(draw(seeds), source_format, delivery, draw(sizes), kinds, options)


@st.composite
def orders(draw: st.DrawFn, story: Story) -> list[int]:
    """Every window at least once, in any order; in their own where an update means nothing before its row."""
    windows = len(story.windows)
    order = list(range(windows)) if story.known.partial else draw(st.permutations(range(windows)))
    return [*order, *draw(st.lists(st.sampled_from(range(windows)), max_size=3))]


def replay_all(story: Story, order: list[int]) -> World:
    world = story.world()
    for number in order:
        world.replay(world.names[number])
    return world


@LAW
@given(st.data())
def test_any_cut_any_order_and_any_redelivery_give_the_tables_of_the_source(data: st.DataObject) -> None:
    story = data.draw(stories())
    world = replay_all(story, data.draw(orders(story)))
    assert differences(story, world.gold()) == []
    assert [name for name, state in world.states().items() if state.hold or state.pending] == []


@LAW
@given(st.data())
def test_after_each_window_gold_is_the_source_as_it_was_then(data: st.DataObject) -> None:
    source_format = data.draw(st.sampled_from(FORMATS))
    delivery = Delivery(windows=data.draw(st.integers(1, 6)))
    story = tell(data.draw(seeds), source_format, delivery, data.draw(sizes))
    world, position = story.empty_world(), 0
    for number, window in enumerate(story.windows):
        world.replay(story.deliver(world, number))
        position = max([position, *(record.position for record in window)])
        waiting = any(state.pending for state in world.states().values())
        whole = source_format not in IN_PARTS or not story.is_torn_after(number)
        if position and whole:
            assert differences(story, world.gold(), position - waiting) == []


@LAW
@given(st.data())
def test_a_window_that_was_replayed_is_not_written_again(data: st.DataObject) -> None:
    story = data.draw(stories((*SUPPORTED, *HELD_KINDS)))
    world = replay_all(story, data.draw(orders(story)))
    before = world.digest()
    for name in data.draw(st.permutations(world.names)):
        assert not world.replay(name)
    assert world.digest() == before


@LAW
@given(st.data())
def test_a_held_table_is_as_it_was_before_the_entry_that_holds_it_and_all_others_go_on(data: st.DataObject) -> None:
    # A table made LIKE one that is held has columns that nobody told, so not their exact types.
    story = data.draw(stories((*(kind for kind in SUPPORTED if kind != "create_like"), *HELD_KINDS)))
    world = replay_all(story, list(range(len(story.windows))))
    assert differences(story, world.gold()) == []
    for name, table in world.gold().items():
        if table.hold is not None and table.hold.code != "NAME_CLASH":
            assert story.position_of(table.hold) in story.history.holds()
            world.rebuild(name)
    assert differences(story, world.gold()) == []


@LAW
@given(st.data())
def test_a_table_that_a_late_statement_holds_is_right_after_its_rebuild(data: st.DataObject) -> None:
    story = data.draw(stories(COLUMN_KINDS, late_statements=True))
    world = replay_all(story, list(range(len(story.windows))))
    for name, state in world.states().items():
        if state.hold is not None:
            world.rebuild(name)
    assert differences(story, world.gold()) == []


@LAW
@given(st.data())
def test_a_crash_at_any_seam_and_a_re_run_give_the_same_gold_and_the_same_counts(data: st.DataObject) -> None:
    story = data.draw(stories())
    whole = replay_all(story, list(range(len(story.windows))))
    world = story.world()
    for name in world.names:
        survive(world, name, data.draw(st.integers(1, 30)))
    assert world.gold() == whole.gold()
    assert world.counts == whole.counts


def survive(world: World, name: str, step: int) -> None:
    """Replay a window that dies at a step, and then once more."""
    try:
        world.replay(name, Seam(step))
    except Crash:
        world.replay(name)


@LAW
@given(st.data())
def test_marks_never_go_back(data: st.DataObject) -> None:
    story = data.draw(stories((*SUPPORTED, *HELD_KINDS)))
    world = story.world()
    marks: dict[tuple[str, str], object] = {}
    for number in data.draw(orders(story)):
        world.replay(world.names[number])
        now = {
            (state.identity, part): mark for state in world.states().values() for part, mark in state.high_water.items()
        }
        assert all(now[place] >= mark for place, mark in marks.items())  # type: ignore[operator]  # marks of one part compare
        marks = dict(now)


@LAW
@given(st.data())
def test_a_half_that_waits_changes_nothing_until_the_other_comes(data: st.DataObject) -> None:
    delivery = Delivery(3, "any", 4, late=0.4, shuffled=True)
    options = streamx_json.Options(updates="halves")
    story = tell(data.draw(seeds), "streamx_json", delivery, data.draw(sizes), ROW_KINDS, options)
    world = story.world()
    waiting: set[tuple[str, str]] = set()
    for number, name in enumerate(world.names):
        world.replay(name)
        told = [record for window in story.windows[: number + 1] for record in window]
        waiting = {(state.identity, text) for state in world.states().values() for text in state.pending}
        assert {text for _, text in waiting} == halves_alone(told)
    assert waiting == set()
    assert differences(story, world.gold()) == []


def halves_alone(records: list[Record]) -> set[str]:
    """The sequences of halves of which the other half is not there, in order, read from the messages by another way."""
    seen: dict[str, set[str]] = {}
    for record in records:
        payload = json.loads(record.value or "")["payload"]
        if payload["op"] == "UPDATE_BEFOR":
            seen.setdefault(payload["sequenceId"], set()).add("0")
        elif payload["op"] == "UPDATE_AFTER" and payload["before"] is None:
            seen.setdefault(payload["sequenceId"], set()).add("1")
    return {f"0.{number}.{next(iter(phases))}" for number, phases in seen.items() if len(phases) == 1}


@pytest.mark.parametrize("source_format", FORMATS)
@settings(LAW, max_examples=EXAMPLES // 10 or 1)
@given(st.data())
def test_every_event_survives_silver(source_format: str, data: st.DataObject) -> None:
    story = tell(data.draw(seeds), source_format, Delivery(), data.draw(sizes))
    events = [event for window in story.windows for record in window for event in story.events_of(record)]
    assert rows_to_events(pa.Table.from_batches([events_to_batch("w", events)])) == events


@LAW
@given(st.data())
def test_updates_that_tell_only_what_changed_fold_in_any_order(data: st.DataObject) -> None:
    """One that comes before the row that it continues holds its table; when all are there, a rebuild settles it.

    Where gold has later rows already, the table is held as a whole (LATE_CHANGE).
    """
    story = tell(data.draw(seeds), "shareplex_json", Delivery(windows=data.draw(st.integers(1, 4))), data.draw(sizes))
    world = replay_all(story, data.draw(st.permutations(range(len(story.windows)))))
    for name, state in world.states().items():
        if state.hold is not None:
            assert state.hold.code in ("ROW_MISSING", "KEY_UNKNOWN", "LATE_CHANGE")
            world.rebuild(name)
    assert differences(story, world.gold()) == []
    assert [name for name, state in world.states().items() if state.hold] == []
