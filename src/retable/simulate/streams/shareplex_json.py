"""shareplex_json: write the history as SharePlex and DTS do for an Oracle database ("SharePlex JSON").

    {"meta":{"time":"2026-03-01T00:00:00","userid":84,"op":"upd","scn":"14589063119719","rowid":"AAATGpAAIA5e1f0aAAA",
             "trans":"7.0.4","seq":1,"size":1,"table":"SHOP.orders","idx":"1/1","posttime":"2026-03-01T00:00:00"},
     "data":{"note":null},"key":{"id":"1","note":"x"}}

An update has the changed columns, their old values, and the key. Messages are ordered by `scn`, one number for each
transaction, then by `seq`. TRUNCATE is the only statement: all tables must be loaded tables, and their rows are the
first inserts. Oracle has no empty text: write the history that `as_oracle` returns, and compare gold with its truth.
"""

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from itertools import count
from typing import Any
from zlib import crc32

from retable.simulate.actions.statements import TruncateTable
from retable.simulate.columns import Row, Value
from retable.simulate.database import Table
from retable.simulate.history import Entry, History, RowChange, StatementRun, TransactionMark, loaded_rows
from retable.simulate.streams.stream import Message, MessageKind, Stream, row_key

NAME = "shareplex_json"
OWNER = "SHOP"

_FIRST_SCN = 14_589_063_118_712
_LATENCY_MS = 900


def as_oracle(history: History) -> History:
    """Return the same history for a database that stores empty text as null, as Oracle does."""
    loaded = {
        name: Table(table.columns, table.keys, {key: _without_empty(row) for key, row in table.rows.items()})
        for name, table in history.loaded.items()
    }
    return replace(history, loaded=loaded, entries=tuple(map(_entry_without_empty, history.entries)))


def _entry_without_empty(entry: Entry) -> Entry:
    if not isinstance(entry, RowChange):
        return entry
    before, after = entry.before, entry.after
    return replace(
        entry,
        before=None if before is None else _without_empty(before),
        after=None if after is None else _without_empty(after),
    )


def _without_empty(row: Row) -> Row:
    return tuple(None if value in ("", b"") else value for value in row)


def write(history: History) -> Stream:
    """Write the row changes and TRUNCATE statements of the history as shareplex_json messages, in log order."""
    return Stream(NAME, tuple(_messages(history)), by_offset=False)


def _messages(history: History) -> Iterator[Message]:
    sizes = Counter(entry.transaction for entry in history.entries if isinstance(entry, RowChange))
    rows = list(loaded_rows(history))
    for number, change in enumerate(rows, 1):
        yield _row(change, 0, number, len(rows))
    scn, numbers = 0, count(1)
    for entry in history.entries:
        match entry:
            case TransactionMark(ends=False):
                scn, numbers = entry.position, count(1)
            case RowChange():
                yield _row(entry, scn, next(numbers), sizes[entry.transaction])
            case StatementRun(statement=TruncateTable(table)):
                meta = _meta("TRUNCATE", table, entry.time_ms, entry.position, 1, 1, f"7.1.{entry.position}")
                yield _message("statement", entry.position, entry.time_ms, table, {"meta": meta})


def _row(change: RowChange, scn: int, number: int, size: int) -> Message:
    op, content = _content(change)
    trans = f"7.0.{change.transaction}"
    meta = _meta(op, change.table, change.time_ms, scn, number, size, trans) | {"rowid": row_id(change)}
    key = row_key(change, change.after or change.before or ())
    kind: MessageKind = "row" if change.position else "load"
    return _message(kind, change.position, change.time_ms, key, {"meta": meta, **content})


def row_id(change: RowChange) -> str:
    """Return the ROWID of the changed row in Oracle's form.

    In a table with a key, all rows have the same ROWID, because readers ignore it.
    """
    number = crc32(change.table.encode()) if change.row_id is None else change.row_id
    return f"AAATGpAAIA{number:08x}"


def _content(change: RowChange) -> tuple[str, dict[str, Any]]:
    cells = enumerate(change.columns)
    before, after = change.before, change.after
    if before is None or after is None:
        row = before or after or ()
        return "ins" if before is None else "del", {"data": {c.name: wire_value(row[at]) for at, c in cells}}
    changed = [(column, at) for at, column in cells if before[at] != after[at]]
    found = [(column, at) for at, column in enumerate(change.columns) if column.name in change.keys]
    return "upd", {
        "data": {column.name: wire_value(after[at]) for column, at in changed},
        "key": {column.name: wire_value(before[at]) for column, at in dict.fromkeys((*found, *changed))},
    }


def _meta(op: str, table: str, time_ms: int, scn: int, number: int, size: int, trans: str) -> dict[str, Any]:
    return {
        "time": _time(time_ms),
        "userid": 84,
        "op": op,
        "scn": str(_FIRST_SCN + scn),
        "rowid": None,
        "trans": trans,
        "seq": number,
        "size": size,
        "table": f"{OWNER}.{table}",
        "idx": f"{number}/{size}",
        "posttime": _time(time_ms + _LATENCY_MS),
    }


def _time(time_ms: int) -> str:
    return datetime.fromtimestamp(time_ms // 1000, UTC).replace(tzinfo=None).isoformat()


def _message(kind: MessageKind, position: int, time_ms: int, key: str, message: dict[str, Any]) -> Message:
    value = json.dumps(message, ensure_ascii=False, separators=(",", ":"))
    return Message(kind, position, time_ms + _LATENCY_MS, key, value)


def wire_value(value: Value) -> str | None:
    """Return a value of a row as the message has it, as text.

    Bytes are hexadecimal, and times have nine digits after the second.
    """
    match value:
        case None:
            return None
        case Decimal():
            return f"{value:f}"
        case bytes():
            return value.hex().upper()
        case datetime():
            return f"{value.replace(tzinfo=None).isoformat(timespec='microseconds')}000"
        case date():
            return value.isoformat()
    return str(value)
