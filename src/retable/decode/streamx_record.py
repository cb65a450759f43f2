"""The record of StreamX, the engine of DataWorks' Data Integration, as change events: one each.

Two formats carry it: `streamx_json` to Kafka and `datahub_blob` into DataHub. What is in it and in which order its
records stand is the same in both.
"""

import re

from retable.decode.context import DecodeContext
from retable.decode.image_text import key_text, read_image, write_image
from retable.decode.streamx_envelope import ROWID, Payload, Row, Told, read_envelope, read_told
from retable.decode.wire import Base64, EpochMillis, Numeral, Text, Truth, Whole, WireForm
from retable.errors import BadValue, Malformed, MessageError, UnknownOperation
from retable.model.event import Address, ChangeEvent, Image, KeysOrigin, Op, TableName
from retable.model.message import RawMessage
from retable.model.schema import GoldType
from retable.model.schema_change import DropTable, NoChange, SchemaChange
from retable.model.sequence import Sequence

_ROW_CHANGES: dict[tuple[str, bool, bool], tuple[Op, Image]] = {
    ("INSERT", False, True): ("INSERT", "full"),
    ("UPDATE_BEFOR", True, False): ("UPDATE", "before_half"),
    ("UPDATE_BEFORE", True, False): ("UPDATE", "before_half"),
    ("UPDATE_AFTER", False, True): ("UPDATE", "after_half"),
    ("UPDATE_AFTER", True, True): ("UPDATE", "full"),
    ("UPDATE", True, True): ("UPDATE", "full"),
    ("DELETE", True, False): ("DELETE", "full"),
}
"""What an operation is, by whether its before and its after image are filled; no other filling has a meaning."""

_OTHER_OPS: dict[str, Op] = {
    **dict.fromkeys(("CREATE", "ALTER", "RENAME", "ERASE", "CINDEX", "DINDEX"), "DDL"),
    "TRUNCATE": "TRUNCATE",
    **dict.fromkeys(("TRANSACTION_BEGIN", "TRANSACTION_END"), "TRANSACTION"),
    **dict.fromkeys(("QUERY", "GTID", "XACOMMIT", "XAROLLBACK"), "OTHER"),
    "MHEARTBEAT": "HEARTBEAT",
}
_ROW_OPS = frozenset(op for op, _, _ in _ROW_CHANGES)
_FULL_LOAD = -1
_DDL = re.compile(
    r"(?>\s|;|/\*(?!M?!).*?\*/|/\*M?!\d*|--(?=\s)[^\n]*|#[^\n]*)*+"
    r"(?:create|alter|drop|rename|truncate|set\s+statement)\b",
    re.IGNORECASE | re.DOTALL,
)
"""How a text begins that changes a schema, behind blanks and comments; others of QUERY are BEGIN, COMMIT, GRANT, …"""


def decode(message: RawMessage, context: DecodeContext) -> list[ChangeEvent]:
    """Decode one message of either format: one row, half of an update, a statement or a note."""
    if message.value is None:
        raise Malformed("the message has no value, and DataWorks writes none without")
    envelope = read_envelope(message.value)
    told, payload = read_told(envelope.schema), envelope.payload
    if payload.op in _ROW_OPS:
        return [_row_change(payload, told, message, context)]
    op = _OTHER_OPS.get(payload.op)
    if op is None:
        raise _refused(UnknownOperation, told, f"the operation {payload.op[:40]!r} is not known", "payload.op")
    return [_other(payload, told, op, message, context)]


def _other(payload: Payload, told: Told, op: Op, message: RawMessage, context: DecodeContext) -> ChangeEvent:
    """A statement, which has a place in the order, or a note, which has none."""
    text = payload.statement
    if payload.op == "QUERY" and text is not None and _DDL.match(text):
        op = "DDL"
    ordered = op in ("DDL", "TRUNCATE")
    return ChangeEvent(
        source_format=context.source_format,
        source_system=told.system or context.source_system,
        op=op,
        op_raw=payload.op,
        address=Address(message.topic, message.partition, message.offset),
        database=told.database,
        schema=told.schema,
        table=told.table,
        sequence=Sequence(context.source_epoch, _position(payload, told), 1) if ordered else None,
        sequence_scope="stream" if ordered else None,
        event_time_ms=_time(payload.timestamp.event_time),
        process_time_ms=_time(payload.timestamp.system_time),
        ddl_text=text,
    )


def _row_change(payload: Payload, told: Told, message: RawMessage, context: DecodeContext) -> ChangeEvent:
    before, after = payload.before_row, payload.after_row
    op, image = _operation(payload, told, before, after)
    position = _position(payload, told)
    keys, origin = _keys(told, context)
    types, problems = told.types, _problems(told, keys)
    if types is None:
        raise _refused(Malformed, told, f"{payload.op} without the types of its columns", "schema.dataColumn")
    for row, place in ((before, "before"), (after, "after")):
        if row is not None and row.keys() != types.keys():
            raise _torn(row, types, f"payload.{place}.dataColumn", told, keys)
    if told.types_without_rowid is not None and ROWID not in (keys or ()):
        types = told.types_without_rowid
        before, after = _without_rowid(before), _without_rowid(after)
    return ChangeEvent(
        source_format=context.source_format,
        source_system=told.system or context.source_system,
        op="READ" if op == "INSERT" and position == _FULL_LOAD else op,
        op_raw=payload.op,
        address=Address(message.topic, message.partition, message.offset),
        database=told.database,
        schema=told.schema,
        table=told.table,
        image=image,
        keys=keys,
        keys_origin=origin,
        before=None if before is None else write_image(before),
        after=None if after is None else write_image(after),
        sequence=Sequence(context.source_epoch, position, 0 if image == "before_half" else 1),
        sequence_scope="stream",
        event_time_ms=_time(payload.timestamp.event_time),
        process_time_ms=_time(payload.timestamp.system_time),
        column_types=types,
        problems=problems,
    )


def _operation(payload: Payload, told: Told, before: Row | None, after: Row | None) -> tuple[Op, Image]:
    found = _ROW_CHANGES.get((payload.op, before is not None, after is not None))
    if found is None:
        images = [name for name, row in (("before", before), ("after", after)) if row is not None]
        text = f"{payload.op} with {' and '.join(images) if images else 'no'} image"
        raise _refused(Malformed, told, text, "payload")
    return found


def _position(payload: Payload, told: Told) -> int:
    position = payload.position
    if position is None:
        text = f"{payload.op} without its place in the order: there are no digits"
        raise _refused(Malformed, told, text, "payload.sequenceId")
    return position


def _keys(told: Told, context: DecodeContext) -> tuple[tuple[str, ...], KeysOrigin] | tuple[None, None]:
    if told.keys:
        return told.keys, "message"
    if told.row_id:
        return (told.row_id,), "hidden_row_id"
    keys = context.keys_of(told.name) if told.name is not None else ()
    if keys:
        return keys, "registry"
    # A row that moves gets another rowid: better than nothing, worse than all else.
    return ((ROWID,), "hidden_row_id") if told.types_without_rowid is not None else (None, None)


def _problems(told: Told, keys: tuple[str, ...] | None) -> tuple[str, ...]:
    found = []
    if told.name is None:
        found.append("TABLE_UNKNOWN")
    if keys is None:
        found.append("KEYS_UNKNOWN")
    elif not told.types or not told.types.keys() >= set(keys):
        found.append("KEY_NOT_IN_IMAGE")
    return tuple(found)


def _torn(row: Row, types: dict[str, str], place: str, told: Told, keys: tuple[str, ...] | None) -> MessageError:
    """The refusal of an image that has other columns than the message lists: what is missing there is not NULL."""
    missing = min(types.keys() - row.keys(), default=None)
    if missing is not None:
        text = f"the column {missing[:100]!r}, which dataColumn lists, is not in the image"
    else:
        text = f"the column {min(row.keys() - types.keys())[:100]!r} of the image is not in dataColumn"
    touched = (key_text(read_image(write_image(row)), keys),) if keys else ()
    return BadValue(text, place=place, table=told.name, keys=touched)


def _without_rowid(row: Row | None) -> Row | None:
    return None if row is None else {name: token for name, token in row.items() if name != ROWID}


def _time(milliseconds: int | None) -> int | None:
    return milliseconds if milliseconds is not None and milliseconds > 0 else None


def _refused(kind: type[MessageError], told: Told, text: str, place: str) -> MessageError:
    return kind(text, place=place, table=told.name)


_FORMS: dict[str, WireForm] = {
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


def wire_form(wire_type: str | None) -> WireForm:
    """Tell how values of a wire type stand in a message; what has none of the six types is text."""
    return _FORMS.get(wire_type or "", Text())


def untold(wire_type: str) -> GoldType | None:
    """The gold type of a column that no statement told.

    A DOUBLE may have been a DECIMAL. Its column is a double all the same, because a column has one type, and genuine
    doubles have up to 17 digits: a value whose digits a double does not tell is rejected, until `types` or a statement
    says decimal. A DATE may have been a date, a wall clock or an instant; each is a wall clock in `time_zone`.
    """
    return _GOLD_TYPES.get(wire_type)


def implied(op_raw: str, table: TableName) -> SchemaChange | None:
    """What a statement means that came without its text, where its operation alone says it."""
    match op_raw:
        case "ERASE":
            return DropTable(table)
        case "CINDEX" | "DINDEX":
            return NoChange("index")
    return None
