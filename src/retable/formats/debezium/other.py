"""Read Debezium's messages that are not row changes: statements, transactions, heartbeats and tombstones."""

import re

import msgspec
from msgspec import Raw

from retable.errors import Malformed, UnknownOperation
from retable.formats.context import DecodeContext
from retable.formats.debezium import position as place
from retable.formats.debezium.envelope import Boundary, Envelope, Heartbeat, StatementRecord
from retable.model.event import Address, ChangeEvent, Op
from retable.model.message import RawMessage
from retable.model.sequence import Sequence

NAME = "debezium_json"
SNAPSHOT, WITHOUT_TEXT = "snapshot", "N/A"
"""The `op_raw` (name of the operation) of two statements: one by which a snapshot declares a table, and one whose
text is not in the message."""

_WITHOUT_TEXTS = frozenset({"sqlserver", "db2", "informix"})
_STRUCTURE = frozenset({"CREATE", "ALTER"})
"""The databases whose connectors give only the table that resulted from a statement, and the names of such changes."""

_NAMES = msgspec.json.Decoder(dict[str, Raw])
_STATEMENT, _BOUNDARY = msgspec.json.Decoder(StatementRecord), msgspec.json.Decoder(Boundary)
_HEARTBEAT = msgspec.json.Decoder(Heartbeat)
_HEARTBEAT_NAMES = frozenset({"ts_ms", "ts_us", "ts_ns"})
_CREATES = re.compile(r"\s*CREATE\s+TABLE\b", re.IGNORECASE)
_QUOTED = re.compile(r'"((?:[^"]|"")*)"(?:\.|\Z)')


class _TableChange(msgspec.Struct, gc=False):
    type: str
    id: str | None = None


_TABLE_CHANGES = msgspec.json.Decoder(list[_TableChange] | None)


def tombstone(message: RawMessage, context: DecodeContext) -> ChangeEvent:
    """Return the event of a tombstone (a null value, with which Kafka removes a key). It changes no row.

    The delete itself came in the message before it.
    """
    return _note("OTHER", "tombstone", message, context)


def read_other(envelope: Envelope, message: RawMessage, context: DecodeContext) -> ChangeEvent:
    """Read a message without an operation. The names of its fields show its kind: statement, transaction, heartbeat."""
    names = _NAMES.decode(envelope.text).keys()
    try:
        if "ddl" in names or "tableChanges" in names:
            return _statement(_STATEMENT.decode(envelope.text), message, context)
        if {"status", "id"} <= names:
            return _boundary(_BOUNDARY.decode(envelope.text), message, context)
        if "ts_ms" in names and names <= _HEARTBEAT_NAMES:
            beat = _HEARTBEAT.decode(envelope.text)
            return _note("HEARTBEAT", "heartbeat", message, context, process_time_ms=known_time(beat.ts_ms))
    except msgspec.DecodeError as error:
        raise Malformed(f"the message does not match its format: {error}") from error
    raise UnknownOperation(
        "the message has no field `op`, and it is not a statement, a transaction or a heartbeat; if a transform of "
        "Kafka Connect unwraps messages, remove the transform: it drops fields that Retable needs",
        place="payload.op",
    )


def known_time(milliseconds: int | None) -> int | None:
    """Return the time unchanged, or None if it is None, 0 or negative, which means that there is no time."""
    return milliseconds if milliseconds is not None and milliseconds > 0 else None


def _boundary(boundary: Boundary, message: RawMessage, context: DecodeContext) -> ChangeEvent:
    """Return the note of the begin or end of a transaction. Its time may be from the connector's clock."""
    if boundary.status not in ("BEGIN", "END"):
        reason = f"`payload.status` is {boundary.status[:40]!r}; expected BEGIN or END"
        raise UnknownOperation(reason, place="payload.status")
    time = known_time(boundary.ts_ms)
    return _note("TRANSACTION", boundary.status, message, context, tx_id=boundary.id, process_time_ms=time)


def _statement(statement: StatementRecord, message: RawMessage, context: DecodeContext) -> ChangeEvent:
    """Return the event of a statement.

    A snapshot begins with statements that drop everything, so only those of its statements count that declare a table.
    SQL Server's connector writes no text of a statement: the rows name their columns.
    """
    source = statement.source
    changes = _table_changes(statement)
    kinds = [change.type for change in changes]
    text = statement.ddl if statement.ddl and statement.ddl != WITHOUT_TEXT and statement.ddl.strip() else None
    system = (source.connector or context.source_system or "").lower() or None
    declares = "CREATE" in kinds or (not changes and text is not None and _CREATES.match(text) is not None)
    counts = not source.is_snapshot or declares
    sequence, scope = None, None
    if counts:
        phase = place.KNOWN if source.is_snapshot else place.STATED
        sequence, scope, _ = place.position(system, source, phase, message, context)
        if scope == "partition" and declares:
            # Rows have a separate topic, so this offset does not order them. No row came before the statement.
            sequence = Sequence(sequence.epoch, place.BEFORE_ROWS, message.offset)
    is_structure = system in _WITHOUT_TEXTS and text is None and bool(kinds) and set(kinds) <= _STRUCTURE
    op_raw = WITHOUT_TEXT if statement.ddl == WITHOUT_TEXT or is_structure else next(iter(kinds), "DDL")
    schema, table = _table(statement, changes)
    return ChangeEvent(
        source_format=NAME,
        source_system=system,
        op="DDL" if counts else "OTHER",
        op_raw=SNAPSHOT if source.is_snapshot else op_raw,
        address=Address(message.topic, message.partition, message.offset),
        database=statement.database or source.db or None,
        schema=statement.schema or schema,
        table=table,
        table_changes=bytes(statement.table_changes).decode() if changes else None,
        sequence=sequence,
        sequence_scope=scope,
        tx_id=source.gtid,
        event_time_ms=known_time(source.ts_ms),
        process_time_ms=known_time(statement.ts_ms),
        ddl_text=text,
    )


def _table_changes(statement: StatementRecord) -> list[_TableChange]:
    try:
        return _TABLE_CHANGES.decode(statement.table_changes) or []
    except msgspec.ValidationError as error:
        raise Malformed(f"`payload.tableChanges` is unreadable: {error}", place="payload.tableChanges") from error


def _table(statement: StatementRecord, changes: list[_TableChange]) -> tuple[str | None, str | None]:
    """The schema and table of a statement about one table, named `"database"."schema"."table"` or without a schema."""
    ids = {change.id for change in changes if change.id}
    if len(ids) != 1:
        name = statement.source.table or None
        return None, None if name is None or "," in name or ids else name
    parts = [part.replace('""', '"') for part in _QUOTED.findall(ids.pop())]
    return (parts[1] if len(parts) == 3 else None), (parts[-1] if parts else None)


def _note(
    op: Op,
    op_raw: str,
    message: RawMessage,
    context: DecodeContext,
    tx_id: str | None = None,
    process_time_ms: int | None = None,
) -> ChangeEvent:
    return ChangeEvent(
        source_format=NAME,
        source_system=context.source_system,
        op=op,
        op_raw=op_raw,
        address=Address(message.topic, message.partition, message.offset),
        tx_id=tx_id,
        process_time_ms=process_time_ms,
    )
