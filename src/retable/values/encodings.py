"""The encodings of a column's value in a message: a closed set, one class each.

A format gives the encoding of each of its types. The conversion to gold is defined once for all formats, in
`number_values`, `time_values` and `text_values`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

Value = bool | int | float | Decimal | str | bytes | None
"""A value of a gold column; a date is days, a timestamp microseconds since 1970."""

Convert = Callable[[str], Value]
"""Converts a raw value to a value; ValueError or ArithmeticError give the reason if it cannot."""


@dataclass(frozen=True, slots=True)
class Whole:
    """A whole number as decimal digits; with `truths`, `true` and `false` mean 1 and 0."""

    truths: bool = False


@dataclass(frozen=True, slots=True)
class Year:
    """A year of four digits: 1901 to 2155, or 0, MySQL's value for an invalid year; `zero` means 0 too."""

    zero: int = 0


@dataclass(frozen=True, slots=True)
class Bits:
    """Bits as the unsigned number that they form; `width` is None if the message does not contain it."""

    width: int | None


@dataclass(frozen=True, slots=True)
class Exact:
    """A decimal number; `scale` is the number of digits that the source shows after the point, if known."""

    scale: int | None


@dataclass(frozen=True, slots=True)
class Real:
    """A binary floating-point number of this width, as decimal digits that read back to it.

    `named` says whether NaN, Infinity and -Infinity may occur, which are no JSON numbers.
    """

    width: Literal[32, 64]
    named: bool = False


@dataclass(frozen=True, slots=True)
class Wrapped:
    """An unsigned whole number of so many bits that may be written as a signed number: 2**64 - 1 as -1."""

    bits: int


@dataclass(frozen=True, slots=True)
class Unscaled:
    """A decimal number as base64 of its digits without the point: a big-endian integer in two's complement.

    An object instead of text contains its own scale, as in `SelfScaled`.
    """

    scale: int


@dataclass(frozen=True, slots=True)
class SelfScaled:
    """A decimal number as an object: `value` is base64 as in `Unscaled`, `scale` the digits after the point."""


@dataclass(frozen=True, slots=True)
class PackedBits:
    """Bits as base64 of the little-endian bytes of their unsigned number; otherwise as `Bits`."""

    width: int | None


@dataclass(frozen=True, slots=True)
class Numeral:
    """A number as decimal digits that was a float, a double or a decimal; the message does not say which."""


@dataclass(frozen=True, slots=True)
class Truth:
    """`true` or `false`."""


@dataclass(frozen=True, slots=True)
class Text:
    """Text as it is."""


@dataclass(frozen=True, slots=True)
class EmptyIsNull:
    """Text of a database that stores empty text as null."""


@dataclass(frozen=True, slots=True)
class Latin1Text:
    """UTF-8 text whose bytes were read as Latin-1."""


@dataclass(frozen=True, slots=True)
class Octets:
    """Bytes as Latin-1 characters; a value shorter than `length` has lost trailing zero bytes."""

    length: int | None


@dataclass(frozen=True, slots=True)
class Base64:
    """Bytes in standard base64, padded; a value shorter than `length` has lost trailing zero bytes."""

    length: int | None


@dataclass(frozen=True, slots=True)
class Day:
    """A date, `YYYY-MM-DD`."""


@dataclass(frozen=True, slots=True)
class WallClock:
    """A date and time without zone, `YYYY-MM-DD HH:MM:SS[.ffffff]`."""


@dataclass(frozen=True, slots=True)
class Instant:
    """A point in time, written as the wall clock of a zone; None means `timestamp_zone`."""

    zone: str | None = None


@dataclass(frozen=True, slots=True)
class ClockTime:
    """A time of day or a span, `[-]HH:MM:SS[.ffffff]`; hours may pass 24."""


@dataclass(frozen=True, slots=True)
class EpochMillis:
    """A point in time as milliseconds since 1970 in UTC; wall clocks of the source are in the zone `time_zone`."""


@dataclass(frozen=True, slots=True)
class EpochMicros:
    """A point in time as microseconds since 1970 in UTC."""


@dataclass(frozen=True, slots=True)
class EpochClock:
    """A time of day as `EpochMillis` of that time on 1970-01-01."""


@dataclass(frozen=True, slots=True)
class EpochDays:
    """A date as the number of days since 1970-01-01."""


@dataclass(frozen=True, slots=True)
class WallTicks:
    """A date and time without zone as its distance from 1970-01-01T00:00:00, in seconds times ten to the `digits`."""

    digits: Literal[3, 6, 9]


@dataclass(frozen=True, slots=True)
class ClockTicks:
    """A time of day or a span as a number of seconds times ten to the `digits`.

    `shown` is the number of digits of a second that the source shows, if known.
    """

    digits: Literal[3, 6, 9]
    shown: int | None = None


@dataclass(frozen=True, slots=True)
class SpanTicks:
    """An interval as a number of seconds times ten to the `digits`; months and days were counted as seconds."""

    digits: Literal[6, 9]


@dataclass(frozen=True, slots=True)
class Zoned:
    """A point in time, `YYYY-MM-DDTHH:MM:SS[.fffffffff]` with its UTC offset, as `Z` or `+08:00`."""


@dataclass(frozen=True, slots=True)
class Zulu:
    """Text of another encoding followed by a meaningless `Z`: the value has no zone."""

    encoding: Day | WallClock | ClockTime


@dataclass(frozen=True, slots=True)
class Shape:
    """A geometry as an object of its WKB in base64 and its `srid`.

    `internal` says whether its bytes are MySQL's storage format: four bytes of srid, little-endian, then WKB.
    """

    internal: bool


@dataclass(frozen=True, slots=True)
class Unread:
    """Values that cannot be read, or not until a setting gives their encoding: `reason` says which."""

    reason: str


@dataclass(frozen=True, slots=True)
class Enum:
    """One of the labels: by its number from 1 (0 is MySQL's empty error value), or by its text.

    `escaped` says whether a backslash may escape a comma or backslash of a label.
    """

    labels: tuple[str, ...]
    by_number: bool
    escaped: bool = False


@dataclass(frozen=True, slots=True)
class LabelSet:
    """Some of the labels: by a bit mask, the first label lowest, or by their texts separated by commas."""

    labels: tuple[str, ...]
    by_mask: bool


@dataclass(frozen=True, slots=True)
class LabelArray:
    """Some of the labels, as a JSON array."""

    labels: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TurnedUuid:
    """A uuid whose writer moves zero bytes from its end to its front; a uuid that may have been moved is refused."""


@dataclass(frozen=True, slots=True)
class Untyped:
    """The message contains no type: the value is read in the usual encoding of its gold type.

    Bytes are Latin-1 characters, or standard base64 if `base64` is set.
    """

    base64: bool = False


Encoding = (
    Whole
    | Year
    | Bits
    | Exact
    | Real
    | Numeral
    | Wrapped
    | Unscaled
    | SelfScaled
    | PackedBits
    | Truth
    | Text
    | EmptyIsNull
    | Latin1Text
    | Octets
    | Base64
    | Day
    | WallClock
    | Instant
    | ClockTime
    | EpochMillis
    | EpochMicros
    | EpochClock
    | EpochDays
    | WallTicks
    | ClockTicks
    | SpanTicks
    | Zoned
    | Zulu
    | Shape
    | Unread
    | Enum
    | LabelSet
    | LabelArray
    | TurnedUuid
    | Untyped
)


def refined_encoding(encoding: Encoding, declared: Encoding) -> Encoding:
    """Refine an encoding whose type names only a family of types, by the encoding of the declared type."""
    match encoding, declared:
        case Untyped(base64=False), _:
            return declared
        case EpochMillis(), ClockTime():
            return EpochClock()
        case Base64(), Octets(length):
            return Base64(length)
        case Whole(), Enum(labels):
            return Enum(labels, by_number=True)
        case Whole(), LabelSet(labels):
            return LabelSet(labels, by_mask=True)
    return encoding


def refuse(what: str) -> Convert:
    """The converter of a pair that has no meaning, such as a time of day to a number."""

    def convert(_: str) -> Value:
        raise ValueError(f"{what} cannot be converted to it")

    return convert
