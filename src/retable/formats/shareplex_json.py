"""shareplex_json: row changes of Oracle, as Quest SharePlex and Alibaba's DTS write them ("SharePlex JSON").

Written by SharePlex's Kafka target and by DTS (known from the messages printed in DTS's documentation, and from Quest's
knowledge base). One message is one operation of a committed transaction:

    {"meta":{"time":"2017-06-16T14:24:34","userid":84,"op":"upd","scn":"14589063118712","rowid":"AAATGpAAIAAItcIAAA",
             "trans":"7.0.411499","seq":1,"size":11,"table":"CL_BIZ1.MIO_LOG","idx":"1/11",
             "posttime":"2017-06-16T14:33:52"},
     "data":{"CNTR_NO":"1171201606"},"key":{"MIO_LOG_ID":"32537893","CNTR_NO":"1171201606syui26"}}

For an insert, `data` is the new row, in which null columns may be missing. For a delete, it is the old row. For an
update, it has only the changed columns, and `key` has the old values of the columns that identify the row. So a column
that is missing in an update is unchanged, and a null in an update is a null. The order is `scn`, then `seq`; both are
integers. No message names its database, its types or its key. For users: docs/formats.md.
"""

import re
from datetime import UTC, datetime
from functools import lru_cache
from operator import attrgetter

import msgspec
from msgspec import UNSET, Raw, UnsetType

from retable.errors import Malformed, UnknownOperation
from retable.formats.context import DecodeContext
from retable.formats.format import Format, across_the_stream
from retable.formats.image_text import write_image
from retable.formats.json_text import read_json
from retable.formats.options import FormatOptions, NonEmptyStr
from retable.model.event import Address, ChangeEvent, Image, KeysOrigin, Op, Scope, TableName, known_table
from retable.model.message import RawMessage
from retable.model.sequence import Sequence
from retable.values.encodings import EmptyIsNull, Encoding

NAME = "shareplex_json"
VERSION = "shareplex_json/1"
TIME_ZONE = "The zone of wall clocks that `types` makes instants; the messages' own times are UTC."
CANNOT_TELL = (
    "Keys and types: the settings or an imported schema name them; until then the rowid identifies a row.",
    "Statements: which column DROP COLUMN dropped, and any other change of a table. A new column appears with the rows "
    "that have it.",
    "Whether all of a transaction came: `size` also counts what a filter leaves out.",
    'An empty text: Oracle has none, so `""` is NULL.',
    "Whether a partition without new messages is complete: there is no heartbeat. A canary row in each "
    "partition proves it.",
)
DRAFTS = ({"database": "unnamed"}, {"database": "unnamed", "table": "unnamed"})
ROWID = "rowid"
"""The name of the column that has Oracle's address of a row: the key, if the settings do not name a key."""

_OPS: dict[str, tuple[Op, Image | None]] = {
    **dict.fromkeys(("ins", "insert"), ("INSERT", "full")),
    **dict.fromkeys(("upd", "update"), ("UPDATE", "full")),
    **dict.fromkeys(("ub", "update before"), ("UPDATE", "before_half")),
    **dict.fromkeys(("ua", "update after"), ("UPDATE", "after_half")),
    **dict.fromkeys(("del", "delete"), ("DELETE", "full")),
    "truncate": ("TRUNCATE", None),
    "drop column": ("DDL", None),
}
_DIGITS = re.compile(rb'"([0-9]{1,38})"|([0-9]{1,38})')
_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,6})?Z?")
_LARGEST_SEQ = 2**63 - 1

_Row = dict[str, Raw]


class SharePlexOptions(FormatOptions, frozen=True):
    """Settings that only `shareplex_json` reads."""

    database: NonEmptyStr | None = None
    """The database of the messages. Messages do not name it."""
    table: NonEmptyStr | None = None
    """The table of messages that do not name one, with its owner, as `HR.EMP`."""


class _Meta(msgspec.Struct, gc=False):
    """Every field except the operation may be missing or null; UNSET is a missing field."""

    op: str
    table: str | UnsetType | None = UNSET
    scn: Raw | UnsetType = UNSET
    seq: Raw | UnsetType = UNSET
    rowid: str | UnsetType | None = UNSET
    trans: str | UnsetType | None = UNSET
    time: str | UnsetType | None = UNSET
    posttime: str | UnsetType | None = UNSET
    userid: Raw | UnsetType = UNSET
    size: Raw | UnsetType = UNSET
    idx: Raw | UnsetType = UNSET


class _Message(msgspec.Struct, gc=False):
    meta: _Meta
    data: _Row | UnsetType | None = UNSET
    key: _Row | UnsetType | None = UNSET

    @property
    def unread(self) -> list[Raw | UnsetType]:
        """The values that the decoder leaves as raw JSON."""
        meta = self.meta
        return [
            *(meta.scn, meta.seq, meta.userid, meta.size, meta.idx),
            *(self.data or {}).values(),
            *(self.key or {}).values(),
        ]


_MESSAGE, _UNREAD = msgspec.json.Decoder(_Message), attrgetter("unread")


def decode(message: RawMessage, context: DecodeContext) -> list[ChangeEvent]:
    """Decode one message of SharePlex to exactly one event. `context` has the settings of the source."""
    if message.value is None:
        raise Malformed("the message has no value; SharePlex writes a value in every message")
    found = read_json(message.value, _MESSAGE, _UNREAD)
    options, meta = SharePlexOptions.of(context.options), found.meta
    schema, table = _table(meta, options)
    name = known_table(options.database or "", schema, table) if table else None
    op, image = _operation(meta, name)
    keys, origin = _keys(found, name, context) if image is not None else (None, None)
    before, after = _images(found, image, op, name)
    if origin == "hidden_row_id":
        before, after = _with_rowid(before, meta), _with_rowid(after, meta)
    identity = after if op == "INSERT" or image == "after_half" else before
    sequence, scope = _order(meta, message, context, name)
    return [
        ChangeEvent(
            source_format=NAME,
            source_system=context.source_system or "oracle",
            op=op,
            op_raw=meta.op,
            address=Address(message.topic, message.partition, message.offset),
            database=options.database,
            schema=schema,
            table=table,
            image=image,
            keys=keys,
            keys_origin=origin,
            before=None if before is None else write_image(before),
            after=None if after is None else write_image(after),
            partial_before=op == "UPDATE" and before is not None,
            partial_after=op == "UPDATE" and after is not None,
            sequence=sequence,
            sequence_scope=scope,
            tx_id=meta.trans or None,
            event_time_ms=_time(meta.time, "meta.time", name),
            process_time_ms=_time(meta.posttime, "meta.posttime", name),
            problems=_problems(name, image, keys, identity, scope),
        )
    ]


def _table(meta: _Meta, options: SharePlexOptions) -> tuple[str | None, str | None]:
    """Return the owner and the table: the texts before and after the first dot. Without a dot, the owner is None."""
    owner, dot, table = (meta.table or options.table or "").partition(".")
    return (owner or None, table or None) if dot else (None, owner or None)


def _operation(meta: _Meta, name: TableName | None) -> tuple[Op, Image | None]:
    """Return the operation, written as a code or in words of any case, and its image, None if it is not about a row."""
    found = _OPS.get(meta.op.strip().lower().replace("_", " "))
    if found is None:
        reason = f"`meta.op` is {meta.op[:40]!r}, which is not an operation of SharePlex, such as ins, upd or del"
        raise UnknownOperation(reason, place="meta.op", table=name)
    return found


def _keys(
    found: _Message, name: TableName | None, context: DecodeContext
) -> tuple[tuple[str, ...], KeysOrigin] | tuple[None, None]:
    """Return the key that the settings or a dump name, else the rowid: a row that moves gets another rowid."""
    keys = context.keys_of(name) if name is not None else ()
    if keys:
        return keys, "registry"
    has_rowid = name is not None and found.meta.rowid and ROWID not in {*(found.data or ()), *(found.key or ())}
    return ((ROWID,), "hidden_row_id") if has_rowid else (None, None)


def _images(found: _Message, image: Image | None, op: Op, name: TableName | None) -> tuple[_Row | None, _Row | None]:
    """Return the rows before and after the change, None if a row is missing. Only an update may have no columns."""
    if image is None:
        return None, None
    is_update = op == "UPDATE" and image == "full"
    if not isinstance(found.data, dict) or not (found.data or is_update):
        raise Malformed(f"{found.meta.op[:40]} has no row: `data` is missing or empty", place="data", table=name)
    if is_update:
        return found.key or {}, found.data
    return (found.data, None) if op == "DELETE" or image == "before_half" else (None, found.data)


def _with_rowid(row: _Row | None, meta: _Meta) -> _Row | None:
    return None if row is None else {**row, ROWID: Raw(msgspec.json.encode(meta.rowid))}


def _order(meta: _Meta, message: RawMessage, context: DecodeContext, name: TableName | None) -> tuple[Sequence, Scope]:
    """Return the position of the operation in the order of the database. Without `scn` and `seq`, it is the offset."""
    scn, seq = _digits(meta.scn, "meta.scn", name), _digits(meta.seq, "meta.seq", name)
    if scn is None or seq is None:
        return Sequence(context.source_epoch, message.offset, 0), "partition"
    if seq > _LARGEST_SEQ:
        reason = f"`meta.seq`, the number of the operation in its transaction, is {seq}; the maximum is {_LARGEST_SEQ}"
        raise Malformed(reason, place="meta.seq", table=name)
    return Sequence(context.source_epoch, scn, seq), "stream"


def _digits(token: Raw | UnsetType, place: str, name: TableName | None) -> int | None:
    """Return an integer that is written as a JSON number or as text; None if it is missing or empty.

    It is never a double, which would not distinguish numbers of many digits.
    """
    text = bytes(token or b"null")
    if text in (b"null", b'""'):
        return None
    found = _DIGITS.fullmatch(text)
    if found is None:
        raise Malformed(f"`{place}` is {text.decode()[:40]}; expected a whole number", place=place, table=name)
    return int(found[1] or found[2])


def _time(text: str | UnsetType | None, place: str, name: TableName | None) -> int | None:
    """Return a time in epoch milliseconds. It is in UTC, also if its text names no zone."""
    if not text:
        return None
    try:
        return _read_time(text)
    except ValueError:
        reason = f"`{place}` is {text[:40]!r}; expected a time such as 2017-06-16T14:24:34"
        raise Malformed(reason, place=place, table=name) from None


@lru_cache(maxsize=1024)
def _read_time(text: str) -> int:
    """Read a time, cached: adjacent messages often have the same second."""
    if not _TIME.fullmatch(text):
        raise ValueError
    return int(datetime.fromisoformat(text.removesuffix("Z")).replace(tzinfo=UTC).timestamp() * 1000)


def _problems(
    name: TableName | None, image: Image | None, keys: tuple[str, ...] | None, identity: _Row | None, scope: Scope
) -> tuple[str, ...]:
    """The problems of an event; `identity` is the image whose key identifies the row."""
    found = ["ORDER_FIELDS_MISSING"] if scope == "partition" else []
    if name is None:
        found.append("TABLE_UNKNOWN")
    elif image is not None and keys is None:
        found.append("KEYS_UNKNOWN")
    elif keys is not None and not (identity or {}).keys() >= set(keys):
        found.append("KEY_NOT_IN_IMAGE")
    return tuple(found)


def wire_encoding(wire_type: str | None) -> Encoding:
    """Return the encoding of values, which is the same for all columns, because messages contain no types.

    Values are text or JSON numbers. An empty text is null, as in Oracle.
    """
    return EmptyIsNull()


def default_type(wire_type: str) -> None:
    """Return None, because messages contain no types.

    A column is text until the settings or an imported schema declare its type.
    """


FORMAT = Format(
    name=NAME,
    version=VERSION,
    decode=decode,
    encoding=wire_encoding,
    default_type=default_type,
    order_scope=across_the_stream,
    partitions_in_order=False,
    options=SharePlexOptions,
    needs=("database",),
    drafts=DRAFTS,
    marks=("data", "key", "meta", "op", "posttime", "rowid", "scn"),
    time_zone=TIME_ZONE,
    cannot_tell=CANNOT_TELL,
)
