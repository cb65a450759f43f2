"""canal_json: write the history as Canal does, and the full load as DTS does.

    {"data":[{"id":"1"}],"database":"shop","es":1772323200000,"gtid":"","id":7,"isDdl":false,
     "mysqlType":{"id":"bigint"},"old":null,"pkNames":["id"],"sql":"","sqlType":{"id":-5},"table":"t",…}

Only the offset orders messages. The rows of one statement are one message. Values are text, as in Canal 1.1.7.
"""

import json
from collections.abc import Iterator, Sequence
from datetime import date, datetime
from decimal import Decimal
from itertools import groupby
from typing import Any

from retable.simulate.columns import Column, ColumnType, Row, Value
from retable.simulate.history import History, RowChange, StatementRun
from retable.simulate.streams.stream import Message, Stream, row_key

NAME = "canal_json"

_LATENCY_MS = 900
_INT, _BIGINT, _DECIMAL = 4, -5, 3
_SQL_TYPES = {
    **dict(zip(("tinyint", "smallint", "mediumint", "int", "bigint"), (-6, 5, 4, _INT, _BIGINT), strict=True)),
    **dict(zip(("decimal", "double", "enum"), (_DECIMAL, 8, 4), strict=True)),
    **dict(zip(("date", "datetime", "timestamp", "varchar", "varbinary"), (91, 93, 93, 12, 2004), strict=True)),
}
"""The codes of java.sql.Types that Canal writes."""


def write(history: History) -> Stream:
    """Write the history as canal_json messages, in the order of the binlog. Only offsets order the messages."""
    return Stream(NAME, tuple(_messages(history)), by_offset=True)


def _messages(history: History) -> Iterator[Message]:
    for name, table in history.loaded.items():
        at = history.loaded_at_ms
        rows = [
            RowChange(
                position=0,
                time_ms=at,
                transaction=0,
                event=number,
                table=name,
                columns=table.columns,
                keys=table.keys,
                row_id=None,
                before=None,
                after=row,
            )
            for number, row in enumerate(table.rows.values())
        ]
        yield from (_rows(history, number, [row], "INIT") for number, row in enumerate(rows, 1))
    for number, (_, group) in enumerate(groupby(history.entries, key=_event), 1):
        entries = list(group)
        changes = [entry for entry in entries if isinstance(entry, RowChange)]
        if changes:
            yield _rows(history, number, changes, _kind(changes[0]))
        elif isinstance(entries[0], StatementRun):
            yield _statement(history, number, entries[0])


def _event(entry: object) -> object:
    return (entry.transaction, entry.event) if isinstance(entry, RowChange) else id(entry)


def _kind(change: RowChange) -> str:
    if change.before is None:
        return "INSERT"
    return "DELETE" if change.after is None else "UPDATE"


def _rows(history: History, number: int, changes: Sequence[RowChange], kind: str) -> Message:
    first, last = changes[0], changes[-1]
    rows = [change.before if change.after is None else change.after for change in changes]
    images = [_image(first.columns, row or ()) for row in rows]
    fields = {
        "data": images,
        "mysqlType": {column.name: str(column.type) for column in first.columns},
        "old": list(_old_images(changes)) if kind == "UPDATE" else None,
        "pkNames": list(first.keys) or None,
        "sqlType": {
            column.name: _sql_type(column.type, value)
            for column, value in zip(first.columns, rows[-1] or (), strict=True)
        },
        "type": kind,
    }
    value = _text(history, number, last.time_ms, first.table, fields)
    key = row_key(first, rows[0] or ())
    return Message("load" if kind == "INIT" else "row", last.position, last.time_ms + _LATENCY_MS, key, value, False)


def _old_images(changes: Sequence[RowChange]) -> Iterator[dict[str, str | None]]:
    """Canal collects the names of changed columns over all rows, so a later row may list an unchanged column."""
    changed: set[int] = set()
    for change in changes:
        before, after = change.before or (), change.after or ()
        changed |= {at for at, pair in enumerate(zip(before, after, strict=True)) if pair[0] != pair[1]}
        yield {change.columns[at].name: wire_value(change.columns[at], before[at]) for at in sorted(changed)}


def _statement(history: History, number: int, run: StatementRun) -> Message:
    fields = {"isDdl": True, "sql": run.text, "type": run.statement.kind}
    value = _text(history, number, run.time_ms, run.statement.table, fields)
    return Message("statement", run.position, run.time_ms + _LATENCY_MS, run.statement.table, value, False)


def _text(history: History, number: int, time_ms: int, table: str, fields: dict[str, Any]) -> str:
    message = {
        "data": None,
        "database": history.database,
        "es": time_ms // 1000 * 1000,
        "gtid": "",
        "id": number,
        "isDdl": False,
        "mysqlType": None,
        "old": None,
        "pkNames": None,
        "sql": "",
        "sqlType": None,
        "table": table,
        "ts": time_ms + _LATENCY_MS,
    }
    return json.dumps(message | fields, ensure_ascii=False, separators=(",", ":"))


def _image(columns: tuple[Column, ...], row: Row) -> dict[str, str | None]:
    return {column.name: wire_value(column, value) for column, value in zip(columns, row, strict=True)}


def _sql_type(kind: ColumnType, value: Value) -> int:
    """Return the code of java.sql.Types. For an unsigned number the code depends on the value."""
    if kind.is_whole and kind.unsigned and isinstance(value, int) and value > kind.bounds[1] // 2:
        return {"bigint": _DECIMAL, "int": _BIGINT}.get(kind.base, _INT)
    return _SQL_TYPES[kind.base]


def wire_value(column: Column, value: Value) -> str | None:
    """Return a value of a row as the message has it, as text.

    An ENUM is the number of its label, bytes are Latin-1 characters, and a TIMESTAMP is in UTC.
    """
    match value:
        case None:
            return None
        case str() if column.type.base == "enum":
            return str(column.type.labels.index(value) + 1)
        case bytes():
            return value.decode("latin-1")
        case float():
            return java_double(value)
        case Decimal():
            return _decimal(value)
        case datetime():
            return _clock(column.type, value)
        case date():
            return value.isoformat()
    return str(value)


def _decimal(value: Decimal) -> str:
    """Return all digits of a decimal. A fraction of only zeros becomes one zero."""
    whole, point, fraction = f"{value:f}".partition(".")
    return f"{whole}.0" if point and not fraction.strip("0") else f"{whole}{point}{fraction}"


def _clock(kind: ColumnType, value: datetime) -> str:
    text = value.replace(tzinfo=None).isoformat(" ", "microseconds")
    return text[: len(text) - 6 + kind.scale] if kind.scale else text[:-7]


def java_double(value: float) -> str:
    """Return a double as Java writes it: without an exponent from 10^-3 to 10^7, else with an exponent."""
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        return f"{Decimal(repr(value)):f}" if "e" in repr(value) else repr(value)
    digits, exponent = Decimal(repr(value)).as_tuple().digits, Decimal(repr(value)).adjusted()
    text = "".join(map(str, digits)).rstrip("0")
    return f"{'-' if value < 0 else ''}{text[0]}.{text[1:] or '0'}E{exponent}"
