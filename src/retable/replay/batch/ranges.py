"""Process the rows of one table by ranges of key hashes, to limit how many rows are read at once."""

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
"""The largest size of the rows of one range. It is less than the 2 GiB of text that one Arrow array holds."""
_HASHES = 2.0**64
_ROUNDED = 1 << 16
"""The largest rounding error of a key hash that is converted to a double."""


@dataclass(frozen=True, slots=True)
class KeyRanges:
    """The keys that one task folds: a group of neighbouring ranges of key hashes, from `first` to `end` - 1.

    All key hashes are divided into `count` ranges of equal size. `linked` are hashes of keys that one task must fold
    together: a row with a partial image changed its key, so the row with the new key needs columns of the row with the
    old key. No range includes these keys. One more group, with `takes_linked`, has all of them and no other keys.
    """

    first: int
    end: int
    count: int
    linked: tuple[int, ...] = ()
    takes_linked: bool = False

    @property
    def part(self) -> int:
        """The index of this group among all groups. All groups have the same number of ranges."""
        return self.first // (self.end - self.first)

    @property
    def parts(self) -> int:
        """The number of all groups. They have the same number of ranges as this group."""
        return self.count // (self.end - self.first)

    @property
    def own_parts(self) -> range:
        """The parts of the exchange that may have rows of this group. Linked keys may be in any part."""
        return range(self.parts) if self.takes_linked else range(self.part, self.part + 1)

    def parts_of(self, hashes: Hashes) -> Places:
        """Return for each hash the index of its group, whether its key is linked or not."""
        return range_numbers(hashes, self.count) // (self.end - self.first)

    def owns(self, hashes: Hashes) -> Flags:
        are_linked = np.isin(hashes, np.array(self.linked, np.int64))
        if self.takes_linked:
            return are_linked
        numbers = range_numbers(hashes, self.count)
        return np.asarray((numbers >= self.first) & (numbers < self.end) & ~are_linked)

    def each(self) -> "Iterator[KeyRanges]":
        """Return one object for each range of the group, so that each range can be folded separately."""
        if self.takes_linked:
            return iter([self])
        return (replace(self, first=at, end=at + 1) for at in range(self.first, self.end))

    def speak_of(self, rows: pa.Table) -> Flags:
        """Return True for each row that has its key in these ranges, or that had its old key in these ranges.

        Only a row that changed its key has an old key.
        """
        left = np.asarray(pc.is_valid(rows["old_key_hash"])) & self.owns(hashes_of(rows, "old_key_hash"))
        return self.owns(hashes_of(rows)) | left

    def read(self, stretches: Seq[Stretch], without: Collection[str] = ()) -> pa.Table:
        """Read the rows whose key or old key is in these ranges. Other rows may be read too.

        `stretches` are the groups of rows to search (rows of one table between two statements), all in one window.
        `without` names columns that are not read.
        """
        if self.takes_linked:
            # These rows may be in any file: at most a few files are in memory at once.
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
    """Fold whole rows to the last state of each key, as `fold_vectorized` does, but one key range at a time.

    `silver` are the row events, and `reader` has the columns of gold. `wire` gives each column's name and type in the
    images, by column identity (an ID that a rename does not change). `with_part` adds the source partition to the
    sequences of the result. `shard` is the label of the rows' source table, if several source tables go into the gold
    table. `late` gives the high-water mark (the highest sequence in gold) by partition. A row at or below it may be
    older than gold, so its key is not folded here: its hash is in `rest` of the result.

    A key hash is of the key as the message writes it, so equal keys may be in two ranges. All rows are then folded at
    once. This is so if a key has a float (0.0 and -0.0 are equal), or if a key has two spellings (`1.5` and `1.50`).
    Return None if the rows must be folded at once, but may have more text than an Arrow array holds.
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
    """Return for each hash the index of its range, if all hashes are divided into `count` ranges of equal size."""
    return np.floor((hashes / _HASHES + 0.5) * count).clip(0, count - 1).astype(np.int64)


def _is_in_range(at: int, count: int, hashes: Hashes) -> Flags:
    return np.equal(range_numbers(hashes, count), at)


def ranges_of(rows: int, nbytes: int, rows_at_once: int) -> int:
    """Return how many ranges are needed so that each has at most `rows_at_once` rows and `BYTES_AT_ONCE`.

    `rows` and `nbytes` are the number and the size of all rows. A row that changed its key counts twice in `rows`.
    """
    return max(-(-rows // rows_at_once), -(-nbytes // BYTES_AT_ONCE))


def has_twice(keys: pa.Table) -> bool:
    """Return whether a key occurs more than once in `keys`, a table of the key columns."""
    return bool(keys.group_by(keys.column_names).aggregate([]).num_rows < keys.num_rows)
