"""How a column's value stands in a message: a closed set of wire forms, one class each.

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
"""Turns a lexeme into a value; ValueError or ArithmeticError say why it cannot."""


@dataclass(frozen=True, slots=True)
class Whole:
    """A whole number as decimal digits."""


@dataclass(frozen=True, slots=True)
class Year:
    """A year of four digits: 1901 to 2155, or 0, MySQL's value for a year that was none."""


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
    """A binary floating-point number of this width, as decimal digits that read back to it."""

    width: Literal[32, 64]


@dataclass(frozen=True, slots=True)
class Text:
    """Text as it is."""


@dataclass(frozen=True, slots=True)
class Latin1Text:
    """UTF-8 text whose bytes were read as Latin-1."""


@dataclass(frozen=True, slots=True)
class Octets:
    """Bytes as Latin-1 characters; a value shorter than `length` has lost trailing zero bytes."""

    length: int | None


@dataclass(frozen=True, slots=True)
class Day:
    """A date, `YYYY-MM-DD`."""


@dataclass(frozen=True, slots=True)
class WallClock:
    """A date and time of no zone, `YYYY-MM-DD HH:MM:SS[.ffffff]`."""


@dataclass(frozen=True, slots=True)
class Instant:
    """A point in time, written as the wall clock of the zone `timestamp_zone`."""


@dataclass(frozen=True, slots=True)
class ClockTime:
    """A time of day or a span, `[-]HH:MM:SS[.ffffff]`; hours may pass 24."""


@dataclass(frozen=True, slots=True)
class Enum:
    """One of the labels: by its number from 1 (0 is MySQL's empty error value), or by itself."""

    labels: tuple[str, ...]
    by_number: bool


@dataclass(frozen=True, slots=True)
class LabelSet:
    """Some of the labels: by a bit mask, the first label lowest, or by themselves with commas between."""

    labels: tuple[str, ...]
    by_mask: bool


@dataclass(frozen=True, slots=True)
class Untyped:
    """The message tells no type: the value is read in the form that its gold type usually has."""


WireForm = (
    Whole
    | Year
    | Bits
    | Exact
    | Real
    | Text
    | Latin1Text
    | Octets
    | Day
    | WallClock
    | Instant
    | ClockTime
    | Enum
    | LabelSet
    | Untyped
)


def refuse(what: str) -> Convert:
    """The converter of a pair that has no meaning, such as a time of day to a number."""

    def convert(_: str) -> Value:
        raise ValueError(f"{what} cannot become that")

    return convert
