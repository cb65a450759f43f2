"""Rows of silver by table, as columns, with the few of them that stand for all where rules ask about rows."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from collections.abc import Sequence as Seq
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby, pairwise

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from retable.formats.image_text import read_image
from retable.gold.store import WindowRows
from retable.model.event import TableName
from retable.model.row_event import RowEvent
from retable.model.sequence import Sequence
from retable.replay.batch.row_kinds import first_and_last_of_kinds, is_plain
from retable.replay.batch.silver_rows import ROW_COLUMNS, to_event
from retable.schema_history.shards.joined import of_shard

_NAME = ["database", "schema", "table"]
_SEQUENCE = ("epoch", "hi", "lo")
_PLACE = ["sequence", "part"]
_ARRIVAL = ("window", "topic", "partition", "offset", "row_index")
EACH_FILE = 1_000_000
"""More pieces than a table has files: each is one of them."""
ROWS_ONE_BY_ONE = 5_000
"""So many rows of a table in a window are folded one by one where they are of several kinds; more are left to tasks."""
_FEW_RUNS = 10_000
_FEW_ROWS = 1_000
"""So few rows become events at once: of more, a sample stands for all."""
STRETCH = "stretch"
"""The column that tells of which of several stretches a row is, by its place among them."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """Rows of a table in a window, which a task can read: those of stretch `number` between statements, if there are.

    Statements stand at `positions`: rows up to the first one are stretch 0, those at it 1, those up to the next one 2.
    """

    window: WindowRows
    table: TableName
    positions: tuple[Sequence, ...] = ()
    number: int = 0


@dataclass(frozen=True, slots=True)
class PartCount:
    """How many rows of a window came from one partition, and their lowest and highest sequence."""

    rows: int
    lowest: Sequence
    highest: Sequence

    def join(self, other: "PartCount | None") -> "PartCount":
        if other is None:
            return self
        lowest, highest = min(self.lowest, other.lowest), max(self.highest, other.highest)
        return PartCount(self.rows + other.rows, lowest, highest)


@dataclass(frozen=True, kw_only=True)
class RemoteRows:
    """Rows that stay where silver has them, until somebody asks for them here: `num_rows`, of so many bytes in memory.

    `counts` are of each partition in each window, which is told by its ordinal. `moved` rows changed their key.
    `is_hashed`: all have a key hash. `has_halves`: some are halves of updates. `is_partial`: some tell only some
    columns of their row; `has_partial_halves`: some of these are halves; `links_keys`: some change their key.
    `waits`: they are few, and are read here when it is their table's turn.
    """

    stretches: tuple[Stretch, ...]
    num_rows: int
    nbytes: int
    moved: int
    is_hashed: bool
    has_halves: bool
    has_partial_halves: bool
    is_partial: bool
    links_keys: bool
    counts: Mapping[tuple[int, str | None], "PartCount"]
    waits: bool = False

    @cached_property
    def table(self) -> pa.Table:
        return read_stretches(self.stretches)


def read_stretches(
    stretches: Seq[Stretch], hashes: tuple[int, int] | None = None, without: Collection[str] = ()
) -> pa.Table:
    """The rows of stretches of one window, as `WindowRows.read` gives them; of several, each tells its `STRETCH`."""
    found = []
    for (table, positions), mine in groupby(enumerate(stretches), lambda each: (each[1].table, each[1].positions)):
        places = {stretch.number: (at, stretch.window) for at, stretch in mine}
        rows = next(iter(places.values()))[1].read(table, hashes, without)
        at_number = np.array([places.get(number, (-1, None))[0] for number in range(2 * len(positions) + 1)])
        of = at_number[stretches_of(rows, positions)]
        if (of < 0).any():
            rows, of = rows.filter(pa.array(of >= 0)), of[of >= 0]
        found.append(rows.append_column(STRETCH, pa.array(of, pa.int32())) if len(stretches) > 1 else rows)
    return pa.concat_tables(found)


def in_pieces(stretches: Seq[Stretch], count: int) -> list[tuple[Stretch, ...]]:
    """The same rows in about so many pieces, or in more."""
    window = stretches[0].window
    return [tuple(replace(each, window=piece) for each in stretches) for piece in window.pieces(count)]


@dataclass(frozen=True, slots=True)
class RowBatch:
    """Rows of one table of the source in one window, and those among them that stand for all.

    `sample` has, of each kind of rows, the first and the last one: rows are of one kind that tell the same columns,
    types and key, in one partition. `is_plain`: all rows are whole ones, or whole halves, and of one kind but for their
    partitions. Where several tables go into one, `shard` is the label of the one that they are of.
    """

    source: pa.Table | RemoteRows
    sample: list[RowEvent]
    is_plain: bool
    shard: str | None = None

    @property
    def rows(self) -> pa.Table:
        return self.source.table if isinstance(self.source, RemoteRows) else self.source

    def rows_by_window(self) -> Counter[int]:
        """How many rows came in each window, by its ordinal."""
        if not isinstance(self.source, RemoteRows):
            return Counter({self.sample[0].ordinal: self.source.num_rows})
        return sum((Counter({ordinal: each.rows}) for (ordinal, _), each in self.source.counts.items()), Counter())

    def places(self) -> pa.Table:
        """The sequences and partitions of all rows."""
        if isinstance(self.source, RemoteRows):
            return read_stretches(self.source.stretches, without=[name for name in ROW_COLUMNS if name not in _PLACE])
        return self.source.select(_PLACE)

    @property
    def first(self) -> RowEvent:
        """The row of the lowest sequence."""
        return min(self.sample, key=lambda event: event.sequence)

    @property
    def last(self) -> RowEvent:
        """The row of the highest sequence."""
        return max(self.sample, key=lambda event: event.sequence)

    @property
    def types(self) -> Mapping[str, str | None]:
        """The columns of plain rows, with their wire types, where rows tell them."""
        first = self.sample[0]
        return first.types or dict.fromkeys(read_image(first.after or first.before or "{}"))

    def events(self, ordinals: Mapping[str, int]) -> list[RowEvent]:
        """Every row as an event of its own."""
        if len(self.sample) == self.source.num_rows:
            return self.sample
        return self.events_of(self.rows, ordinals)

    def events_of(self, rows: pa.Table, ordinals: Mapping[str, int]) -> list[RowEvent]:
        """Some rows of the batch as events."""
        return to_events(rows, ordinals, self.shard)

    def waiting(self) -> "RowBatch":
        """The same, read here only when it is its table's turn."""
        return replace(self, source=replace(self.source, waits=True)) if isinstance(self.source, RemoteRows) else self

    def read(self) -> "RowBatch":
        """The same with its rows here, if they waited for that."""
        if not (isinstance(self.source, RemoteRows) and self.source.waits):
            return self
        return replace(self, source=read_stretches(self.source.stretches))

    def of(self, shard: str | None) -> "RowBatch":
        """The same rows as those of one of several tables."""
        return replace(self, sample=_labelled(self.sample, shard), shard=shard)


def events_of_all(batches: Iterable[RowBatch], ordinals: Mapping[str, int]) -> list[RowEvent]:
    """The rows of several batches as events, in their order."""
    return [event for batch in batches for event in batch.events(ordinals)]


def is_mixed(batch: RowBatch) -> bool:
    """Whether many rows of a table with a key are not all of one kind: tasks vectorize those between two statements."""
    has_key = all(event.keys for event in batch.sample)
    return has_key and not batch.is_plain and batch.source.num_rows > ROWS_ONE_BY_ONE


def merged(batches: Iterable[RowBatch]) -> list[RowBatch]:
    """Plain batches of one table as one; none where they are not of one kind."""
    by_shard: dict[str | None, list[RowBatch]] = {}
    for batch in batches:
        by_shard.setdefault(batch.shard, []).append(batch)
    found = []
    for shard, mine in by_shard.items():
        if not are_of_one_kind(mine):
            return []
        sample = [event for batch in mine for event in batch.sample]
        found.append(RowBatch(pa.concat_tables(batch.rows for batch in mine), sample, is_plain=True, shard=shard))
    return found


def are_of_one_kind(batches: Seq[RowBatch]) -> bool:
    """Whether batches are plain, and all of one kind, but for their partitions."""
    if not all(batch.is_plain for batch in batches) or len({e.keys for batch in batches for e in batch.sample}) > 1:
        return False
    return all([*batch.types.items()] == [*batches[0].types.items()] for batch in batches)


def by_table(rows: pa.Table) -> Iterator[tuple[TableName, pa.Table]]:
    """The rows by the name that their messages gave, in their order; those without one belong to no table.

    Files of silver have the rows of a table together, and a piece of them need not be taken row by row.
    """
    ends = _runs(rows)
    if len(ends) > _FEW_RUNS:
        rows = rows.combine_chunks().take(in_order(rows.select(_NAME)))
        ends = _runs(rows)
    pieces: dict[TableName, list[pa.Table]] = {}
    for start, end in pairwise([0, *ends]):
        database, schema, table = (rows[part][start].as_py() for part in _NAME)
        if database is not None and table:
            pieces.setdefault(TableName(database, schema, table), []).append(rows.slice(start, end - start))
    for name, mine in pieces.items():
        yield name, pa.concat_tables(mine)


def _runs(rows: pa.Table) -> list[int]:
    """Where each run of rows with one name ends."""
    ends = [pc.run_end_encode(rows[part].combine_chunks()).run_ends for part in _NAME]
    return sorted({end for each in ends for end in each.to_pylist()})


def to_events(rows: pa.Table, ordinals: Mapping[str, int], shard: str | None = None) -> list[RowEvent]:
    """Rows of silver as events that count, those of a `shard` as its own."""
    return _labelled([to_event(record, ordinals, counted=True) for record in rows.to_pylist()], shard)


def _labelled(events: list[RowEvent], shard: str | None) -> list[RowEvent]:
    return events if shard is None else [of_shard(event, shard) for event in events]


def sequences_of(rows: pa.Table) -> pa.Table:
    """The members of the sequences of rows, narrow where all of them are: wide decimals take long to compare."""
    columns = {name: pc.struct_field(rows["sequence"], name) for name in _SEQUENCE}
    with suppress(pa.ArrowInvalid):
        columns["hi"] = columns["hi"].cast(pa.int64())
    return pa.table(columns)


def in_order(columns: pa.Table) -> pa.Array:
    """The places of rows by these columns, the first one first."""
    return pc.sort_indices(columns, [(name, "ascending") for name in columns.column_names])


def order_of_arrival(rows: pa.Table) -> pa.Array:
    """The places of rows by their sequence, and of equal ones, which are redeliveries, as they arrived."""
    columns = dict(zip(_SEQUENCE, sequences_of(rows).columns, strict=True))
    return in_order(pa.table({**columns, **{name: rows[name] for name in _ARRIVAL}}))


def above(rows: pa.Table, position: Sequence, or_at: bool = False) -> npt.NDArray[np.bool_]:
    """Which rows have a higher sequence than a position, or that one too."""
    found = pa.repeat(or_at, rows.num_rows)
    for name, wanted in reversed([*zip(_SEQUENCE, position, strict=True)]):
        column = pc.struct_field(rows["sequence"], name)
        scalar = pa.scalar(wanted, column.type)
        found = pc.or_(pc.greater(column, scalar), pc.and_(pc.equal(column, scalar), found))
    return np.asarray(found)


def up_to(rows: pa.Table, marks: Mapping[str, Sequence]) -> npt.NDArray[np.bool_]:
    """Which rows are not above the mark of their partition."""
    found, parts = np.zeros(rows.num_rows, bool), pc.fill_null(rows["part"], "")
    for part, mark in marks.items():
        found |= np.asarray(pc.equal(parts, part)) & ~above(rows, mark)
    return found


def ends_of(rows: pa.Table) -> list[int]:
    """The places of a row of the lowest sequence, and of one of the highest, if that is another one."""
    columns = sequences_of(rows)
    orders = [[(name, order) for name in columns.column_names] for order in ("ascending", "descending")]
    return list(dict.fromkeys(pc.select_k_unstable(columns, 1, order)[0].as_py() for order in orders))


def read_batches(rows: pa.Table, ordinals: Mapping[str, int], sketched: bool) -> dict[TableName, RowBatch]:
    """The rows of a window by table; of those that are only `sketched` the two at the ends stand for all."""
    return {table: batch_of(mine, ordinals, sketched) for table, mine in by_table(rows)}


def batch_of(rows: pa.Table, ordinals: Mapping[str, int], sketched: bool = False) -> RowBatch:
    """Rows of one table, with their sample; where they are few, all are in it, unless they are plain."""
    plain = sketched or is_plain(rows)
    if not plain and rows.num_rows <= _FEW_ROWS:
        return RowBatch(rows, to_events(rows, ordinals), is_plain=False)
    places = ends_of(rows) if sketched else sample_of(rows, plain)
    return RowBatch(rows, to_events(rows.take(pa.array(places)), ordinals), plain)


def sample_of(rows: pa.Table, plain: bool, order: pa.Array | None = None) -> list[int]:
    """The places of the first and of the last row of each kind; `plain` rows are of one but for their partitions.

    `order` is that of arrival, where it is known.
    """
    if plain and pc.count_distinct(rows["part"], mode="all").as_py() == 1:
        return ends_of(rows)
    return first_and_last_of_kinds(rows, np.asarray(order or order_of_arrival(rows)), alike=plain)


def cut_at(
    batch: RowBatch, positions: Collection[Sequence], ordinals: Mapping[str, int], sketched: bool
) -> list[RowBatch]:
    """The rows of a batch between these positions, and at each of them, as batches of their own."""
    stretches = stretches_of(batch.rows, positions)
    found = np.unique(stretches).tolist()
    return [batch_of(batch.rows.filter(pa.array(stretches == each)), ordinals, sketched) for each in found]


def stretches_of(rows: pa.Table, positions: Iterable[Sequence]) -> npt.NDArray[np.int64]:
    """The stretch of each row (`Stretch`)."""
    stretches = np.zeros(rows.num_rows, np.int64)
    for position in positions:
        stretches += above(rows, position)
        stretches += above(rows, position, or_at=True)
    return stretches
