"""debezium_json: row changes, statements and notes of any database, as the connectors of Debezium write them.

Written by Debezium's connectors through Kafka Connect's JsonConverter, with the schema part or without (known from
3.4.0 on MariaDB and PostgreSQL, and from the printed messages of 2.1.4 on Oracle). One message is one row change:

    {"schema":{…},"payload":{"before":null,"after":{"id":1,"price":"ASw="},"source":{"version":"3.4.0.Final",
     "connector":"mysql","name":"erp","ts_ms":1700000000000,"snapshot":"false","db":"shop","table":"t","gtid":null,
     "file":"bin.000003","pos":1234,"row":0},"op":"c","ts_ms":1700000000123,"transaction":null}}

Without the schema part the message is the payload alone, and declares no types. A null value (a tombstone) follows each
delete, for Kafka's compaction. Heartbeats, transactions and schema changes come on separate topics. A column that the
source did not log has a placeholder as its value. A changed key is a delete and a create. The key columns are those of
the message's key. The order is the source's own (`position.py`). For users: docs/formats.md.
"""

from typing import NamedTuple

from retable.errors import BadValue, Malformed, MessageError, UnknownOperation
from retable.formats.context import DecodeContext
from retable.formats.debezium import position as place
from retable.formats.debezium.envelope import Envelope, Payload, Row, SourcePart, read_envelope, read_key
from retable.formats.debezium.images import key_only, logged, may_lack
from retable.formats.debezium.options import DebeziumOptions
from retable.formats.debezium.other import NAME, SNAPSHOT, WITHOUT_TEXT, known_time, read_other, tombstone
from retable.formats.debezium.schema import SchemaPart
from retable.formats.debezium.types import declared_encoding, default_type, wire_encoding
from retable.formats.format import Format
from retable.formats.image_text import key_text, read_image, write_image
from retable.model.event import ROW_OPS, Address, ChangeEvent, Image, KeysOrigin, Op, TableName
from retable.model.message import RawMessage
from retable.model.schema_change import NoChange, SchemaChange

VERSION = "debezium_json/3"
TIME_ZONE = "The zone of wall clocks that `types` makes instants; nothing else is ever shifted."
CANNOT_TELL = (
    "MySQL, MariaDB: a zero or partial date comes as null, or as 1970 in a NOT NULL column. Text of a converted gbk or "
    "latin1 table is garbled. Rows that DROP and TRUNCATE PARTITION remove leave no event.",
    "MySQL: the order inside a transaction that the server compressed (`binlog_transaction_compression`), since all "
    "its changes have one position. If it changes a key twice, the first change counts. Any session can switch it on.",
    "MariaDB: zero bytes at the end of a `uuid`: the connector (3.4) moves them to its front. A row with a `uuid` that "
    "may be changed in this way is rejected.",
    "PostgreSQL has no statements. A new column appears in the rows, and older rows show null instead of its default. "
    "A renamed column looks like another column. A renamed table is another topic and has no key there. A number that "
    "became wider is wider in gold from the first row that shows it. After another change of type the column keeps its "
    "first type, and rows that do not fit it are rejected until `types` names a type that holds both.",
    "PostgreSQL: a numeric NaN is null. An interval has its months and years counted as days. A column name with "
    "characters of several bytes is garbled. Years before 1 and infinite dates reject their row, unless the table's "
    "`far_date` is `null`, or `string` (then they are `0044-03-15 BC` and `infinity`); or set "
    '`types = { c = "string" }` for one column.',
    "With `time.precision.mode=connect` times are cut to milliseconds. Debezium 2.1 writes a negative TIME of MySQL "
    "up to 3 s off; 3.4 writes it correctly.",
    "SQL Server: columns that were added after the capture instance was made.",
    "A restored table, or a server that took over with separate binlogs: positions start again, so raise "
    "`source_epoch`.",
)
_OPS: dict[str, tuple[Op, int]] = {
    "c": ("INSERT", place.CREATED),
    "u": ("UPDATE", place.CHANGED),
    "d": ("DELETE", place.DELETED),
    "r": ("READ", place.CHANGED),
    "t": ("TRUNCATE", place.STATED),
    "m": ("OTHER", place.STATED),
}
_FILLED = frozenset({("c", False, True), ("r", False, True), ("u", False, True), ("u", True, True), ("d", True, False)})
"""The valid combinations: the operation, whether it has a before image, and whether it has an after image."""

_FIELDS = (("scn", "oracle"), ("file", "mysql"), ("lsn", "postgresql"), ("commit_lsn", "sqlserver"))
"""Fields of `source`, each with the database system that it shows, if the message does not name the system."""


class _Change(NamedTuple):
    """A message with an operation: its parts, and the database system and the table that it comes from."""

    payload: Payload
    source: SourcePart
    schema_part: SchemaPart | None
    text: bytes
    message: RawMessage
    context: DecodeContext
    system: str
    database: str | None
    schema: str | None
    table: str | None

    @property
    def name(self) -> TableName | None:
        return TableName(self.database, self.schema, self.table) if self.database and self.table else None


class _Images(NamedTuple):
    """The fields of an event that describe its row."""

    image: Image | None = None
    keys: tuple[str, ...] | None = None
    keys_origin: KeysOrigin | None = None
    before: str | None = None
    after: str | None = None
    partial_before: bool = False
    partial_after: bool = False
    column_types: dict[str, str] | None = None


_NO_IMAGES = _Images()


def decode(message: RawMessage, context: DecodeContext) -> list[ChangeEvent]:
    """Decode one message of Debezium to exactly one event. `context` has the settings of the source."""
    if message.value is None:
        return [tombstone(message, context)]
    envelope = read_envelope(message.value)
    payload = envelope.payload
    if payload is None:
        return [tombstone(message, context)]
    if payload.op is None:
        return [read_other(envelope, message, context)]
    if payload.op not in _OPS:
        raise UnknownOperation(f"`payload.op` is {payload.op[:40]!r}; expected c, u, d, r, t or m", place="payload.op")
    change = _change(envelope, payload, message, context)
    op, phase = _OPS[payload.op]
    if op in ROW_OPS:
        return [_row_change(change, op, place.KNOWN if change.source.is_incremental else phase)]
    if op == "TRUNCATE":
        return [_event(change, op, phase, () if change.table else ("TABLE_UNKNOWN",))]
    return [_event(change, op, None, ())]


def _change(envelope: Envelope, payload: Payload, message: RawMessage, context: DecodeContext) -> _Change:
    source = payload.source
    if source is None:
        raise Malformed(f"the operation {payload.op} has no field `payload.source`", place="payload.source")
    system = _system(source, envelope.schema_part, context)
    database, schema, table = _names(source, envelope.schema_part, system, message)
    database = database or DebeziumOptions.of(context.options).database
    return _Change(
        payload, source, envelope.schema_part, envelope.text, message, context, system, database, schema, table
    )


def _system(source: SourcePart, schema_part: SchemaPart | None, context: DecodeContext) -> str:
    """Return the database system of the connector; UnknownOperation if neither message nor settings show it."""
    system = source.connector or (schema_part and schema_part.connector)
    if not system:
        system = next(
            (system for field, system in _FIELDS if getattr(source, field) is not None), context.source_system
        )
    if not system:
        raise UnknownOperation(
            "`payload.source` names no connector and no position, so its database system is not known; set "
            "`source_system` of the source",
            place="payload.source",
        )
    return system.lower()


def _names(
    source: SourcePart, schema_part: SchemaPart | None, system: str, message: RawMessage
) -> tuple[str | None, str | None, str | None]:
    """Return database, schema and table: from `source`, else from the topic, else from the name of the schema part.

    The names of topic and schema part are `<server>.<names>`. In them, the connector replaces characters other than
    letters, digits, `_`, `-` and `.`.
    """
    if source.table:
        return source.db or None, source.schema or None, source.table
    prefix = f"{source.name}."
    for text in (message.topic, ((schema_part and schema_part.name) or "").removesuffix(".Envelope")):
        parts = text.removeprefix(prefix).split(".")
        if text.startswith(prefix) and len(parts) == 3:
            return parts[0], parts[1], parts[2]
        if text.startswith(prefix) and len(parts) == 2:
            has_schemas = system not in ("mysql", "mariadb")
            return (source.db or None, parts[0], parts[1]) if has_schemas else (parts[0], None, parts[1])
    return source.db or None, source.schema or None, None


def _row_change(change: _Change, op: Op, phase: int) -> ChangeEvent:
    # A row without columns counts as no row.
    before, after = change.payload.before or None, change.payload.after or None
    key = _key(change)
    bare = op == "DELETE" and before is None and key is not None
    if bare:
        before = key
    if (change.payload.op, before is not None, after is not None) not in _FILLED:
        filled = [each for each, row in (("before", before), ("after", after)) if row is not None]
        text = f"the operation {change.payload.op} is not valid with {' and '.join(filled) if filled else 'no'} image"
        text = f"{text}: c and r have `after`, d has `before`, u has at least `after`"
        raise _refused(Malformed, change, text, "payload")
    keys, origin = _keys(change, key, after or before or {})
    types = change.schema_part.types if change.schema_part is not None else None
    for row, part in ((None if bare else before, "before"), (after, "after")):
        if types is not None and row is not None and row.keys() != types.keys():
            raise _torn(change, row, types, part, keys)
    old, new = before, after
    if may_lack(change.text, DebeziumOptions.of(change.context.options).unavailable_value):
        old, new = _logged(change, before), _logged(change, after)
    if old is not None and old is before and origin == "message_key" and _is_key_only(change, old, keys or ()):
        old = {name: old[name] for name in keys or ()}
    problems = [] if change.table else ["TABLE_UNKNOWN"]
    if keys is None:
        problems.append("KEYS_UNKNOWN")
    elif not set(keys) <= (new or old or {}).keys():
        problems.append("KEY_NOT_IN_IMAGE")
    images = _Images(
        "full",
        keys,
        origin,
        None if old is None else write_image(old),
        None if new is None else write_image(new),
        bare or _lacks(old, before),
        _lacks(new, after),
        None if change.schema_part is None else change.schema_part.types_of(before, after),
    )
    return _event(change, op, phase, tuple(problems), images)


def _event(
    change: _Change, op: Op, phase: int | None, problems: tuple[str, ...], images: _Images = _NO_IMAGES
) -> ChangeEvent:
    """Return the event of a change; `images` describes its row. If `phase` is None, it has no position in the order."""
    payload, source, message = change.payload, change.source, change.message
    sequence, scope = None, None
    if phase is not None:
        try:
            sequence, scope, lacking = place.position(change.system, source, phase, message, change.context)
        except Malformed as error:
            raise _refused(Malformed, change, error.message, str(error.facts["place"])) from error
        problems += lacking
    told_id = source.tx_id or source.gtid or (payload.transaction and payload.transaction.id) or source.commit_lsn
    return ChangeEvent(
        source_format=NAME,
        source_system=change.system,
        op=op,
        op_raw=payload.op or "",
        address=Address(message.topic, message.partition, message.offset),
        database=change.database,
        schema=change.schema,
        table=change.table,
        image=images.image,
        keys=images.keys,
        keys_origin=images.keys_origin,
        before=images.before,
        after=images.after,
        partial_before=images.partial_before,
        partial_after=images.partial_after,
        sequence=sequence,
        sequence_scope=scope,
        tx_id=None if told_id is None else str(told_id),
        event_time_ms=known_time(source.ts_ms),
        process_time_ms=known_time(payload.ts_ms),
        column_types=images.column_types,
        problems=problems,
    )


def _key(change: _Change) -> Row | None:
    """Return the columns of the Kafka key. If it is unreadable and the settings name the key, return None."""
    try:
        return read_key(change.message.key)
    except Malformed as error:
        if _settled_keys(change):
            return None
        raise _refused(Malformed, change, error.message, "key") from error


def _keys(change: _Change, key: Row | None, row: Row) -> tuple[tuple[str, ...], KeysOrigin] | tuple[None, None]:
    """Return the key columns: those of the Kafka key; if it has columns that the row lacks, those of the settings.

    A router may have added such columns. If the settings name no key, the columns of the Kafka key are returned.
    """
    named = tuple(key or ())
    settled = () if named and set(named) <= row.keys() else _settled_keys(change)
    if settled:
        return settled, "registry"
    return (named, "message_key") if named else (None, None)


def _settled_keys(change: _Change) -> tuple[str, ...]:
    return change.context.keys_of(change.name) if change.name is not None else ()


def _logged(change: _Change, row: Row | None) -> Row | None:
    return None if row is None else logged(row, DebeziumOptions.of(change.context.options).unavailable_value)


def _is_key_only(change: _Change, row: Row, keys: tuple[str, ...]) -> bool:
    return change.system == "postgresql" and set(keys) <= row.keys() and key_only(row, keys, change.schema_part)


def _lacks(image: Row | None, row: Row | None) -> bool:
    return image is not None and row is not None and len(image) < len(row)


def _torn(change: _Change, row: Row, types: dict[str, str], part: str, keys: tuple[str, ...] | None) -> MessageError:
    """Return the error for an image whose columns differ from the schema part: a missing column is not NULL."""
    missing = min(types.keys() - row.keys(), default=None)
    if missing is not None:
        text = f"the column {missing[:100]!r} of the schema part is not in the {part} image"
    else:
        text = f"the column {min(row.keys() - types.keys())[:100]!r} of the {part} image is not in the schema part"
    touched = (key_text(read_image(write_image(row)), keys),) if keys else ()
    return BadValue(text, place=f"payload.{part}", table=change.name, keys=touched)


def _refused(kind: type[MessageError], change: _Change, text: str, where: str) -> MessageError:
    return kind(text, place=where, table=change.name)


def implied_change(op_raw: str, table: TableName) -> SchemaChange | None:
    """Return the schema change of a statement that came without its text: it declares a table, but not its columns.

    Return None if `op_raw` (name of the operation) is that of another statement.
    """
    return NoChange("declared") if op_raw in (SNAPSHOT, WITHOUT_TEXT) else None


FORMAT = Format(
    name=NAME,
    version=VERSION,
    decode=decode,
    encoding=wire_encoding,
    default_type=default_type,
    declared_encoding=declared_encoding,
    implied_change=implied_change,
    snapshot_op=SNAPSHOT,
    order_scope=place.order_scope,
    partitions_in_order=False,
    topic_per_table=True,
    binlog_position=place.binlog_position,
    options_decide_numbers=True,
    options=DebeziumOptions,
    untyped=("decimal_mode", "time_mode"),
    marks=("after", "before", "connector", "op", "source", "ts_ms"),
    time_zone=TIME_ZONE,
    cannot_tell=CANNOT_TELL,
)
