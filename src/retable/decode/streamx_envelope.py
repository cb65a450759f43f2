"""The envelope of StreamX: what a message says around a row, a statement or a heartbeat.

DataWorks writes the same one to Kafka and into DataHub; there the parts that are empty are left out instead of null.
"""

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated

import msgspec
from msgspec import Raw

from retable.decode.json_text import read_json
from retable.errors import Malformed
from retable.model.event import TableName

ROWID = "rowid"
"""Where Oracle keeps a row, which DataWorks writes among its columns."""

_ROW_IDS = ("#alibaba_rds_row_id#", "__#alibaba_rds_row_id#__")
_LONG_SCHEMA = 64 * 1024
_SEQUENCE = re.compile(rb'"(-1|[0-9]{1,38})"|(-1|[0-9]{1,38})')

Row = dict[str, Raw]
_Long = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]


class _Image(msgspec.Struct, rename="camel", gc=False):
    data_column: Row | None = None


class _Time(msgspec.Struct, rename="camel", gc=False):
    event_time: _Long
    system_time: _Long | None = None


class _Ddl(msgspec.Struct, gc=False):
    text: str | None = None


class Payload(msgspec.Struct, rename="camel", gc=False):
    """The fields that are read; one that may be null may be missing as well, and means the same."""

    op: str
    timestamp: _Time
    sequence_id: Raw = Raw(b"null")
    before: _Image | None = None
    after: _Image | None = None
    ddl: _Ddl | None = None

    @property
    def before_row(self) -> Row | None:
        """The row before the change; a row without any column is none."""
        return (self.before and self.before.data_column) or None

    @property
    def after_row(self) -> Row | None:
        """The row after the change; a row without any column is none."""
        return (self.after and self.after.data_column) or None

    @property
    def position(self) -> int | None:
        """`sequenceId` as an integer: a double would make neighbours of 19 digits one; None where there is none."""
        found = _SEQUENCE.fullmatch(bytes(self.sequence_id))
        return None if found is None else int(found[1] or found[2])

    @property
    def statement(self) -> str | None:
        return (self.ddl and self.ddl.text) or None


class Envelope(msgspec.Struct, gc=False):
    """A whole message."""

    payload: Payload
    schema: Raw = Raw(b"null")


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


@dataclass(frozen=True, slots=True)
class Told:
    """What the schema part of a message says. `row_id` is the column that stands for a key where a table has none.

    `types_without_rowid` is None where no rowid of Oracle is among the columns.
    """

    system: str | None
    database: str | None
    schema: str | None
    table: str | None
    keys: tuple[str, ...] | None
    row_id: str | None
    types: dict[str, str] | None
    types_without_rowid: dict[str, str] | None

    @property
    def name(self) -> TableName | None:
        return TableName(self.database, self.schema, self.table) if self.database and self.table else None


_ENVELOPE = msgspec.json.Decoder(Envelope)
_SCHEMA = msgspec.json.Decoder(_Schema | None)
_PARTS = msgspec.json.Decoder(_Parts)


def read_envelope(value: bytes) -> Envelope:
    """Read one message; Malformed or TooLarge say what is wrong and where."""
    return read_json(value, _ENVELOPE)


def names_every_part(value: bytes) -> bool:
    """Say whether a message names its images and its statement also where it has none, as those to Kafka do."""
    return read_json(value, _PARTS).payload.keys() >= {"before", "after", "ddl"}


def read_told(schema: Raw) -> Told:
    """Read the schema part; neighbours of one table share the very same one."""
    text = bytes(schema)
    return _read_schema(text) if len(text) > _LONG_SCHEMA else _remembered_schema(text)


def _read_schema(text: bytes) -> Told:
    try:
        schema = _SCHEMA.decode(text) or _Schema()
    except msgspec.ValidationError as error:
        raise Malformed(f"the schema part is unreadable: {error}", place="schema") from error
    source, columns = schema.source or _Source(), schema.data_column or []
    types = {column.name: column.type for column in columns}
    if len(types) != len(columns):
        raise Malformed("a column stands twice in dataColumn", place="schema.dataColumn")
    system = source.db_type.lower() if source.db_type else None
    has_rowid = system == "oracle" and ROWID in types
    return Told(
        system,
        source.db_name or None,
        source.schema_name or None,
        source.table_name or None,
        schema.primary_key or None,
        next((name for name in _ROW_IDS if name in types), None),
        types or None,
        {name: kind for name, kind in types.items() if name != ROWID} if has_rowid else None,
    )


_remembered_schema = lru_cache(maxsize=1024)(_read_schema)
