"""lindorm_debezium: row changes of Lindorm, as its data subscription writes them to Kafka ("Debezium Format V2.0").

Written by Alibaba Cloud's Lindorm for wide tables (known from the messages of its documentation, whose `version` is
v1.0 or v2.0 and has no meaning). One message is one row:

    {"schema":{},"payload":{"op":"u","ts_ms":1465491411815,"before":{"id":"1004","name":"Jane"},"after":{"id":"1004"},
     "source":{"version":"v1.0","db":"ld-x","namespace":"default","table":"t","ts_ms":1465491411807}}}

Only the envelope is Debezium's: there is no connector, position, key, statement or heartbeat. Both images are whole
rows, so a column that is missing in `after` was deleted and is NULL. Only the offset gives the order. A table of the
HBase interface (`model = "hbase"`) has its key in the column `ROW`, and every column is the base64 of its bytes. For
users: docs/formats.md.
"""

from dataclasses import dataclass
from functools import lru_cache
from operator import attrgetter
from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, Raw, UnsetType

from retable.errors import BadValue, Malformed, UnknownOperation
from retable.formats.context import DecodeContext
from retable.formats.format import Format, inside_a_partition
from retable.formats.image_text import key_text, read_image, write_image
from retable.formats.json_text import check_shared, read_json
from retable.formats.options import FormatOptions
from retable.model.event import Address, ChangeEvent, KeysOrigin, Op, TableName, known_table
from retable.model.message import RawMessage
from retable.model.schema import GoldType
from retable.model.sequence import Sequence
from retable.values.encodings import Base64, Encoding, Real, Text, Truth, Untyped, Whole

NAME = "lindorm_debezium"
VERSION = "lindorm_debezium/1"
TIME_ZONE = "The zone of text that `types` makes a timestamptz: messages name no zone."
CANNOT_TELL = (
    "Keys of SQL tables: the settings or an imported schema name them.",
    "Statements: a truncated or dropped table keeps its rows in gold. A new column appears with the rows that have it.",
    "Which cell, family or version of an HBase row was deleted: only the row after the change counts.",
    "Where the family of an HBase column ends: `a_b_c` is never split.",
    "Whether a partition without new messages is complete: there is no heartbeat. A canary row in each "
    "partition proves it.",
)

DRAFTS: tuple[dict[str, str], ...] = ({"model": "hbase"}, {})

ROW = "ROW"
"""The name of the key column in every table of Lindorm's HBase interface."""

_OPS: dict[str, Op] = {"c": "INSERT", "u": "UPDATE", "d": "DELETE", "r": "READ"}
_FILLED = frozenset({("c", False, True), ("r", False, True), ("u", True, True), ("u", False, True), ("d", True, False)})
"""The valid combinations: the operation, whether it has a before image, and whether it has an after image."""

_BASE64 = "base64"
_NULL = Raw(b"null")
_LONG_SCHEMA = 64 * 1024

_Row = dict[str, Raw]
_Long = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]


class LindormOptions(FormatOptions, frozen=True):
    """Settings that only `lindorm_debezium` reads."""

    model: Literal["sql", "hbase"] = "sql"
    """The interface of the tables. `sql`: columns with types. `hbase`: the key is `ROW`, and every column is base64."""


class _Source(msgspec.Struct, gc=False):
    db: str
    namespace: str
    table: str
    ts_ms: _Long
    version: Raw | UnsetType = UNSET


class _Payload(msgspec.Struct, gc=False):
    op: str
    ts_ms: _Long
    source: _Source
    before: _Row | UnsetType | None = UNSET
    after: _Row | UnsetType | None = UNSET


class _Envelope(msgspec.Struct, gc=False):
    """A whole message; UNSET is a missing field."""

    payload: _Payload
    schema: Raw | UnsetType = UNSET

    @property
    def unread(self) -> list[Raw | UnsetType]:
        """The values that the decoder leaves as raw JSON, except the schema part."""
        payload = self.payload
        return [payload.source.version, *(payload.before or {}).values(), *(payload.after or {}).values()]


class _Field(msgspec.Struct, gc=False):
    field: str
    type: str
    name: str | None = None


class _Part(msgspec.Struct, gc=False):
    field: str | None = None
    fields: list[_Field] | None = None


class _Schema(msgspec.Struct, gc=False):
    fields: list[_Part] | None = None


@dataclass(frozen=True, slots=True)
class _SchemaPart:
    """The types of the columns that a message names; `known` says whether Retable knows all of these types."""

    types: dict[str, str]
    known: bool


_ENVELOPE, _UNREAD = msgspec.json.Decoder(_Envelope), attrgetter("unread")
_SCHEMA = msgspec.json.Decoder(_Schema | None)


def decode(message: RawMessage, context: DecodeContext) -> list[ChangeEvent]:
    """Decode one message of Lindorm to one event, a row change. `context` has the settings of the source."""
    if message.value is None:
        raise Malformed("the message has no value; Lindorm writes a value in every message")
    envelope = read_json(message.value, _ENVELOPE, _UNREAD)
    payload, source = envelope.payload, envelope.payload.source
    name = known_table(source.db, source.namespace or None, source.table) if source.db and source.table else None
    # A row without columns counts as no row.
    before, after = payload.before or None, payload.after or None
    op = _operation(payload.op, before, after, name)
    rows = [row for row in (before, after) if row is not None]
    is_hbase = LindormOptions.of(context.options).model == "hbase"
    keys, origin = _keys(name, context, is_hbase)
    schema = bytes(envelope.schema or _NULL)
    schema_part = _schema_part_base64(schema, rows, name) if is_hbase else _schema_part(schema)
    if schema_part is not None:
        _check_columns(rows, schema_part, name, keys)
    return [
        ChangeEvent(
            source_format=NAME,
            source_system=context.source_system or "lindorm",
            op=op,
            op_raw=payload.op,
            address=Address(message.topic, message.partition, message.offset),
            database=source.db or None,
            schema=source.namespace or None,
            table=source.table or None,
            image="full",
            keys=keys,
            keys_origin=origin,
            before=None if before is None else write_image(before),
            after=None if after is None else write_image(_whole(after, before)),
            sequence=Sequence(context.source_epoch, message.offset, 0),
            sequence_scope="partition",
            event_time_ms=_time(source.ts_ms),
            process_time_ms=_time(payload.ts_ms),
            column_types=None if schema_part is None else schema_part.types,
            problems=_problems(name, keys, rows, schema_part),
        )
    ]


def _operation(op_raw: str, before: _Row | None, after: _Row | None, name: TableName | None) -> Op:
    op = _OPS.get(op_raw)
    if op is None:
        reason = f"`payload.op` is {op_raw[:40]!r}; expected c, u, d or r"
        raise UnknownOperation(reason, place="payload.op", table=name)
    if (op_raw, before is not None, after is not None) not in _FILLED:
        images = " and ".join(image for image, row in (("before", before), ("after", after)) if row is not None) or "no"
        text = f"{op_raw} is not valid with {images} image: c and r need `after`, d needs `before`, u at least `after`"
        raise Malformed(text, place="payload", table=name)
    return op


def _keys(
    name: TableName | None, context: DecodeContext, is_hbase: bool
) -> tuple[tuple[str, ...], KeysOrigin] | tuple[None, None]:
    if is_hbase:
        return (ROW,), "hbase_row"
    keys = context.keys_of(name) if name is not None else ()
    return (keys, "registry") if keys else (None, None)


def _problems(
    name: TableName | None, keys: tuple[str, ...] | None, rows: list[_Row], schema_part: _SchemaPart | None
) -> tuple[str, ...]:
    found = []
    if name is None:
        found.append("TABLE_UNKNOWN")
    if keys is None:
        found.append("KEYS_UNKNOWN")
    elif not all(row.keys() >= set(keys) for row in rows):
        found.append("KEY_NOT_IN_IMAGE")
    if schema_part is not None and not schema_part.known:
        found.append("TYPES_UNKNOWN")
    return tuple(found)


def _whole(after: _Row, before: _Row | None) -> _Row:
    """Return the row after the change, with NULL for each column that the change deleted."""
    if before is None or before.keys() <= after.keys():
        return after
    return after | {name: _NULL for name in before if name not in after}


def _check_columns(
    rows: list[_Row], schema_part: _SchemaPart, name: TableName | None, keys: tuple[str, ...] | None
) -> None:
    """Raise BadValue if a row has a column that the schema part lacks. A column that a row lacks was deleted: NULL."""
    for row in rows:
        if unknown := row.keys() - schema_part.types.keys():
            text = f"the column {min(unknown)[:100]!r} of the row is not in the schema part of the message"
            raise BadValue(text, place="schema", table=name, keys=_touched(rows, keys))


def _schema_part_base64(schema: bytes, rows: list[_Row], name: TableName | None) -> _SchemaPart:
    check_shared(schema)
    for row in rows:
        for column, token in row.items():
            if bytes(token)[:1] not in (b'"', b"n"):
                text = f'the column {column[:100]!r} is not base64 text; if this is an SQL table, set `model = "sql"`'
                raise BadValue(text, place="payload", table=name, keys=_touched(rows, (ROW,)))
    return _all_base64(tuple(dict.fromkeys(column for row in rows for column in row)))


@lru_cache(maxsize=1024)
def _all_base64(columns: tuple[str, ...]) -> _SchemaPart:
    return _SchemaPart(dict.fromkeys(columns, _BASE64), known=True)


def _touched(rows: list[_Row], keys: tuple[str, ...] | None) -> tuple[str, ...]:
    return tuple(dict.fromkeys(key_text(read_image(write_image(row)), keys) for row in rows)) if keys else ()


def _time(milliseconds: int) -> int | None:
    return milliseconds if milliseconds > 0 else None


def _schema_part(text: bytes) -> _SchemaPart | None:
    """Return the types that the schema part names, None if it names none. Adjacent messages share the same map."""
    return _read_schema(text) if len(text) > _LONG_SCHEMA else _remembered_schema(text)


def _read_schema(text: bytes) -> _SchemaPart | None:
    check_shared(text)
    try:
        schema = _SCHEMA.decode(text) or _Schema()
    except msgspec.ValidationError as error:
        raise Malformed(f"the schema part is unreadable: {error}", place="schema") from error
    types: dict[str, str] = {}
    for part in schema.fields or ():
        for column in (part.fields or ()) if part.field in ("before", "after") else ():
            kind = column.name or column.type
            if types.setdefault(column.field, kind) != kind:
                text_of_both = f"{types[column.field][:40]!r} and {kind[:40]!r} in `schema`"
                raise Malformed(f"the column {column.field[:100]!r} has the types {text_of_both}", place="schema")
    return _SchemaPart(types, all(kind in _FORMS for kind in types.values())) if types else None


_remembered_schema = lru_cache(maxsize=1024)(_read_schema)

_FORMS: dict[str, Encoding] = {
    **dict.fromkeys(("int8", "int16", "int32", "int64"), Whole()),
    **dict.fromkeys(("float", "float32"), Real(32)),
    **dict.fromkeys(("double", "float64"), Real(64)),
    "boolean": Truth(),
    "string": Text(),
    **dict.fromkeys(("bytes", _BASE64), Base64(None)),
}
_GOLD_TYPES: dict[str, GoldType] = {
    **dict.fromkeys(("int8", "int16", "int32"), GoldType("int")),
    "int64": GoldType("long"),
    **dict.fromkeys(("float", "float32"), GoldType("float")),
    **dict.fromkeys(("double", "float64"), GoldType("double")),
    "boolean": GoldType("boolean"),
    "string": GoldType("string"),
    **dict.fromkeys(("bytes", _BASE64), GoldType("binary")),
}


def wire_encoding(wire_type: str | None) -> Encoding:
    """Return the encoding of values, by their type in the message. Values of an unknown type are text."""
    return Untyped(base64=True) if wire_type is None else _FORMS.get(wire_type, Text())


def default_type(wire_type: str) -> GoldType | None:
    """Return the gold type of a column, by its type in the message; None if the type is unknown."""
    return _GOLD_TYPES.get(wire_type)


FORMAT = Format(
    name=NAME,
    version=VERSION,
    decode=decode,
    encoding=wire_encoding,
    default_type=default_type,
    order_scope=inside_a_partition,
    partitions_in_order=False,
    options=LindormOptions,
    drafts=DRAFTS,
    marks=("after", "before", "namespace", "op", "payload", "source", "ts_ms"),
    time_zone=TIME_ZONE,
    cannot_tell=CANNOT_TELL,
)
