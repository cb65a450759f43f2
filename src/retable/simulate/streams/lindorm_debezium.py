"""lindorm_debezium: write the history as the data subscription of Lindorm does, in "Debezium Format V2.0".

    {"schema":{},"payload":{"op":"u","ts_ms":1772323200900,"before":{"id":1,"c":"x"},"after":{"id":1},
     "source":{"version":"v2.0","db":"shop","namespace":"default","table":"t","ts_ms":1772323200000}}}

Only the offset orders messages. In an update, columns with null are left out of the row. There are no statements and
no heartbeats: all tables must be loaded tables.
"""

import json
from base64 import b64encode
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from retable.simulate.columns import Column, ColumnType, Row, Value
from retable.simulate.history import History, RowChange, loaded_rows
from retable.simulate.streams.stream import Message, Stream, row_key

NAME = "lindorm_debezium"
NAMESPACE = "default"

_LATENCY_MS = 900
_WHOLE = {"tinyint": "int8", "smallint": "int16", "mediumint": "int32", "int": "int32", "bigint": "int64"}
_TYPES = _WHOLE | {"double": "float64", "varbinary": "bytes"}


@dataclass(frozen=True, slots=True)
class Options:
    """The options of the simulated data subscription.

    `schemas`: messages contain their schema. `before`: updates of tables with a key contain the row before the update.
    """

    schemas: bool = True
    before: bool = True


def write(history: History, options: Options | None = None) -> Stream:
    """Write the row changes of the history as lindorm_debezium messages, in order. Only offsets order the messages."""
    return Stream(NAME, tuple(_messages(history, options or Options())), by_offset=True)


def _messages(history: History, options: Options) -> Iterator[Message]:
    for change in loaded_rows(history):
        yield _message(history, change, "r", options)
    for change in (entry for entry in history.entries if isinstance(entry, RowChange)):
        op = "c" if change.before is None else "d" if change.after is None else "u"
        yield _message(history, change, op, options)


def _message(history: History, change: RowChange, op: str, options: Options) -> Message:
    before = change.before
    if op == "u" and change.keys and not options.before and _key(change, before) == _key(change, change.after):
        before = None
    source = {"version": "v2.0", "db": history.database, "namespace": NAMESPACE, "table": change.table}
    payload = {
        "op": op,
        "ts_ms": change.time_ms + _LATENCY_MS,
        "before": None if before is None else _image(change, before, op),
        "after": None if change.after is None else _image(change, change.after, op),
        "source": {**source, "ts_ms": change.time_ms},
    }
    message = {"schema": _schema(change.columns) if options.schemas else {}, "payload": payload}
    value = json.dumps(message, ensure_ascii=False, separators=(",", ":"))
    key = row_key(change, change.after or before or ())
    return Message("load" if op == "r" else "row", change.position, change.time_ms + _LATENCY_MS, key, value, False)


def _key(change: RowChange, row: Row | None) -> tuple[Value, ...]:
    cells = dict(zip((column.name for column in change.columns), row or (), strict=True))
    return tuple(cells[name] for name in change.keys)


def _image(change: RowChange, row: Row, op: str) -> dict[str, Any]:
    return {
        column.name: wire_value(column, value)
        for column, value in zip(change.columns, row, strict=True)
        if value is not None or op != "u"
    }


def _schema(columns: tuple[Column, ...]) -> dict[str, Any]:
    fields = [{"type": wire_type(c.type), "optional": c.nullable, "field": c.name} for c in columns]
    images = [{"type": "struct", "fields": fields, "optional": True, "field": part} for part in ("before", "after")]
    return {"type": "struct", "fields": [{"type": "string", "optional": False, "field": "op"}, *images]}


def wire_type(kind: ColumnType) -> str:
    """Return the type of a column in the schema of a message. Unsigned numbers, decimals and times are `string`."""
    return "string" if kind.unsigned else _TYPES.get(kind.base, "string")


def wire_value(column: Column, value: Value) -> int | float | str | None:
    """Return a value of a row as the message has it."""
    match value:
        case Decimal():
            return f"{value:f}"
        case bytes():
            return b64encode(value).decode()
        case datetime():
            return value.replace(tzinfo=None).isoformat(" ", "microseconds")
        case date():
            return value.isoformat()
        case int() if column.type.unsigned:
            return str(value)
    return value
