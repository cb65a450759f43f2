"""canal_json: row changes and DDL of MySQL and MariaDB, as Canal and Alibaba's DTS write them ("Canal JSON").

Written by Canal's `FlatMessage` (1.1.x; known from 1.1.7 on MariaDB 10.11) and by DTS. One message is one binlog event:
several rows of one table and one kind of change, or one DDL statement.

    {"data":[{"id":"1","c":"x"}],"database":"shop","es":1700000000000,"gtid":"","id":7,"isDdl":false,
     "mysqlType":{"id":"bigint","c":"varchar(9)"},"old":[{"c":null}],"pkNames":["id"],"sql":"",
     "sqlType":{"id":-5,"c":12},"table":"t","ts":1700000000123,"type":"UPDATE"}

`data` is the row after the change; for DELETE it is the row before it. `old` has the old values of changed columns: a
null in it is an old value, and a column that is missing in it is unchanged. DTS instances that were not restarted since
2022-03-20 write another dialect, which no field declares: in an UPDATE, `old` is the row after the change, and `data`
is the row before it. Only the offset gives the order: `id`, `es` and `ts` repeat and go back. For users:
docs/formats.md.
"""

from collections.abc import Sequence as Rows
from operator import attrgetter
from typing import Annotated, NamedTuple

import msgspec
from msgspec import UNSET, Raw, UnsetType

from retable.errors import Malformed, MessageError, UnknownOperation
from retable.formats.canal.options import CanalOptions
from retable.formats.canal.types import default_type, read_types, wire_encoding
from retable.formats.context import DecodeContext
from retable.formats.format import Format, inside_a_partition
from retable.formats.image_text import write_image
from retable.formats.json_text import check_shared, read_json
from retable.model.event import Address, ChangeEvent, KeysOrigin, Op, TableName, known_table
from retable.model.message import RawMessage
from retable.model.sequence import Sequence
from retable.values.mysql_encoding import changes_schema

NAME = "canal_json"
VERSION = "canal_json/2"
TIME_ZONE = "The zone in which TIMESTAMP values were written as text; DATETIME is never shifted."
CANNOT_TELL = (
    "Whether text of columns that are not UTF-8 (gbk, latin1) is intact: it can arrive with U+FFFD in place of "
    "characters.",
    "The value of a uuid, inet4, inet6 or vector: its bytes come as text and are lost. Such a row is rejected.",
    "Trailing zeros: a DECIMAL comes without them (its value is equal), and so does a BINARY(n) (the length restores "
    "them).",
    "Whether a table has a unique key: `pkNames` holds only the primary key.",
    "Rows that a statement changes without a row event: DROP and TRUNCATE PARTITION, values that an ALTER converts.",
    "Whether a partition without new messages is complete: there is no heartbeat. A canary row in each "
    "partition proves it.",
)

_ROW_IDS = ("__#alibaba_rds_row_id#__", "#alibaba_rds_row_id#")
_OPS: dict[str, Op] = {"INSERT": "INSERT", "UPDATE": "UPDATE", "DELETE": "DELETE", "INIT": "READ"}
_NULL = b"null"

_Row = dict[str, Raw]
_Long = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]


class _Envelope(msgspec.Struct, rename="camel", gc=False):
    """A whole message. A field that may be missing (UNSET) may also be null; both mean the same."""

    type: str
    is_ddl: bool
    database: str
    es: _Long
    table: str | UnsetType | None = UNSET
    ts: _Long | UnsetType | None = UNSET
    gtid: str | UnsetType | None = UNSET
    sql: str | UnsetType | None = UNSET
    pk_names: tuple[str, ...] | UnsetType | None = UNSET
    data: list[_Row] | UnsetType | None = UNSET
    old: list[_Row] | UnsetType | None = UNSET
    mysql_type: Raw | UnsetType = UNSET
    sql_type: Raw | UnsetType = UNSET
    id: Raw | UnsetType = UNSET

    @property
    def unread(self) -> list[Raw | UnsetType]:
        """The values that the decoder leaves as raw JSON, except the column types."""
        unread: list[Raw | UnsetType] = [self.id]
        for rows in (self.data, self.old):
            for row in rows or ():
                unread += row.values()
        return unread


class _Side(NamedTuple):
    """The rows of a message in one field, `data` or `old`; `rows` is None if the field is missing or null."""

    field: str
    rows: list[_Row] | None


_ENVELOPE, _UNREAD = msgspec.json.Decoder(_Envelope), attrgetter("unread")


def decode(message: RawMessage, context: DecodeContext) -> list[ChangeEvent]:
    """Decode one message of Canal: return one event for each row, or one event for a statement.

    `context` has the settings of the source.
    """
    if message.value is None:
        raise Malformed("the message has no value; Canal writes a value in every message")
    envelope = read_json(message.value, _ENVELOPE, _UNREAD)
    if envelope.is_ddl or envelope.type == "QUERY":
        check_shared(bytes(envelope.mysql_type or _NULL))
        check_shared(bytes(envelope.sql_type or _NULL))
        return [_statement(envelope, message, context)]
    op = _OPS.get(envelope.type)
    if op is None:
        text = f"`type` is {envelope.type[:40]!r}; expected INSERT, UPDATE, DELETE or INIT, or `isDdl` true"
        raise _refused(UnknownOperation, envelope, text, "type")
    return _row_changes(envelope, op, message, context)


def _statement(envelope: _Envelope, message: RawMessage, context: DecodeContext) -> ChangeEvent:
    """Return the event of a statement. MariaDB also logs statements that only change rows: they become notes."""
    counts = envelope.is_ddl or changes_schema(envelope.sql or "")
    return ChangeEvent(
        source_format=NAME,
        source_system=context.source_system or "mysql",
        op=("TRUNCATE" if envelope.type == "TRUNCATE" else "DDL") if counts else "OTHER",
        op_raw=envelope.type,
        address=Address(message.topic, message.partition, message.offset),
        database=envelope.database or None,
        table=envelope.table or None,
        sequence=Sequence(context.source_epoch, message.offset, 0) if counts else None,
        sequence_scope="partition" if counts else None,
        tx_id=envelope.gtid or None,
        event_time_ms=_time(envelope.es),
        process_time_ms=_time(envelope.ts or None),
        ddl_text=envelope.sql or None if counts else None,
    )


def _row_changes(envelope: _Envelope, op: Op, message: RawMessage, context: DecodeContext) -> list[ChangeEvent]:
    new, old = _sides(envelope, message, context)
    rows = _rows(envelope, op, new, old)
    keys, origin = _keys(envelope, rows[0], context)
    types = _complete(read_types(bytes(envelope.mysql_type or _NULL), bytes(envelope.sql_type or _NULL)), rows)
    common = _problems(envelope, op, keys, types, (new, old))
    needed, typed = frozenset(keys or ()), (types or {}).keys()
    system, tx_id = context.source_system or "mysql", envelope.gtid or None
    event_time, process_time = _time(envelope.es), _time(envelope.ts or None)
    events = []
    for index, row in enumerate(rows):
        before, after = _images(envelope, op, index, row, (new, old))
        partial = not typed <= row.keys()  # the server writes no full row images
        events.append(
            ChangeEvent(
                source_format=NAME,
                source_system=system,
                op=op,
                op_raw=envelope.type,
                address=Address(message.topic, message.partition, message.offset, index),
                database=envelope.database or None,
                table=envelope.table or None,
                image="full",
                keys=keys,
                keys_origin=origin,
                before=before,
                after=after,
                partial_before="OLD_DATA_MISALIGNED" in common or (partial and op in ("UPDATE", "DELETE")),
                partial_after=partial and op != "DELETE",
                sequence=Sequence(context.source_epoch, message.offset, index),
                sequence_scope="partition",
                tx_id=tx_id,
                event_time_ms=event_time,
                process_time_ms=process_time,
                column_types=types,
                problems=common if row.keys() >= needed else (*common, "KEY_NOT_IN_IMAGE"),
            )
        )
    return events


def _complete(types: dict[str, str] | None, rows: Rows[_Row]) -> dict[str, str] | None:
    """Return the types of all columns of the rows. A column whose type the message does not name has the type `""`."""
    if types is None or all(row.keys() <= types.keys() for row in rows):
        return types
    return types | {name: "" for row in rows for name in row if name not in types}


def _sides(envelope: _Envelope, message: RawMessage, context: DecodeContext) -> tuple[_Side, _Side]:
    """Return the rows after the change, and the rows before it. The dialect decides which field holds which rows.

    If an operation has only one image, its rows may be in either field.
    """
    data, old = _side("data", envelope.data), _side("old", envelope.old)
    return (data, old) if _dialect(message, context) == "community" else (old, data)


def _side(field: str, rows: list[_Row] | UnsetType | None) -> _Side:
    return _Side(field, None if isinstance(rows, UnsetType) else rows)


def _dialect(message: RawMessage, context: DecodeContext) -> str:
    """Return the dialect of a message: of the last entry of `canal_dialect` that begins at or before its offset.

    If entries name the partition of the message, only they count. Without an entry, the dialect is `community`.
    """
    dialects = CanalOptions.of(context.options).canal_dialect
    if not dialects:
        return "community"
    # An object of a files source that came late has a negative number instead of partition 0.
    own = [each for each in dialects if each.partition == max(message.partition, 0)]
    ranges = own or [each for each in dialects if each.partition is None]
    begun = [each for each in ranges if each.from_offset <= message.offset]
    return max(begun, key=lambda each: each.from_offset).dialect if begun else "community"


def _rows(envelope: _Envelope, op: Op, new: _Side, old: _Side) -> Rows[_Row]:
    """Return the rows after the change; for DELETE, the rows before it."""
    side = new if op == "UPDATE" or new.rows else old
    if not side.rows:
        raise _refused(Malformed, envelope, f"{envelope.type} has no row: `{new.field}` is missing or empty", new.field)
    if not all(side.rows):
        place = f"{side.field}[{side.rows.index({})}]"
        raise _refused(Malformed, envelope, f"a row has no columns: `{place}` is empty", place)
    return side.rows


def _images(
    envelope: _Envelope, op: Op, index: int, row: _Row, sides: tuple[_Side, _Side]
) -> tuple[str | None, str | None]:
    image = write_image(row)
    if op != "UPDATE":
        return (image, None) if op == "DELETE" else (None, image)
    new, old = sides
    if old.rows is None and old.field == "data":
        text = f"UPDATE does not contain the row before the change: `{old.field}` is missing"
        raise _refused(Malformed, envelope, text, old.field)
    if old.rows is None:
        # Older versions of Canal leave out the `old` of rows in which nothing changed.
        return image, image
    if _is_misaligned(new, old):
        return None, image
    before = old.rows[index]
    if unknown := before.keys() - row.keys():
        text = f"`{old.field}` names the column {min(unknown)[:100]!r}, which `{new.field}` does not have"
        raise _refused(Malformed, envelope, text, f"{old.field}[{index}]")
    return write_image(row | before), image


def _is_misaligned(new: _Side, old: _Side) -> bool:
    """Return whether the numbers of old rows and of new rows differ, so that the rows cannot be paired."""
    return old.rows is not None and len(old.rows) != len(new.rows or ())


def _keys(
    envelope: _Envelope, row: _Row, context: DecodeContext
) -> tuple[tuple[str, ...], KeysOrigin] | tuple[None, None]:
    if envelope.pk_names:
        return envelope.pk_names, "message"
    for name in _ROW_IDS:
        if name in row:
            return (name,), "hidden_row_id"
    keys = context.keys_of(known_table(envelope.database, None, envelope.table)) if envelope.table else ()
    return (keys, "registry") if keys else (None, None)


def _problems(
    envelope: _Envelope,
    op: Op,
    keys: tuple[str, ...] | None,
    types: dict[str, str] | None,
    sides: tuple[_Side, _Side],
) -> tuple[str, ...]:
    new, old = sides
    found = []
    if not envelope.database or not envelope.table:
        found.append("TABLE_UNKNOWN")
    if op == "UPDATE" and _is_misaligned(new, old):
        found.append("OLD_DATA_MISALIGNED")
    if op != "UPDATE" and old.rows and (new.rows or op == "DELETE"):
        # A deleted row is always in the field that has an UPDATE's new row. Here the row is in the other field.
        found.append("DIALECT_MISMATCH")
    if keys is None:
        found.append("KEYS_UNKNOWN")
    if not types:
        found.append("TYPES_UNKNOWN")
    return tuple(found)


def _time(milliseconds: int | None) -> int | None:
    return milliseconds if milliseconds is not None and milliseconds > 0 else None


def _refused(kind: type[MessageError], envelope: _Envelope, text: str, place: str) -> MessageError:
    known = TableName(envelope.database, None, envelope.table) if envelope.table else None
    return kind(text, place=place, table=known)


FORMAT = Format(
    name=NAME,
    version=VERSION,
    decode=decode,
    encoding=wire_encoding,
    default_type=default_type,
    order_scope=inside_a_partition,
    partitions_in_order=False,
    options=CanalOptions,
    marks=("data", "database", "es", "isDdl", "mysqlType", "table", "type"),
    time_zone=TIME_ZONE,
    cannot_tell=CANNOT_TELL,
)
