"""Hash keys by their typed values. Equal keys have equal hashes, also if messages write a key as `1.5` and `1.50`."""

from hashlib import blake2b

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from retable.gold.iceberg.locate_rows import comparable
from retable.replay.batch.row_kinds import Codes, Hashes, mixed

_NULL = np.uint64(0x9E3779B97F4A7C15)


def typed_hashes(keys: pa.Table) -> Hashes:
    """Return a 64-bit hash of each row of `keys`, a table of typed key columns. It is the same in every process."""
    found: Codes = np.zeros(keys.num_rows, np.uint64)
    texts = []
    for column in comparable(keys).columns:
        if pa.types.is_decimal(column.type):
            column = column.cast(pa.string())
        if pa.types.is_string(column.type) or pa.types.is_binary(column.type):
            texts.append(column.cast(pa.binary()))
        else:
            found = mixed(found ^ _numbers(column))
    if texts:
        joined = pc.binary_join_element_wise(*texts, b"\0", null_handling="replace", null_replacement=b"\1")
        hashes = (int.from_bytes(blake2b(text, digest_size=8).digest()) for text in joined.to_pylist())
        found = mixed(found ^ np.fromiter(hashes, np.uint64, len(found)))
    return found.view(np.int64)


def _numbers(column: pa.ChunkedArray) -> Codes:
    """Return a hash of each value of a column of booleans, integers, dates or times."""
    stored = pa.int32() if pa.types.is_date32(column.type) else pa.int64()
    numbers: Codes = np.asarray(column.cast(stored).cast(pa.int64()).fill_null(0)).astype(np.uint64)
    return np.where(np.asarray(column.is_null()), _NULL, mixed(numbers))
