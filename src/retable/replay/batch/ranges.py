"""Many rows of one table, a range of key hashes after the other: no more of them are read at once."""

from collections.abc import Mapping
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from retable.fold.images import TableReader
from retable.model.sequence import Sequence
from retable.replay.batch.vectorized import (
    Flags,
    Hashes,
    Places,
    VectorizedRows,
    fold_vectorized,
    hashes_of,
    join_vectorized,
)

ROWS_AT_ONCE = 100_000
BYTES_AT_ONCE = 512 << 20
"""Less than the 2 GiB of text that one array of Arrow's holds."""
_HASHES = 2.0**64


def fold_by_ranges(
    silver: pa.Table,
    reader: TableReader,
    wire: Mapping[str, tuple[str, str | None]],
    with_part: bool,
    shard: str | None,
    late: Sequence | None = None,
) -> VectorizedRows | None:
    """Reduce rows as `fold_vectorized` does, with the same result, whatever the ranges.

    Key hashes are of keys as they are written, so two spellings of one key may lie in two ranges: then all rows are
    read at once. So are those with a floating key, of which two may be one though they differ (0.0 and -0.0). None
    where that may be more text than an array holds.
    """
    moved = np.asarray(pc.is_valid(silver["old_key_hash"]))
    count = ranges_of(silver, ROWS_AT_ONCE, int(moved.sum()))
    is_floating = any(reader.columns[at].type.kind in ("float", "double") for at in reader.key_columns)
    fits = silver.nbytes <= 2 * BYTES_AT_ONCE
    if count < 2 or is_floating:
        return fold_vectorized(silver, reader, wire, with_part, shard, late) if fits else None
    homes, left = range_numbers(hashes_of(silver), count), range_numbers(hashes_of(silver, "old_key_hash"), count)
    folded = []
    for at in range(count):
        rows = silver.filter(pa.array((homes == at) | (moved & (left == at))))
        if rows.num_rows:
            owns = partial(_is_in_range, at, count)
            folded.append(fold_vectorized(rows, reader, wire, with_part, shard, late, owns))
    joined = join_vectorized(folded)
    if has_twice(joined.keys):
        return fold_vectorized(silver, reader, wire, with_part, shard, late) if fits else None
    return joined


def range_numbers(hashes: Hashes, count: int) -> Places:
    """The ranges in which hashes lie, from 0, where there are `count` of them."""
    return np.floor((hashes / _HASHES + 0.5) * count).clip(0, count - 1).astype(np.int64)


def _is_in_range(at: int, count: int, hashes: Hashes) -> Flags:
    return np.equal(range_numbers(hashes, count), at)


def ranges_of(silver: pa.Table, rows_at_once: int, moved: int = 0) -> int:
    """How many ranges rows are parted into: so many of them, and so many bytes, lie in one; `moved` ones lie in two."""
    count: int = max(-(-(silver.num_rows + moved) // rows_at_once), -(-silver.nbytes // BYTES_AT_ONCE))
    return count


def has_twice(keys: pa.Table) -> bool:
    """Whether a key is there twice."""
    return bool(keys.group_by(keys.column_names).aggregate([]).num_rows < keys.num_rows)
