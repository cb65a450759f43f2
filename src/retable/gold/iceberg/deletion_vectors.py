"""Write deletion vectors: bitmaps of the positions of deleted rows, one bitmap for each data file.

Iceberg's writer makes the same files in the JVM, but needs about 35 calls from Python for each data file
(docs/decisions/2026-11-28-deletion-vectors-are-written-here.md).

The formats are from Iceberg's specifications: `deletion-vector-v1` of Puffin, and deletion vectors of tables.
"""

import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa
from pyiceberg.io import FileIO
from pyroaring import BitMap64

_PUFFIN = b"PFA1"
_VECTOR = bytes.fromhex("d1d33964")
"""The four bytes with which a vector begins, after its length."""
_CHECKSUM = 4
_POSITION = 2147483645
"""Iceberg's field ID for the position of a row in its file."""
_NO_SNAPSHOT = -1
"""A vector gets its snapshot and its sequence number from the commit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Vector:
    """A deletion vector: the rows that are deleted from one data file.

    `path` is its Puffin file, `offset` and `size` are its location there in bytes, and `count` is the number of rows.
    """

    path: str
    data_file: str
    offset: int
    size: int
    count: int


def positions_of(rows: pa.Array) -> BitMap64:
    """Return a bitmap of the row positions `rows` in one data file. Positions are integers from 0."""
    return BitMap64(rows.to_numpy(zero_copy_only=False))


def write_vectors(io: FileIO, path: str, deleted: Mapping[str, BitMap64]) -> tuple[int, list[Vector]]:
    """Write deletion vectors into the new Puffin file `path`. `deleted` has the row positions by path of the data file.

    Return the size of the Puffin file in bytes, and the written vectors.
    """
    blobs, written, offset = [], [], len(_PUFFIN)
    for data_file, positions in deleted.items():
        positions.run_optimize()
        content = _VECTOR + positions.serialize()
        blobs.append(len(content).to_bytes(4, "big") + content + zlib.crc32(content).to_bytes(_CHECKSUM, "big"))
        size, count = len(blobs[-1]), len(positions)
        written.append(Vector(path=path, data_file=data_file, offset=offset, size=size, count=count))
        offset += size
    payload = json.dumps({"blobs": [_described(each) for each in written]}, separators=(",", ":")).encode()
    footer = [_PUFFIN, payload, len(payload).to_bytes(4, "little"), bytes(4), _PUFFIN]
    content = b"".join([_PUFFIN, *blobs, *footer])
    with io.new_output(path).create() as stream:
        stream.write(content)
    return len(content), written


def _described(vector: Vector) -> dict[str, object]:
    return {
        "type": "deletion-vector-v1",
        "fields": [_POSITION],
        "snapshot-id": _NO_SNAPSHOT,
        "sequence-number": _NO_SNAPSHOT,
        "offset": vector.offset,
        "length": vector.size,
        "properties": {"referenced-data-file": vector.data_file, "cardinality": str(vector.count)},
    }
