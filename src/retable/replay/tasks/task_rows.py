"""Where a replay task finds the rows that it folds, and what it needs to read them."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa

from retable.fold.images import TableReader
from retable.fold.key_changes import FormerKey, key_changes_of
from retable.formats.reading import ValueRules
from retable.gold.store import Exchange
from retable.ledger.lake.tables import SILVER
from retable.model.row_event import RowEvent
from retable.replay.batch.ranges import KeyRanges
from retable.replay.batch.row_batch import Stretch, to_events
from retable.replay.batch.row_kinds import Flags, Hashes
from retable.replay.batch.typed_columns import Wires
from retable.replay.batch.vectorized import hashes_of
from retable.schema_history.history import TableHistory

_ALIKE = ("keys", "column_types")


@dataclass(frozen=True, slots=True)
class Alike:
    """The key columns and the column types that the messages name, if they are the same in all rows.

    Then silver's columns for them need not be read. `types` is None if messages do not name types.
    """

    keys: tuple[str, ...]
    types: Mapping[str, str | None] | None

    def of(self, rows: pa.Table) -> pa.Table:
        """Return the rows with two more columns, as silver has them: `keys` and `column_types`."""
        keys = pa.array([[*self.keys]] * rows.num_rows, SILVER.columns.field("keys").type)
        types = [None if self.types is None else [*self.types.items()]] * rows.num_rows
        kind = SILVER.columns.field("column_types").type
        return rows.append_column("keys", keys).append_column("column_types", pa.array(types, kind))


@dataclass(frozen=True, slots=True)
class Plain:
    """How a task folds plain rows (whole rows of the same kind) as Arrow columns.

    `wires` has each column's name and type in the messages. If `alike` is not None, all rows have the same key columns
    and types, so these are not read from silver. `parted` is True if the rows, or gold's rows, come from several Kafka
    partitions.
    """

    wires: Wires
    alike: Alike | None
    parted: bool


def events_of(
    rows: pa.Table, plain: Plain | None, ordinals: Mapping[str, int], shard: str | None = None
) -> list[RowEvent]:
    """Return the rows of a task as events that are counted in this run.

    The rows may lack the columns `keys` and `column_types`, if `plain.alike` has them. `ordinals` are window numbers by
    name. If several source tables go into the gold table, `shard` is the label of the rows' source table.
    """
    return to_events(rows if plain is None or plain.alike is None else plain.alike.of(rows), ordinals, shard)


def left_in_parts(exchange: Exchange, rows: pa.Table, hashes: Hashes, ranges: KeyRanges) -> str:
    """Write rows to the exchange, divided into the parts of all tasks by `hashes` (one for each row). Return the name.

    `ranges` are the key ranges of one of the tasks.
    """
    numbers = ranges.parts_of(hashes)
    return exchange.put(rows.filter(pa.array(numbers == part)) for part in range(ranges.parts))


def not_read(plain: Plain | None) -> Collection[str]:
    """Return the columns of silver that a task need not read, because `plain.alike` has their values for all rows."""
    return () if plain is None or plain.alike is None else _ALIKE


@dataclass(frozen=True, slots=True)
class ReaderFacts:
    """The inputs of a `TableReader` (reads rows by the table's schema). A task gets them and makes the reader.

    If several source tables go into the gold table, `shard` is the label of the source table of the task's rows.
    `former` are the primary keys that the table had before, if some of the rows are from then.
    """

    history: TableHistory
    keys: tuple[str, ...]
    source_format: str
    rules: ValueRules
    shard: str | None
    former: tuple[FormerKey, ...] = ()

    def readers(self) -> list[TableReader]:
        """Return one reader for each stage: for the rows with each former key, and for those with the final key."""
        final = self.reader()
        return [*(change.reader for change in key_changes_of(self.former, final)), final]

    def reader(self) -> TableReader:
        return TableReader(history=self.history, keys=self.keys, source_format=self.source_format, rules=self.rules)


class RangeRows(Protocol):
    """Reads the rows of one window that a task folds: those in the task's ranges of key hashes."""

    def read(self, ranges: KeyRanges, without: Collection[str]) -> pa.Table:
        """Return the rows whose new or old key is in these ranges, without the columns in `without`.

        The result may have other rows, too.
        """


@dataclass(frozen=True, slots=True)
class InSilver:
    """Reads rows from silver, which has them sorted by key hash (`RangeRows`)."""

    stretches: tuple[Stretch, ...]

    def read(self, ranges: KeyRanges, without: Collection[str]) -> pa.Table:
        return ranges.read(self.stretches, without)


@dataclass(frozen=True, slots=True)
class Spread:
    """Reads rows that `SpreadTask`s wrote to the exchange under `names`, one part for each task (`RangeRows`).

    `linked` are the hashes of keys that must be folded together (`with_links`).
    """

    exchange: Exchange
    names: tuple[str, ...]
    linked: Hashes

    def read(self, ranges: KeyRanges, without: Collection[str]) -> pa.Table:
        if not ranges.takes_linked:
            return self._part(ranges.part)
        found = []
        for part in ranges.own_parts:
            rows = self._part(part)
            # A row that changes its key is also in the part of its old key.
            is_home = ranges.parts_of(hashes_of(rows)) == part
            found.append(rows.filter(pa.array(is_home & ranges.speak_of(rows))))
        return pa.concat_tables(found)

    def _part(self, part: int) -> pa.Table:
        return pa.concat_tables([self.exchange.get(name, part) for name in self.names])


@dataclass(frozen=True, slots=True)
class TaskRows:
    """The rows that a task folds, in memory.

    `are_met` has a flag for each row: whether it is a half of an update that was read because the other half is in the
    task's ranges.
    """

    rows: pa.Table
    are_met: Flags

    def of(self, ranges: KeyRanges) -> pa.Table:
        """Return the rows with a new or old key in these ranges (one of the task's), each of them once.

        If a range has both halves of an update, the task has them among its own rows.
        """
        again = self.are_met & ranges.owns(hashes_of(self.rows))
        return self.rows.filter(pa.array(ranges.speak_of(self.rows) & ~again))
