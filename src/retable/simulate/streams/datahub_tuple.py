"""datahub_tuple: write the history as DataWorks' real-time synchronisation does for Tuple topics of DataHub.

    {"_sequence_id_":"1772323200000001004","_operation_type_":"I","_excute_time_":"1772323200000",
     "_source_table_":"t","_before_image_":"N","_after_image_":"Y","id":"1"}

The header `tuple_schema` contains the topic's columns. `_sequence_id_` orders the messages. An update is two messages
with the same `_sequence_id_`; rows of the full load have "-1". There are no statements or heartbeats, so all tables
must be tables of the full load.
"""

import json
from base64 import b64encode
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Literal

from retable.simulate.columns import Column, ColumnType, Row, Value
from retable.simulate.history import History, RowChange, loaded_rows
from retable.simulate.streams.stream import Message, Stream, row_key

NAME = "datahub_tuple"

_LATENCY_MS = 900
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_WHOLE = {"tinyint": "tinyint", "smallint": "smallint", "mediumint": "integer", "int": "integer", "bigint": "bigint"}
_TYPES = _WHOLE | {"decimal": "decimal", "double": "double", "datetime": "timestamp", "timestamp": "timestamp"}
_WIDER = {"tinyint": "smallint", "smallint": "integer", "int": "bigint", "bigint": "decimal"}
"""The type of DataHub that is wide enough for an unsigned number, by MySQL's type."""


def write(history: History) -> Stream:
    """Write the row changes of the history as datahub_tuple messages, in the order of the binlog."""
    return Stream(NAME, tuple(_messages(history)), by_offset=False)


def _messages(history: History) -> Iterator[Message]:
    for change in loaded_rows(history):
        yield _record(history, change, change.after or (), "I", "load")
    for change in (entry for entry in history.entries if isinstance(entry, RowChange)):
        operation = "I" if change.before is None else "D" if change.after is None else "U"
        if change.before is not None:
            yield _record(history, change, change.before, operation, "row", is_before=True)
        if change.after is not None:
            yield _record(history, change, change.after, operation, "row")


def _record(
    history: History,
    change: RowChange,
    row: Row,
    operation: str,
    kind: Literal["load", "row"],
    is_before: bool = False,
) -> Message:
    sequence = "-1" if kind == "load" else str(history.loaded_at_ms * 1_000_000 + change.position)
    meta = {
        "_sequence_id_": sequence,
        "_operation_type_": operation,
        "_excute_time_": str(-1 if kind == "load" else change.time_ms // 1000 * 1000),
        "_source_table_": change.table,
        "_before_image_": "Y" if is_before else "N",
        "_after_image_": "N" if is_before else "Y",
    }
    cells = {column.name: wire_value(value) for column, value in zip(change.columns, row, strict=True)}
    value = json.dumps(meta | cells, ensure_ascii=False, separators=(",", ":"))
    headers = (("tuple_schema", json.dumps(_schema(change.columns), ensure_ascii=False)),)
    repeatable = kind == "row" or bool(change.keys)
    time_ms = change.time_ms + _LATENCY_MS
    return Message(kind, change.position, time_ms, row_key(change, row), value, repeatable, headers)


def _schema(columns: tuple[Column, ...]) -> dict[str, list[dict[str, str | bool]]]:
    """Return the topic's schema as DataHub's JSON."""
    return {"fields": [{"name": c.name, "type": _type(c.type), "notnull": not c.nullable} for c in columns]}


def _type(kind: ColumnType) -> str:
    return (_WIDER if kind.unsigned else _TYPES).get(kind.base, "string")


def wire_value(value: Value) -> str | None:
    """Return a value of a row as DataHub delivers it, as text.

    Times are epoch microseconds, and a DATETIME is read as UTC. Bytes are in base64.
    """
    match value:
        case None:
            return None
        case Decimal():
            return f"{value:f}"
        case bytes():
            return b64encode(value).decode()
        case datetime():
            return str((value.replace(tzinfo=UTC) - _EPOCH) // timedelta(microseconds=1))
        case date():
            return value.isoformat()
    return str(value)
