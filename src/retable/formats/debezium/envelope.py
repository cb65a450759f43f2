"""The envelope of Debezium: what a message contains around a row, a statement or a note.

Kafka Connect's converter writes the envelope alone, or as `payload` next to a long `schema` part. The schema part is
the same in all messages of a table until the table changes, so it is checked and read once.
"""

from functools import lru_cache
from operator import methodcaller
from typing import Annotated

import msgspec
from msgspec import Raw

from retable.errors import Malformed
from retable.formats.debezium.schema import SchemaPart, read_schema_part
from retable.formats.json_text import BYTE_ORDER_MARK, check_shared, read_json

Row = dict[str, Raw]

_NULL = b"null"
_LONG_SCHEMA = 256 * 1024
_Long = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
_Position = Annotated[int, msgspec.Meta(ge=0, le=2**40 - 1)]
_Number = Annotated[int, msgspec.Meta(ge=0, le=2**31 - 1)]


class SourcePart(msgspec.Struct, gc=False):
    """The field `source`: where a change was made. Each connector writes other fields; a missing field is None."""

    connector: str | None = None
    name: str | None = None
    ts_ms: _Long | None = None
    snapshot: bool | str | None = None
    db: str | None = None
    schema: str | None = None
    table: str | None = None
    gtid: str | None = None
    file: str | None = None
    pos: _Position | None = None
    row: _Number | None = None
    sequence: str | None = None
    lsn: _Long | None = None
    commit_lsn: str | None = None
    change_lsn: str | None = None
    scn: str | None = None
    tx_id: int | str | None = msgspec.field(default=None, name="txId")

    @property
    def is_snapshot(self) -> bool:
        """Whether the message is from a snapshot, which reads whole tables.

        The field `snapshot` is usually a text, such as `true` or `last`. Old connectors for Oracle wrote a boolean.
        """
        return self.snapshot not in (None, False, "false")

    @property
    def is_incremental(self) -> bool:
        """Whether the message is a row of an incremental snapshot, which is read while changes go on."""
        return self.snapshot == "incremental"


class Transaction(msgspec.Struct, gc=False):
    id: str | None = None


class Payload(msgspec.Struct, gc=False):
    """The content of a message: a change, or without `op` a statement or a note (transaction, heartbeat).

    A field that may be null may also be missing.
    """

    op: str | None = None
    before: Row | None = None
    after: Row | None = None
    source: SourcePart | None = None
    ts_ms: _Long | None = None
    transaction: Transaction | None = None


class _Enveloped(Payload, gc=False):
    schema: Raw = Raw(_NULL)
    payload: Raw | msgspec.UnsetType = msgspec.UNSET


class StatementRecord(msgspec.Struct, gc=False):
    """A message of the topic of schema changes."""

    source: SourcePart
    ddl: str | None = None
    ts_ms: _Long | None = None
    database: str | None = msgspec.field(default=None, name="databaseName")
    schema: str | None = msgspec.field(default=None, name="schemaName")
    table_changes: Raw = msgspec.field(default=Raw(_NULL), name="tableChanges")


class Boundary(msgspec.Struct, gc=False):
    """A message of the topic of transactions: the begin or end of a transaction."""

    status: str
    id: str
    ts_ms: _Long | None = None


class Heartbeat(msgspec.Struct, gc=False):
    """A message of the topic of heartbeats. `ts_ms` is a time of the connector's clock."""

    ts_ms: _Long


class Envelope(msgspec.Struct, gc=False):
    """A whole message: its payload, the JSON text of the payload, and its schema part (None if it has no such part).

    `payload` is None if it is null in the message, next to a schema part.
    """

    payload: Payload | None
    text: bytes
    schema_part: SchemaPart | None


_PAYLOAD = msgspec.json.Decoder(Payload)
_ENVELOPED = msgspec.json.Decoder(_Enveloped)
_ROW, _VALUES = msgspec.json.Decoder(Row), methodcaller("values")
_ANY = msgspec.json.Decoder(Raw)
_START, _MIDDLE = b'{"schema":', b',"payload":'


def read_envelope(value: bytes) -> Envelope:
    """Read one message. Raise Malformed or TooLarge, with reason and location, if it is not valid."""
    value = value.removeprefix(BYTE_ORDER_MARK)
    parts = _split(value)
    if parts is not None:
        return _read_parts(*parts)
    whole = read_json(value, _ENVELOPED)
    if whole.payload is msgspec.UNSET:
        return Envelope(whole, value, None)
    return _read_parts(bytes(whole.schema), bytes(whole.payload))


def read_key(key: bytes | None) -> Row | None:
    """Return the key columns and their values from a message's Kafka key, or None if the key is missing or null."""
    if key is None:
        return None
    try:
        parts = _split(key)
        if parts is not None and parts[1].startswith(b"{"):
            check_shared(parts[0])
            return read_json(parts[1], _ROW, _VALUES)
        row: Row = read_json(key, _ROW)
        payload = bytes(row.get("payload", b""))
        if payload.startswith(b"{") and row.keys() <= {"schema", "payload"}:
            return _ROW.decode(payload)
    except (Malformed, msgspec.DecodeError) as error:
        raise Malformed(
            f"the Kafka key of the message is not a JSON object: {error}; set key.converter of the connector to "
            f"JsonConverter",
            place="key",
        ) from error
    return None if payload == _NULL and "schema" in row else row


def _split(value: bytes) -> tuple[bytes, bytes] | None:
    """Split a message into schema and payload, if it is exactly as Kafka's converter writes it; else return None."""
    start, middle, end = value.partition(_MIDDLE)
    schema, payload = start[len(_START) :], end[:-1]
    if not middle or not start.startswith(_START) or not end.endswith(b"}"):
        return None
    is_one = _is_one if len(schema) > _LONG_SCHEMA else _is_one_remembered
    return (schema, payload) if is_one(schema) and _is_one(payload) else None


def _is_one(text: bytes) -> bool:
    """Return whether the bytes are exactly one JSON value."""
    try:
        _ANY.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return False
    return True


_is_one_remembered = lru_cache(maxsize=256)(_is_one)


def _read_parts(schema: bytes, payload: bytes) -> Envelope:
    schema_part = read_schema_part(schema)
    content = None if payload == _NULL else read_json(payload, _PAYLOAD)
    return Envelope(content, payload, schema_part)
