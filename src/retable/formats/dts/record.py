"""Read the record of DTS: one Avro value of the schema `avro.avsc`, without header, magic byte or schema id.

Two versions of the schema are in use, and no byte names the version: the older one ends before `bornTimestamp`.
"""

import json
import re
from functools import lru_cache
from importlib.resources import files
from typing import NamedTuple

import msgspec

from retable.errors import Malformed, MessageError
from retable.formats.dts.binary import AvroValue, Torn, compile_schema, read_long
from retable.formats.json_text import read_json
from retable.model.event import TableName, known_table

SCHEMA = files("retable").joinpath("formats", "dts", "avro.avsc").read_text("utf-8")
"""The text of the newer version of the schema. Messages contain no names, so only the order of fields matters."""

_NEWER = json.loads(SCHEMA)
_OLDER = _NEWER | {"fields": [field for field in _NEWER["fields"] if field["name"] != "bornTimestamp"]}
_READ = compile_schema(_OLDER, shared=("source", "tags", "fields"))

_ESCAPED_DOT = re.compile(r"\\u002[Ee]")
_DIGITS = re.compile(r"[0-9]{1,18}")
_LAST_SECOND = 253_402_300_799
_FIRST_MILLIS = 10**11
_LONG_TAG = 64 * 1024


class _Keys(msgspec.Struct, gc=False):
    """The tag `pk_uk_info`: the columns of each unique key by its name; only the primary key is read."""

    primary: tuple[str, ...] | None = msgspec.field(name="PRIMARY", default=None)


_KEYS = msgspec.json.Decoder(_Keys)


class DtsRecord(NamedTuple):
    """A message of DTS: the fields of the schema in its order. If it has no `bornTimestamp`, this field is 0."""

    version: int
    id: int
    source_timestamp: int
    source_position: str
    safe_source_position: str
    source_txid: str
    source: list[str]
    operation: str
    object_name: str | None
    process_timestamps: list[int] | None
    tags: dict[str, str]
    fields: str | list[AvroValue] | None
    before_images: str | list[AvroValue] | None
    after_images: str | list[AvroValue] | None
    born_timestamp: int = 0

    @property
    def name(self) -> tuple[str | None, str | None, str | None]:
        """The names of database, schema and table. A name that is not in the message is None."""
        return _read_name(self.object_name) if self.object_name else (None, None, None)

    @property
    def table_name(self) -> TableName | None:
        database, schema, table = self.name
        return known_table(database, schema, table) if database and table else None

    @property
    def system(self) -> str | None:
        kind = self.source[0]
        return None if kind == "OTHER" else kind.lower()

    @property
    def keys(self) -> tuple[str, ...]:
        """The columns of the primary key; empty if the table has none."""
        listed = self.tags.get("pk_uk_info", "")
        if not listed:
            return ()
        return _read_keys(listed) if len(listed) > _LONG_TAG else _remembered_keys(listed)

    @property
    def transaction(self) -> str | None:
        """The id of the transaction, or None. For MySQL, DTS writes "0" instead of an id."""
        return self.source_txid if self.source_txid not in ("", "0") else None

    @property
    def event_time_ms(self) -> int | None:
        """When the source made the change, in epoch milliseconds. The message has seconds; 0 means no time (None)."""
        if self.source_timestamp > _LAST_SECOND:
            text = f"`sourceTimestamp` is {self.source_timestamp}, not a second of the years 1970 to 9999"
            raise Malformed(text, place="sourceTimestamp")
        return self.source_timestamp * 1000 if self.source_timestamp > 0 else None

    @property
    def process_time_ms(self) -> int | None:
        """When DTS read the change, in epoch milliseconds, or None.

        `bornTimestamp` is documented as milliseconds, but observed values are seconds.
        """
        read = self.tags.get("readerThroughoutTime", "")
        time = int(read) if _DIGITS.fullmatch(read) else self.born_timestamp
        return (time * 1000 if time < _FIRST_MILLIS else time) if time > 0 else None


def read_record(data: bytes) -> DtsRecord:
    """Read a message of either version of the schema. Raise Malformed, with reason and location, if it is not valid."""
    try:
        values, end = _READ(data, 0)
        born, end = read_long(data, end) if end < len(data) else (0, end)
    except Torn as torn:
        raise Malformed(f"the message is not a record of DTS: {torn.reason} ({torn.place})", place=torn.place) from torn
    except IndexError as error:
        text = "the message is not a record of DTS: it ends before its field `bornTimestamp` is complete"
        raise Malformed(text, place=f"bornTimestamp, byte {len(data)}") from error
    if end != len(data):
        raise Malformed(f"the message has {len(data) - end} bytes after the end of the record", place=f"byte {end}")
    return DtsRecord._make([*values, born])


@lru_cache(maxsize=4096)
def _read_name(name: str) -> tuple[str | None, str | None, str | None]:
    """Read the parts of `objectName`, in which a dot inside a name is escaped."""
    match [_ESCAPED_DOT.sub(".", part) or None for part in name.split(".")]:
        case [database]:
            return database, None, None
        case [database, table]:
            return database, None, table
        case [database, schema, table]:
            return database, schema, table
        case parts:
            text = f"`objectName` is {name[:200]!r}, which has {len(parts)} parts; expected at most 3 between dots"
            raise Malformed(text, place="objectName")


def _read_keys(text: str) -> tuple[str, ...]:
    try:
        return read_json(text.encode(), _KEYS).primary or ()
    except MessageError as error:
        reason = f"the keys of the table, in `tags.pk_uk_info`, are unreadable: {error.message}"
        raise Malformed(reason, place="tags.pk_uk_info") from error


_remembered_keys = lru_cache(maxsize=1024)(_read_keys)
