"""The encoding of times and bytes in Debezium's messages without a schema part.

The options `time_mode` and `binary_encoding`, which repeat the connector's settings, decide it.
"""

import re
from typing import Literal

from retable.formats.debezium.options import DebeziumOptions
from retable.values.encodings import (
    Base64,
    ClockTicks,
    ClockTime,
    Day,
    Encoding,
    EpochDays,
    Text,
    Unread,
    WallClock,
    WallTicks,
    Zulu,
)
from retable.values.times import ValueRules

_DIGITS = re.compile(r"\(\s*([0-9])\s*\)")
_NONE_NAMED = {"postgresql": 6, "sqlserver": 7}
_OF_OLD_TYPES = {"datetime": 3, "smalldatetime": 0}
_MILLIS, _MICROS = 3, 6


def digits_of(declared: str, system: str) -> int:
    """Return the number of fractional digits of a second in a declared type, such as 3 for `timestamp(3)`.

    If the type names no number, return the default of the database `system`.
    """
    found = _DIGITS.search(declared)
    if found:
        return int(found[1])
    if system == "sqlserver" and declared.strip().lower() in _OF_OLD_TYPES:
        return _OF_OLD_TYPES[declared.strip().lower()]
    return _NONE_NAMED.get(system, 0)


def day_encoding(rules: ValueRules) -> Encoding:
    """Return the encoding of dates. The option `time_mode` decides it."""
    return Zulu(Day()) if DebeziumOptions.of(rules.options).time_mode == "isostring" else EpochDays()


def wall_clock_encoding(shown: int | None, rules: ValueRules) -> Encoding:
    """Return the encoding of dates and times without zone. The option `time_mode` decides it.

    `shown` is the number of fractional digits of a second that the column has, None if it is not known.
    """
    match DebeziumOptions.of(rules.options).time_mode:
        case "isostring":
            return Zulu(WallClock())
        case "connect":
            return WallTicks(3)
        case "microseconds":
            return WallTicks(6)
        case "nanoseconds":
            return WallTicks(9)
    if shown is None:
        return Unread(
            "the unit of the number depends on the column's digits of a second, which are not known; let the "
            "connector use one unit (`time.precision.mode`), and set `time_mode` of the source to it"
        )
    return WallTicks(_unit(shown))


def clock_encoding(digits: int, rules: ValueRules, *, pads: bool = True) -> Encoding:
    """Return the encoding of times of day. The option `time_mode` decides it.

    `digits` is the number of fractional digits of a second that the column has. If `pads` is True, the database shows
    all of them, also zeros at the end, as in `12:00:00.500`. In the mode `adaptive`, `digits` decides the unit. But for
    MySQL and MariaDB, the unit is then always the microsecond.
    """
    shown = digits if pads else None
    match DebeziumOptions.of(rules.options).time_mode:
        case "isostring":
            return Zulu(ClockTime())
        case "connect":
            return ClockTicks(3, shown)
        case "nanoseconds":
            return ClockTicks(9, shown)
        case "adaptive" if rules.system not in ("mysql", "mariadb"):
            return ClockTicks(_unit(digits), shown)
    return ClockTicks(6, shown)


def octets_encoding(length: int | None, rules: ValueRules) -> Encoding:
    """Return the encoding of bytes. Values are padded with zeros to `length` bytes, unless `length` is None."""
    return Text() if rules.binary_encoding == "hex" else Base64(length)


def _unit(shown: int) -> Literal[3, 6, 9]:
    return 3 if shown <= _MILLIS else 6 if shown <= _MICROS else 9
