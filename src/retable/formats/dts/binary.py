"""A strict reader of Avro's binary encoding, by a schema. It checks each count and length against the bytes present.

These are refused, and the error names the field and the byte: bytes that end early, numbers of more than 64 bits,
negative lengths, indices outside their union or enum, text that is not UTF-8, a duplicate name in a map, a block that
differs from its declared size, and lists longer than any message needs. No memory is reserved in advance: a message
cannot make a reader use more memory than its bytes justify. Comparison with libraries: docs/decisions.
"""

import struct
from collections import deque
from collections.abc import Callable, Collection, Sequence
from typing import Any, TypeVar

from retable.formats.json_text import MAX_NAMES

AvroValue = Any
"""A value that a schema describes: None, int, float, str, bytes; a list for an array and for a record's fields in
order; a dict for a map; the symbol for an enum. A record in a union has its name before its fields."""

AvroReader = Callable[[bytes, int], tuple[AvroValue, int]]
"""Reads the value that begins at a position in the bytes. Returns the value and the position after its last byte."""

_NOT_SHORT = 0x81
"""The bits of a length's first byte that mean that more bytes follow, or that the length is negative."""

_REMEMBERED, _LONG = 8, 64 * 1024
_DOUBLE = struct.Struct("<d").unpack_from
_T = TypeVar("_T")


class Torn(Exception):
    """The bytes do not match the schema. `at` is the position of the byte, `path` the path of the field."""

    def __init__(self, reason: str, at: int) -> None:
        super().__init__(reason)
        self.reason = reason
        self.at = at
        self.path = ""

    @property
    def place(self) -> str:
        return f"{self.path.removeprefix('.') or 'message'}, byte {self.at}"


def read_null(data: bytes, at: int) -> tuple[None, int]:
    return None, at


def read_long(data: bytes, at: int) -> tuple[int, int]:
    byte = data[at]
    if byte < 0x80:
        return (byte >> 1) ^ -(byte & 1), at + 1
    number, shift, end = byte & 0x7F, 7, at
    while byte >= 0x80 and shift < 70:
        end += 1
        byte = data[end]
        number |= (byte & 0x7F) << shift
        shift += 7
    if byte >= 0x80 or number >> 64:
        raise Torn("a number has more than 64 bits", at)
    return (number >> 1) ^ -(number & 1), end + 1


def read_int(data: bytes, at: int) -> tuple[int, int]:
    byte = data[at]
    if byte < 0x80:
        return (byte >> 1) ^ -(byte & 1), at + 1
    number, end = read_long(data, at)
    if not -(2**31) <= number < 2**31:
        raise Torn(f"the number {number} has more than 32 bits", at)
    return number, end


def read_double(data: bytes, at: int) -> tuple[float, int]:
    if at + 8 > len(data):
        raise IndexError
    return _DOUBLE(data, at)[0], at + 8


def read_bytes(data: bytes, at: int) -> tuple[bytes, int]:
    start, end = _extent(data, at) if data[at] & _NOT_SHORT else (at + 1, at + 1 + (data[at] >> 1))
    if end > len(data):
        raise _too_long(end - start, start, data)
    return data[start:end], end


def read_text(data: bytes, at: int) -> tuple[str, int]:
    start, end = _extent(data, at) if data[at] & _NOT_SHORT else (at + 1, at + 1 + (data[at] >> 1))
    if end > len(data):
        raise _too_long(end - start, start, data)
    try:
        return data[start:end].decode(), end
    except UnicodeDecodeError as error:
        raise Torn(f"the text is not UTF-8: {error.reason}", start + error.start) from error


def _extent(data: bytes, at: int) -> tuple[int, int]:
    """Return where bytes or text begin and end. `read_bytes` and `read_text` read lengths below 64 themselves."""
    length, start = read_long(data, at)
    if length < 0:
        raise _too_long(length, start, data)
    return start, start + length


def _too_long(length: int, start: int, data: bytes) -> Torn:
    return Torn(f"the length is {length}, but {len(data) - start} bytes are left", start)


_PRIMITIVES: dict[str, AvroReader] = {
    "null": read_null,
    "int": read_int,
    "long": read_long,
    "double": read_double,
    "bytes": read_bytes,
    "string": read_text,
}


def compile_schema(schema: AvroValue, shared: Collection[str] = ()) -> AvroReader:
    """Return a reader of the values of an Avro schema, given as parsed JSON. Raise ValueError if it is not supported.

    `shared` names fields of the outermost record whose bytes are mostly the same in adjacent messages. The reader
    remembers their last values, and returns the same object again for the same bytes. So callers must not change it.
    """
    return _compile(schema, {}, False, frozenset(shared))


def _compile(
    schema: AvroValue, named: dict[tuple[str, bool], AvroReader], in_union: bool, shared: Collection[str] = ()
) -> AvroReader:
    """Compile a schema; `named` holds the records and enums so far, in both forms: inside a union and outside one."""
    match schema:
        case list():
            return _union([_compile(branch, named, True) for branch in schema])
        case str():
            return _PRIMITIVES.get(schema) or named[schema, in_union]
        case {"type": "record", "name": str(name), "fields": fields}:
            parts = [(str(field["name"]), _compile(field["type"], named, False)) for field in fields]
            parts = [(part, _remembering(read) if part in shared else read) for part, read in parts]
            named[name, False], named[name, True] = _record([], parts), _record([name], parts)
            return named[name, in_union]
        case {"type": "enum", "name": str(name), "symbols": symbols}:
            named[name, False] = named[name, True] = _enum(symbols)
            return named[name, in_union]
        case {"type": "array", "items": items}:
            return _items(_compile(items, named, False))
        case {"type": "map", "values": values}:
            return _map(_compile(values, named, False))
    raise ValueError(f"this Avro schema is not supported: {schema!r}")


def _record(head: list[AvroValue], parts: Sequence[tuple[str, AvroReader]]) -> AvroReader:
    read = _fields(head, parts)
    return _pair(head, parts, read) if len(parts) == 2 else read


def _pair(head: list[AvroValue], parts: Sequence[tuple[str, AvroReader]], read: AvroReader) -> AvroReader:
    """Read a record of two fields, the commonest kind of value; on an error, read it again to find the location."""
    (_, read_first), (_, read_second) = parts

    def read_pair(data: bytes, at: int) -> tuple[list[AvroValue], int]:
        try:
            first, end = read_first(data, at)
            second, end = read_second(data, end)
        except (Torn, IndexError):
            return read(data, at)
        return [*head, first, second], end

    return read_pair


def _fields(head: list[AvroValue], parts: Sequence[tuple[str, AvroReader]]) -> AvroReader:
    readers = tuple(read for _, read in parts)

    def read_record(data: bytes, at: int) -> tuple[list[AvroValue], int]:
        values = head.copy()
        try:
            for read in readers:
                value, at = read(data, at)
                values.append(value)
        except (Torn, IndexError) as error:
            raise _within(f".{parts[len(values) - len(head)][0]}", error, data) from error
        return values, at

    return read_record


def _remembering(read: AvroReader) -> AvroReader:
    """Read a value only if its bytes are not among the last few; the bytes themselves show where a value ends."""
    known: deque[tuple[bytes, AvroValue]] = deque(maxlen=_REMEMBERED)

    def read_or_remember(data: bytes, at: int) -> tuple[AvroValue, int]:
        for octets, value in known:
            if data.startswith(octets, at):
                return value, at + len(octets)
        value, end = read(data, at)
        if end - at <= _LONG:
            known.append((data[at:end], value))
        return value, end

    return read_or_remember


def _enum(symbols: Sequence[str]) -> AvroReader:
    by_byte = _by_byte(symbols)

    def read_enum(data: bytes, at: int) -> tuple[str, int]:
        symbol = by_byte.get(data[at])
        if symbol is None:
            raise Torn(f"the value is not one of the {len(by_byte)} symbols of its enum", at)
        return symbol, at + 1

    return read_enum


def _union(branches: Sequence[AvroReader]) -> AvroReader:
    by_byte = _by_byte(branches)

    def read_union(data: bytes, at: int) -> tuple[AvroValue, int]:
        read = by_byte.get(data[at])
        if read is None:
            raise Torn(f"the value is not one of the {len(by_byte)} branches of its union", at)
        return read(data, at + 1)

    return read_union


def _by_byte(choices: Sequence[_T]) -> dict[int, _T]:
    """Return choices by the byte of their index. There are at most 64 choices, so an index is one byte."""
    return dict(zip(range(0, 0x80, 2), choices, strict=False))


def _items(read: AvroReader) -> AvroReader:
    def read_items(data: bytes, at: int) -> tuple[list[AvroValue], int]:
        items: list[AvroValue] = []
        while True:
            count, end, at = _block(data, at, len(items))
            if not count:
                return items, at
            try:
                for _ in range(count):
                    item, at = read(data, at)
                    items.append(item)
            except (Torn, IndexError) as error:
                raise _within(f"[{len(items)}]", error, data) from error
            if end is not None and at != end:
                raise Torn("the size of a block differs from the size that it declares", at)

    return read_items


def _block(data: bytes, at: int, before: int) -> tuple[int, int | None, int]:
    """Read a block's item count, its end if it declares its size, and the byte at which the items begin."""
    count, start = read_long(data, at)
    end = None
    if count < 0:
        size, start = read_long(data, start)
        count, end = -count, start + size
    if before + count > MAX_NAMES:
        raise Torn(f"the list has {before + count} items; the maximum is {MAX_NAMES}", at)
    return count, end, start


def _map(read: AvroReader) -> AvroReader:
    read_pairs = _items(_record([], [("name", read_text), ("value", read)]))

    def read_map(data: bytes, at: int) -> tuple[dict[str, AvroValue], int]:
        pairs, end = read_pairs(data, at)
        found = dict(pairs)
        if len(found) != len(pairs):
            raise Torn("a name occurs twice in a map", at)
        return found, end

    return read_map


def _within(step: str, error: Torn | IndexError, data: bytes) -> Torn:
    """Add a step to the path of an error; the location of bytes that end early is their end."""
    torn = error if isinstance(error, Torn) else Torn("the message ends before it is complete", len(data))
    torn.path = step + torn.path
    return torn
