"""Rewrite addresses in delete files, which name the data files whose rows are deleted."""

import json

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from retable.ledger.relocation.addresses import Move
from retable.ledger.relocation.avro_blocks import AvroRecord

_FILE_PATH = 2147483546
_PUFFIN, _TAIL = b"PFA1", 12


def move_vectors(data: bytes, move: Move) -> bytes:
    """Return the bytes of a Puffin file (deletion vectors) with rewritten addresses. `data` is its present content.

    The addresses are in the footer. The deletion vectors keep their offsets in the file. The footer is `PFA1`, JSON,
    the length of the JSON, four bytes of flags, `PFA1` (Iceberg's Puffin specification). Raise ValueError if it is not
    a valid or supported Puffin file.
    """
    if data[:4] != _PUFFIN or data[-4:] != _PUFFIN:
        raise ValueError("it is not a Puffin file")
    if data[-8] & 1:
        raise ValueError("its footer is compressed, and Retable reads only uncompressed footers")
    start = len(data) - _TAIL - int.from_bytes(data[-_TAIL:-8], "little")
    if data[start - 4 : start] != _PUFFIN:
        raise ValueError("its footer does not have the length that the file declares")
    footer = json.loads(data[start:-_TAIL])
    is_moved = False
    for blob in footer["blobs"]:
        facts = blob.get("properties") or {}
        standing = facts.get("referenced-data-file")
        if standing is not None and (moved := move(standing)) != standing:
            facts["referenced-data-file"], is_moved = moved, True
    if not is_moved:
        return data
    payload = json.dumps(footer, ensure_ascii=False, separators=(",", ":")).encode()
    return b"".join((data[:start], payload, len(payload).to_bytes(4, "little"), data[-8:]))


def move_positions(data: bytes, move: Move) -> bytes:
    """Return the bytes of a Parquet file of position deletes with rewritten addresses.

    `data` is its present content. It is returned if no address changes.
    """
    source = pq.ParquetFile(pa.BufferReader(data))
    schema = source.schema_arrow
    column = next(at for at, field in enumerate(schema) if _field_id(field) == _FILE_PATH)
    groups = range(source.metadata.num_row_groups)
    if not any(_is_moved(source.read_row_group(at, columns=[schema.names[column]]).column(0), move) for at in groups):
        return data
    sink = pa.BufferOutputStream()
    codec = source.metadata.row_group(0).column(0).compression
    with pq.ParquetWriter(
        sink,
        schema,
        compression="NONE" if codec == "UNCOMPRESSED" else codec,
        store_schema=False,
        write_page_checksum=True,
    ) as writer:
        for at in groups:
            rows = source.read_row_group(at)
            moved = _move_column(rows.column(column), move)
            writer.write_table(rows.set_column(column, schema.field(column), moved), row_group_size=len(rows))
    return bytes(sink.getvalue())


def _field_id(field: pa.Field) -> int:
    return int((field.metadata or {}).get(b"PARQUET:field_id", -1))


def _is_moved(addresses: pa.ChunkedArray, move: Move) -> bool:
    return any(move(address) != address for address in pc.unique(addresses).to_pylist())


def _move_column(addresses: pa.ChunkedArray, move: Move) -> pa.ChunkedArray:
    known = pc.unique(addresses)
    moved = pa.array([move(address) for address in known.to_pylist()], addresses.type)
    return moved.take(pc.index_in(addresses, known))


def move_bounds(entry: AvroRecord, move: Move) -> None:
    """Rewrite the bounds of the column `file_path` in `entry`, the manifest entry of a position delete file.

    If both bounds are in the moved folder, they get the new address. All addresses between them are in this folder,
    too, so the new bounds are right for them. If a bound is not in the folder, both bounds are removed. It may have
    been truncated, so that its folder is not known. Without bounds, a reader only reads more files.
    """
    bounds = [entry.get(name) or [] for name in ("lower_bounds", "upper_bounds")]
    found = [bound for side in bounds for bound in side if bound["key"] == _FILE_PATH]
    moved = [move(bound["value"].decode(errors="surrogateescape")) for bound in found]
    if len(found) == len(bounds) and all(map(move.has_arrived, moved)):
        for bound, address in zip(found, moved, strict=True):
            bound["value"] = address.encode(errors="surrogateescape")
        return
    for side in bounds:
        side[:] = [bound for bound in side if bound["key"] != _FILE_PATH]
