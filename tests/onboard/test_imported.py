"""A dump of the schema in place of settings: whatever a shop does, gold is the same with the one as with the others."""

import json
import random
from collections.abc import Iterable

from hypothesis import given, settings
from hypothesis import strategies as st

from laws.drawing import EXAMPLES
from laws.story import FORMATS, Story, differences, message, tell
from laws.test_laws import COLUMN_KINDS, LAW, deliveries, seeds, sizes
from laws.world import World, make_settings
from retable.ddl.registry import parse_statement
from retable.model.event import TableName
from retable.model.message import RawMessage
from retable.model.schema_change import CreateTable, DeclareTable
from retable.model.sequence import LOWEST, Sequence
from retable.replay.inputs.imports import Import
from retable.simulate import ROW_KINDS, Delivery
from retable.simulate.database import Table
from retable.simulate.sql import Pen

FEW = settings(LAW, max_examples=min(EXAMPLES, 12))
UNTYPED = tuple(name for name in FORMATS if name != "shareplex_json")
"""The shop's dump is MySQL's; SharePlex reads Oracle."""


def dumped(story: Story, tables: dict[str, Table] | None = None, at: Sequence = LOWEST) -> list[Import]:
    """What a dump tells of the tables that stood before the log began."""
    found = []
    for name, table in (tables or story.history.loaded).items():
        text = Pen("shop").create(name, table.columns, table.keys)
        (made,) = parse_statement("mysql", text, "shop", None, None)
        assert isinstance(made, CreateTable), made
        told = DeclareTable(TableName("shop", story.known.schema, name), made.columns, made.keys)
        found.append(Import(told, at, "mysql", text, "dump.sql"))
    return found


def bare(story: Story, imports: Iterable[Import]) -> World:
    """A world of a story in which no settings speak of tables."""
    world = World(make_settings(story.format, {}, **story.known.source))
    world.imports += imports
    return world


def without_keys(messages: list[RawMessage]) -> list[RawMessage]:
    """Canal's messages as of a server that does not tell its keys."""
    return [
        RawMessage(
            m.topic,
            m.partition,
            m.offset,
            m.timestamp_ms,
            m.key,
            None if m.value is None else _without_keys(m.value),
            m.headers,
        )
        for m in messages
    ]


def _without_keys(value: bytes) -> bytes:
    facts = json.loads(value)
    return json.dumps({**facts, "pkNames": None}, ensure_ascii=False).encode()


@st.composite
def stories(draw: st.DrawFn) -> Story:
    source_format = draw(st.sampled_from(UNTYPED))
    return tell(draw(seeds), source_format, draw(deliveries(source_format)), draw(sizes), COLUMN_KINDS)


def taken_at(story: Story, share: float) -> list[Import]:
    """A dump of all tables as they were at a place of the log, and not before it."""
    events = [(record.position, e) for window in story.windows for record in window for e in story.events_of(record)]
    places = sorted({(position, e.sequence) for position, e in events if e.sequence is not None})
    position, at = places[int(share * (len(places) - 1))]
    tables = story.history.truth_up_to(position).tables
    return dumped(story, dict(tables), max(s for p, s in places if p == position and s >= at))


@FEW
@given(stories(), st.randoms(use_true_random=False))
def test_a_dump_tells_as_much_as_settings(story: Story, chance: random.Random) -> None:
    world = bare(story, dumped(story))
    names = [story.deliver(world, number) for number in range(len(story.windows))]
    chance.shuffle(names)
    for name in names:
        world.replay(name)
    assert differences(story, world.gold()) == []


@FEW
@given(seeds, sizes)
def test_without_keys_in_messages_a_dump_tells_them(seed: int, size: int) -> None:
    story = tell(seed, "canal_json", Delivery(windows=3), size, ROW_KINDS)
    world = bare(story, dumped(story))
    for window in story.windows:
        name = world.deliver(without_keys([message(record.line()) for record in window]))
        world.replay(name)
    assert differences(story, world.gold()) == []
    assert any(state.keys for state in world.states().values())


@FEW
@given(st.sampled_from(("streamx_json", "debezium_json")), seeds, sizes, st.floats(0, 1))
def test_a_dump_taken_within_the_log_tells_no_more_than_the_log(
    source_format: str, seed: int, size: int, share: float
) -> None:
    story = tell(seed, source_format, Delivery(windows=3), size, COLUMN_KINDS)
    world = bare(story, taken_at(story, share))
    # What comes before the dump must be seen before it counts: so the last window first.
    for name in reversed([story.deliver(world, number) for number in range(len(story.windows))]):
        world.replay(name)
    assert differences(story, world.gold()) == []


@FEW
@given(stories())
def test_a_dump_that_comes_late_gives_the_same_after_a_rebuild(story: Story) -> None:
    first, late = bare(story, dumped(story)), bare(story, [])
    for number in range(len(story.windows)):
        first.replay(story.deliver(first, number))
        late.replay(story.deliver(late, number))
    late.imports += dumped(story)
    for name in late.names:
        late.replay(name)
    for name in late.states():
        late.rebuild(name)
    assert late.gold() == first.gold()
    before = late.digest()
    for name in late.names:
        late.replay(name)
    assert late.digest() == before


def test_without_a_dump_types_are_missing() -> None:
    story = tell(1, "datahub_tuple", Delivery(), 40, ROW_KINDS)
    world = bare(story, [])
    world.replay(story.deliver(world, 0))
    assert differences(story, world.gold()) != []
