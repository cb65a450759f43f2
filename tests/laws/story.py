"""A story of the shop: its messages window by window, and what gold must be when all of them are replayed.

The truth comes from the simulator, which knows nothing of decoding, statements or folds.
"""

import json
import re
from base64 import b64decode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, Protocol

from laws.world import Gold, World, make_settings
from retable.decode.context import context_of
from retable.formats.registry import decode_message
from retable.gold.names import gold_table
from retable.model.event import ChangeEvent, TableName
from retable.model.message import RawMessage
from retable.printable import printable_json
from retable.schema_history.history import Hold
from retable.settings.load import Settings
from retable.simulate import (
    DDL_KINDS,
    HELD_KINDS,
    ROW_KINDS,
    Delivery,
    Format,
    History,
    debezium_json,
    deliver,
    lindorm_debezium,
    simulate,
    streamx_json,
)
from retable.simulate import FORMATS as SIMULATED
from retable.simulate.database import Table
from retable.simulate.delivery import Record, Windows
from retable.simulate.truth import shown as shown_value

SUPPORTED = (*ROW_KINDS, *DDL_KINDS)
_NAMED = {(*SUPPORTED, *HELD_KINDS): "(*SUPPORTED, *HELD_KINDS)", tuple(ROW_KINDS): "ROW_KINDS"}
HIDDEN = ("_rds_row_id", "rowid")
KEPT = re.compile(r"__until_[0-9]+\Z")
FORMATS = tuple(SIMULATED)
Options = streamx_json.Options | debezium_json.Options | lindorm_debezium.Options
_OPTIONS: dict[str, type[Options]] = {
    "streamx_json": streamx_json.Options,
    "datahub_blob": streamx_json.Options,
    "debezium_json": debezium_json.Options,
    "lindorm_debezium": lindorm_debezium.Options,
}


class Landing(Protocol):
    """Whatever lands windows."""

    def deliver(self, messages: list[RawMessage]) -> str: ...


@dataclass(frozen=True, slots=True, repr=False)
class Story:
    """One history on its way: `windows` as a queue gave them."""

    format: str
    history: History
    windows: Windows
    recipe: str = ""

    @property
    def known(self) -> Format:
        return SIMULATED[self.format]

    def __repr__(self) -> str:
        return self.recipe

    def _repr_pretty_(self, printer: Any, _: bool) -> None:
        printer.text(self.recipe)

    def world(self) -> World:
        """A world that has landed and decoded every window, and replayed none."""
        world = self.empty_world()
        for number in range(len(self.windows)):
            self.deliver(world, number)
        return world

    def empty_world(self) -> World:
        return World(self.settings())

    def settings(self) -> Settings:
        tables = {
            name: {"keys": told.keys, "types": told.types} for name, told in self.known.tables(self.history).items()
        }
        return make_settings(self.format, tables, **self.known.source)

    def events_of(self, record: Record) -> list[ChangeEvent]:
        settings = self.settings()
        context = context_of(settings.source("shop"), lambda table: settings.rules(table).keys)
        return decode_message(message(record.line()), context)

    def deliver(self, world: Landing, number: int) -> str:
        return world.deliver([message(record.line()) for record in self.windows[number]])

    def position_of(self, hold: Hold) -> int:
        """Where in the source's own log a hold stands."""
        assert hold.position is not None
        records = (record for window in self.windows for record in window)
        return next(
            record.position for record in records for event in self.events_of(record) if event.sequence == hold.position
        )

    def is_torn_after(self, number: int) -> bool:
        """Whether a later window goes on with the entry that this one ends with, as with halves of a changed key."""
        position = max((record.position for window in self.windows[: number + 1] for record in window), default=0)
        return any(record.position == position for window in self.windows[number + 1 :] for record in window)

    def expected(self, upto: int | None = None) -> dict[str, Gold]:
        """The tables of the source as gold must show them, after an entry of the log or at the end."""
        truth = self.history.truth() if upto is None else self.history.truth_up_to(upto)
        return {self.gold_name(name): self.shown(table) for name, table in truth.tables.items()}

    def frozen(self, gold: str, hold: Hold) -> Gold:
        """A held table: as it was before the entry that holds it; it, or another, may have its name since."""
        position = self.position_of(hold)
        before = self.history.truth_up_to(position - 1).tables
        if (told := self.history.holds().get(position)) is not None:
            return self.shown(before[told])
        names = {self.gold_name(name): table for name, table in before.items()}
        return self.shown(names[gold if gold in names else gold.rpartition("__")[0]])

    def gold_name(self, table: str) -> str:
        return gold_table(
            make_settings(self.format, **self.known.source).lake, TableName("shop", self.known.schema, table)
        )

    def shown(self, table: Table) -> Gold:
        return self.arranged(shown(table))

    def arranged(self, gold: Gold) -> Gold:
        """Where no statement tells the order of columns, they have that in which messages came: it is of no account."""
        if self.known.tells_statements:
            return gold
        rows = [line_of(dict(sorted(json.loads(row).items()))) for row in gold.rows]
        return Gold(tuple(sorted(gold.columns)), tuple(sorted(rows)), gold.state, gold.hold)


def tell(
    seed: int,
    source_format: str,
    delivery: Delivery,
    changes: int = 40,
    kinds: Sequence[str] = SUPPORTED,
    options: Options | None = None,
) -> Story:
    """Let the shop work, write what it did in a format, and send it; equal arguments tell equal stories.

    Kinds that the format cannot tell do not happen, nor those that only arrival orders, where windows may be replayed
    in any order; options of another format are of no account.
    """
    chance, known = Random(seed), SIMULATED[source_format]
    untold = known.arriving if delivery != Delivery(windows=1) else ()
    able = {*known.kinds, *(HELD_KINDS if known.tells_statements else ())}.difference(untold)
    told = [kind for kind in kinds if kind in able]
    history = known.as_source(simulate(chance, changes, kinds=told, loaded=known.loaded))
    own = options is not None and _OPTIONS.get(source_format) is type(options)
    stream = known.write(history, options) if own else known.write(history)
    of_kinds = "" if tuple(kinds) == SUPPORTED else f", kinds={_NAMED.get(tuple(kinds), tuple(kinds))}"
    recipe = f"tell({seed}, {source_format!r}, {delivery}, {changes}{of_kinds}, options={options})"
    return Story(source_format, history, deliver(stream, chance, delivery), recipe)


def message(line: str) -> RawMessage:
    record: dict[str, Any] = json.loads(line)
    key, value, packed = record["key"], record.get("value"), record.get("value_base64")
    return RawMessage(
        record["topic"],
        record["partition"],
        record["offset"],
        record["timestamp"],
        None if key is None else key.encode(),
        b64decode(packed) if packed is not None else None if value is None else value.encode(),
        tuple((name, text.encode()) for name, text in record["headers"]),
        None,
    )


def line_of(row: dict[str, Any]) -> str:
    """A row as gold's own reader writes it."""
    return printable_json(json.dumps(row, ensure_ascii=False))


def shown(table: Table) -> Gold:
    names = tuple(column.name.lower() for column in table.columns)
    rows = (dict(zip(names, map(shown_value, table.columns, row), strict=True)) for row in table.rows.values())
    lines = list(map(line_of, rows))
    return Gold(names, tuple(sorted(lines)), "live", None)


def as_the_source_shows(gold: Gold) -> Gold:
    """Gold without the row id that a server keeps to itself, and without columns that it keeps of an older type."""
    rows = []
    for line in gold.rows:
        row = json.loads(line)
        rows.append(line_of({name: row[name] for name in row if not _is_own(name)}))
    names = tuple(name for name in gold.columns if not _is_own(name))
    return Gold(names, tuple(sorted(rows)), gold.state, gold.hold)


def _is_own(name: str) -> bool:
    return name in HIDDEN or KEPT.search(name) is not None


def differences(story: Story, gold: Mapping[str, Gold], upto: int | None = None) -> list[str]:
    """What is not as it must be, in words: empty where every table is the source's, or frozen where it is held."""
    expected = story.expected(upto)
    seen = {name: story.arranged(as_the_source_shows(table)) for name, table in gold.items()}
    found = []
    for name, table in seen.items():
        if table.hold is None:
            found += _compare(name, expected.pop(name, None), table)
        elif table.hold.code == "NAME_CLASH":
            expected.pop(story.gold_name(name.split(".")[1].rpartition("__")[0]), None)
        elif table.hold.position is None:
            found.append(f"{name} is held wholly: {table.hold}")
        else:
            expected.pop(name, None)
            found += _compare(name, story.frozen(name, table.hold), table)
    held = any(table.hold is not None for table in seen.values())
    missing = [name for name, table in expected.items() if table.rows and not held]
    return found + [f"{name} is missing" for name in missing]


def _compare(name: str, expected: Gold | None, seen: Gold) -> list[str]:
    if expected is None:
        return [f"{name} is no table of the source any more, and has {len(seen.rows)} rows"] if seen.rows else []
    if expected.columns != seen.columns:
        return [f"{name}: columns {seen.columns}, not {expected.columns}"]
    if expected.rows == seen.rows:
        return []
    wanted, there = list(expected.rows), list(seen.rows)
    for row in list(wanted):
        if row in there:
            wanted.remove(row)
            there.remove(row)
    return [f"{name} lacks {row}" for row in wanted] + [f"{name} has {row}" for row in there]
