"""datahub_tuple: row changes of one table per topic, as DataWorks writes them into DataHub's Tuple topics.

Written by Data Integration of Alibaba Cloud DataWorks into topics that it created itself (known from the metadata
columns printed in its documentation). A record has columns and no envelope. Its value here is one JSON object of all
columns. Each column is text or null, as DataHub delivers it.

    {"_sequence_id_":"1649991610688000001","_operation_type_":"U","_excute_time_":"1649991756000",
     "_before_image_":"N","_after_image_":"Y","id":"1","c":"x"}

The topic's schema comes in the header `tuple_schema`, as DataHub's own JSON, or in the setting `tuple_schema`. An
update is two records with the same `_sequence_id_`. Only the flags `_before_image_` and `_after_image_` show which
record is the row before the change. The order is `_sequence_id_`, as an integer, then the half of the update. Shards of
a table without a key have no common order. There are no statements and no heartbeats. No record names its database or
its key: the settings name them. For users: docs/formats.md.
"""

import re
from dataclasses import dataclass
from functools import lru_cache
from operator import methodcaller
from typing import Literal

import msgspec
from msgspec import Raw
from pydantic import Field

from retable.errors import BadValue, Malformed, UnknownOperation
from retable.formats.context import DecodeContext
from retable.formats.format import Format, across_the_stream
from retable.formats.image_text import key_text, read_image, write_image
from retable.formats.json_text import read_json
from retable.formats.options import FormatOptions, NonEmptyStr
from retable.model.event import Address, ChangeEvent, Image, Op, TableName
from retable.model.message import RawMessage
from retable.model.schema import GoldType
from retable.model.sequence import Sequence
from retable.values.encodings import Encoding, EpochMicros, Exact, Real, Text, Truth, Whole

NAME = "datahub_tuple"
VERSION = "datahub_tuple/1"
TIME_ZONE = "The zone in which a TIMESTAMP (an instant) is shown if `types` makes it a wall clock or text."
CANNOT_TELL = (
    "Keys: the settings or an imported schema name them.",
    "Statements: after a TRUNCATE or DROP the rows stay in gold, and a column that the source adds never arrives.",
    "Whether a shard without new messages is complete: there is no heartbeat, and a canary would have a separate "
    "topic. Only rows, or `drained`, prove it.",
    "The precision and scale of a DECIMAL, and how bytes were written as text.",
    "A second full load, as in `streamx_json`.",
)
DRAFTS = ({"database": "unnamed"}, {"database": "unnamed", "table": "unnamed"})
SCHEMA = "tuple_schema"
"""The header of a record that contains the schema of its topic."""

_OPS: dict[tuple[str, str, str], tuple[Op, Image]] = {
    ("I", "N", "Y"): ("INSERT", "full"),
    ("U", "Y", "N"): ("UPDATE", "before_half"),
    ("U", "N", "Y"): ("UPDATE", "after_half"),
    ("D", "Y", "N"): ("DELETE", "full"),
}
"""The valid combinations of a record's operation and its two flags, with the operation and image of the event."""

_FULL_LOAD = -1
_LONG_SCHEMA = 64 * 1024
_SEQUENCE = re.compile(r"-1|[0-9]{1,38}")
_MILLIS = re.compile(r"-?[0-9]{1,18}")

_Row = dict[str, Raw]
TupleType = Literal[
    "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL", "BOOLEAN", "TIMESTAMP", "STRING"
]


class DataHubTupleOptions(FormatOptions, frozen=True):
    """Settings that only `datahub_tuple` reads."""

    database: NonEmptyStr | None = None
    """The database of the records. Records do not name it."""
    table: NonEmptyStr | None = None
    """The table of records that do not name one."""
    tuple_schema: dict[str, TupleType] = Field(default_factory=dict)
    """The columns and types of the topic, as `id = "BIGINT"`, if messages have no header `tuple_schema`."""

    def __hash__(self) -> int:
        return hash((self.database, self.table, tuple(self.tuple_schema.items())))


class _Meta(msgspec.Struct, gc=False):
    """The columns that Data Integration adds. The column of the time has two possible names."""

    sequence_id: str | int = msgspec.field(name="_sequence_id_")
    operation_type: str = msgspec.field(name="_operation_type_")
    before_image: str = msgspec.field(name="_before_image_")
    after_image: str = msgspec.field(name="_after_image_")
    excute_time: str | int | None = msgspec.field(name="_excute_time_", default=None)
    execute_time: str | int | None = msgspec.field(name="_execute_time_", default=None)
    source_table: str | None = msgspec.field(name="_source_table_", default=None)


class _Column(msgspec.Struct, gc=False):
    name: str
    type: str
    notnull: bool = False


class _Schema(msgspec.Struct, gc=False):
    fields: list[_Column]


@dataclass(frozen=True, slots=True)
class _TopicSchema:
    """What a topic's schema says about the data columns; `known` says whether Retable knows all of their types."""

    types: dict[str, str]
    never_null: frozenset[str]
    known: bool


_META_COLUMNS = frozenset(_Meta.__struct_encode_fields__)
_META = msgspec.json.Decoder(_Meta)
_COLUMNS, _VALUES = msgspec.json.Decoder(_Row), methodcaller("values")
_SCHEMA = msgspec.json.Decoder(_Schema | list[_Column])


def decode(message: RawMessage, context: DecodeContext) -> list[ChangeEvent]:
    """Decode one record to one event: a row change, or half of an update (its before or after image).

    `context` has the settings of the source.
    """
    if message.value is None:
        raise Malformed("the message has no value; a Tuple record is a JSON object in the value")
    row = read_json(message.value, _COLUMNS, _VALUES)
    meta = _read_meta({name: row.pop(name) for name in _META_COLUMNS if name in row})
    options = DataHubTupleOptions.of(context.options)
    table = meta.source_table or options.table
    name = TableName(options.database, None, table) if options.database and table else None
    op, image = _operation(meta, name)
    position = _position(meta, op, name)
    keys = (context.keys_of(name) if name is not None else ()) or None
    if keys is None and not row:
        raise Malformed("the record has no column of its table, only columns that Data Integration adds", table=name)
    topic_schema = _topic_schema(message, options)
    if topic_schema is not None:
        _check_columns(row, topic_schema, name, keys)
    text = write_image(row)
    is_before = image == "before_half" or op == "DELETE"
    return [
        ChangeEvent(
            source_format=NAME,
            source_system=context.source_system,
            op="READ" if position == _FULL_LOAD else op,
            op_raw=meta.operation_type,
            address=Address(message.topic, message.partition, message.offset),
            database=options.database,
            table=table,
            image=image,
            keys=keys,
            keys_origin=None if keys is None else "registry",
            before=text if is_before else None,
            after=None if is_before else text,
            sequence=Sequence(context.source_epoch, position, 0 if image == "before_half" else 1),
            sequence_scope="stream",
            event_time_ms=_time(meta, name),
            column_types=(topic_schema and topic_schema.types) or None,
            problems=_problems(row, name, keys, topic_schema),
        )
    ]


def _read_meta(tokens: _Row) -> _Meta:
    try:
        return _META.decode(msgspec.json.encode(tokens))
    except msgspec.ValidationError as error:
        text = f"a column that Data Integration adds to each record is missing or invalid: {error}"
        raise Malformed(text, place="metadata columns") from error


def _operation(meta: _Meta, name: TableName | None) -> tuple[Op, Image]:
    flags = (meta.before_image.strip().upper(), meta.after_image.strip().upper())
    found = _OPS.get((meta.operation_type, *flags))
    if found is None:
        text = f"`_operation_type_` {meta.operation_type[:40]!r} with the flags {flags[0][:40]!r} and {flags[1][:40]!r}"
        text = f"{text} is not valid: expected I with N and Y, D with Y and N, or U with one Y and one N"
        raise UnknownOperation(text, place="_operation_type_", table=name)
    return found


def _position(meta: _Meta, op: Op, name: TableName | None) -> int:
    """Return the position in the order. Rows of a full load are inserts without a position (-1): they come first."""
    text = str(meta.sequence_id) or str(_FULL_LOAD)
    if not _SEQUENCE.fullmatch(text) or (op != "INSERT" and int(text) == _FULL_LOAD):
        reason = f"`_sequence_id_` of {op} is {text[:40]!r}; expected digits, the position of the change in its source"
        raise Malformed(reason, place="_sequence_id_", table=name)
    return int(text)


def _time(meta: _Meta, name: TableName | None) -> int | None:
    time = meta.execute_time if meta.excute_time is None else meta.excute_time
    if time is None or time == "":
        return None
    if not _MILLIS.fullmatch(str(time)):
        reason = f"the time of the change, `_excute_time_`, is {str(time)[:40]!r}, not a time in milliseconds"
        raise Malformed(reason, place="_excute_time_", table=name)
    return int(time) if int(time) > 0 else None


def _problems(
    row: _Row, name: TableName | None, keys: tuple[str, ...] | None, topic_schema: _TopicSchema | None
) -> tuple[str, ...]:
    found = []
    if name is None:
        found.append("TABLE_UNKNOWN")
    if keys is None:
        found.append("KEYS_UNKNOWN")
    elif not row.keys() >= set(keys):
        found.append("KEY_NOT_IN_IMAGE")
    if topic_schema is not None and not topic_schema.known:
        found.append("TYPES_UNKNOWN")
    return tuple(found)


def _check_columns(row: _Row, topic_schema: _TopicSchema, name: TableName | None, keys: tuple[str, ...] | None) -> None:
    """Raise BadValue if a record differs from its topic's schema: a missing column is not NULL."""
    if missing := topic_schema.types.keys() - row.keys():
        text = f"the column {min(missing)[:100]!r} of the topic's schema is not in the record"
    elif unknown := row.keys() - topic_schema.types.keys():
        text = f"the column {min(unknown)[:100]!r} of the record is not in the topic's schema"
    elif empty := [column for column in topic_schema.never_null if bytes(row[column]) == b"null"]:
        text = f"the column {min(empty)[:100]!r} is null, but the topic's schema does not allow null"
    else:
        return
    touched = (key_text(read_image(write_image(row)), keys),) if keys else ()
    raise BadValue(text, place=SCHEMA, table=name, keys=touched)


def _topic_schema(message: RawMessage, options: DataHubTupleOptions) -> _TopicSchema | None:
    """Return the topic's schema from the record's header, else from the settings, else None."""
    header = next((value for name, value in message.headers if name == SCHEMA and value is not None), None)
    if header is not None:
        return _read_schema(header) if len(header) > _LONG_SCHEMA else _remembered_schema(header)
    return _told_by_settings(tuple(options.tuple_schema.items())) if options.tuple_schema else None


def _read_schema(text: bytes) -> _TopicSchema:
    schema = read_json(text, _SCHEMA)
    columns = schema.fields if isinstance(schema, _Schema) else schema
    types = {column.name: column.type.upper() for column in columns}
    if len(types) != len(columns):
        raise Malformed("a column occurs twice in the topic's schema (`tuple_schema`)", place=f"header {SCHEMA}")
    return _told_of(types, frozenset(column.name for column in columns if column.notnull))


_remembered_schema = lru_cache(maxsize=1024)(_read_schema)


@lru_cache(maxsize=1024)
def _told_by_settings(columns: tuple[tuple[str, str], ...]) -> _TopicSchema:
    return _told_of(dict(columns), frozenset())


def _told_of(types: dict[str, str], never_null: frozenset[str]) -> _TopicSchema:
    ours = {name: kind for name, kind in types.items() if name not in _META_COLUMNS}
    return _TopicSchema(ours, never_null - _META_COLUMNS, all(kind in _FORMS for kind in ours.values()))


_FORMS: dict[str, Encoding] = {
    **dict.fromkeys(("TINYINT", "SMALLINT", "INTEGER", "BIGINT"), Whole()),
    "FLOAT": Real(32),
    "DOUBLE": Real(64),
    "DECIMAL": Exact(None),
    "BOOLEAN": Truth(),
    "TIMESTAMP": EpochMicros(),
    "STRING": Text(),
}
_GOLD_TYPES: dict[str, GoldType] = {
    **dict.fromkeys(("TINYINT", "SMALLINT", "INTEGER"), GoldType("int")),
    "BIGINT": GoldType("long"),
    "FLOAT": GoldType("float"),
    "DOUBLE": GoldType("double"),
    "DECIMAL": GoldType("string"),
    "BOOLEAN": GoldType("boolean"),
    "TIMESTAMP": GoldType("timestamptz"),
    "STRING": GoldType("string"),
}


def wire_encoding(wire_type: str | None) -> Encoding:
    """Return the encoding of values, by their DataHub type. Without a type, values are text that is stored as it is."""
    return _FORMS.get(wire_type or "", Text())


def default_type(wire_type: str) -> GoldType | None:
    """Return the gold type of a column, by its DataHub type, or None if the type is unknown.

    A DECIMAL names no scale, so it becomes text.
    """
    return _GOLD_TYPES.get(wire_type)


FORMAT = Format(
    name=NAME,
    version=VERSION,
    decode=decode,
    encoding=wire_encoding,
    default_type=default_type,
    order_scope=across_the_stream,
    partitions_in_order=False,
    options=DataHubTupleOptions,
    needs=("database",),
    drafts=DRAFTS,
    marks=("_after_image_", "_before_image_", "_execute_time_", "_operation_type_", "_sequence_id_"),
    time_zone=TIME_ZONE,
    cannot_tell=CANNOT_TELL,
)
