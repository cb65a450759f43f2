"""ogg_json: row changes of any database, as Oracle GoldenGate for Big Data writes them with its JSON formatter.

Known from the messages that its documentation prints (12.2 to 19.1), with and without `isMissing` fields. The formatter
is configured to model operations (`format=json`), one message per operation (`mode=op`):

    {"table":"QASOURCE.TCUSTORD","op_type":"U","op_ts":"2015-11-05 18:45:39.000000",
     "current_ts":"2016-10-05T10:15:51.310002","pos":"00000000000000004300","primary_keys":["CUST_CODE","ORDER_ID"],
     "before":{"CUST_CODE":"BILL","ORDER_ID":765,"PRODUCT_PRICE":15000.00,"PRODUCT_AMOUNT":3},
     "after":{"CUST_CODE":"BILL","ORDER_ID":765,"PRODUCT_PRICE":14000.00}}

In an update, both images have only the columns that the trail has: a column that is missing in `after` is unchanged.
The order is `pos`, the position of the operation in its trail. For users: docs/formats.md.
"""

import re
from datetime import datetime
from functools import lru_cache
from operator import attrgetter
from zoneinfo import ZoneInfo

import msgspec
from msgspec import UNSET, Raw, UnsetType

from retable.errors import Malformed, UnknownOperation
from retable.formats.context import DecodeContext
from retable.formats.format import Format, across_the_stream
from retable.formats.image_text import write_image
from retable.formats.json_text import read_json
from retable.formats.options import FormatOptions, NonEmptyStr, Zone
from retable.model.event import Address, ChangeEvent, KeysOrigin, Op, Scope, TableName, known_table
from retable.model.message import RawMessage
from retable.model.sequence import Sequence
from retable.values.encodings import Encoding, Untyped

NAME = "ogg_json"
_OPS: dict[str, Op] = {"I": "INSERT", "U": "UPDATE", "D": "DELETE", "T": "TRUNCATE"}
_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,6})?(?:[0-9]{3})?")
_POSITION = re.compile(r"[0-9]{1,38}")
_MISSING = "_isMissing"
_FLAGS = frozenset({b"true", b"false"})

_Row = dict[str, Raw]


class OggOptions(FormatOptions, frozen=True):
    """Settings that only `ogg_json` reads."""

    database: NonEmptyStr | None = None
    """The database, if `table` in the messages is owner and table, as for Oracle. Not set: the first part of `table`
    is the database."""
    op_ts_zone: Zone | None = None
    """The time zone of `op_ts`. Messages do not name it: it is UTC, or the zone of the database."""


class _Message(msgspec.Struct, gc=False):
    """A whole message, without fields that a template may add. A missing field is UNSET; it means null."""

    table: str
    op_type: str
    op_ts: str | UnsetType | None = UNSET
    pos: str | UnsetType | None = UNSET
    xid: str | UnsetType | None = UNSET
    primary_keys: tuple[str, ...] | UnsetType | None = UNSET
    before: _Row | UnsetType | None = UNSET
    after: _Row | UnsetType | None = UNSET

    @property
    def unread(self) -> list[Raw | UnsetType]:
        """The values that the decoder leaves as raw JSON."""
        return [*(self.before or {}).values(), *(self.after or {}).values()]


_MESSAGE, _UNREAD = msgspec.json.Decoder(_Message), attrgetter("unread")


def decode(message: RawMessage, context: DecodeContext) -> list[ChangeEvent]:
    """Decode one message of GoldenGate to one event, an operation. `context` has the settings of the source."""
    if message.value is None:
        raise Malformed("the message has no value; GoldenGate writes a value in every message")
    found, options = read_json(message.value, _MESSAGE, _UNREAD), OggOptions.of(context.options)
    database, schema, table = _parts(found.table, options)
    name = known_table(database, schema, table) if database and table else None
    op = _OPS.get(found.op_type)
    if op is None:
        reason = f"`op_type` is {found.op_type[:40]!r}; expected I, U, D or T"
        raise UnknownOperation(reason, place="op_type", table=name)
    before, after = _images(found, op, name)
    keys, origin = _keys(found, op, name, context)
    sequence, scope = _order(found, message, context, name)
    is_update = op == "UPDATE"
    return [
        ChangeEvent(
            source_format=NAME,
            source_system=context.source_system,
            op=op,
            op_raw=found.op_type,
            address=Address(message.topic, message.partition, message.offset),
            database=database,
            schema=schema,
            table=table,
            image=None if op == "TRUNCATE" else "full",
            keys=keys,
            keys_origin=origin,
            before=None if before is None else write_image(before),
            after=None if after is None else write_image(after),
            partial_before=is_update and before is not None,
            partial_after=is_update,
            sequence=sequence,
            sequence_scope=scope,
            tx_id=found.xid or None,
            event_time_ms=_time(found.op_ts, options.op_ts_zone, "op_ts", name),
            problems=_problems(name, op, keys, {**(before or {}), **(after or {})}, scope),
        )
    ]


def _parts(text: str, options: OggOptions) -> tuple[str | None, str | None, str | None]:
    """Return database, schema and table of `[[catalog.]schema.]table`. Of two names, the first is the schema if the
    option `database` is set, else the database.
    """
    *names, table = text.split(".", 2)
    if len(names) == 2:
        return names[0] or None, names[1] or None, table or None
    first = (names[0] if names else None) or None
    return (options.database, first, table or None) if options.database else (first, None, table or None)


def _images(found: _Message, op: Op, name: TableName | None) -> tuple[_Row | None, _Row | None]:
    """Return the rows before and after, without the flags of missing columns; a row without columns becomes None."""
    before, after = _row(found.before or {}) or None, _row(found.after or {}) or None
    has = (before is not None, after is not None)
    fits = {
        "INSERT": has == (False, True),
        "UPDATE": has[1],
        "DELETE": has == (True, False),
        "TRUNCATE": has == (False, False),
    }
    if not fits[op]:
        sides = " and ".join(side for side, is_there in zip(("before", "after"), has, strict=True) if is_there) or "no"
        text = f"{found.op_type} is not valid with {sides} image: I has `after`, D `before`, U at least `after`, T none"
        raise Malformed(text, place="before, after", table=name)
    return before, after


def _row(image: _Row) -> _Row:
    """Return an image without its missing columns and their flags `<column>_isMissing`, if each column has a flag."""
    flags = {name for name in image if name.endswith(_MISSING) and name.removesuffix(_MISSING) in image}
    columns = image.keys() - flags
    if not flags or {f"{name}{_MISSING}" for name in columns} != flags:
        return image
    if any(bytes(image[flag]) not in _FLAGS for flag in flags):
        return image
    return {name: image[name] for name in image if name in columns and bytes(image[f"{name}{_MISSING}"]) == b"false"}


def _keys(
    found: _Message, op: Op, name: TableName | None, context: DecodeContext
) -> tuple[tuple[str, ...], KeysOrigin] | tuple[None, None]:
    if op == "TRUNCATE":
        return None, None
    if found.primary_keys:
        return found.primary_keys, "message"
    keys = context.keys_of(name) if name is not None else ()
    return (keys, "registry") if keys else (None, None)


def _order(
    found: _Message, message: RawMessage, context: DecodeContext, name: TableName | None
) -> tuple[Sequence, Scope]:
    """Return the position of the operation in its trail, or its offset in the partition if the message has no `pos`."""
    if not found.pos:
        return Sequence(context.source_epoch, message.offset, 0), "partition"
    if not _POSITION.fullmatch(found.pos):
        raise Malformed(f"`pos` is {found.pos[:40]!r}; expected a position in a trail: digits", place="pos", table=name)
    return Sequence(context.source_epoch, int(found.pos), 0), "stream"


def _time(text: str | UnsetType | None, zone: str | None, place: str, name: TableName | None) -> int | None:
    if not text or zone is None:
        return None
    try:
        return _read_time(text, zone)
    except (ValueError, OverflowError):
        reason = f"`{place}` is {text[:40]!r}; expected a time such as 2015-11-05 18:45:39.0"
        raise Malformed(reason, place=place, table=name) from None


@lru_cache(maxsize=1024)
def _read_time(text: str, zone: str) -> int:
    """Read a time as epoch milliseconds, cached: adjacent messages often have the same second."""
    if not _TIME.fullmatch(text):
        raise ValueError
    return int(datetime.fromisoformat(text[:26]).replace(tzinfo=ZoneInfo(zone)).timestamp() * 1000)


def _problems(
    name: TableName | None, op: Op, keys: tuple[str, ...] | None, columns: _Row, scope: Scope
) -> tuple[str, ...]:
    found = ["ORDER_FIELDS_MISSING"] if scope == "partition" else []
    if name is None:
        found.append("TABLE_UNKNOWN")
    if op != "TRUNCATE" and keys is None:
        found.append("KEYS_UNKNOWN")
    elif keys is not None and not columns.keys() >= set(keys):
        found.append("KEY_NOT_IN_IMAGE")
    return tuple(found)


def encoding(wire_type: str | None) -> Encoding:
    """Return the encoding of values, which is the same for all columns: messages contain no types, bytes are base64."""
    return Untyped(base64=True)


def default_type(wire_type: str) -> None:
    """Return None, because messages contain no types.

    A column is text until a dump or the settings declare its type.
    """


FORMAT = Format(
    name=NAME,
    version="ogg_json/1",
    decode=decode,
    encoding=encoding,
    default_type=default_type,
    order_scope=across_the_stream,
    partitions_in_order=False,
    options=OggOptions,
    needs=("op_ts_zone",),
    drafts=({"op_ts_zone": "UTC"},),
    marks=("after", "before", "current_ts", "op_ts", "op_type", "pos", "primary_keys", "table"),
    time_zone="The zone of wall clocks that `types` makes instants; the zone of `op_ts` is `op_ts_zone`.",
    cannot_tell=(
        "Types: the settings or an imported schema name them; until then columns are text.",
        "Keys, if `includePrimaryKeys` is not set: the settings or an imported schema name them.",
        "Statements, except TRUNCATE: a dropped table keeps its rows in gold. A new column appears with the rows that "
        "have it.",
        "The zone of `op_ts`: if `op_ts_zone` is not that zone, watermarks are wrong by the difference.",
        "Whether a partition without new messages is complete: there is no heartbeat. A canary row in each "
        "partition proves it.",
    ),
)
