"""streamx_json: write the history as DataWorks' real-time synchronisation does for Kafka.

    {"schema":{"dataColumn":[{"name":"id","type":"LONG"}],"primaryKey":["id"],"source":{"dbType":"MySQL",…}},
     "payload":{"before":null,"after":{"dataColumn":{"id":1}},"sequenceId":"1772323200000001004","op":"INSERT",…},…}

`sequenceId` orders the messages; rows of the full load have "-1". Each row has a message, an update one or two.
"""

import json
from base64 import b64encode
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from itertools import chain
from typing import Any, Literal

from retable.simulate.actions.statements import RenameTables
from retable.simulate.columns import Column, ColumnType, Row, Value
from retable.simulate.database import Table
from retable.simulate.history import History, RowChange, StatementRun, TransactionMark
from retable.simulate.streams.stream import Message, Stream, row_key

NAME = "streamx_json"
ROW_ID = "#alibaba_rds_row_id#"

_MINUTE_MS = 60_000
_LATENCY_MS = 900
_DDL_META = "rO0ABXQACXNpbXVsYXRlZA=="
"""The contents of `ddlMeta`: a Java-serialized text. Retable must not deserialize it."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Options:
    """The configuration of the simulated synchronisation task.

    - `updates`: an update is two messages ("halves"), one message ("whole"), or either ("mixed").
    - `row_ids`: rows of tables without a key contain the hidden row id.
    - `marks`: TRANSACTION_BEGIN and TRANSACTION_END are written. `heartbeats`: a heartbeat is written every minute.
    """

    updates: Literal["halves", "whole", "mixed"] = "mixed"
    row_ids: bool = True
    marks: bool = True
    heartbeats: bool = True


def write(history: History, options: Options | None = None) -> Stream:
    """Write the history as streamx_json messages, in the order of the binlog."""
    return Stream(NAME, tuple(_Writer(history, options or Options()).messages()), by_offset=False)


def sequence_id(history: History, position: int) -> int:
    """Return the `sequenceId` of a binlog position: the time of the full load in nanoseconds, plus the position."""
    return history.loaded_at_ms * 1_000_000 + position


@dataclass(frozen=True, slots=True)
class _Writer:
    history: History
    options: Options

    def messages(self) -> Iterator[Message]:
        yield from chain.from_iterable(self._load(name, table) for name, table in self.history.loaded.items())
        last, minute = 0, self.history.loaded_at_ms // _MINUTE_MS
        for entry in self.history.entries:
            yield from self._heartbeats(last, minute, entry.time_ms // _MINUTE_MS)
            last, minute = entry.position, entry.time_ms // _MINUTE_MS
            match entry:
                case RowChange():
                    yield from self._row(entry)
                case StatementRun():
                    yield self._statement(entry)
                case TransactionMark() if self.options.marks:
                    yield self._mark(entry)
        yield from self._heartbeats(last, minute, -(-self.history.ended_at_ms // _MINUTE_MS))

    def _load(self, name: str, table: Table) -> Iterator[Message]:
        """Write the rows of the full load. They have no time. Only a key distinguishes a repeated row."""
        stamp = {"eventTime": -1, "systemTime": self.history.loaded_at_ms, "checkpointTime": -1}
        for key, row in table.rows.items():
            row_id = key if isinstance(key, int) else None
            change = RowChange(
                position=0,
                time_ms=self.history.loaded_at_ms,
                transaction=0,
                event=0,
                table=name,
                columns=table.columns,
                keys=table.keys,
                row_id=row_id,
                before=None,
                after=row,
            )
            payload = self._payload("INSERT", None, stamp, after=self._image(change, row))
            repeatable = bool(table.keys) or self.options.row_ids
            yield self._message("load", change, row_key(change, row), payload, self._schema(change), repeatable)

    def _row(self, change: RowChange) -> Iterator[Message]:
        before, after = change.before, change.after
        if before is None and after is not None:
            yield self._change(change, "INSERT", after, None, after)
        elif before is not None and after is None:
            yield self._change(change, "DELETE", before, before, None)
        elif before is not None and after is not None:
            mixed = self.options.updates == "mixed" and change.position % 2
            if mixed or self.options.updates == "whole":
                yield self._change(change, "UPDATE_AFTER", after, before, after)
            else:
                yield self._change(change, "UPDATE_BEFOR", before, before, None)
                yield self._change(change, "UPDATE_AFTER", after, None, after)

    def _change(self, change: RowChange, op: str, keyed: Row, before: Row | None, after: Row | None) -> Message:
        payload = self._payload(
            op,
            change.position,
            self._stamp(change.time_ms),
            before=None if before is None else self._image(change, before),
            after=None if after is None else self._image(change, after),
        )
        return self._message("row", change, row_key(change, keyed), payload, self._schema(change))

    def _statement(self, run: StatementRun) -> Message:
        """Write a DDL statement. The message of a rename names the table by its old name."""
        statement = run.statement
        table = statement.pairs[0][0] if isinstance(statement, RenameTables) else statement.table
        ddl = {"text": run.text, "ddlMeta": _DDL_META}
        payload = self._payload(statement.kind, run.position, self._stamp(run.time_ms), ddl=ddl)
        return self._message("statement", run, table, payload, self._source(table))

    def _mark(self, mark: TransactionMark) -> Message:
        op = "TRANSACTION_END" if mark.ends else "TRANSACTION_BEGIN"
        payload = self._payload(op, mark.position, self._stamp(mark.time_ms))
        return self._message("mark", mark, "", payload, self._source(None))

    def _heartbeats(self, position: int, after: int, until: int) -> Iterator[Message]:
        """Yield a heartbeat for every full minute. It says that no entry with an earlier time is still to come."""
        if not self.options.heartbeats:
            return
        schema = {"dataColumn": None, "primaryKey": None, "source": None}
        for at_ms in range((after + 1) * _MINUTE_MS, (until + 1) * _MINUTE_MS, _MINUTE_MS):
            payload = self._payload("MHEARTBEAT", None, {"eventTime": at_ms, "checkpointTime": at_ms})
            value = _text({"schema": schema, "payload": payload | {"sequenceId": None}})
            yield Message("heartbeat", position, at_ms + _LATENCY_MS, "", value)

    # --- parts of a message ------------------------------------------------------------------------------------------
    def _message(
        self,
        kind: Literal["load", "row", "statement", "mark"],
        entry: RowChange | StatementRun | TransactionMark,
        key: str,
        payload: dict[str, Any],
        schema: dict[str, Any],
        repeatable: bool = True,
    ) -> Message:
        value = _text({"schema": schema, "payload": payload})
        return Message(kind, entry.position, entry.time_ms + _LATENCY_MS, key, value, repeatable)

    def _payload(
        self, op: str, position: int | None, stamp: dict[str, int], **filled: dict[str, Any] | None
    ) -> dict[str, Any]:
        sequence = "-1" if position is None else str(sequence_id(self.history, position))
        images = {"before": filled.get("before"), "after": filled.get("after")}
        return {**images, "sequenceId": sequence, "timestamp": stamp, "op": op, "ddl": filled.get("ddl")}

    def _stamp(self, time_ms: int) -> dict[str, int]:
        """Return the times of a message. MySQL's log has only whole seconds."""
        at = time_ms // 1000 * 1000
        return {"eventTime": at, "systemTime": time_ms + _LATENCY_MS, "checkpointTime": at}

    def _source(self, table: str | None) -> dict[str, Any]:
        source = {"dbType": "MySQL", "dbName": self.history.database, "tableName": table}
        return {"dataColumn": None, "primaryKey": None, "source": source}

    def _schema(self, change: RowChange) -> dict[str, Any]:
        columns = [{"name": column.name, "type": wire_type(column.type)} for column in change.columns]
        if not change.keys and self.options.row_ids:
            columns.append({"name": ROW_ID, "type": "LONG"})
        keys = list(change.keys) or None
        return self._source(change.table) | {"dataColumn": columns, "primaryKey": keys}

    def _image(self, change: RowChange, row: Row) -> dict[str, Any]:
        image = {column.name: wire_value(column, value) for column, value in zip(change.columns, row, strict=True)}
        if not change.keys and self.options.row_ids:
            image[ROW_ID] = change.row_id
        return {"dataColumn": image}


def wire_type(kind: ColumnType) -> str:
    """Return the name of a type in a message: one of a few families such as LONG, without length or precision."""
    if kind.is_whole:
        return "LONG"
    match kind.base:
        case "decimal" | "double":
            return "DOUBLE"
        case "date" | "datetime" | "timestamp":
            return "DATE"
        case "varbinary":
            return "BYTES"
    return "STRING"


def wire_value(column: Column, value: Value) -> int | float | str | None:
    """Return a value of a row as the field `dataColumn` has it.

    Times are epoch milliseconds in UTC, and decimals are text with all digits.
    """
    match value:
        case Decimal():
            return f"{value:f}"
        case bytes():
            return b64encode(value).decode()
        case datetime():
            return (value.replace(tzinfo=UTC) - _EPOCH) // timedelta(milliseconds=1)
        case date():
            return (datetime.combine(value, time(), UTC) - _EPOCH) // timedelta(milliseconds=1)
    return value


def _text(message: dict[str, Any]) -> str:
    return json.dumps({**message, "version": "0.0.1"}, ensure_ascii=False, separators=(",", ":"))
