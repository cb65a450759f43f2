"""Decode a message of StreamX, the engine of DataWorks' Data Integration, to one change event.

Two formats have such messages: `streamx_json` to Kafka and `datahub_blob` to DataHub. The contents and the order
of messages are the same in both.
"""

from msgspec import UnsetType

from retable.errors import BadValue, Malformed, MessageError, UnknownOperation
from retable.formats.context import DecodeContext
from retable.formats.image_text import key_text, read_image, write_image
from retable.formats.streamx.envelope import ROWID, Payload, Row, StreamXSchema, read_envelope, read_schema_part
from retable.model.event import Address, ChangeEvent, Image, Op, TableName
from retable.model.message import RawMessage
from retable.model.schema import GoldType
from retable.model.schema_change import DropTable, NoChange, SchemaChange
from retable.model.sequence import Sequence
from retable.values.encodings import Base64, Encoding, EpochMillis, Numeral, Text, Truth, Whole
from retable.values.mysql_encoding import changes_schema

CANNOT_TELL = (
    "A second full load: its rows have the same position in the order as the rows of the first, and do not replace "
    "them. Rows that were deleted between the two stay.",
    "Where a transaction ends: its begin and end name no rows.",
    "Whether a DATE was a date, a wall clock or an instant; whether a DOUBLE was a decimal; digits below the "
    "millisecond. Statements and settings declare types; digits that are lost upstream cannot be restored.",
    "Rows that a statement changes without a row event, such as DROP PARTITION.",
)
MARKS = ("dataColumn", "eventTime", "op", "payload", "primaryKey", "sequenceId")
_ROW_CHANGES: dict[tuple[str, bool, bool], tuple[Op, Image]] = {
    ("INSERT", False, True): ("INSERT", "full"),
    ("UPDATE_BEFOR", True, False): ("UPDATE", "before_half"),
    ("UPDATE_BEFORE", True, False): ("UPDATE", "before_half"),
    ("UPDATE_AFTER", False, True): ("UPDATE", "after_half"),
    ("UPDATE_AFTER", True, True): ("UPDATE", "full"),
    ("UPDATE", True, True): ("UPDATE", "full"),
    ("DELETE", True, False): ("DELETE", "full"),
}
"""The valid combinations: the operation, and whether it has a before and an after image. Others are refused."""

_OTHER_OPS: dict[str, Op] = {
    **dict.fromkeys(("CREATE", "ALTER", "RENAME", "ERASE", "CINDEX", "DINDEX"), "DDL"),
    "TRUNCATE": "TRUNCATE",
    **dict.fromkeys(("TRANSACTION_BEGIN", "TRANSACTION_END"), "TRANSACTION"),
    **dict.fromkeys(("QUERY", "GTID", "XACOMMIT", "XAROLLBACK"), "OTHER"),
    "MHEARTBEAT": "HEARTBEAT",
}
_ROW_OPS = frozenset(op for op, _, _ in _ROW_CHANGES)
_FULL_LOAD = -1


def decode(message: RawMessage, context: DecodeContext) -> list[ChangeEvent]:
    """Decode one message of `streamx_json` or `datahub_blob` to one event.

    It is a row change, half of an update (its before or after image), a statement or a note. `context` has the settings
    of the source.
    """
    if message.value is None:
        raise Malformed("the message has no value; DataWorks writes a value in every message")
    envelope = read_envelope(message.value)
    schema_part, payload = read_schema_part(envelope, context.keys_of), envelope.payload
    if payload.op in _ROW_OPS:
        return [_row_change(payload, schema_part, message, context)]
    op = _OTHER_OPS.get(payload.op)
    if op is None:
        text = f"`payload.op` is {payload.op[:40]!r}, which is not an operation of DataWorks, such as INSERT"
        raise _refused(UnknownOperation, schema_part, text, "payload.op")
    return [_other(payload, schema_part, op, message, context)]


def _other(
    payload: Payload, schema_part: StreamXSchema, op: Op, message: RawMessage, context: DecodeContext
) -> ChangeEvent:
    """Return the event of a statement, which has a position in the order, or of a note, which has no position."""
    text = payload.statement
    if payload.op == "QUERY" and text is not None and changes_schema(text):
        op = "DDL"
    ordered = op in ("DDL", "TRUNCATE")
    return ChangeEvent(
        source_format=context.source_format,
        source_system=schema_part.system or context.source_system,
        op=op,
        op_raw=payload.op,
        address=Address(message.topic, message.partition, message.offset),
        database=schema_part.database,
        schema=schema_part.schema,
        table=schema_part.table,
        sequence=Sequence(context.source_epoch, _position(payload, schema_part), 1) if ordered else None,
        sequence_scope="stream" if ordered else None,
        event_time_ms=_time(payload.timestamp.event_time),
        process_time_ms=_time(payload.timestamp.system_time),
        ddl_text=text,
    )


def _row_change(
    payload: Payload, schema_part: StreamXSchema, message: RawMessage, context: DecodeContext
) -> ChangeEvent:
    before, after = payload.before_row, payload.after_row
    op, image = _operation(payload, schema_part, before, after)
    position = _position(payload, schema_part)
    if not schema_part.listed:
        text = f"{payload.op} has no column types: `schema.dataColumn` is missing or empty"
        raise _refused(Malformed, schema_part, text, "schema.dataColumn")
    return ChangeEvent(
        source_format=context.source_format,
        source_system=schema_part.system or context.source_system,
        op="READ" if op == "INSERT" and position == _FULL_LOAD else op,
        op_raw=payload.op,
        address=Address(message.topic, message.partition, message.offset),
        database=schema_part.database,
        schema=schema_part.schema,
        table=schema_part.table,
        image=image,
        keys=schema_part.keys,
        keys_origin=schema_part.keys_origin,
        before=_text(before, schema_part, "before"),
        after=_text(after, schema_part, "after"),
        sequence=Sequence(context.source_epoch, position, 0 if image == "before_half" else 1),
        sequence_scope="stream",
        event_time_ms=_time(payload.timestamp.event_time),
        process_time_ms=_time(payload.timestamp.system_time),
        column_types=schema_part.types,
        problems=schema_part.problems,
    )


def _operation(payload: Payload, schema_part: StreamXSchema, before: Row | None, after: Row | None) -> tuple[Op, Image]:
    found = _ROW_CHANGES.get((payload.op, before is not None, after is not None))
    if found is None:
        images = [name for name, row in (("before", before), ("after", after)) if row is not None]
        text = (
            f"{payload.op} is not valid with {' and '.join(images) if images else 'no'} image: an insert has `after`, "
            f"a delete has `before`, an update has both in one message or in two"
        )
        raise _refused(Malformed, schema_part, text, "payload")
    return found


def _position(payload: Payload, schema_part: StreamXSchema) -> int:
    position = payload.position
    if position is None:
        text = f"{payload.op} has no valid position in the order: `payload.sequenceId` must be digits"
        raise _refused(Malformed, schema_part, text, "payload.sequenceId")
    return position


def _text(row: Row | None, schema_part: StreamXSchema, part: str) -> str | None:
    """Return an image as text. It must have exactly the columns that the message lists: no missing column is NULL."""
    if row is None:
        return None
    if row.keys() != schema_part.listed.keys():
        raise _torn(row, schema_part, f"payload.{part}.dataColumn")
    return write_image(
        row if schema_part.types is schema_part.listed else {name: row[name] for name in row if name != ROWID}
    )


def _torn(row: Row, schema_part: StreamXSchema, place: str) -> MessageError:
    missing = min(schema_part.listed.keys() - row.keys(), default=None)
    if missing is not None:
        text = f"the column {missing[:100]!r}, which `dataColumn` of the schema part lists, is not in the image"
    else:
        text = f"the column {min(row.keys() - schema_part.listed.keys())[:100]!r} of the image is not in `dataColumn`"
    touched = (key_text(read_image(write_image(row)), schema_part.keys),) if schema_part.keys else ()
    return BadValue(text, place=place, table=schema_part.name, keys=touched)


def _time(milliseconds: int | UnsetType | None) -> int | None:
    return milliseconds if milliseconds and milliseconds > 0 else None


def _refused(kind: type[MessageError], schema_part: StreamXSchema, text: str, place: str) -> MessageError:
    return kind(text, place=place, table=schema_part.name)


_FORMS: dict[str, Encoding] = {
    "BOOLEAN": Truth(),
    "LONG": Whole(),
    "DOUBLE": Numeral(),
    "DATE": EpochMillis(),
    "BYTES": Base64(None),
    "STRING": Text(),
}
_GOLD_TYPES: dict[str, GoldType] = {
    "BOOLEAN": GoldType("boolean"),
    "LONG": GoldType("long"),
    "DOUBLE": GoldType("double"),
    "DATE": GoldType("timestamp"),
    "BYTES": GoldType("binary"),
    "STRING": GoldType("string"),
}


def wire_encoding(wire_type: str | None) -> Encoding:
    """Return the encoding of values, by their type in the message. Values of an unknown type are text."""
    return _FORMS.get(wire_type or "", Text())


def default_type(wire_type: str) -> GoldType | None:
    """Return the gold type of a column that no statement declared, None if its type in the message is unknown.

    A DOUBLE in the message was a float, a double or a DECIMAL in the source. The message does not say which, so the
    column becomes a double, because no decimal type holds all doubles. A value with digits that no double has is
    rejected until the setting `types` or a statement declares the column as a decimal.

    A DATE in the message was a date, a local date and time, or a point in time. Its column becomes a timestamp without
    zone, with the local time in the zone that the setting `time_zone` names.
    """
    return _GOLD_TYPES.get(wire_type)


def implied_change(op_raw: str, table: TableName) -> SchemaChange | None:
    """Return the schema change of a statement that came without its text.

    `op_raw` is the operation in the message. Return None if it does not show the change.
    """
    match op_raw:
        case "ERASE":
            return DropTable(table)
        case "CINDEX" | "DINDEX":
            return NoChange("index")
    return None
