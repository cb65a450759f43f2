"""debezium_json: write the history as Debezium's MySQL connector does, with its snapshot.

    {"schema":{…},"payload":{"before":null,"after":{"id":1,"total":"ASw="},"source":{"connector":"mysql","name":"erp",
     "snapshot":"false","db":"shop","table":"t","file":"bin.000003","pos":132,"row":0,…},"op":"c","ts_ms":1772323200900}}

`file`, `pos` and `row` order the messages. A changed key is a delete and a create at one position. After every delete
comes a message with a null value. A statement over several tables is one message for each table, all at one position.
All modes of the connector are defaults except `skipped.operations=none`, so TRUNCATE is in the stream.
"""

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from retable.simulate.actions.statements import DropTables, RenameTables, TruncateTable
from retable.simulate.columns import Column, Row, Value
from retable.simulate.database import copied
from retable.simulate.history import Entry, History, RowChange, StatementRun, TransactionMark, loaded_rows
from retable.simulate.sql import Pen
from retable.simulate.streams.debezium.schema import (
    boundary_fields,
    change_fields,
    column_field,
    statement_fields,
    table_change,
    times,
    wire_value,
    with_schema,
)
from retable.simulate.streams.stream import Message, MessageKind, Stream

NAME = "debezium_json"
SERVER = "erp"
"""The connector's topic.prefix."""

_MINUTE_MS = 60_000
_LATENCY_MS = 900
_BINLOG_BYTES = 512
_HEADER_BYTES = 4


@dataclass(frozen=True, slots=True)
class Options:
    """The configuration of the simulated connector and its converter.

    - `schemas`: each message contains its schema.
    - `transactions`: the connector's option provide.transaction.metadata. `tombstones`: tombstones.on.delete.
    - `heartbeats`: the connector writes a heartbeat every minute.
    """

    schemas: bool = True
    transactions: bool = True
    tombstones: bool = True
    heartbeats: bool = True


def write(history: History, options: Options | None = None) -> Stream:
    """Write the history as debezium_json messages, in the order of the binlog."""
    return Stream(NAME, tuple(_Writer(history, options or Options()).messages()), by_offset=False)


@dataclass(frozen=True, slots=True)
class _Place:
    """The position of an event in the binlog, made from `position`, the position in the history."""

    position: int
    time_ms: int
    row: int = 0
    snapshot: str = "false"

    @property
    def file(self) -> str:
        return f"bin.{1 + self.position // _BINLOG_BYTES:06}"

    @property
    def pos(self) -> int:
        return _HEADER_BYTES + self.position % _BINLOG_BYTES


@dataclass(slots=True)
class _Transaction:
    """The transaction that is being written, with the number of its changes so far in each table."""

    id: str
    changes: Counter[str] = field(default_factory=Counter)


class _Writer:
    def __init__(self, history: History, options: Options) -> None:
        self._history, self._options = history, options
        self._tables = copied(history.loaded)
        self._transaction: _Transaction | None = None
        self._event, self._place = (0, 0), _Place(0, 0)

    def messages(self) -> Iterator[Message]:
        yield from self._snapshot()
        last, minute = 0, self._history.loaded_at_ms // _MINUTE_MS
        for entry in self._history.entries:
            yield from self._heartbeats(last, minute, entry.time_ms // _MINUTE_MS)
            last, minute = entry.position, entry.time_ms // _MINUTE_MS
            entry.apply(self._tables)
            yield from self._entry(entry)
        yield from self._heartbeats(last, minute, -(-self._history.ended_at_ms // _MINUTE_MS))

    # --- the snapshot ------------------------------------------------------------------------------------------------
    def _snapshot(self) -> Iterator[Message]:
        """Yield the snapshot: first DROP and CREATE of each table, then all rows, all at the log's begin."""
        history = self._history
        begin = history.entries[0].position - 1 if history.entries else 0
        here = _Place(begin, history.loaded_at_ms, snapshot="true")
        pen = Pen(history.database)
        for name in history.loaded:
            text = f"DROP TABLE IF EXISTS {pen.name(history.database)}.{pen.name(name)}"
            yield self._statement(here, text, name, [table_change("DROP", history.database, name, None)])
        for name, table in history.loaded.items():
            declared = table_change("CREATE", history.database, name, table)
            yield self._statement(here, pen.create(name, table.columns, table.keys), name, [declared])
        for change in loaded_rows(history):
            yield self._change(change, here, "r", None, change.after)

    # --- the log -----------------------------------------------------------------------------------------------------
    def _entry(self, entry: Entry) -> Iterator[Message]:
        match entry:
            case RowChange():
                yield from self._row(entry)
            case StatementRun(statement=TruncateTable(table)):
                place = _Place(entry.position, entry.time_ms)
                columns, keys = self._tables[table].columns, self._tables[table].keys
                change = RowChange(
                    position=entry.position,
                    time_ms=entry.time_ms,
                    transaction=0,
                    event=0,
                    table=table,
                    columns=columns,
                    keys=keys,
                    row_id=None,
                    before=None,
                    after=None,
                )
                yield self._change(change, place, "t", None, None)
            case StatementRun():
                yield from self._statements(entry)
            case TransactionMark():
                yield from self._mark(entry)

    def _row(self, change: RowChange) -> Iterator[Message]:
        before, after, place = change.before, change.after, self._placed(change)
        if before is not None and after is not None and _key(change, before) != _key(change, after):
            yield self._change(change, place, "d", before, None)
            yield from self._tombstone(change, place, before)
            yield self._change(change, place, "c", None, after)
            return
        yield self._change(change, place, "c" if before is None else "d" if after is None else "u", before, after)
        if after is None:
            yield from self._tombstone(change, place, before)

    def _placed(self, change: RowChange) -> _Place:
        """The rows of one event are at its position, one after another."""
        event = (change.transaction, change.event)
        row = self._place.row + 1 if event == self._event else 0
        position = self._place.position if row else change.position
        self._event, self._place = event, _Place(position, change.time_ms, row)
        return self._place

    def _change(self, change: RowChange, place: _Place, op: str, before: Row | None, after: Row | None) -> Message:
        payload = {
            "before": _image(change, before),
            "after": _image(change, after),
            "source": self._source(place, change.table),
            "transaction": self._counted(change.table) if place.snapshot == "false" and op != "t" else None,
            "op": op,
            **_stamps(place.time_ms + _LATENCY_MS),
        }
        topic = f"{SERVER}.{self._history.database}.{change.table}"
        value = self._text(payload, f"{topic}.Envelope", change_fields(topic, change.columns))
        kind: MessageKind = "load" if op == "r" else "statement" if op == "t" else "row"
        repeatable = op != "r" or bool(change.keys)
        key = self._key(change, after or before)
        return Message(kind, change.position, place.time_ms + _LATENCY_MS, key, value, repeatable)

    def _tombstone(self, change: RowChange, place: _Place, row: Row | None) -> Iterator[Message]:
        key = self._key(change, row)
        if self._options.tombstones and key is not None:
            yield Message("row", change.position, place.time_ms + _LATENCY_MS, key, None)

    def _counted(self, table: str) -> dict[str, Any] | None:
        if self._transaction is None or not self._options.transactions:
            return None
        changes = self._transaction.changes
        changes[table] += 1
        return {"id": self._transaction.id, "total_order": changes.total(), "data_collection_order": changes[table]}

    def _mark(self, mark: TransactionMark) -> Iterator[Message]:
        place = _Place(mark.position, mark.time_ms)
        if not mark.ends:
            self._transaction = _Transaction(f"file={place.file},pos={place.pos}")
        transaction = self._transaction
        if transaction is None or not self._options.transactions:
            return
        changes = [
            {"data_collection": f"{self._history.database}.{table}", "event_count": count}
            for table, count in transaction.changes.items()
        ]
        totals = {"event_count": transaction.changes.total(), "data_collections": changes} if mark.ends else {}
        payload: dict[str, Any] = {"status": "END" if mark.ends else "BEGIN", "id": transaction.id}
        payload |= {"event_count": None, "data_collections": None, **totals, "ts_ms": mark.time_ms // 1000 * 1000}
        value = self._text(payload, "io.debezium.connector.common.TransactionMetadataValue", boundary_fields())
        yield Message("mark", mark.position, mark.time_ms + _LATENCY_MS, json.dumps({"id": transaction.id}), value)

    def _statements(self, run: StatementRun) -> Iterator[Message]:
        """The connector splits a statement over several tables. It writes the text of DROP TABLE itself."""
        database, statement = self._history.database, run.statement
        pen, place = Pen(database), _Place(run.position, run.time_ms)
        if isinstance(statement, DropTables):
            names = ",".join(statement.names)
            for name in statement.names:
                text = f"DROP TABLE {pen.name(database)}.{pen.name(name)}"
                yield self._statement(place, text, names, [table_change("DROP", database, name, None)])
        elif isinstance(statement, RenameTables) and len(statement.pairs) > 1:
            names = ",".join(sorted(statement.touched))
            for old, new in statement.pairs:
                text = f"RENAME TABLE {pen.name(database)}.{pen.name(old)} TO {pen.name(database)}.{pen.name(new)}"
                yield self._statement(place, text, names, self._altered("ALTER", new))
        elif statement.kind in ("CINDEX", "DINDEX"):
            yield self._statement(place, run.text, "", [])
        else:
            kind = "CREATE" if statement.kind == "CREATE" else "ALTER"
            yield self._statement(place, run.text, statement.table, self._altered(kind, statement.table))

    def _altered(self, kind: str, name: str) -> list[dict[str, Any]]:
        table = self._tables.get(name)
        return [] if table is None else [table_change(kind, self._history.database, name, table)]

    def _statement(self, place: _Place, text: str, table: str, changes: list[dict[str, Any]]) -> Message:
        database, written_ms = self._history.database, place.time_ms + _LATENCY_MS
        payload = {
            "source": self._source(place, table),
            "ts_ms": written_ms,
            "databaseName": database,
            "schemaName": None,
            "ddl": text,
            "tableChanges": changes,
        }
        value = self._text(payload, "io.debezium.connector.mysql.SchemaChangeValue", statement_fields())
        key = json.dumps({"databaseName": database})
        if place.snapshot != "false":
            return Message("load", 0, written_ms, key, value)
        return Message("statement", place.position, written_ms, key, value)

    def _heartbeats(self, position: int, after: int, until: int) -> Iterator[Message]:
        """Yield a heartbeat for every full minute of the connector's clock."""
        if not self._options.heartbeats:
            return
        for at_ms in range((after + 1) * _MINUTE_MS, (until + 1) * _MINUTE_MS, _MINUTE_MS):
            value = self._text({"ts_ms": at_ms}, "io.debezium.connector.common.Heartbeat", times()[:1])
            yield Message("heartbeat", position, at_ms + _LATENCY_MS, json.dumps({"serverName": SERVER}), value)

    # --- parts of a message ------------------------------------------------------------------------------------------
    def _source(self, place: _Place, table: str) -> dict[str, Any]:
        at_ms = place.time_ms // 1000 * 1000
        return {
            "version": "3.4.0.Final",
            "connector": "mysql",
            "name": SERVER,
            **_stamps(at_ms),
            "snapshot": place.snapshot,
            "db": self._history.database,
            "sequence": None,
            "table": table,
            "server_id": 0 if place.snapshot != "false" else 11,
            "gtid": None,
            "file": place.file,
            "pos": place.pos,
            "row": place.row,
            "thread": None,
            "query": None,
        }

    def _key(self, change: RowChange, row: Row | None) -> str | None:
        """Return the message key: the columns of the primary key. A table without a key has messages without keys."""
        if not change.keys or row is None:
            return None
        cells = _key(change, row)
        payload = {column.name: wire_value(column, value) for column, value in cells}
        fields = [column_field(column) for column, _ in cells]
        return self._text(payload, f"{SERVER}.{self._history.database}.{change.table}.Key", fields)

    def _text(self, payload: dict[str, Any], name: str, fields: list[dict[str, Any]]) -> str:
        message = with_schema(payload, name, fields) if self._options.schemas else payload
        return json.dumps(message, ensure_ascii=False, separators=(",", ":"))


def _key(change: RowChange, row: Row) -> list[tuple[Column, Value]]:
    cells = {column.name: (column, value) for column, value in zip(change.columns, row, strict=True)}
    return [cells[name] for name in change.keys]


def _image(change: RowChange, row: Row | None) -> dict[str, int | float | str | None] | None:
    if row is None:
        return None
    return {column.name: wire_value(column, value) for column, value in zip(change.columns, row, strict=True)}


def _stamps(at_ms: int) -> dict[str, int]:
    return {"ts_ms": at_ms, "ts_us": at_ms * 1000, "ts_ns": at_ms * 1_000_000}
