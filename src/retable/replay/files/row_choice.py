"""Conditions that choose the rows of silver to read.

The statistics of a Parquet row group show whether it may have chosen rows, and whether all of its rows are chosen.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import Any, ClassVar, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from retable.gold.store import Halves, LateKeys
from retable.model.event import TableName
from retable.model.sequence import LOWEST
from retable.replay.batch.half_rows import are_halves
from retable.replay.batch.row_batch import above
from retable.replay.batch.row_kinds import Flags, Hashes, name_keys

NAME = ("database", "schema", "table")
_HASHES = ("key_hash", "old_key_hash")


@dataclass(frozen=True, slots=True)
class Ends:
    """The lowest and the highest value of a column in a Parquet row group.

    `has_null` is True if some values are null, `is_null` if all values are null.
    """

    lowest: Any
    highest: Any
    has_null: bool
    is_null: bool

    def may_be(self, value: object) -> bool:
        """Return whether this value may be in the column. None means null."""
        return self.has_null if value is None else self.may_reach(value, value)

    def may_reach(self, lowest: Any, highest: Any) -> bool:
        """Return whether some value between `lowest` and `highest` (both included) may be in the column."""
        return not self.is_null and bool(self.lowest <= highest and lowest <= self.highest)

    def is_all(self, value: object) -> bool:
        """Return whether all values of the column equal this value. None means null."""
        return self.is_null if value is None else self.are_between(value, value)

    def are_between(self, lowest: Any, highest: Any) -> bool:
        """Return whether all values are between `lowest` and `highest` (both included), and none is null."""
        return not self.has_null and bool(lowest <= self.lowest and self.highest <= highest)


GroupEnds = Mapping[str, Ends]
"""The lowest and highest values of a row group's columns, by column name. Columns without statistics are missing."""


def group_ends(group: pq.RowGroupMetaData, names: Collection[str]) -> GroupEnds:
    """Return the lowest and highest values of the columns `names` for which a row group has statistics, by name."""
    found = {}
    for column in map(group.column, range(group.num_columns)):
        if column.path_in_schema in names and (known := column.statistics) is not None and known.has_null_count:
            is_null = known.null_count == group.num_rows
            if known.has_min_max or is_null:
                found[column.path_in_schema] = Ends(known.min, known.max, known.null_count > 0, is_null)
    return found


class RowChoice(Protocol):
    """A condition that chooses rows of silver. Row groups are skipped, or read as a whole, by their statistics."""

    @property
    def looks_at(self) -> tuple[str, ...]:
        """The columns of silver that the condition reads."""

    def may_take(self, ends: GroupEnds) -> bool:
        """Return whether a row group with these lowest and highest values may have chosen rows."""

    def takes_all(self, ends: GroupEnds) -> bool:
        """Return whether all rows of a row group with these lowest and highest values are certainly chosen."""

    def takes(self, rows: pa.Table) -> Flags:
        """Return a flag for each row: whether it is chosen."""


@dataclass(frozen=True, slots=True)
class OfTable:
    """Chooses the rows of one table.

    If `hashes` is given, it is a range (first and last): only rows whose key hash or old key hash is in it are chosen.
    """

    table: TableName
    hashes: tuple[int, int] | None = None

    @property
    def looks_at(self) -> tuple[str, ...]:
        return NAME if self.hashes is None else (*NAME, *_HASHES)

    def may_take(self, ends: GroupEnds) -> bool:
        if self.hashes is None:
            return _may_be(ends, self.table)
        near = (name not in ends or ends[name].may_reach(*self.hashes) for name in _HASHES)
        return _may_be(ends, self.table) and any(near)

    def takes_all(self, ends: GroupEnds) -> bool:
        key = ends.get("key_hash")
        is_near = self.hashes is None or (key is not None and key.are_between(*self.hashes))
        return is_near and _is_all(ends, self.table)

    def takes(self, rows: pa.Table) -> Flags:
        found = _are_of(rows, self.table)
        if self.hashes is None:
            return found
        return found & reduce(or_, (_are_between(rows[name], *self.hashes) for name in _HASHES))


@dataclass(frozen=True, slots=True)
class OtherTables:
    """Chooses the rows of all tables except `tables`."""

    tables: frozenset[TableName]

    looks_at: ClassVar = NAME

    def may_take(self, ends: GroupEnds) -> bool:
        return not any(_is_all(ends, table) for table in self.tables)

    def takes_all(self, ends: GroupEnds) -> bool:
        return not any(_may_be(ends, table) for table in self.tables)

    def takes(self, rows: pa.Table) -> Flags:
        return np.logical_not(_are_of_one(rows, self.tables))


@dataclass(frozen=True, slots=True)
class OfKeys:
    """Chooses rows of some tables: the events of late keys, or the halves of updates in two messages.

    `needed` names these keys or halves. If it is None, all rows of the tables are chosen.
    """

    tables: frozenset[TableName]
    needed: LateKeys | Halves | None

    @property
    def looks_at(self) -> tuple[str, ...]:
        match self.needed:
            case LateKeys():
                return (*NAME, *_HASHES, "keys", "sequence")
            case Halves():
                return (*NAME, "image", "sequence")
        return NAME

    def may_take(self, ends: GroupEnds) -> bool:
        return any(_may_be(ends, table) for table in self.tables)

    def takes_all(self, ends: GroupEnds) -> bool:
        return self.needed is None and any(_is_all(ends, table) for table in self.tables)

    def takes(self, rows: pa.Table) -> Flags:
        found: Flags = _are_of_one(rows, self.tables)
        match self.needed:
            case LateKeys(hashes, keys, since):
                wanted = np.fromiter(hashes, np.int64, len(hashes))
                speak = reduce(or_, (_are_among(rows[name], wanted) for name in _HASHES))
                found &= above(rows, since._replace(lo=LOWEST.lo), or_at=True) & (speak | ~name_keys(rows, keys))
            case Halves(his):
                hi = pc.struct_field(rows["sequence"], "hi")
                found &= are_halves(rows) & np.asarray(pc.is_in(hi, pa.array(sorted(his), hi.type)))
        return found


def _parts(table: TableName) -> Iterable[tuple[str, str | None]]:
    return zip(NAME, (table.database, table.schema, table.table), strict=True)


def _may_be(ends: GroupEnds, table: TableName) -> bool:
    return all(name not in ends or ends[name].may_be(part) for name, part in _parts(table))


def _is_all(ends: GroupEnds, table: TableName) -> bool:
    return all(name in ends and ends[name].is_all(part) for name, part in _parts(table))


def _are_of(rows: pa.Table, table: TableName) -> Flags:
    same = (
        pc.is_null(rows[name]) if part is None else pc.fill_null(pc.equal(rows[name], part), False)
        for name, part in _parts(table)
    )
    found: Flags = np.asarray(reduce(pc.and_, same))
    return found


def _are_of_one(rows: pa.Table, tables: Iterable[TableName]) -> Flags:
    found: Flags = np.zeros(rows.num_rows, bool)
    for table in tables:
        found |= _are_of(rows, table)
    return found


def _are_between(hashes: pa.ChunkedArray, lowest: int, highest: int) -> Flags:
    return np.asarray(pc.fill_null(pc.and_(pc.greater_equal(hashes, lowest), pc.less_equal(hashes, highest)), False))


def _are_among(hashes: pa.ChunkedArray, wanted: Hashes) -> Flags:
    return np.asarray(pc.is_valid(hashes)) & np.isin(np.asarray(pc.fill_null(hashes, 0)), wanted)
