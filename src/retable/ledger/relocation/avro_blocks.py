"""Change records of an Avro file. Its header and all blocks without a changed record stay the same, byte for byte.

Values are read as Avro stores them, without logical types. With dates and decimals of a library, a value could change,
and a timestamp after the year 9999 would fail.
"""

import io
import json
from collections.abc import Callable, Iterator
from typing import Any

import fastavro
from pyiceberg.avro.codecs import KNOWN_CODECS

AvroRecord = dict[str, Any]

_MAGIC, _SYNC = b"Obj\x01", 16
_HEADER = fastavro.parse_schema({"type": "map", "values": "bytes"})
_END = b"\x00"


class _Container:
    """The content of an Avro file: its header (the bytes before the first block), and methods for its blocks.

    `mark` is the sync marker, which follows each block. The methods raise ValueError if the file is damaged.
    """

    def __init__(self, data: bytes) -> None:
        if not data.startswith(_MAGIC):
            raise ValueError("it is not an Avro file")
        self._stream = io.BytesIO(data)
        self._stream.seek(len(_MAGIC))
        facts = fastavro.schemaless_reader(self._stream, _HEADER, None)
        assert isinstance(facts, dict)
        self.mark = self._take(_SYNC)
        self.header = data[: self._stream.tell()]
        self._codec = KNOWN_CODECS[facts.get("avro.codec", b"null").decode()]
        # An Avro block has the encoding of an array's block, so a library can read all of its records at once.
        self._records = fastavro.parse_schema({"type": "array", "items": _stored(json.loads(facts["avro.schema"]))})

    def blocks(self) -> Iterator[tuple[int, bytes]]:
        """Yield each block: its number of records, and its bytes as they are stored."""
        end = len(self._stream.getbuffer())
        while self._stream.tell() < end:
            count, size = _read_long(self._stream), _read_long(self._stream)
            yield count, self._take(size)
            if self._take(_SYNC) != self.mark:
                raise ValueError(
                    "a block of the Avro file does not have the length that it declares: the file is damaged"
                )

    def read(self, count: int, stored: bytes) -> list[AvroRecord]:
        stream = io.BytesIO(_long(count) + self._plain(stored) + _END)
        records = fastavro.schemaless_reader(stream, self._records, None)
        if stream.tell() != len(stream.getbuffer()) or not isinstance(records, list):
            raise ValueError("a block does not have the records that it declares")
        return records

    def write(self, records: list[AvroRecord], before: bytes) -> bytes:
        """Return the bytes with which a block with these records is stored, compressed as in the file.

        `before` are the stored bytes of the block before the change. If the records are the same, return `before`.
        """
        stream = io.BytesIO()
        fastavro.schemaless_writer(stream, self._records, records)
        data = stream.getvalue()[len(_long(len(records))) : -len(_END)]
        if data == self._plain(before):
            return before
        return self._codec.compress(data)[0] if self._codec else data

    def _plain(self, stored: bytes) -> bytes:
        return self._codec.decompress(stored) if self._codec else stored

    def _take(self, size: int) -> bytes:
        data = self._stream.read(size)
        if size < 0 or len(data) != size:
            raise ValueError("the file ends too early")
        return data


def read_records(data: bytes) -> Iterator[AvroRecord]:
    """Yield the records of an Avro file, given its bytes."""
    file = _Container(data)
    for count, stored in file.blocks():
        yield from file.read(count, stored)


def change_records(data: bytes, change: Callable[[AvroRecord], None]) -> bytes:
    """Call `change` for every record of an Avro file, and return the bytes of the changed file.

    The same change of the same file always returns the same bytes.
    """
    file = _Container(data)
    parts = [file.header]
    for count, stored in file.blocks():
        records = file.read(count, stored)
        for record in records:
            change(record)
        new = file.write(records, stored)
        parts += [_long(count), _long(len(new)), new, file.mark]
    return b"".join(parts)


def _stored(schema: Any) -> Any:
    """Return an Avro schema without logical types and defaults, so that each value is read as it is stored."""
    if isinstance(schema, list):
        return [_stored(part) for part in schema]
    if isinstance(schema, dict):
        return {name: _stored(part) for name, part in schema.items() if name not in ("logicalType", "default")}
    return schema


def _read_long(stream: io.BytesIO) -> int:
    number = shift = 0
    while True:
        (byte,) = stream.read(1) or (0,)
        number |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return (number >> 1) ^ -(number & 1)


def _long(number: int) -> bytes:
    number = (number << 1) ^ (number >> 63)
    parts = bytearray()
    while number > 0x7F:
        parts.append((number & 0x7F) | 0x80)
        number >>= 7
    parts.append(number)
    return bytes(parts)
