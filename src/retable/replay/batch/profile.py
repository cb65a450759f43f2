"""Profile the big tables of a window in parallel tasks: a task reads some files and returns a sample and counts."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from collections.abc import Sequence as Seq
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from retable.gold.store import RowStore, WindowRows
from retable.model.event import TableName
from retable.model.sequence import Sequence
from retable.replay.batch.ranges import BYTES_AT_ONCE
from retable.replay.batch.row_batch import (
    PartCount,
    RemoteRows,
    RowBatch,
    Stretch,
    batch_of,
    by_table,
    ends_of,
    order_of_arrival,
    sample_of,
    sequences_of,
    stretches_of,
)
from retable.replay.batch.row_kinds import is_plain, leave_partly
from retable.replay.batch.silver_rows import HALVES, ROW_COLUMNS, SKETCH_COLUMNS, with_all_columns

Positions = tuple[Sequence, ...]
ROWS_ONE_BY_ONE = 5_000
"""The largest number of rows of a table in a window that are folded one by one, if they are of several kinds
(`RowBatch`). Tasks fold more rows."""
_FEW_TABLES = 10
"""Up to this number of tables, a task reads the rows of one table after the other. If there are more tables, it reads
all rows of its piece at once."""
_SMALL_PIECES = 4
"""The number of pieces of a window for each task slot. If pieces are small, a slow piece does not delay the end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """Facts about the rows of one table that a task read. They go from the task to the process that started it.

    `sample` has the first and last row of each kind (rows with the same columns, types, key and partition). `nbytes` is
    the size of all rows in memory, and `moved` the number of rows that changed their key. `counts` has the number of
    rows and their lowest and highest sequence, by window name and source partition.

    - `is_plain`: all rows have whole images and a key hash, and the same columns, types and key.
    - `is_hashed`: all rows have a key hash.
    - `has_halves`: some rows are halves of updates (updates that come as two messages).
    - `is_partial`: some rows have partial images.
    - `links_keys`: some rows with a partial image changed their key. The row with the new key then needs columns of the
      row with the old key, so both keys must be folded together.
    """

    sample: pa.Table
    is_plain: bool
    num_rows: int
    nbytes: int
    moved: int
    is_hashed: bool
    has_halves: bool
    is_partial: bool
    links_keys: bool
    counts: dict[tuple[str, str | None], PartCount]

    @classmethod
    def sketched(cls, rows: pa.Table) -> "Profile":
        """Return the profile of rows of which only the positions were read, and not, for example, the images.

        The unknown facts get the values that they have for plain rows (whole rows with the same columns and key).
        """
        return cls(
            sample=rows.take(pa.array(ends_of(rows))),
            is_plain=True,
            num_rows=rows.num_rows,
            nbytes=rows.nbytes,
            moved=0,
            is_hashed=True,
            has_halves=False,
            is_partial=False,
            links_keys=False,
            counts={},
        )

    @classmethod
    def of(cls, rows: pa.Table) -> "Profile":
        plain, order = is_plain(rows), order_of_arrival(rows)
        moved = pc.is_valid(rows["old_key_hash"])
        is_half = pc.is_in(rows["image"], pa.array(HALVES))
        is_partial = pc.fill_null(rows["partial_after"], False)
        return cls(
            sample=rows.take(pa.array(sample_of(rows, plain, order))).combine_chunks(),
            is_plain=plain,
            num_rows=rows.num_rows,
            nbytes=rows.nbytes,
            moved=pc.sum(moved).as_py() or 0,
            is_hashed=rows["key_hash"].null_count == 0,
            has_halves=pc.any(is_half).as_py() or False,
            is_partial=pc.any(is_partial).as_py() or False,
            links_keys=bool(leave_partly(rows).any()),
            counts=_counts(rows, order),
        )


def _counts(rows: pa.Table, order: pa.Array) -> dict[tuple[str, str | None], PartCount]:
    """Return the counts of rows, by window name and partition.

    `order` has the indices that sort the rows by sequence.
    """
    sequences = sequences_of(rows)
    names = sequences.column_names
    placed = sequences.append_column("window", rows["window"]).append_column("part", rows["part"]).take(order)
    ends = [(name, end) for end in ("first", "last") for name in names]
    found = placed.group_by(["window", "part"], use_threads=False).aggregate([([], "count_all"), *ends])
    return {
        (each["window"], each["part"]): PartCount(
            each["count_all"], *(Sequence(*(int(each[f"{name}_{end}"]) for name in names)) for end in ("first", "last"))
        )
        for each in found.to_pylist()
    }


@dataclass(frozen=True, slots=True)
class _Look:
    """A task that profiles one piece of a window.

    `tables` are the tables to profile, each with the positions of statements at which its rows are split. If
    `sketched`, the task reads only the positions of the rows.
    """

    piece: WindowRows
    tables: Mapping[TableName, Positions]
    sketched: bool

    def __call__(self) -> list[tuple[TableName, int, Profile]]:
        found = []
        for table, rows in self._rows():
            positions = self.tables[table]
            stretches = stretches_of(rows, positions)
            for number in np.unique(stretches).tolist():
                mine = rows.filter(pa.array(stretches == number)) if positions else rows
                found.append((table, number, Profile.sketched(mine) if self.sketched else Profile.of(mine)))
        return found

    def _rows(self) -> Iterator[tuple[TableName, pa.Table]]:
        """Yield the rows of each table. If there are many tables, read the piece only once."""
        without = {*ROW_COLUMNS} - {*SKETCH_COLUMNS} if self.sketched else ()
        if len(self.tables) > _FEW_TABLES:
            found = by_table(self.piece.read_others((), without))
        else:
            found = ((table, self.piece.read(table, without=without)) for table in self.tables)
        return ((table, with_all_columns(rows)) for table, rows in found if table in self.tables)


def profiled(
    store: RowStore,
    window: WindowRows,
    tables: Mapping[TableName, Positions],
    ordinals: Mapping[str, int],
    sketched: bool = False,
) -> dict[TableName, list[RowBatch]]:
    """Return the rows of each table as batches. The rows stay in silver's files; a batch has only a sample of them.

    `window` are the rows, and `store` runs the tasks that read them. `tables` gives, for each table, the positions of
    statements at which its rows are split into batches. `ordinals` are the numbers of windows by name. If `sketched`,
    only the positions of rows are read, and the sample of a batch is its first and its last row.
    """
    pieces = window.pieces(_SMALL_PIECES * store.slots())
    seen: dict[tuple[TableName, int], list[Profile]] = defaultdict(list)
    for found in store.run([_Look(piece, tables, sketched) for piece in pieces]):
        for table, number, profile in found:
            seen[table, number].append(profile)
    batches: dict[TableName, list[RowBatch]] = defaultdict(list)
    for (table, number), profiles in sorted(seen.items(), key=lambda each: each[0][1]):
        batches[table].append(_batch(Stretch(window, table, tables[table], number), profiles, ordinals, sketched))
    return dict(batches)


def _batch(stretch: Stretch, profiles: Seq[Profile], ordinals: Mapping[str, int], sketched: bool) -> RowBatch:
    batch = batch_of(pa.concat_tables([profile.sample for profile in profiles]), ordinals, sketched)
    counts: dict[tuple[int, str | None], PartCount] = {}
    for profile in profiles:
        for (window, part), count in profile.counts.items():
            place = ordinals[window], part
            counts[place] = count.join(counts.get(place))
    rows = RemoteRows(
        stretches=(stretch,),
        num_rows=sum(profile.num_rows for profile in profiles),
        nbytes=sum(profile.nbytes for profile in profiles),
        moved=sum(profile.moved for profile in profiles),
        is_hashed=all(profile.is_hashed for profile in profiles),
        has_halves=any(profile.has_halves for profile in profiles),
        is_partial=any(profile.is_partial for profile in profiles),
        links_keys=any(profile.links_keys for profile in profiles),
        counts=counts,
    )
    return RowBatch(rows, batch.sample, batch.is_plain and all(profile.is_plain for profile in profiles))


def is_for_tasks(batch: RowBatch) -> bool:
    """Return whether tasks fold the batch: it is not plain, and has many rows with a key or more than BYTES_AT_ONCE."""
    has_key = all(event.keys for event in batch.sample)
    is_large = (has_key and batch.source.num_rows > ROWS_ONE_BY_ONE) or batch.source.nbytes > BYTES_AT_ONCE
    return not batch.is_plain and is_large
