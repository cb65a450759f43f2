"""The rows that a task folds, and how it reads them."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa

from retable.fold.images import TableReader
from retable.formats.reading import ValueRules
from retable.gold.store import Exchange
from retable.ledger.lake.tables import SILVER
from retable.model.row_event import RowEvent
from retable.replay.batch.ranges import KeyRanges, range_numbers
from retable.replay.batch.row_batch import Stretch, to_events
from retable.replay.batch.row_kinds import Hashes
from retable.replay.batch.typed_columns import Wires
from retable.schema_history.history import TableHistory

_ALIKE = ("keys", "column_types")


@dataclass(frozen=True, slots=True)
class Alike:
    """What all rows have in common: the key columns that they name, and their types if messages name these."""

    keys: tuple[str, ...]
    types: Mapping[str, str | None] | None

    def of(self, rows: pa.Table) -> pa.Table:
        """Add these as columns to rows, as silver has them."""
        keys = pa.array([[*self.keys]] * rows.num_rows, SILVER.columns.field("keys").type)
        types = [None if self.types is None else [*self.types.items()]] * rows.num_rows
        kind = SILVER.columns.field("column_types").type
        return rows.append_column("keys", keys).append_column("column_types", pa.array(types, kind))


@dataclass(frozen=True, slots=True)
class Plain:
    """How to read rows that are vectorized: `wires` are those of `fold_vectorized`.

    If all are `alike`, silver's columns for the named keys and for the types need not be read. `parted`: the rows, or
    gold's rows, come from several partitions.
    """

    wires: Wires
    alike: Alike | None
    parted: bool


def events_of(
    rows: pa.Table, plain: Plain | None, ordinals: Mapping[str, int], shard: str | None = None
) -> list[RowEvent]:
    """Rows of a task as counted events; they may lack the columns that are the same in all rows."""
    return to_events(rows if plain is None or plain.alike is None else plain.alike.of(rows), ordinals, shard)


def left_in_parts(exchange: Exchange, rows: pa.Table, hashes: Hashes, parts: int) -> str:
    """Leave rows in `parts` parts by their hashes, one hash for each row; give their name."""
    numbers = range_numbers(hashes, parts)
    return exchange.put(*(rows.filter(pa.array(numbers == part)) for part in range(parts)))


def not_read(plain: Plain | None) -> Collection[str]:
    """The columns that need not be read, as they are the same in all rows."""
    return () if plain is None or plain.alike is None else _ALIKE


@dataclass(frozen=True, slots=True)
class ReaderFacts:
    """The inputs of a `TableReader`, as they are sent to a task.

    If several tables go into one, `shard` is the label of the table of the task's rows.
    """

    history: TableHistory
    keys: tuple[str, ...]
    source_format: str
    rules: ValueRules
    shard: str | None

    def reader(self) -> TableReader:
        return TableReader(history=self.history, keys=self.keys, source_format=self.source_format, rules=self.rules)


class RangeRows(Protocol):
    """The rows of a task's ranges of key hashes."""

    def read(self, ranges: KeyRanges, without: Collection[str]) -> pa.Table:
        """The rows that have, or have left, a key of these ranges, and perhaps more, without some columns."""


@dataclass(frozen=True, slots=True)
class InSilver:
    """Rows sorted by key hash in silver, in stretches of one window (`RangeRows`)."""

    stretches: tuple[Stretch, ...]

    def read(self, ranges: KeyRanges, without: Collection[str]) -> pa.Table:
        return ranges.read(self.stretches, without)


@dataclass(frozen=True, slots=True)
class Spread:
    """Rows that other tasks have left, a part for each range of a task (`RangeRows`)."""

    exchange: Exchange
    names: tuple[str, ...]

    def read(self, ranges: KeyRanges, without: Collection[str]) -> pa.Table:
        return pa.concat_tables([self.exchange.get(name, ranges.part) for name in self.names])
