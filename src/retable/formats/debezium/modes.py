"""The encoding of Debezium's times and bytes in messages without a schema part, by the connector's modes."""

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
    """Return how many digits of a second a declared type has; if it names no number, the default of the database."""
    found = _DIGITS.search(declared)
    if found:
        return int(found[1])
    if system == "sqlserver" and declared.strip().lower() in _OF_OLD_TYPES:
        return _OF_OLD_TYPES[declared.strip().lower()]
    return _NONE_NAMED.get(system, 0)


def day_encoding(rules: ValueRules) -> Encoding:
    """Return the encoding of a date, by `time_mode`."""
    return Zulu(Day()) if DebeziumOptions.of(rules.options).time_mode == "isostring" else EpochDays()


def wall_clock_encoding(shown: int | None, rules: ValueRules) -> Encoding:
    """Return the encoding of a wall clock. `shown` is its number of digits of a second, None if this is unknown."""
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
        return Unread("its unit depends on its digits of a second, which are not known; `time_mode` must name one unit")
    return WallTicks(_unit(shown))


def clock_encoding(digits: int, rules: ValueRules, *, pads: bool = True) -> Encoding:
    """Return the encoding of a time of day with this number of digits of a second.

    If `pads` is true, the database shows all of these digits, also zeros at the end. MySQL's times are microseconds in
    both adaptive modes.
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
    """Return the encoding of bytes. Values are padded with zeros to `length` bytes, unless this is None."""
    return Text() if rules.binary_encoding == "hex" else Base64(length)


def _unit(shown: int) -> Literal[3, 6, 9]:
    return 3 if shown <= _MILLIS else 6 if shown <= _MICROS else 9
