"""dts_avro: row changes, statements and heartbeats, as Alibaba Cloud DTS writes them by default ("DTS Avro").

Written by DTS, both by change tracking and into a user's own Kafka (known from what the Avro classes of its SDK 2.0.0
write, with rows of a MariaDB 10.11, and from public samples of `subscribe_example`). One message is one record of the
schema `avro.avsc`, without framing. A row change has its columns in `fields`, and their values, by position, in
`beforeImages` and `afterImages`. A statement has its text in `afterImages`. Other records are the begin or end of a
transaction, or a heartbeat.

    {"id": 1, "sourceTimestamp": 1772325832, "source": {"sourceType": "MySQL"}, "operation": "INSERT",
     "objectName": "shop.t", "tags": {"pk_uk_info": "{\\"PRIMARY\\":[\\"id\\"]}"},
     "fields": [{"name": "id", "dataTypeNumber": 8}, {"name": "c", "dataTypeNumber": 253}], "beforeImages": null,
     "afterImages": [{"Integer": {"precision": 8, "value": "1"}}, {"Character": {"charset": "utf8mb4", "value": "x"}}]}

The value NONE means that DTS did not deliver the value: its column is absent, which is not null. Only the offset gives
the order; `id` gives no order and no identity. For users: docs/formats.md.
"""

from dataclasses import dataclass
from functools import lru_cache

from retable.errors import BadValue, Malformed, MessageError
from retable.formats.context import DecodeContext
from retable.formats.dts.avro_values import (
    agree,
    declared_encoding,
    default_type,
    to_raw_value,
    usual_types,
    wire_encoding,
)
from retable.formats.dts.record import DtsRecord, read_record
from retable.formats.format import Format, inside_a_partition
from retable.formats.image_text import write_image
from retable.formats.json_text import MAX_NAME_LENGTH
from retable.model.event import Address, ChangeEvent, KeysOrigin, Op
from retable.model.message import RawMessage
from retable.model.sequence import Sequence

NAME = "dts_avro"
VERSION = "dts_avro/1"
TIME_ZONE = "The zone in which instants are shown if a column is a wall clock or text; DATETIME is never shifted."
CANNOT_TELL = (
    "The srid of a geometry: the value is bare WKB, four bytes shorter than MySQL's own.",
    "How many digits of a second or of a decimal a column shows: a statement declares it.",
    "Rows that a statement changes without a row event: DROP and TRUNCATE PARTITION, values that an ALTER converts.",
    "Whether a type number means TEXT or BLOB: an undeclared column is text if its first value is null.",
)

_ROW_OPS: dict[str, Op] = {"INSERT": "INSERT", "UPDATE": "UPDATE", "DELETE": "DELETE", "INIT": "READ"}
_NOTES: dict[str, Op] = {
    **dict.fromkeys(("BEGIN", "COMMIT", "ROLLBACK", "ABORT"), "TRANSACTION"),
    "HEARTBEAT": "HEARTBEAT",
}
_ROW_IDS = ("#alibaba_rds_row_id#", "__#alibaba_rds_row_id#__")
_LONG_NAMES = 16 * 1024
"""Names of columns that together have more characters than this are not cached."""

_FILLED: dict[Op, frozenset[tuple[bool, bool]]] = {
    "INSERT": frozenset({(False, True)}),
    "READ": frozenset({(False, True)}),
    "UPDATE": frozenset({(True, True), (False, True)}),
    "DELETE": frozenset({(True, False)}),
}
"""The valid combinations of each operation: whether it has a before image, and whether it has an after image."""


@dataclass(slots=True)
class _Image:
    """The columns of a row: raw values (None for null), their types, and the positions of values that did not come."""

    raw_values: list[str | None]
    wires: list[str]
    absent: list[int]


@dataclass(frozen=True, eq=False, slots=True)
class _Columns:
    """The columns of a record: the position of each column by its name, and the usual type of its values."""

    places: dict[str, int]
    usual: tuple[str, ...]


def decode(message: RawMessage, context: DecodeContext) -> list[ChangeEvent]:
    """Decode one message of DTS to exactly one event. `context` has the settings of the source."""
    if message.value is None:
        raise Malformed("the message has no value; DTS writes a value in every message")
    record = read_record(message.value)
    op = _ROW_OPS.get(record.operation)
    return [_other(record, message, context) if op is None else _row_change(record, op, message, context)]


def _other(record: DtsRecord, message: RawMessage, context: DecodeContext) -> ChangeEvent:
    """Return the event of a statement, which has a position in the order, or of a note, which has no position."""
    is_ddl, statement = record.operation == "DDL", record.after_images
    if is_ddl and isinstance(statement, list):
        raise _refused(Malformed, record, "the statement is not text: `afterImages` is a list", "afterImages")
    database, schema, table = record.name
    return ChangeEvent(
        source_format=NAME,
        source_system=record.system or context.source_system,
        op="DDL" if is_ddl else _NOTES.get(record.operation, "OTHER"),
        op_raw=record.operation,
        address=Address(message.topic, message.partition, message.offset),
        database=database,
        schema=schema,
        table=table,
        sequence=Sequence(context.source_epoch, message.offset, 0) if is_ddl else None,
        sequence_scope="partition" if is_ddl else None,
        tx_id=record.transaction,
        event_time_ms=record.event_time_ms,
        process_time_ms=record.process_time_ms,
        ddl_text=statement if is_ddl and isinstance(statement, str) and statement else None,
    )


def _row_change(record: DtsRecord, op: Op, message: RawMessage, context: DecodeContext) -> ChangeEvent:
    columns = _columns(record)
    before = _image(record, columns, record.before_images, "beforeImages")
    after = _image(record, columns, record.after_images, "afterImages")
    if (before is not None, after is not None) not in _FILLED[op]:
        images = [name for name, image in (("before", before), ("after", after)) if image is not None]
        text = f"{record.operation} is not valid with {' and '.join(images) if images else 'no'} image"
        text = f"{text}: INSERT and INIT have `afterImages`, DELETE has `beforeImages`, UPDATE at least `afterImages`"
        raise _refused(Malformed, record, text, "beforeImages, afterImages")
    types = _settled_types(record, columns, before, after)
    keys, origin = _keys(record, columns, context)
    database, schema, table = record.name
    return ChangeEvent(
        source_format=NAME,
        source_system=record.system or context.source_system,
        op=op,
        op_raw=record.operation,
        address=Address(message.topic, message.partition, message.offset),
        database=database,
        schema=schema,
        table=table,
        image="full",
        keys=keys,
        keys_origin=origin,
        before=_text(columns, before),
        after=_text(columns, after),
        partial_before=before is not None and bool(before.absent),
        partial_after=after is not None and bool(after.absent),
        sequence=Sequence(context.source_epoch, message.offset, 0),
        sequence_scope="partition",
        tx_id=record.transaction,
        event_time_ms=record.event_time_ms,
        process_time_ms=record.process_time_ms,
        column_types=types,
        problems=_problems(record, columns, keys, before, after),
    )


def _columns(record: DtsRecord) -> _Columns:
    if not isinstance(record.fields, list) or not record.fields:
        raise _refused(Malformed, record, f"{record.operation} has no columns: `fields` is empty or no list", "fields")
    names, numbers = zip(*record.fields, strict=True)
    read = _read_columns if sum(map(len, names)) > _LONG_NAMES else _remembered_columns
    try:
        return read(names, numbers, record.system)
    except ValueError as error:
        raise _refused(Malformed, record, str(error), "fields") from error


def _read_columns(names: tuple[str, ...], numbers: tuple[int, ...], system: str | None) -> _Columns:
    places = {name: place for place, name in enumerate(names)}
    if len(places) != len(names):
        raise ValueError("a column occurs twice in `fields`")
    if max(map(len, names)) > MAX_NAME_LENGTH:
        raise ValueError(f"a name in `fields` is longer than {MAX_NAME_LENGTH} characters")
    return _Columns(places, usual_types(system, numbers))


_remembered_columns = lru_cache(maxsize=1024)(_read_columns)


def _image(record: DtsRecord, columns: _Columns, values: object, place: str) -> _Image | None:
    if values is None:
        return None
    if not isinstance(values, list) or len(values) != len(columns.usual):
        count = len(values) if isinstance(values, list) else "no"
        text = f"`{place}` has {count} values for {len(columns.usual)} columns in `fields`; the numbers must be equal"
        raise _refused(Malformed, record, text, place)
    image = _Image([], list(columns.usual), [])
    raw_values, wires = image.raw_values, image.wires
    try:
        for at, value in enumerate(values):
            raw_value = None
            if type(value) is list:
                raw_value, wires[at] = to_raw_value(value, wires[at])
            elif value == "NONE":
                image.absent.append(at)
            raw_values.append(raw_value)
    except ValueError as error:
        raise _bad_value(record, columns, len(raw_values), place, error) from error
    return image


def _settled_types(record: DtsRecord, columns: _Columns, before: _Image | None, after: _Image | None) -> dict[str, str]:
    """Return the type of each column. If its two values have different types, they are first converted to one type."""
    wires_of_images = [image.wires for image in (before, after) if image is not None]
    settled = wires_of_images[-1]
    if before is not None and after is not None and before.wires != after.wires:
        settled = _bring_together(record, columns, before, after)
    name_types = _name_types if sum(map(len, columns.places)) > _LONG_NAMES else _remembered_types
    return name_types(columns, tuple(settled))


def _bring_together(record: DtsRecord, columns: _Columns, before: _Image, after: _Image) -> list[str]:
    """Convert both images to one type for each column, and return these types. A null does not decide the type."""
    settled = after.wires.copy()
    for place, (old, new) in enumerate(zip(before.raw_values, after.raw_values, strict=True)):
        old_wire, new_wire = before.wires[place], after.wires[place]
        if old_wire == new_wire or old is None:
            continue
        if new is None:
            settled[place] = old_wire
            continue
        try:
            one, other = agree((old, old_wire), (new, new_wire))
        except ValueError as error:
            raise _bad_value(record, columns, place, "afterImages", error) from error
        before.raw_values[place], after.raw_values[place], settled[place] = one[0], other[0], other[1]
    return settled


def _name_types(columns: _Columns, wires: tuple[str, ...]) -> dict[str, str]:
    return dict(zip(columns.places, wires, strict=True))


_remembered_types = lru_cache(maxsize=1024)(_name_types)
"""Adjacent messages of one table share the same map."""


def _text(columns: _Columns, image: _Image | None) -> str | None:
    if image is None:
        return None
    row = dict(zip(columns.places, image.raw_values, strict=True))
    if image.absent:
        names = list(columns.places)
        for place in image.absent:
            del row[names[place]]
    return write_image(row)


def _keys(
    record: DtsRecord, columns: _Columns, context: DecodeContext
) -> tuple[tuple[str, ...], KeysOrigin] | tuple[None, None]:
    keys = record.keys
    if keys:
        return keys, "message"
    for row_id in _ROW_IDS:
        if row_id in columns.places:
            return (row_id,), "hidden_row_id"
    keys = context.keys_of(record.table_name) if record.table_name is not None else ()
    return (keys, "registry") if keys else (None, None)


def _problems(
    record: DtsRecord, columns: _Columns, keys: tuple[str, ...] | None, *images: _Image | None
) -> tuple[str, ...]:
    found = []
    if record.table_name is None:
        found.append("TABLE_UNKNOWN")
    if keys is None:
        found.append("KEYS_UNKNOWN")
    elif not all(_is_there(columns.places.get(key), images) for key in keys):
        found.append("KEY_NOT_IN_IMAGE")
    return tuple(found)


def _is_there(place: int | None, images: tuple[_Image | None, ...]) -> bool:
    if place is not None:
        for image in images:
            if image is not None and place not in image.absent:
                return True
    return False


def _bad_value(record: DtsRecord, columns: _Columns, at: int, place: str, error: ValueError) -> MessageError:
    name = list(columns.places)[at]
    return _refused(BadValue, record, f"column {name[:100]!r}: {error}", f"{place}[{at}]")


def _refused(kind: type[MessageError], record: DtsRecord, text: str, place: str) -> MessageError:
    return kind(text, place=place, table=record.table_name)


FORMAT = Format(
    name=NAME,
    version=VERSION,
    decode=decode,
    encoding=wire_encoding,
    default_type=default_type,
    declared_encoding=declared_encoding,
    order_scope=inside_a_partition,
    partitions_in_order=True,
    time_zone=TIME_ZONE,
    cannot_tell=CANNOT_TELL,
)
