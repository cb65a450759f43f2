"""The envelope of StreamX: what a message contains around a row, a statement or a heartbeat.

DataWorks writes it to Kafka and to DataHub. In DataHub, empty parts are missing instead of null.
"""

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated

import msgspec
from msgspec import UNSET, Raw, UnsetType

from retable.errors import Malformed
from retable.formats.json_text import check_shared, read_json
from retable.model.event import KeysOrigin, TableName

ROWID = "rowid"
"""The name of the column with Oracle's address of a row. DataWorks writes it among the columns of the table."""

_ROW_IDS = ("#alibaba_rds_row_id#", "__#alibaba_rds_row_id#__")
_LONG_SCHEMA = 64 * 1024
_SEQUENCE = re.compile(rb'"(-1|[0-9]{1,38})"|(-1|[0-9]{1,38})')

Row = dict[str, Raw]
KeysOf = Callable[[TableName], tuple[str, ...]]
_Long = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]


class _Part(msgspec.Struct, rename="camel", gc=False):
    """The base of the parts of a message: each has a field for each known name. A missing field is UNSET."""


class _Image(_Part, gc=False):
    data_column: Row | UnsetType | None = UNSET


class _Time(_Part, gc=False):
    event_time: _Long
    system_time: _Long | UnsetType | None = UNSET
    checkpoint_time: Raw | UnsetType = UNSET


class _Ddl(_Part, gc=False):
    text: str | UnsetType | None = UNSET
    ddl_meta: Raw | UnsetType = UNSET


class Payload(_Part, gc=False):
    """The fields of a record. A field that may be null may also be missing; both mean the same."""

    op: str
    timestamp: _Time
    sequence_id: Raw | UnsetType = UNSET
    before: _Image | UnsetType | None = UNSET
    after: _Image | UnsetType | None = UNSET
    ddl: _Ddl | UnsetType | None = UNSET

    @property
    def before_row(self) -> Row | None:
        """The row before the change; a row without columns counts as no row."""
        return (self.before and self.before.data_column) or None

    @property
    def after_row(self) -> Row | None:
        """The row after the change; a row without columns counts as no row."""
        return (self.after and self.after.data_column) or None

    @property
    def position(self) -> int | None:
        """`sequenceId` as an integer, or None if not valid. A double would not distinguish values of 19 digits."""
        found = _SEQUENCE.fullmatch(bytes(self.sequence_id or b""))
        return None if found is None else int(found[1] or found[2])

    @property
    def statement(self) -> str | None:
        return (self.ddl and self.ddl.text) or None


class Envelope(_Part, gc=False):
    """A whole message. The field `schema` is the schema part: the types, the key and the name of the table."""

    payload: Payload
    schema: Raw | UnsetType = UNSET
    version: Raw | UnsetType = UNSET


class _Column(msgspec.Struct, gc=False):
    name: str
    type: str


class _Source(msgspec.Struct, rename="camel", gc=False):
    db_type: str | None = None
    db_name: str | None = None
    schema_name: str | None = None
    table_name: str | None = None


class _Schema(msgspec.Struct, rename="camel", gc=False):
    data_column: list[_Column] | None = None
    primary_key: tuple[str, ...] | None = None
    source: _Source | None = None


class _Parts(msgspec.Struct, gc=False):
    payload: Row


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamXSchema:
    """What the schema part of a message, together with the settings, says about all rows of its table.

    `listed` has the types of all columns in the schema part. `types` is `listed` without Oracle's rowid, unless the
    rowid is the key. `problems` are the names of the problems that each of these rows has.
    """

    system: str | None
    database: str | None
    schema: str | None
    table: str | None
    name: TableName | None
    listed: dict[str, str]
    types: dict[str, str]
    keys: tuple[str, ...] | None
    keys_origin: KeysOrigin | None
    problems: tuple[str, ...]


_ENVELOPE = msgspec.json.Decoder(Envelope)
_SCHEMA = msgspec.json.Decoder(_Schema | None)
_PARTS = msgspec.json.Decoder(_Parts)


def read_envelope(value: bytes) -> Envelope:
    """Read one message, except its schema part (`read_schema_part`). Raise Malformed or TooLarge if it is not valid."""
    return read_json(value, _ENVELOPE, _unread)


def _unread(envelope: Envelope) -> list[Raw | UnsetType]:
    payload = envelope.payload
    meta = payload.ddl.ddl_meta if payload.ddl else UNSET
    unread = [payload.sequence_id, payload.timestamp.checkpoint_time, envelope.version, meta]
    for row in (payload.before_row, payload.after_row):
        if row is not None:
            unread += row.values()
    return unread


def names_every_part(value: bytes) -> bool:
    """Return whether a message has the fields `before`, `after` and `ddl`, even if empty, as messages to Kafka have."""
    return read_json(value, _PARTS).payload.keys() >= {"before", "after", "ddl"}


def read_schema_part(envelope: Envelope, keys_of: KeysOf) -> StreamXSchema:
    """Read the schema part of a message. Adjacent messages of one table share the same object.

    `keys_of` returns the key columns of a table whose messages name no key.
    """
    text = bytes(envelope.schema or b"null")
    return _read_schema(text, keys_of) if len(text) > _LONG_SCHEMA else _remembered_schema(text, keys_of)


def _read_schema(text: bytes, keys_of: KeysOf) -> StreamXSchema:
    check_shared(text)
    try:
        schema = _SCHEMA.decode(text) or _Schema()
    except msgspec.ValidationError as error:
        raise Malformed(f"the schema part is unreadable: {error}", place="schema") from error
    source, columns = schema.source or _Source(), schema.data_column or []
    listed = {column.name: column.type for column in columns}
    if len(listed) != len(columns):
        raise Malformed("a column occurs twice in `schema.dataColumn`", place="schema.dataColumn")
    system = source.db_type.lower() if source.db_type else None
    database, owner, table = source.db_name or None, source.schema_name or None, source.table_name or None
    name = TableName(database, owner, table) if database and table else None
    has_rowid = system == "oracle" and ROWID in listed
    keys, origin = _keys(schema, listed, name, has_rowid, keys_of)
    hides_rowid = has_rowid and ROWID not in (keys or ())
    types = {column: kind for column, kind in listed.items() if column != ROWID} if hides_rowid else listed
    return StreamXSchema(
        system=system,
        database=database,
        schema=owner,
        table=table,
        name=name,
        listed=listed,
        types=types,
        keys=keys,
        keys_origin=origin,
        problems=_problems(name, keys, listed),
    )


_remembered_schema = lru_cache(maxsize=1024)(_read_schema)


def _keys(
    schema: _Schema, listed: Collection[str], name: TableName | None, has_rowid: bool, keys_of: KeysOf
) -> tuple[tuple[str, ...], KeysOrigin] | tuple[None, None]:
    if schema.primary_key:
        return schema.primary_key, "message"
    for row_id in _ROW_IDS:
        if row_id in listed:
            return (row_id,), "hidden_row_id"
    keys = keys_of(name) if name is not None else ()
    if keys:
        return keys, "registry"
    # A row that moves gets another rowid. A rowid is therefore only the last resort.
    return ((ROWID,), "hidden_row_id") if has_rowid else (None, None)


def _problems(name: TableName | None, keys: tuple[str, ...] | None, listed: Collection[str]) -> tuple[str, ...]:
    found = [] if name is not None else ["TABLE_UNKNOWN"]
    if keys is None:
        found.append("KEYS_UNKNOWN")
    elif not set(keys) <= set(listed):
        found.append("KEY_NOT_IN_IMAGE")
    return tuple(found)
