"""maxwell_json: row changes and DDL of MySQL and MariaDB, as Maxwell's daemon writes them to Kafka.

Written by Zendesk's Maxwell (known from the messages of its documentation, and from the code of 1.44). One message is
one row change or one DDL statement:

    {"database":"shop","table":"t","type":"update","ts":1477053234,"xid":23396,"commit":true,
     "data":{"id":1,"c":"y"},"old":{"c":"x"}}

`data` is the row after the change; for a delete, it is the row before it. `old` has the old values of changed columns.
The key columns are in `primary_key_columns` if the producer is configured so. Otherwise they are in the Kafka key, in
lower case. A statement has no `data`: it has `sql`, and `def`, which is the resulting table. A statement about several
tables comes once for each table. Only the offset gives the order. For users: docs/formats.md.
"""

import re
from operator import attrgetter
from typing import Annotated

import msgspec
from msgspec import UNSET, Raw, UnsetType

from retable.errors import Malformed, TooLarge, UnknownOperation
from retable.formats.context import DecodeContext
from retable.formats.declared_encoding import declared_encoding_of
from retable.formats.format import Format, inside_a_partition
from retable.formats.image_text import write_image
from retable.formats.json_text import read_json
from retable.model.event import Address, ChangeEvent, KeysOrigin, Op, TableName, known_table
from retable.model.message import RawMessage
from retable.model.schema import GoldType
from retable.model.sequence import Sequence
from retable.values.encodings import (
    Base64,
    Bits,
    Encoding,
    Instant,
    LabelArray,
    LabelSet,
    Octets,
    Text,
    Unread,
    Untyped,
)
from retable.values.mysql_encoding import SHAPES, base_type
from retable.values.times import ValueRules

NAME = "maxwell_json"
_ROW_OPS: dict[str, Op] = {
    "insert": "INSERT",
    "update": "UPDATE",
    "delete": "DELETE",
    "bootstrap-insert": "READ",
}
_NOTES = frozenset({"bootstrap-start", "bootstrap-complete"})
_STATEMENTS = frozenset(f"{what}-{done}" for what in ("database", "table") for done in ("create", "alter", "drop"))
_ABOUT_SEVERAL = re.compile(
    r"(?:\s+|/\*(?:[^*]|\*(?!/))*\*/|(?:--|\#)[^\n]*)*+(?:DROP|RENAME)\s+TABLES?\b", re.IGNORECASE
)
"""Matches the begin of a statement that may be about several tables, after its comments."""
_SOUND_BITS = 31

_Row = dict[str, Raw]
_Long = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
_Time = Annotated[int, msgspec.Meta(ge=-(2**53), le=2**53)]


class _Envelope(msgspec.Struct, gc=False):
    """A whole message, without fields that the producer adds on request. A missing field is UNSET; it means null."""

    type: str
    database: str
    ts: _Time
    table: str | UnsetType | None = UNSET
    xid: _Long | UnsetType | None = UNSET
    data: _Row | UnsetType | None = UNSET
    old: _Row | UnsetType | None = UNSET
    primary_key_columns: tuple[str, ...] | UnsetType | None = UNSET
    sql: str | UnsetType | None = UNSET
    definition: Raw | UnsetType = msgspec.field(default=UNSET, name="def")

    @property
    def unread(self) -> list[Raw | UnsetType]:
        """The values that the decoder leaves as raw JSON."""
        return [self.definition, *(self.data or {}).values(), *(self.old or {}).values()]


_ENVELOPE, _UNREAD = msgspec.json.Decoder(_Envelope), attrgetter("unread")
_KEY = msgspec.json.Decoder(dict[str, Raw] | tuple[str, str, list[dict[str, Raw]]])
_PART = "pk."


def decode(message: RawMessage, context: DecodeContext) -> list[ChangeEvent]:
    """Decode one message of Maxwell to one event: a row change, a statement, or the begin or end of a bootstrap.

    A bootstrap is Maxwell's copy of a whole table. `context` has the settings of the source.
    """
    if message.value is None:
        raise Malformed("the message has no value; Maxwell writes a value in every message")
    envelope = read_json(message.value, _ENVELOPE, _UNREAD)
    op = _ROW_OPS.get(envelope.type)
    if op is not None:
        return [_row_change(envelope, op, message, context)]
    if envelope.type not in _STATEMENTS | _NOTES:
        raise UnknownOperation(
            f"`type` is {envelope.type[:40]!r}, which is not a type of Maxwell, such as insert or table-alter",
            place="type",
        )
    return [_other(envelope, message, context)]


def _other(envelope: _Envelope, message: RawMessage, context: DecodeContext) -> ChangeEvent:
    is_statement = envelope.type in _STATEMENTS
    if is_statement and not envelope.sql:
        raise Malformed("the statement has no text: the field `sql` is missing or empty", place="sql")
    sql = envelope.sql or ""
    # The text names all of its tables, so the copies for each table are recognized as one statement.
    table = None if _ABOUT_SEVERAL.match(sql) else envelope.table or None
    return ChangeEvent(
        source_format=NAME,
        source_system=context.source_system or "mysql",
        op="DDL" if is_statement else "OTHER",
        op_raw=envelope.type,
        address=Address(message.topic, message.partition, message.offset),
        database=envelope.database or None,
        table=table,
        sequence=Sequence(context.source_epoch, message.offset, 0) if is_statement else None,
        sequence_scope="partition" if is_statement else None,
        event_time_ms=_positive(envelope.ts if is_statement else envelope.ts * 1000),
        ddl_text=sql if is_statement else None,
    )


def _row_change(envelope: _Envelope, op: Op, message: RawMessage, context: DecodeContext) -> ChangeEvent:
    table = envelope.table or None
    name = known_table(envelope.database, None, table) if envelope.database and table else None
    row, old = envelope.data or {}, envelope.old or {}
    if not row:
        raise Malformed(f"{envelope.type} has no row: the field `data` is missing or empty", place="data", table=name)
    if op != "UPDATE" and old:
        text = f"{envelope.type} has a row before the change, in `old`: only an update may have this field"
        raise Malformed(text, place="old", table=name)
    if unknown := old.keys() - row.keys():
        text = f"`old` names the column {min(unknown)[:100]!r}, which `data` does not have"
        raise Malformed(text, place="old", table=name)
    keys, origin = _keys(envelope, row, message, name, context)
    image = write_image(row)
    before = image if op == "DELETE" else write_image(row | old) if op == "UPDATE" else None
    return ChangeEvent(
        source_format=NAME,
        source_system=context.source_system or "mysql",
        op=op,
        op_raw=envelope.type,
        address=Address(message.topic, message.partition, message.offset),
        database=envelope.database or None,
        table=table,
        image="full",
        keys=keys,
        keys_origin=origin,
        before=before,
        after=None if op == "DELETE" else image,
        sequence=Sequence(context.source_epoch, message.offset, 0),
        sequence_scope="partition",
        tx_id=str(envelope.xid) if isinstance(envelope.xid, int) else None,
        event_time_ms=_positive(envelope.ts * 1000),
        problems=_problems(name, keys, row),
    )


def _keys(
    envelope: _Envelope, row: _Row, message: RawMessage, name: TableName | None, context: DecodeContext
) -> tuple[tuple[str, ...], KeysOrigin] | tuple[None, None]:
    if envelope.primary_key_columns:
        return envelope.primary_key_columns, "message"
    if (found := _message_key(message, row)) is not None:
        return found, "message_key"
    keys = context.keys_of(name) if name is not None else ()
    return (keys, "registry") if keys else (None, None)


def _message_key(message: RawMessage, row: _Row) -> tuple[str, ...] | None:
    """Return the key columns that the Kafka key names, as the row spells them; None if the row lacks one of them."""
    if message.key is None:
        return None
    try:
        key = read_json(message.key, _KEY)
    except (Malformed, TooLarge) as error:
        raise Malformed(
            f"the Kafka key of the message is not a key of Maxwell: {error.message}; set "
            f"`output_primary_key_columns=true` in Maxwell, so that each message names its key columns itself",
            place="key",
        ) from error
    if isinstance(key, dict):
        named = [column.removeprefix(_PART) for column in key if column.startswith(_PART)]
    else:
        named = [column for part in key[2] for column in part]
    found = [[column for column in row if column.lower() == small] for small in named]
    return tuple(columns[0] for columns in found) if found and all(len(columns) == 1 for columns in found) else None


def _problems(name: TableName | None, keys: tuple[str, ...] | None, row: _Row) -> tuple[str, ...]:
    found = [] if name is not None else ["TABLE_UNKNOWN"]
    if keys is None:
        found.append("KEYS_UNKNOWN")
    elif not row.keys() >= set(keys):
        found.append("KEY_NOT_IN_IMAGE")
    return tuple(found)


def _positive(milliseconds: int) -> int | None:
    return milliseconds if milliseconds > 0 else None


def encoding(wire_type: str | None) -> Encoding:
    """Return the encoding of values, which is the same for all columns: messages contain no types, bytes are base64."""
    return Untyped(base64=True)


def default_type(wire_type: str) -> None:
    """Return None, because messages contain no types.

    A column is text until a statement, a dump or the settings declare its type.
    """


def declared_encoding(encoding: Encoding, declared: str | None, gold: GoldType, rules: ValueRules) -> Encoding:
    """Return the encoding in which Maxwell writes values of a column, by its declared type.

    If `declared` is None, return `encoding`, which is the encoding without a declared type. `gold` is the column's type
    in gold: a geometry can be read only as string. `rules` name the database. Return Unread if the values cannot be
    read. Source: the classes of Maxwell's `schema.columndef`.
    """
    if declared is None:
        return encoding
    if base_type(declared) in SHAPES:
        text_only = 'Maxwell writes a geometry as well-known text; set types = { column = "string" } to keep the text'
        return Text() if gold.kind == "string" else Unread(text_only)
    match declared_encoding_of(declared, rules.system):
        case Octets(length):
            return Base64(length)
        case LabelSet(labels):
            return LabelArray(labels)
        case Bits(int(width)) if width > _SOUND_BITS:
            return Unread("Maxwell writes wrong numbers for a BIT column of more than 31 bits")
        case Instant():
            return Instant("UTC")
        case Untyped():
            return encoding
        case stated:
            return stated


FORMAT = Format(
    name=NAME,
    version="maxwell_json/1",
    decode=decode,
    encoding=encoding,
    default_type=default_type,
    declared_encoding=declared_encoding,
    order_scope=inside_a_partition,
    partitions_in_order=False,
    marks=("commit", "data", "database", "old", "table", "ts", "type", "xid"),
    time_zone="The zone in which a TIMESTAMP is shown if `types` makes it a wall clock; messages have it in UTC.",
    cannot_tell=(
        "Types, if statements are not written (`output_ddl`) and no schema was imported: columns are then text.",
        "Whether a value is NULL or unchanged, if `output_nulls=false`: leave it `true`.",
        "A TIME of more than 24 hours or below zero: it comes as a time of one day. A date with a zero in it: it comes "
        "as `0000-00-00`. The error value of an ENUM: it comes as null. A BIT of more than 31 bits is rejected.",
        "TRUNCATE, and rows that any other statement removes: the rows stay. `retable resync` starts a table again.",
        "Which row a bootstrap reads again, in a table without a primary key: such rows are in gold twice.",
        "Whether a partition without new messages is complete: there is no heartbeat. A canary row in each "
        "partition proves it.",
    ),
)
