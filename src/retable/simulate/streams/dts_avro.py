"""dts_avro: write the history, with its full load, as Alibaba Cloud DTS does by default ("DTS Avro").

    {"id":7,"sourceTimestamp":1772323200,"source":{"sourceType":"MySQL",…},"operation":"UPDATE","objectName":"shop.t",
     "tags":{"pk_uk_info":"{\\"PRIMARY\\":[\\"id\\"]}"},"fields":[{"name":"id","dataTypeNumber":8}],
     "beforeImages":[{"Integer":{…}}],"afterImages":[{"Integer":{…}}]}

Each message is one Avro record without framing, in the older version of its schema. Only the offset orders messages.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from struct import pack

from retable.simulate.columns import INTEGER_BITS, Column, Row, Value
from retable.simulate.history import Entry, History, RowChange, StatementRun, TransactionMark, loaded_rows
from retable.simulate.streams.stream import Message, MessageKind, Stream, row_key

NAME = "dts_avro"

_MINUTE_MS = 60_000
_LATENCY_MS = 900
_MYSQL = 0
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_OPERATIONS = (
    *("INSERT", "UPDATE", "DELETE", "DDL", "BEGIN", "COMMIT", "ROLLBACK", "ABORT", "HEARTBEAT", "CHECKPOINT"),
    *("COMMAND", "FILL", "FINISH", "CONTROL", "RDB", "NOOP", "INIT"),
)
"""The operations, in the order of the enum in the Avro schema."""

_BRANCHES = (
    *("null", "Integer", "Character", "Decimal", "Float", "Timestamp", "DateTime", "TimestampWithTimeZone"),
    *("BinaryGeometry", "TextGeometry", "BinaryObject", "TextObject", "EmptyObject"),
)
"""The types of a value, in the order of the union in the Avro schema."""

_TYPE_NUMBERS = {
    **dict(zip(("tinyint", "smallint", "mediumint", "int", "bigint"), (1, 2, 9, 3, 8), strict=True)),
    **dict(zip(("decimal", "double", "enum", "varchar", "varbinary"), (246, 5, 247, 253, 253), strict=True)),
    **dict(zip(("date", "datetime", "timestamp"), (10, 12, 7), strict=True)),
}
"""The numbers of MySQL's types in MySQL's own protocol, by name."""

_NULL = b"\0"
"""Avro's null, the first type of every union."""


def write(history: History) -> Stream:
    """Write the history as dts_avro messages, in the order of the binlog. Only offsets order the messages."""
    return Stream(NAME, tuple(_messages(history)), by_offset=True)


def _messages(history: History) -> Iterator[Message]:
    for change in loaded_rows(history):
        yield _row(history, change, "INIT")
    last, minute = 0, history.loaded_at_ms // _MINUTE_MS
    for entry in history.entries:
        yield from _heartbeats(last, minute, entry.time_ms // _MINUTE_MS)
        last, minute = entry.position, entry.time_ms // _MINUTE_MS
        yield _entry(history, entry)
    yield from _heartbeats(last, minute, -(-history.ended_at_ms // _MINUTE_MS))


def _entry(history: History, entry: Entry) -> Message:
    match entry:
        case RowChange():
            operation = "INSERT" if entry.before is None else "DELETE" if entry.after is None else "UPDATE"
            return _row(history, entry, operation)
        case StatementRun():
            text = _branch(1, _text(entry.text))
            value = _record(entry.position, entry.time_ms, "DDL", history.database, {}, after=text)
            return _message("statement", entry.position, entry.time_ms, entry.statement.table, value)
        case TransactionMark():
            operation = "COMMIT" if entry.ends else "BEGIN"
            value = _record(entry.position, entry.time_ms, operation, None, {}, transaction=entry.transaction)
            return _message("mark", entry.position, entry.time_ms, None, value)


def _heartbeats(position: int, after: int, until: int) -> Iterator[Message]:
    """Yield a heartbeat for every full minute. It says that no entry with an earlier time is still to come."""
    for at_ms in range((after + 1) * _MINUTE_MS, (until + 1) * _MINUTE_MS, _MINUTE_MS):
        yield _message("heartbeat", position, at_ms, None, _record(position, at_ms, "HEARTBEAT", None, {}))


def _row(history: History, change: RowChange, operation: str) -> Message:
    tags = {"pk_uk_info": json.dumps({"PRIMARY": change.keys})} if change.keys else {}
    fields = [_text(column.name) + _long(_TYPE_NUMBERS[column.type.base]) for column in change.columns]
    value = _record(
        change.position,
        change.time_ms,
        operation,
        f"{history.database}.{change.table}",
        tags,
        _branch(2, _array(fields)),
        _image(change.columns, change.before),
        _image(change.columns, change.after),
        change.transaction,
    )
    key = row_key(change, change.after or change.before or ())
    return _message("load" if operation == "INIT" else "row", change.position, change.time_ms, key, value)


def _image(columns: tuple[Column, ...], row: Row | None) -> bytes:
    if row is None:
        return _NULL
    return _branch(2, _array([_value(column, value) for column, value in zip(columns, row, strict=True)]))


def _message(kind: MessageKind, position: int, time_ms: int, key: str | None, value: bytes) -> Message:
    return Message(kind, position, time_ms + _LATENCY_MS, key, value, False)


# --- values ----------------------------------------------------------------------------------------------------------
def _value(column: Column, value: Value) -> bytes:
    kind = column.type
    match value:
        case None:
            return _of("null")
        case int():
            return _of("Integer", _long(INTEGER_BITS[kind.base] // 8), _text(str(value)))
        case float():
            return _of("Float", pack("<d", value), _long(22), _long(31))
        case Decimal():
            return _of("Decimal", _text(f"{value:f}"), _long(kind.arguments[0]), _long(kind.scale))
        case bytes():
            return _of("BinaryObject", _text("BINARY"), _bytes(value))
        case datetime() if kind.base == "timestamp":
            seconds, rest = divmod(value - _EPOCH, timedelta(seconds=1))
            return _of("Timestamp", _long(seconds), _long(rest // timedelta(microseconds=1)))
        case datetime():
            clock = (value.hour, value.minute, value.second, value.microsecond)
            return _of("DateTime", *(_branch(1, _long(part)) for part in (value.year, value.month, value.day, *clock)))
        case date():
            parts = [_branch(1, _long(part)) for part in (value.year, value.month, value.day)]
            return _of("DateTime", *parts, *[_NULL] * 4)
        case str() if kind.base == "enum":
            return _of("TextObject", _text("ENUM"), _text(value))
    return _of("Character", _text("utf8mb4"), _text(value))


def _of(branch: str, *parts: bytes) -> bytes:
    return _branch(_BRANCHES.index(branch), *parts)


# --- Avro ------------------------------------------------------------------------------------------------------------
def _record(
    position: int,
    time_ms: int,
    operation: str,
    name: str | None,
    tags: Mapping[str, str],
    fields: bytes = _NULL,
    before: bytes = _NULL,
    after: bytes = _NULL,
    transaction: int = 0,
) -> bytes:
    """Return an Avro record: its fields in the order of the schema."""
    read = {"thread_id": "77", "readerThroughoutTime": str(time_ms + _LATENCY_MS), "server_id": "11"}
    place = f"{position}@1"
    parts = (
        *(_long(0), _long(position), _long(time_ms // 1000), _text(place), _text(place), _text(str(transaction))),
        *(_long(_MYSQL), _text("8.0.36"), _long(_OPERATIONS.index(operation))),
        *(_NULL if name is None else _branch(1, _text(name)), _NULL),
        _array([_text(tag) + _text(content) for tag, content in {**read, **tags}.items()]),
        *(fields, before, after),
    )
    return b"".join(parts)


def _long(number: int) -> bytes:
    """Encode a number of up to 64 bits: zigzag, seven bits per byte, the lowest bits first."""
    rest, octets = number << 1 ^ number >> 63, bytearray()
    while rest > 0x7F:
        octets.append(rest & 0x7F | 0x80)
        rest >>= 7
    return bytes((*octets, rest))


def _bytes(content: bytes) -> bytes:
    return _long(len(content)) + content


def _text(content: str) -> bytes:
    return _bytes(content.encode())


def _branch(number: int, *parts: bytes) -> bytes:
    """Encode a value of a union: first the index of its type, then the value."""
    return _long(number) + b"".join(parts)


def _array(items: Sequence[bytes]) -> bytes:
    """Encode an array, or the pairs of a map, as one block and the end."""
    return (_long(len(items)) + b"".join(items) if items else b"") + b"\0"
