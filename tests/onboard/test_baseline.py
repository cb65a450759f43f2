"""A table that starts from a full copy: older changes lose, newer ones win, and overlap is harmless."""

from dataclasses import replace
from decimal import Decimal

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from laws.memory import to_record
from laws.story import Story, differences, tell
from laws.test_laws import seeds, sizes
from laws.world import NOW, World, make_settings
from onboard.test_imported import FEW, bare, dumped
from retable.ledger.baselines import Baselines, piece_window
from retable.ledger.rows import BaselineRow
from retable.model.event import TableName
from retable.model.schema import GoldType
from retable.model.sequence import Sequence
from retable.onboard.baseline.copies import Copy
from retable.onboard.baseline.key_spelling import spelling_in_copy
from retable.onboard.baseline.pieces import Target, piece_events
from retable.simulate import ROW_KINDS, Delivery
from retable.simulate.columns import Column
from retable.simulate.database import Table
from retable.simulate.settings import gold_type
from retable.simulate.streams import streamx_json

ARROW = {
    "int": (pa.int32(), GoldType("int")),
    "long": (pa.int64(), GoldType("long")),
    "double": (pa.float64(), GoldType("double")),
    "string": (pa.string(), GoldType("string")),
    "binary": (pa.binary(), GoldType("binary")),
    "date": (pa.date32(), GoldType("date")),
    "timestamp": (pa.timestamp("us"), GoldType("timestamp")),
    "timestamptz": (pa.timestamp("us", "UTC"), GoldType("timestamptz")),
}


def copied(table: Table) -> tuple[Copy, pa.Table]:
    """A full copy of a table."""
    values = [[row[at] for row in table.rows.values()] for at in range(len(table.columns))]
    columns = {column.name: _values(column, mine) for column, mine in zip(table.columns, values, strict=True)}
    types = {name: kind for name, (_, kind) in columns.items()}
    rows = pa.table({name: array for name, (array, _) in columns.items()})
    return Copy("copy", "digest", types, lambda: iter(rows.to_batches())), rows


def _values(column: Column, values: list[object]) -> tuple[pa.Array, GoldType]:
    text = gold_type(column.type)
    if text.startswith("decimal"):
        precision, scale = (int(part) for part in text[8:-1].split(","))
        exact = [None if value is None else Decimal(str(value)) for value in values]
        return pa.array(exact, pa.decimal128(precision, scale)), GoldType("decimal", precision, scale)
    kind, gold = ARROW[text]
    return pa.array(values, kind), gold


def start(world: World, story: Story, share: float) -> list[str]:
    """Bring full copies, as of a place of the log, of tables that stood before it; gives their windows."""
    events = [(record.position, e) for window in story.windows for record in window for e in story.events_of(record)]
    places = sorted((position, e.sequence, e.part) for position, e in events if e.sequence is not None)
    position, _, part = places[int(share * (len(places) - 1))]
    at = max(sequence for place, sequence, _ in places if place == position)
    rows = []
    tables = story.history.truth_up_to(position).tables
    loaded = {name: table for name, table in tables.items() if name in story.history.loaded}
    for number, (name, table) in enumerate(loaded.items(), start=1):
        source = TableName("shop", story.known.schema, name)
        place = None if part is None else (part.rpartition("/")[0], int(part.rpartition("/")[2]))
        copy, content = copied(table)
        written = tuple(spelling_in_copy(copy.types[key]) for key in table.keys)
        target = Target(
            source="shop",
            source_format=story.format,
            table=source,
            position=at,
            part=place,
            keys=table.keys,
            spellings=written,
        )
        window = piece_window(number)
        world.rows.silver[window] = [to_record(window, event) for event in piece_events(target, copy, 0, content)]
        named = {
            "database": source.database,
            "schema": source.schema,
            "table": source.table,
            "position": str(target.start),
            "part": part or "",
            "dump": copy.digest,
        }
        rows.append(
            BaselineRow(
                source="shop",
                **named,
                piece=0,
                window=window,
                rows=content.num_rows,
                last=True,
                origin="copy",
                recorded_at=NOW,
            )
        )
    world.baselines = Baselines(tuple(rows))
    return [row.window for row in rows]


@FEW
@given(st.sampled_from(("streamx_json", "canal_json", "datahub_tuple")), seeds, sizes, st.floats(0, 1), st.booleans())
def test_gold_is_the_source_wherever_the_copy_was_taken_and_whenever_it_comes(
    source_format: str, seed: int, size: int, share: float, comes_first: bool
) -> None:
    options = streamx_json.Options(row_ids=False)
    story = tell(seed, source_format, Delivery(windows=3), size, ROW_KINDS, options)
    world = bare(story, dumped(story))
    names = [story.deliver(world, number) for number in range(len(story.windows))]
    if comes_first:
        names = [*start(world, story, share), *names]
    else:
        for name in names:
            world.replay(name)
        names = start(world, story, share)
    for name in names:
        world.replay(name)
    assert differences(story, world.gold()) == []
    before = world.digest()
    for name in names:
        world.replay(name)
    assert world.digest() == before


def test_a_second_copy_of_one_position_leaves_nothing_of_the_first() -> None:
    world = World(make_settings("canal_json"))
    pieces: list[BaselineRow] = []
    for nth, rows in enumerate(([(1, "wrong"), (2, "wrong"), (3, "wrong")], [(3, "right"), (1, "right")])):
        at = Target(
            source="shop",
            source_format="canal_json",
            table=TableName("shop", None, "t"),
            position=Sequence(0, 7, 0),
            part=("topic", 0),
            keys=("id",),
        )
        target = replace(at, spellings=("digits",), nth=nth)
        content = pa.table({"id": [key for key, _ in rows], "note": [note for _, note in rows]})
        copy = Copy("copy", str(nth), {"id": GoldType("long"), "note": GoldType("string")}, lambda: iter(()))
        window = piece_window(nth + 1)
        world.rows.silver[window] = [to_record(window, event) for event in piece_events(target, copy, 0, content)]
        place = {
            "database": "shop",
            "schema": None,
            "table": "t",
            "position": str(target.start),
            "part": "topic/0",
            "dump": copy.digest,
        }
        pieces.append(
            BaselineRow(
                source="shop",
                **place,
                piece=0,
                window=window,
                rows=len(rows),
                last=True,
                origin="copy",
                recorded_at=NOW,
            )
        )
        world.baselines = Baselines(tuple(pieces))
        world.replay(window)
    assert world.gold()["gold_shop.t"].rows == ('{"id": 1, "note": "right"}', '{"id": 3, "note": "right"}')
    world.rebuild("gold_shop.t")
    assert world.gold()["gold_shop.t"].rows == ('{"id": 1, "note": "right"}', '{"id": 3, "note": "right"}')
