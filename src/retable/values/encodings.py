"""How a column's value stands in a message: a closed set of encodings, one class each.

A format tells the form of each of its wire types; what becomes of it in gold is told once, for all formats, in
`number_values`, `time_values` and `text_values`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

Value = bool | int | float | Decimal | str | bytes | None
"""A value of a gold column; a date is days, a timestamp microseconds since 1970."""

Convert = Callable[[str], Value]
"""Turns a raw value into a value; ValueError or ArithmeticError say why it cannot."""


@dataclass(frozen=True, slots=True)
class Whole:
    """A whole number as decimal digits; with `truths`, `true` and `false` stand for 1 and 0."""

    truths: bool = False


@dataclass(frozen=True, slots=True)
class Year:
    """A year of four digits: 1901 to 2155, or 0, MySQL's value for a year that was none; `zero` stands for 0 too."""

    zero: int = 0


@dataclass(frozen=True, slots=True)
class Bits:
    """Bits as the unsigned number they spell; `width` is None where the message does not tell it."""

    width: int | None


@dataclass(frozen=True, slots=True)
class Exact:
    """A decimal number; `scale` is how many digits the source shows behind the point, where the message tells it."""

    scale: int | None


@dataclass(frozen=True, slots=True)
class Real:
    """A binary floating-point number of this width, as decimal digits that read back to it.

    `named` says whether NaN, Infinity and -Infinity may stand there, which are no numbers of JSON.
    """

    width: Literal[32, 64]
    named: bool = False


@dataclass(frozen=True, slots=True)
class Wrapped:
    """A whole number of so many bits without a sign that may be shown as if it had one: 2**64 - 1 as -1."""

    bits: int


@dataclass(frozen=True, slots=True)
class Unscaled:
    """A decimal number as base64 of its digits without the point: an integer in two's complement, big end first.

    One that is an object tells its own scale, as `SelfScaled`.
    """

    scale: int


@dataclass(frozen=True, slots=True)
class SelfScaled:
    """A decimal number as an object: `value` is base64 as of `Unscaled`, `scale` how many digits follow the point."""


@dataclass(frozen=True, slots=True)
class PackedBits:
    """Bits as base64 of the bytes of the unsigned number that they spell, little end first; as `Bits` otherwise."""

    width: int | None


@dataclass(frozen=True, slots=True)
class Numeral:
    """A number as decimal digits that was a float, a double or a decimal: the message does not tell which."""


@dataclass(frozen=True, slots=True)
class Truth:
    """`true` or `false`."""


@dataclass(frozen=True, slots=True)
class Text:
    """Text as it is."""


@dataclass(frozen=True, slots=True)
class EmptyIsNull:
    """Text of a database that has no empty text: it is null."""


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
    """A date and time of no zone, `YYYY-MM-DD HH:MM:SS[.ffffff]`."""


@dataclass(frozen=True, slots=True)
class Instant:
    """A point in time, written as the wall clock of a zone; None: of `timestamp_zone`."""

    zone: str | None = None


@dataclass(frozen=True, slots=True)
class ClockTime:
    """A time of day or a span, `[-]HH:MM:SS[.ffffff]`; hours may pass 24."""


@dataclass(frozen=True, slots=True)
class EpochMillis:
    """A point in time as milliseconds since 1970 in UTC; a wall clock of the source is one in the zone `time_zone`."""


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
    """A date and time of no zone as its distance from 1970-01-01T00:00:00, in seconds times ten to the `digits`."""

    digits: Literal[3, 6, 9]


@dataclass(frozen=True, slots=True)
class ClockTicks:
    """A time of day or a span as a number of seconds times ten to the `digits`.

    `shown` is how many digits of a second the source shows, where that is known.
    """

    digits: Literal[3, 6, 9]
    shown: int | None = None


@dataclass(frozen=True, slots=True)
class SpanTicks:
    """An interval as a number of seconds times ten to the `digits`; its months and days were counted as seconds."""

    digits: Literal[6, 9]


@dataclass(frozen=True, slots=True)
class Zoned:
    """A point in time, `YYYY-MM-DDTHH:MM:SS[.fffffffff]` with its distance from UTC, as `Z` or `+08:00`."""


@dataclass(frozen=True, slots=True)
class Zulu:
    """Text of another form with a `Z` behind it that says nothing: the value has no zone."""

    encoding: Day | WallClock | ClockTime


@dataclass(frozen=True, slots=True)
class Shape:
    """A geometry as an object of its WKB in base64 and its `srid`.

    `internal` says whether its bytes are those of MySQL's own storage: four of the srid, little end first, and WKB.
    """

    internal: bool


@dataclass(frozen=True, slots=True)
class Unread:
    """Values that nobody can read, or not until a setting says how they stand: `reason` says which."""

    reason: str


@dataclass(frozen=True, slots=True)
class Enum:
    """One of the labels: by its number from 1 (0 is MySQL's empty error value), or by itself.

    `escaped` says whether a comma or backslash of a label may come behind a backslash.
    """

    labels: tuple[str, ...]
    by_number: bool
    escaped: bool = False


@dataclass(frozen=True, slots=True)
class LabelSet:
    """Some of the labels: by a bit mask, the first label lowest, or by themselves with commas between."""

    labels: tuple[str, ...]
    by_mask: bool


@dataclass(frozen=True, slots=True)
class LabelArray:
    """Some of the labels, as an array of JSON."""

    labels: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TurnedUuid:
    """A uuid whose writer moves zero bytes from its end to its front: one that may have been turned is none."""


@dataclass(frozen=True, slots=True)
class Untyped:
    """The message tells no type: the value is read in the form that its gold type usually has.

    Bytes are Latin-1 characters, or standard base64 where `base64` says so.
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
    """The form of a value whose wire type names a family of types only, by the form of its declared type."""
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
        raise ValueError(f"{what} cannot become that")

    return convert
