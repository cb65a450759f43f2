"""Batches of silver's row events: the rows of one table as Arrow columns, with a sample of them as Python objects."""

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
"""A number of pieces that is larger than the number of a table's files, so that each piece is one file."""
_FEW_RUNS = 10_000
_FEW_ROWS = 1_000
"""The largest number of rows that all become events if they are not plain. A sample represents more rows."""
STRETCH = "stretch"
"""The column with the index of each row's `Stretch` in the list of stretches that are read together."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """Rows of one table in a window that a task can read: those between two statements, or at one statement.

    The statements are at `positions`, in ascending order. `number` 0 means the rows below the first position, 1 the
    rows at the first position, 2 the rows between the first and the second position, and so on.
    """

    window: WindowRows
    table: TableName
    positions: tuple[Sequence, ...] = ()
    number: int = 0


@dataclass(frozen=True, slots=True)
class PartCount:
    """The number of rows of a window that came from one source partition, and their lowest and highest sequence."""

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
    """Rows that stay in silver's files until `table` reads the `stretches`: `num_rows` rows, of `nbytes` in memory.

    - `moved`: the number of rows that changed their key. `counts`: row counts by window number and partition.
    - `is_hashed`: all rows have a key hash. `has_halves`: some rows are halves of updates that came as two messages.
    - `is_partial`: some rows have partial images.
    - `links_keys`: some rows with a partial image changed their key. Their old and new keys must be folded together.
    - `waits`: the table has few rows, and all of them are read when the replay of this table begins.
    """

    stretches: tuple[Stretch, ...]
    num_rows: int
    nbytes: int
    moved: int
    is_hashed: bool
    has_halves: bool
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
    """Read the rows of stretches of one window, without the columns in `without`.

    `hashes` are the lowest and highest key hash to read. A row is read if its key hash or old key hash is in this
    range. If there are several stretches, the column `STRETCH` has the index of each row's stretch in `stretches`.
    """
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
    """Split stretches of one window into about `count` pieces, or more if a piece would be too big for a task.

    Each piece has the same stretches, but only the rows of some of the window's files.
    """
    window = stretches[0].window
    return [tuple(replace(each, window=piece) for each in stretches) for piece in window.pieces(count)]


@dataclass(frozen=True, slots=True)
class RowBatch:
    """Rows of one source table, and a `sample` that represents them.

    `source` has the rows: an Arrow table with rows of one window, or `RemoteRows`, perhaps of several windows. The
    sample has the first and last row of each kind: rows with the same columns, types, key columns and partition. If
    `is_plain`, all rows have whole images, and differ in kind only by partition. If several source tables go into one
    gold table, `shard` is the label of the rows' source table.
    """

    source: pa.Table | RemoteRows
    sample: list[RowEvent]
    is_plain: bool
    shard: str | None = None

    @property
    def rows(self) -> pa.Table:
        return self.source.table if isinstance(self.source, RemoteRows) else self.source

    def rows_by_window(self) -> Counter[int]:
        """Return the number of rows of each window, by window ordinal."""
        if not isinstance(self.source, RemoteRows):
            return Counter({self.sample[0].ordinal: self.source.num_rows})
        return sum((Counter({ordinal: each.rows}) for (ordinal, _), each in self.source.counts.items()), Counter())

    def places(self) -> pa.Table:
        """Return the sequences and partitions of all rows."""
        if isinstance(self.source, RemoteRows):
            return read_stretches(self.source.stretches, without=[name for name in ROW_COLUMNS if name not in _PLACE])
        return self.source.select(_PLACE)

    @property
    def first(self) -> RowEvent:
        """The row with the lowest sequence."""
        return min(self.sample, key=lambda event: event.sequence)

    @property
    def last(self) -> RowEvent:
        """The row with the highest sequence."""
        return max(self.sample, key=lambda event: event.sequence)

    @property
    def types(self) -> Mapping[str, str | None]:
        """The columns of plain rows, each with its type in the messages, or None if messages do not name types."""
        first = self.sample[0]
        return first.types or dict.fromkeys(read_image(first.after or first.before or "{}"))

    def events(self, ordinals: Mapping[str, int]) -> list[RowEvent]:
        """Return every row as an event. `ordinals` are the numbers of windows by name."""
        if len(self.sample) == self.source.num_rows:
            return self.sample
        return self.events_of(self.rows, ordinals)

    def events_of(self, rows: pa.Table, ordinals: Mapping[str, int]) -> list[RowEvent]:
        """Return `rows`, which are some rows of this batch, as events. `ordinals` are window numbers by name."""
        return to_events(rows, ordinals, self.shard)

    def waiting(self) -> "RowBatch":
        """Return the batch. If its rows are in silver's files, mark them (`waits`), so that `read` reads them all."""
        return replace(self, source=replace(self.source, waits=True)) if isinstance(self.source, RemoteRows) else self

    def read(self) -> "RowBatch":
        """Return the same batch with its rows in memory, if `waiting` has marked them. Otherwise return the batch."""
        if not (isinstance(self.source, RemoteRows) and self.source.waits):
            return self
        return replace(self, source=read_stretches(self.source.stretches))

    def of(self, shard: str | None) -> "RowBatch":
        """Return the same rows with the label `shard` of their source table. If it is None, they have no label."""
        return replace(self, sample=_labelled(self.sample, shard), shard=shard)


def events_of_all(batches: Iterable[RowBatch], ordinals: Mapping[str, int]) -> list[RowEvent]:
    """Return the rows of several batches as events, batch by batch. `ordinals` are window numbers by name."""
    return [event for batch in batches for event in batch.events(ordinals)]


def merged(batches: Iterable[RowBatch]) -> list[RowBatch]:
    """Join a table's batches to one for each shard (source table). Return [] if the rows differ in kind."""
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
    """Return whether all batches are plain, and their rows differ in kind only by partition."""
    if not all(batch.is_plain for batch in batches) or len({e.keys for batch in batches for e in batch.sample}) > 1:
        return False
    return all([*batch.types.items()] == [*batches[0].types.items()] for batch in batches)


def by_table(rows: pa.Table) -> Iterator[tuple[TableName, pa.Table]]:
    """Yield the rows of each table, by the table name in their messages. Rows without a name are skipped.

    The rows of a table keep their order. Silver's files have them together, so usually no rows are copied.
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
    """Return the end index of each run of rows with the same table name."""
    ends = [pc.run_end_encode(rows[part].combine_chunks()).run_ends for part in _NAME]
    return sorted({end for each in ends for end in each.to_pylist()})


def to_events(rows: pa.Table, ordinals: Mapping[str, int], shard: str | None = None) -> list[RowEvent]:
    """Return rows of silver as events of this run (`counted`). `shard` is the label of their source table, or None."""
    return _labelled([to_event(record, ordinals, counted=True) for record in rows.to_pylist()], shard)


def _labelled(events: list[RowEvent], shard: str | None) -> list[RowEvent]:
    return events if shard is None else [of_shard(event, shard) for event in events]


def sequences_of(rows: pa.Table) -> pa.Table:
    """Return the columns epoch, hi and lo of the rows' sequences. `hi` is int64 if possible: it compares faster."""
    columns = {name: pc.struct_field(rows["sequence"], name) for name in _SEQUENCE}
    with suppress(pa.ArrowInvalid):
        columns["hi"] = columns["hi"].cast(pa.int64())
    return pa.table(columns)


def in_order(columns: pa.Table) -> pa.Array:
    """Return the indices that sort rows by these columns, ascending."""
    return pc.sort_indices(columns, [(name, "ascending") for name in columns.column_names])


def order_of_arrival(rows: pa.Table) -> pa.Array:
    """Return the indices that sort rows by sequence. Redelivered rows (equal sequence) are in the order of arrival."""
    columns = dict(zip(_SEQUENCE, sequences_of(rows).columns, strict=True))
    return in_order(pa.table({**columns, **{name: rows[name] for name in _ARRIVAL}}))


def above(rows: pa.Table, position: Sequence, or_at: bool = False) -> npt.NDArray[np.bool_]:
    """Return for each row whether its sequence is above `position`. If `or_at`, also if it equals `position`."""
    found = pa.repeat(or_at, rows.num_rows)
    for name, wanted in reversed([*zip(_SEQUENCE, position, strict=True)]):
        column = pc.struct_field(rows["sequence"], name)
        scalar = pa.scalar(wanted, column.type)
        found = pc.or_(pc.greater(column, scalar), pc.and_(pc.equal(column, scalar), found))
    return np.asarray(found)


def up_to(rows: pa.Table, marks: Mapping[str, Sequence]) -> npt.NDArray[np.bool_]:
    """Return for each row whether its sequence is at or below the high-water mark of its partition (`marks`)."""
    found, parts = np.zeros(rows.num_rows, bool), pc.fill_null(rows["part"], "")
    for part, mark in marks.items():
        found |= np.asarray(pc.equal(parts, part)) & ~above(rows, mark)
    return found


def ends_of(rows: pa.Table) -> list[int]:
    """Return the indices of a row with the lowest and a row with the highest sequence. They may be one row."""
    columns = sequences_of(rows)
    orders = [[(name, order) for name in columns.column_names] for order in ("ascending", "descending")]
    return list(dict.fromkeys(pc.select_k_unstable(columns, 1, order)[0].as_py() for order in orders))


def read_batches(rows: pa.Table, ordinals: Mapping[str, int], sketched: bool) -> dict[TableName, RowBatch]:
    """Return one batch for each table of a window. If `sketched`, its sample is only its first and last row."""
    return {table: batch_of(mine, ordinals, sketched) for table, mine in by_table(rows)}


def batch_of(rows: pa.Table, ordinals: Mapping[str, int], sketched: bool = False) -> RowBatch:
    """Return rows as a batch with its sample. If the rows are few and not plain, the sample has all of them.

    If `sketched`, only the positions of the rows were read. The sample is then only the first and the last row.
    """
    plain = sketched or is_plain(rows)
    if not plain and rows.num_rows <= _FEW_ROWS:
        return RowBatch(rows, to_events(rows, ordinals), is_plain=False)
    places = ends_of(rows) if sketched else sample_of(rows, plain)
    return RowBatch(rows, to_events(rows.take(pa.array(places)), ordinals), plain)


def sample_of(rows: pa.Table, plain: bool, order: pa.Array | None = None) -> list[int]:
    """Return the indices of the first and the last row of each kind (same columns, types, key and partition).

    If `plain`, rows differ in kind only by partition. `order`: the indices that sort the rows by sequence, if known.
    """
    if plain and pc.count_distinct(rows["part"], mode="all").as_py() == 1:
        return ends_of(rows)
    return first_and_last_of_kinds(rows, np.asarray(order or order_of_arrival(rows)), alike=plain)


def cut_at(
    batch: RowBatch, positions: Collection[Sequence], ordinals: Mapping[str, int], sketched: bool
) -> list[RowBatch]:
    """Split a batch into the rows between two positions, and at each one. If `sketched`, only positions were read."""
    stretches = stretches_of(batch.rows, positions)
    found = np.unique(stretches).tolist()
    return [batch_of(batch.rows.filter(pa.array(stretches == each)), ordinals, sketched) for each in found]


def stretches_of(rows: pa.Table, positions: Iterable[Sequence]) -> npt.NDArray[np.int64]:
    """Return `Stretch.number` of each row, if statements are at these positions."""
    stretches = np.zeros(rows.num_rows, np.int64)
    for position in positions:
        stretches += above(rows, position)
        stretches += above(rows, position, or_at=True)
    return stretches
