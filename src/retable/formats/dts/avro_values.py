"""Convert values of DTS to raw values (text), each with the type that decides the encoding of its text.

The type is the name of the branch of Avro's union. After a `#`, it may have what the branch does not say: the parts of
a date that are present, bytes in base64, or a 32-bit float.
"""

import re
from base64 import b64encode
from collections.abc import Callable
from math import isfinite
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from retable.formats.declared_encoding import declared_encoding_of
from retable.formats.dts.charsets import decode_text
from retable.model.schema import GoldType
from retable.values.encodings import (
    Base64,
    ClockTicks,
    ClockTime,
    Day,
    Encoding,
    EpochMicros,
    Exact,
    Real,
    Text,
    Truth,
    Untyped,
    WallClock,
    Whole,
    Year,
    Zoned,
    refined_encoding,
)
from retable.values.time_text import clock_text, read_instant
from retable.values.times import ValueRules

RawValue = tuple[str, str]
"""A value as text, and its type, such as `Integer` or `DateTime#date`."""

_DECIMAL, _NAMED_DECIMAL = "Decimal", "Decimal#named"
_TIMESTAMP = "Timestamp"
_FLOAT, _FLOAT32 = "Float", "Float#32"
_BYTES_OF_TEXT = "Character#base64"

_BY_WIRE_TYPE: dict[str, tuple[Encoding, GoldType]] = {
    "Integer": (Whole(), GoldType("long")),
    _DECIMAL: (Exact(None), GoldType("string")),
    _NAMED_DECIMAL: (Text(), GoldType("string")),
    _FLOAT: (Real(64, named=True), GoldType("double")),
    _FLOAT32: (Real(32, named=True), GoldType("float")),
    _TIMESTAMP: (EpochMicros(), GoldType("timestamptz")),
    "TimestampWithTimeZone": (Zoned(), GoldType("timestamptz")),
    "DateTime": (WallClock(), GoldType("timestamp")),
    "DateTime#date": (Day(), GoldType("date")),
    "DateTime#time": (ClockTicks(6), GoldType("string")),
    "DateTime#year": (Year(), GoldType("int")),
    "Character": (Text(), GoldType("string")),
    _BYTES_OF_TEXT: (Base64(None), GoldType("binary")),
    "TextObject": (Text(), GoldType("string")),
    "TextObject#truth": (Truth(), GoldType("boolean")),
    "TextGeometry": (Text(), GoldType("string")),
    "BinaryObject": (Base64(None), GoldType("binary")),
    "BinaryObject#text": (Base64(None), GoldType("string")),
    "BinaryGeometry": (Base64(None), GoldType("binary")),
}
"""Each type with its encoding, and with the gold type of a column that no statement declared."""

_USUAL: dict[int, str] = {
    **dict.fromkeys((1, 2, 3, 8, 9, 16), "Integer"),
    **dict.fromkeys((0, 246), _DECIMAL),
    4: _FLOAT32,
    5: _FLOAT,
    7: _TIMESTAMP,
    10: "DateTime#date",
    11: "DateTime#time",
    **dict.fromkeys((12, 14), "DateTime"),
    13: "DateTime#year",
    **dict.fromkeys((15, 249, 250, 251, 252, 253, 254), "Character"),
    **dict.fromkeys((245, 247, 248), "TextObject"),
    255: "BinaryGeometry",
}
"""MySQL's `dataTypeNumber` to the usual type of its values. TEXT and BLOB share a number."""

_NUMBERS = {"Integer", _DECIMAL, _NAMED_DECIMAL}
_TRUTHS = {"t": "true", "f": "false"}
_TEXTS = frozenset({"TEXT", "JSON", "XML", "ENUM", "SET", "UUID", "ROWID", "UROWID"})
"""The types of objects that are text, even if they arrive as bytes."""
_NAMED = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}
_LENGTH = re.compile(r"\(\s*([0-6])\s*\)")
_OFFSET = re.compile(r"Z|[+-][0-9]{2}:?[0-9]{2}")


def usual_types(system: str | None, numbers: tuple[int, ...]) -> tuple[str, ...]:
    """Return, for each column, the type that its values usually have in messages, such as `Integer`.

    `numbers` has the `dataTypeNumber` of each column. Retable knows only MySQL's numbers. So the type is "" for another
    number, or if the database `system` is neither `mysql` nor `drds`.
    """
    usual = _USUAL if system in ("mysql", "drds") else {}
    return tuple(usual.get(number, "") for number in numbers)


def to_raw_value(value: Any, usual: str) -> RawValue:
    """Return a value as text, with its type. Raise ValueError, with the reason, if this is not possible.

    `value` is not null. `usual` is the usual type of its column: it says whether a double is a 32-bit float, and
    whether a timestamp is from MySQL.
    """
    return _READERS[value[0]](value, usual)


def wire_encoding(wire_type: str | None) -> Encoding:
    """Return the encoding of raw values, by their type."""
    return _BY_WIRE_TYPE[wire_type][0] if wire_type in _BY_WIRE_TYPE else Untyped()


def default_type(wire_type: str) -> GoldType | None:
    """Return the gold type of a column that no statement declared, by its type in the message; None if it is unknown.

    An integer may be unsigned: a value above 2^63-1 is rejected until `types` says decimal(20,0). A decimal has the
    digits of its value, not those that its column declares, so it is text.
    """
    return _BY_WIRE_TYPE[wire_type][1] if wire_type in _BY_WIRE_TYPE else None


def declared_encoding(encoding: Encoding, declared: str | None, gold: GoldType, rules: ValueRules) -> Encoding:
    """Return `encoding`, completed from the declared type, which shows digits after the point or the length of bytes.

    If `declared` is None, return `encoding` as it is. `gold` is not used.
    """
    if declared is None:
        return encoding
    match encoding, declared_encoding_of(declared, rules.system):
        case ClockTicks(digits), ClockTime():
            length = _LENGTH.search(declared)
            return ClockTicks(digits, int(length[1]) if length else 0)
        case Exact(None), Exact(scale):
            return Exact(scale)
        case _, stated:
            return refined_encoding(encoding, stated)


def agree(one: RawValue, other: RawValue) -> tuple[RawValue, RawValue]:
    """Convert a column's values before and after a change to one type. Raise ValueError if there is no type for both.

    The types differ in two cases. Oracle's NUMBER comes as an integer or a decimal, depending on its value: both values
    become decimals. If a text has bytes that its charset does not allow, DTS sends it as bytes without a charset: both
    values become base64.
    """
    wires = {one[1], other[1]}
    if len(wires) == 1:
        return one, other
    if wires <= _NUMBERS:
        wire = _NAMED_DECIMAL if _NAMED_DECIMAL in wires else _DECIMAL
        return (one[0], wire), (other[0], wire)
    if wires == {"Character", _BYTES_OF_TEXT}:
        return _as_bytes(one), _as_bytes(other)
    raise ValueError(f"the value has the type {one[1]} before the change and {other[1]} after it; expected one type")


def _as_bytes(text: RawValue) -> RawValue:
    return text if text[1] == _BYTES_OF_TEXT else (_base64(text[0].encode()), _BYTES_OF_TEXT)


def _integer(value: list[Any], _: str) -> RawValue:
    return value[2], "Integer"


def _decimal(value: list[Any], _: str) -> RawValue:
    number = value[1]
    return number, _NAMED_DECIMAL if number in _NAMED.values() else _DECIMAL


def _float(value: list[Any], usual: str) -> RawValue:
    number = repr(value[1])
    return number if isfinite(value[1]) else _NAMED[number], usual if usual == _FLOAT32 else _FLOAT


def _character(value: list[Any], _: str) -> RawValue:
    _, charset, octets = value
    if charset in ("", "binary"):
        return _base64(octets), _BYTES_OF_TEXT
    return decode_text(octets, charset), "Character"


def _timestamp(value: list[Any], usual: str) -> RawValue:
    """Return microseconds since 1970. MySQL has no timestamp 0: DTS writes 0 for MySQL's zero date."""
    _, seconds, micros = value
    if usual == _TIMESTAMP and seconds == micros == 0:
        return "0000-00-00 00:00:00", _TIMESTAMP
    return str(seconds * 1_000_000 + _micros(micros)), _TIMESTAMP


def _date_time(value: list[Any], _: str) -> RawValue:
    """Return a date, a time, both, or a year: the parts that are present decide. A date may contain zeros."""
    return _parts(value[1:])


def _parts(parts: list[int | None]) -> RawValue:
    match parts:
        case [int(year), int(month), int(day), int(hour), int(minute), int(second), micros]:
            clock = f"{hour:02}:{minute:02}:{second:02}{_fraction(micros)}"
            return f"{year:04}-{month:02}-{day:02} {clock}", "DateTime"
        case [int(year), int(month), int(day), None, None, None, None]:
            return f"{year:04}-{month:02}-{day:02}", "DateTime#date"
        case [None, None, None, int(hour), int(minute), int(second), micros]:
            return _span(hour, minute, second, micros or 0), "DateTime#time"
        case [int(year), None, None, None, None, None, None]:
            return f"{year:04}", "DateTime#year"
    raise ValueError("the value has only some parts of a date and a time; expected a date, a time, both, or a year")


def _span(hour: int, minute: int, second: int, micros: int) -> str:
    """Return a time in microseconds. In a negative time, every part is negative or zero."""
    parts = (hour, minute, second, micros)
    if min(parts) < 0 < max(parts) or max(abs(minute), abs(second)) > 59:
        raise ValueError(f"{hour}:{minute}:{second} is not a valid time: a part is above 59, or the signs differ")
    _micros(abs(micros))
    return str((hour * 3600 + minute * 60 + second) * 1_000_000 + micros)


def _fraction(micros: int | None) -> str:
    return f".{_micros(micros):06}" if micros else ""


def _micros(number: int) -> int:
    """The field is named `millis` but holds microseconds."""
    if not 0 <= number < 1_000_000:
        raise ValueError(f"{number} is not a number of microseconds of a second; expected 0 to 999999")
    return number


def _zoned(value: list[Any], _: str) -> RawValue:
    """Return a wall clock with its UTC offset. If the value has the name of a zone, it is converted to UTC."""
    _, parts, zone = value
    text, wire = _parts(parts)
    if wire != "DateTime":
        raise ValueError("the value has a time zone, but only some parts of a date and a time; expected all parts")
    if not _OFFSET.fullmatch(zone):
        text, zone = clock_text(read_instant(_zone(zone))(text)), "Z"
    return text.replace(" ", "T") + zone, "TimestampWithTimeZone"


def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise ValueError(f"{name[:80]!r} is not a time zone such as Asia/Shanghai or +08:00") from None


def _text_object(value: list[Any], _: str) -> RawValue:
    name, kind, text = value
    if kind.upper() == "BOOL":
        return _TRUTHS.get(text, text), "TextObject#truth"
    return text, name


def _binary_object(value: list[Any], _: str) -> RawValue:
    name, kind, octets = value
    return _base64(octets), "BinaryObject#text" if kind.upper() in _TEXTS else name


def _text_geometry(value: list[Any], _: str) -> RawValue:
    return value[2], "TextGeometry"


def _binary_geometry(value: list[Any], _: str) -> RawValue:
    return _base64(value[2]), "BinaryGeometry"


def _base64(octets: bytes) -> str:
    return b64encode(octets).decode()


_READERS: dict[str, Callable[[list[Any], str], RawValue]] = {
    "Integer": _integer,
    "Character": _character,
    "Decimal": _decimal,
    "Float": _float,
    "Timestamp": _timestamp,
    "DateTime": _date_time,
    "TimestampWithTimeZone": _zoned,
    "BinaryGeometry": _binary_geometry,
    "TextGeometry": _text_geometry,
    "BinaryObject": _binary_object,
    "TextObject": _text_object,
}
