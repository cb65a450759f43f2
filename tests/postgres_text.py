"""Reads one value from PostgreSQL's own text and from gold's: as two spellings of one value they read equal."""

import base64
import json
import re
import struct
from collections.abc import Callable, Hashable
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

_ARRAY_ITEM = re.compile(r'"((?:[^"\\]|\\.)*)"|([^,{}]+)')
_CLOCK = re.compile(r"(\d+):(\d+):(\d+)(\.\d+)?(Z|[+-]\d\d(?::\d\d)?)")
_WKB_POINT = "<bIdd"


def _money(value: Any) -> Hashable:
    return Decimal(value.replace("$", "").replace(",", ""))


def _bits(value: Any) -> Hashable:
    """The server shows bits as bits, gold as the number that they are."""
    return int(value, 2) if isinstance(value, str) else value


def _moment(value: Any) -> Hashable:
    return datetime.fromisoformat(value)


def _zoned_clock(value: Any) -> Hashable:
    """A time of day in UTC, in microseconds; the connector writes it so, and the server in the zone it was given."""
    hour, minute, second, fraction, zone = _CLOCK.fullmatch(value).groups()  # type: ignore[union-attr]  # every true time matches
    moment = timedelta(hours=int(hour), minutes=int(minute), seconds=float(f"{second}{fraction or ''}"))
    hours, _, minutes = zone.strip("Z+-").partition(":")
    ahead = timedelta(hours=int(hours or 0), minutes=int(minutes or 0))
    return (moment + ahead if zone[0] == "-" else moment - ahead) % timedelta(days=1)


def _array(value: Any) -> Hashable:
    if value.startswith("["):
        return tuple(None if item is None else str(item) for item in json.loads(value))
    items = [(found[1], found[2]) for found in _ARRAY_ITEM.finditer(value)]
    return tuple(
        (None if bare == "NULL" else bare) if bare else re.sub(r"\\(.)", r"\1", quoted) for quoted, bare in items
    )


def _hstore(value: Any) -> Hashable:
    text = value if value.startswith("{") else "{" + value.replace("=>", ":").replace("NULL", "null") + "}"
    return frozenset(json.loads(text).items())


def _point(value: Any) -> Hashable:
    if value.startswith("("):
        return tuple(map(float, value.strip("()").split(",")))
    return struct.unpack(_WKB_POINT, base64.b64decode(value))[2:]


READERS: dict[str, Callable[[Any], Hashable]] = {
    "money": _money,
    **dict.fromkeys(("bit", "bit varying"), _bits),
    "timestamp with time zone": _moment,
    "time with time zone": _zoned_clock,
    # SQL fills it up with blanks, and the server shows it without them.
    "character": str.rstrip,
    **dict.fromkeys(("integer[]", "text[]"), _array),
    "hstore": _hstore,
    "point": _point,
}
"""By the type's name without what stands in brackets behind it."""
