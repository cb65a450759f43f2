"""Many rows of one table, a range of key hashes after the other: no more of them are read at once."""

from collections.abc import Callable, Collection, Iterator, Mapping
from collections.abc import Sequence as Seq
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from retable.fold.images import TableReader
from retable.model.sequence import Sequence
from retable.replay.batch.row_batch import EACH_FILE, Stretch, in_pieces, read_stretches, up_to
from retable.replay.batch.row_kinds import Flags, Hashes, Places
from retable.replay.batch.vectorized import VectorizedRows, all_keys, fold_vectorized, hashes_of, join_vectorized

ROWS_AT_ONCE = 100_000
BYTES_AT_ONCE = 512 << 20
"""Less than the 2 GiB of text that one array of Arrow's holds."""
_HASHES = 2.0**64
_ROUNDED = 1 << 16
"""By how much a double may miss a hash."""


@dataclass(frozen=True, slots=True)
class KeyRanges:
    """Neighbours among `count` equal ranges of key hashes: those from `first` up to `end`, which is none of them.

    Keys of `linked` hashes belong to no range, but all to the one that `takes_linked`, and no others do.
    """

    first: int
    end: int
    count: int
    linked: tuple[int, ...] = ()
    takes_linked: bool = False

    @property
    def part(self) -> int:
        """The number of these neighbours, from 0, where all ranges are parted into as many together as these are."""
        return self.first // (self.end - self.first)

    @property
    def parts(self) -> int:
        """How many such neighbours there are."""
        return self.count // (self.end - self.first)

    def owns(self, hashes: Hashes) -> Flags:
        are_linked = np.isin(hashes, np.array(self.linked, np.int64))
        if self.takes_linked:
            return are_linked
        numbers = range_numbers(hashes, self.count)
        return np.asarray((numbers >= self.first) & (numbers < self.end) & ~are_linked)

    def each(self) -> "Iterator[KeyRanges]":
        """Ranges that are folded by themselves."""
        if self.takes_linked:
            return iter([self])
        return (replace(self, first=at, end=at + 1) for at in range(self.first, self.end))

    def speak_of(self, rows: pa.Table) -> Flags:
        """Which rows have a key of these ranges, or left one."""
        left = np.asarray(pc.is_valid(rows["old_key_hash"])) & self.owns(hashes_of(rows, "old_key_hash"))
        return self.owns(hashes_of(rows)) | left

    def read(self, stretches: Seq[Stretch], without: Collection[str] = ()) -> pa.Table:
        """The rows of stretches of one window that speak of these ranges, and perhaps some more."""
        if self.takes_linked:
            # They may be anywhere: no more than a few files are in memory at once.
            pieces = (read_stretches(piece, None, without) for piece in in_pieces(stretches, EACH_FILE))
            return pa.concat_tables([rows.filter(pa.array(self.speak_of(rows))) for rows in pieces])
        all_of_them = 1 << 64
        ends = [at * all_of_them // self.count - all_of_them // 2 for at in (self.first, self.end)]
        bounds = max(ends[0] - _ROUNDED, -all_of_them // 2), min(ends[1] + _ROUNDED, all_of_them // 2 - 1)
        return read_stretches(stretches, bounds, without)


def fold_by_ranges(
    silver: pa.Table,
    reader: TableReader,
    wire: Mapping[str, tuple[str, str | None]],
    with_part: bool,
    shard: str | None,
    late: Mapping[str, Sequence] | None = None,
) -> VectorizedRows | None:
    """Reduce rows as `fold_vectorized` does, with the same result, whatever the ranges.

    Rows up to the marks of their partitions are `late`.

    Key hashes are of keys as they are written, so two spellings of one key may lie in two ranges: then all rows are
    read at once. So are those with a floating key, of which two may be one though they differ (0.0 and -0.0). None
    where that may be more text than an array holds.
    """

    def fold(rows: pa.Table, owns: Callable[[Hashes], Flags] = all_keys) -> VectorizedRows:
        is_late = up_to(rows, late) if late else None
        return fold_vectorized(rows, reader, [wire], with_part, shard, is_late, owns=owns)

    moved = np.asarray(pc.is_valid(silver["old_key_hash"]))
    count = ranges_of(silver.num_rows + int(moved.sum()), silver.nbytes, ROWS_AT_ONCE)
    is_floating = any(reader.columns[at].type.kind in ("float", "double") for at in reader.key_columns)
    fits = silver.nbytes <= 2 * BYTES_AT_ONCE
    if count < 2 or is_floating:
        return fold(silver) if fits else None
    homes, left = range_numbers(hashes_of(silver), count), range_numbers(hashes_of(silver, "old_key_hash"), count)
    folded = []
    for at in range(count):
        rows = silver.filter(pa.array((homes == at) | (moved & (left == at))))
        if rows.num_rows:
            owns = partial(_is_in_range, at, count)
            folded.append(fold(rows, owns=owns))
    joined = join_vectorized(folded)
    if has_twice(joined.keys):
        return fold(silver) if fits else None
    return joined


def range_numbers(hashes: Hashes, count: int) -> Places:
    """The ranges in which hashes lie, from 0, where there are `count` of them."""
    return np.floor((hashes / _HASHES + 0.5) * count).clip(0, count - 1).astype(np.int64)


def _is_in_range(at: int, count: int, hashes: Hashes) -> Flags:
    return np.equal(range_numbers(hashes, count), at)


def ranges_of(rows: int, nbytes: int, rows_at_once: int) -> int:
    """How many ranges rows are parted into: so many of them, and so many bytes, lie in one; moved ones lie in two."""
    return max(-(-rows // rows_at_once), -(-nbytes // BYTES_AT_ONCE))


def has_twice(keys: pa.Table) -> bool:
    """Whether a key is there twice."""
    return bool(keys.group_by(keys.column_names).aggregate([]).num_rows < keys.num_rows)
