"""Many rows of one table, a range of key hashes after the other: no more of them are read at once."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from retable.fold.images import TableReader
from retable.model.sequence import Sequence
from retable.replay.batch.vectorized import VectorizedRows, fold_vectorized, join_vectorized

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
    hashed: bool,
    late: Sequence | None = None,
) -> VectorizedRows | None:
    """Reduce rows as `fold_vectorized` does, with the same result, whatever the ranges.

    `hashed`: the key hashes are those of the table's key. They are of keys as they are written, so two spellings of one
    key may lie in two ranges: then all rows are read at once. So are those with a floating key, of which two may be one
    though they differ (0.0 and -0.0). None where that may be more text than an array holds, and where all rows change
    their key.
    """
    count = ranges_of(silver, ROWS_AT_ONCE)
    is_floating = any(reader.columns[at].type.kind in ("float", "double") for at in reader.key_columns)
    fits = silver.nbytes <= 2 * BYTES_AT_ONCE
    if count < 2 or not hashed or is_floating:
        return fold_vectorized(silver, reader, wire, with_part, shard, late) if fits else None
    moved = pc.is_valid(silver["old_key_hash"])
    hashes = [chunk for name in ("key_hash", "old_key_hash") for chunk in silver[name].filter(moved).chunks]
    apart = pc.or_(moved, pc.is_in(silver["key_hash"], pa.chunked_array(hashes, pa.int64())))
    numbers = np.floor((np.asarray(silver["key_hash"]) / _HASHES + 0.5) * count).clip(0, count - 1)
    folded = []
    for at in range(count):
        rows = silver.filter(pc.and_not(pa.array(numbers == at), apart))
        if rows.num_rows:
            folded.append(fold_vectorized(rows, reader, wire, with_part, shard, late))
    if not folded:
        return None
    joined = join_vectorized(folded)
    if has_twice(joined.keys):
        return fold_vectorized(silver, reader, wire, with_part, shard, late) if fits else None
    return replace(joined, rest=pa.concat_tables([silver.filter(apart), joined.rest]))


def ranges_of(silver: pa.Table, rows_at_once: int) -> int:
    """How many ranges rows are parted into: so many of them, and so many bytes, lie in one."""
    count: int = max(-(-silver.num_rows // rows_at_once), -(-silver.nbytes // BYTES_AT_ONCE))
    return count


def has_twice(keys: pa.Table) -> bool:
    """Whether a key is there twice."""
    return bool(keys.group_by(keys.column_names).aggregate([]).num_rows < keys.num_rows)
