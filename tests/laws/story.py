"""A story of the shop: its messages window by window, and what gold must be when all of them are replayed.

The truth comes from the simulator, which knows nothing of decoding, statements or folds.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, Protocol

from laws.world import Gold, World, make_settings
from retable.gold.names import gold_table
from retable.model.event import TableName
from retable.model.message import RawMessage
from retable.replay.history import Hold
from retable.simulate import (
    DDL_KINDS,
    ROW_KINDS,
    Delivery,
    History,
    canal_json,
    deliver,
    simulate,
    streamx_json,
    type_settings,
)
from retable.simulate.database import Table
from retable.simulate.delivery import Windows
from retable.simulate.truth import shown as shown_value

SUPPORTED = (*ROW_KINDS, *DDL_KINDS)
ROW_ID = "_rds_row_id"
FORMATS = ("streamx_json", "canal_json")
_MICRO = 1_000_000


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
        tables = {name: {"types": types} for name, types in type_settings(self.history).items()}
        return World(make_settings(self.format, tables=tables if self.format == "streamx_json" else {}))

    def deliver(self, world: Landing, number: int) -> str:
        return world.deliver([message(record.line()) for record in self.windows[number]])

    def position_of(self, hold: Hold) -> int:
        """Where in the source's own log a hold stands."""
        assert hold.position is not None
        if self.format == "streamx_json":
            return hold.position.hi % _MICRO
        records = [record for window in self.windows for record in window]
        return next(record.position for record in records if record.offset == hold.position.hi)

    def expected(self, upto: int | None = None) -> dict[str, Gold]:
        """The tables of the source as gold must show them, after an entry of the log or at the end."""
        truth = self.history.truth() if upto is None else self.history.truth_up_to(upto)
        return {self.gold_name(name): shown(table) for name, table in truth.tables.items()}

    def frozen(self, gold: str, hold: Hold) -> Gold:
        """A held table: as it was before the entry that holds it."""
        position = self.position_of(hold)
        before = self.history.truth_up_to(position - 1).tables
        return next(shown(table) for name, table in before.items() if self.gold_name(name) == gold)

    @staticmethod
    def gold_name(table: str) -> str:
        return gold_table(make_settings("streamx_json").lake, TableName("shop", None, table))


def tell(
    seed: int,
    source_format: str,
    delivery: Delivery,
    changes: int = 40,
    kinds: Sequence[str] = SUPPORTED,
    options: streamx_json.Options | None = None,
) -> Story:
    """Let the shop work, write what it did in a format, and send it; equal arguments tell equal stories."""
    chance = Random(seed)
    history = simulate(chance, changes, kinds=kinds)
    stream = canal_json.write(history) if source_format == "canal_json" else streamx_json.write(history, options)
    held = ", kinds=(*SUPPORTED, *HELD_KINDS)" if set(kinds) - set(SUPPORTED) else ""
    recipe = f"tell({seed}, {source_format!r}, {delivery}, {changes}{held}, options={options})"
    return Story(source_format, history, deliver(stream, chance, delivery), recipe)


def message(line: str) -> RawMessage:
    record: dict[str, Any] = json.loads(line)
    value = record["value"]
    return RawMessage(
        record["topic"],
        record["partition"],
        record["offset"],
        record["timestamp"],
        None,
        None if value is None else value.encode(),
        (),
        None,
    )


def shown(table: Table) -> Gold:
    names = tuple(column.name.lower() for column in table.columns)
    lines = [
        json.dumps(dict(zip(names, map(shown_value, table.columns, row), strict=True)), ensure_ascii=False)
        for row in table.rows.values()
    ]
    return Gold(names, tuple(sorted(lines)), "live", None)


def as_the_source_shows(gold: Gold) -> Gold:
    """Gold without the row id that a server keeps to itself, its rows as the simulator spells them."""
    rows = []
    for line in gold.rows:
        row = json.loads(line)
        row.pop(ROW_ID, None)
        rows.append(json.dumps(row, ensure_ascii=False))
    return Gold(tuple(name for name in gold.columns if name != ROW_ID), tuple(sorted(rows)), gold.state, gold.hold)


def differences(story: Story, gold: Mapping[str, Gold], upto: int | None = None) -> list[str]:
    """What is not as it must be, in words: empty where every table is the source's, or frozen where it is held."""
    expected = story.expected(upto)
    seen = {name: as_the_source_shows(table) for name, table in gold.items()}
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
