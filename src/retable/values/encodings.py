"""The encodings in which messages write the values of a column. Each encoding has a class here.

Each message format says which encoding each of its types has. The classes are structs of msgspec, which take a tenth of
the time of dataclasses to make: every command makes them. The modules `numbers`, `times`, `epochs` and `texts`
convert values of an encoding to values of gold (the result tables), in the same way for all formats.
"""

from collections.abc import Callable
from decimal import Decimal
from typing import Literal

from msgspec import Struct

Value = bool | int | float | Decimal | str | bytes | None
"""A value of a gold column. A date is the days since 1970-01-01, a timestamp the microseconds since that day."""

Convert = Callable[[str], Value]
"""A function that converts a raw value (a value as the message writes it) to a value of gold.

It raises ValueError or ArithmeticError, with the reason, if the raw value is not valid.
"""


class Whole(Struct, frozen=True):
    """A whole number as decimal digits. If `truths` is True, `true` and `false` are also accepted, as 1 and 0."""

    truths: bool = False


class Year(Struct, frozen=True):
    """A year of MySQL: 1901 to 2155, or 0 for an invalid year.

    `zero` is another number that means 0 in the message: Debezium writes 1900 for it.
    """

    zero: int = 0


class Bits(Struct, frozen=True):
    """Bits as the unsigned number that they form. `width` is the number of bits, or None if it is not known."""

    width: int | None


class Exact(Struct, frozen=True):
    """A decimal number. `scale` is the number of digits after the point in the source, or None if it is not known."""

    scale: int | None


class Real(Struct, frozen=True):
    """A binary floating-point number of `width` bits, as decimal digits: it is the number nearest to these digits.

    If `named` is True, the words NaN, Infinity and -Infinity may occur, which JSON does not have as numbers.
    """

    width: Literal[32, 64]
    named: bool = False


class Wrapped(Struct, frozen=True):
    """An unsigned whole number of `bits` bits that may be written as a signed number: 2**64 - 1 as -1."""

    bits: int


class Unscaled(Struct, frozen=True):
    """A decimal number as base64 of its digits without the point, as a big-endian integer in two's complement.

    `scale` is the number of digits after the point: with scale 2, the integer 1234 means 12.34. A value may also be a
    JSON object with its own `scale`, and this base64 as `value`. Then the scale in the object is used.
    """

    scale: int


class SelfScaled(Struct, frozen=True):
    """A decimal number as a JSON object with its own scale: `{"scale": 2, "value": "BNI="}` means 12.34.

    `scale` is the number of digits after the point. `value` is base64 of the digits without the point (1234), as a
    big-endian integer in two's complement.
    """


class PackedBits(Struct, frozen=True):
    """Bits as base64 of the little-endian bytes of their number. `width` is the number of bits, None if not known."""

    width: int | None


class Numeral(Struct, frozen=True):
    """A float, a double or a decimal as decimal digits. The message does not say which of these types it is."""


class Truth(Struct, frozen=True):
    """A boolean as `true` or `false`."""


class Text(Struct, frozen=True):
    """Text that is stored as it is in the message."""


class EmptyIsNull(Struct, frozen=True):
    """Text in which an empty text means null, because the source (Oracle) stores empty text as null."""


class Latin1Text(Struct, frozen=True):
    """Garbled text: the writer of the message read the UTF-8 bytes of the text as Latin-1. The bytes are restored."""


class Octets(Struct, frozen=True):
    """Bytes as Latin-1 characters. Messages leave out zero bytes at the end of a value.

    Retable adds zero bytes until the value has `length` bytes. If `length` is None, it adds none.
    """

    length: int | None


class Base64(Struct, frozen=True):
    """Bytes in standard base64 with padding. Messages may leave out zero bytes at the end of a value.

    Retable adds zero bytes until the value has `length` bytes. If `length` is None, it adds none.
    """

    length: int | None


class Day(Struct, frozen=True):
    """A date, `YYYY-MM-DD`."""


class WallClock(Struct, frozen=True):
    """A date and time without time zone, `YYYY-MM-DD HH:MM:SS[.ffffff]`."""


class Instant(Struct, frozen=True):
    """A point in time as a date and time in `zone`. If `zone` is None, the setting `timestamp_zone` names the zone."""

    zone: str | None = None


class ClockTime(Struct, frozen=True):
    """A time of day or a duration, `[-]HH:MM:SS[.ffffff]`. The hours may be greater than 24."""


class EpochMillis(Struct, frozen=True):
    """A point in time as milliseconds since 1970-01-01 in UTC.

    For the gold types `timestamp`, `date` and `string`, it becomes the local time in the setting `time_zone`.
    """


class EpochMicros(Struct, frozen=True):
    """A point in time as microseconds since 1970-01-01 in UTC.

    For the gold types `timestamp`, `date` and `string`, it becomes the local time in the setting `time_zone`.
    """


class EpochClock(Struct, frozen=True):
    """A time of day, as epoch milliseconds: the point in time when it was this time on 1970-01-01 in a zone.

    The zone is the setting `time_zone`. In Asia/Shanghai (UTC+8 on that day), 08:00:00 is 0 and 09:00:00 is 3600000.
    """


class EpochDays(Struct, frozen=True):
    """A date as the number of days since 1970-01-01."""


class WallTicks(Struct, frozen=True):
    """A date and time without time zone as a number of ticks since 1970-01-01T00:00:00.

    A tick is 10**-`digits` seconds: 3 means milliseconds, 6 microseconds, 9 nanoseconds.
    """

    digits: Literal[3, 6, 9]


class ClockTicks(Struct, frozen=True):
    """A time of day or a duration as a number of ticks of 10**-`digits` seconds.

    `shown` is the number of fractional digits of the second that the source shows, or None if it is not known.
    """

    digits: Literal[3, 6, 9]
    shown: int | None = None


class SpanTicks(Struct, frozen=True):
    """An interval as a number of ticks of 10**-`digits` seconds.

    The writer of the message converted months and days to seconds.
    """

    digits: Literal[6, 9]


class Zoned(Struct, frozen=True):
    """A point in time, `YYYY-MM-DDTHH:MM:SS[.fffffffff]` with its UTC offset, as `Z` or `+08:00`."""


class Zulu(Struct, frozen=True):
    """A date or time as text in `encoding`, with a `Z` at its end. The `Z` has no meaning: there is no time zone."""

    encoding: Day | WallClock | ClockTime


class Shape(Struct, frozen=True):
    """A geometry as a JSON object: `wkb` is its well-known binary (WKB) in base64, `srid` its coordinate system.

    If `internal` is True, gold stores the format of MySQL: the srid as four bytes, little-endian, then the WKB.
    """

    internal: bool


class Unread(Struct, frozen=True):
    """Values that Retable cannot read. Each value raises ValueError with the text `reason`.

    Some of these values can be read when a setting is changed. Then `reason` names the setting.
    """

    reason: str


class Enum(Struct, frozen=True):
    """One label (allowed text) of an ENUM: as its number if `by_number` is True, else as its text.

    `labels` are the allowed texts in their order, empty if they are not known. The first has the number 1, and 0 is
    MySQL's empty error value. If `escaped` is True, a comma or a backslash in a label may have a backslash before it.
    """

    labels: tuple[str, ...]
    by_number: bool
    escaped: bool = False


class LabelSet(Struct, frozen=True):
    """Some labels (allowed texts) of a SET: as a bit mask if `by_mask` is True, else as texts with commas between them.

    `labels` are the allowed texts in their order, empty if they are not known. The first is the lowest bit.
    """

    labels: tuple[str, ...]
    by_mask: bool


class LabelArray(Struct, frozen=True):
    """Some labels (allowed texts) of a SET, as a JSON array. `labels` are all allowed texts, empty if not known."""

    labels: tuple[str, ...]


class TurnedUuid(Struct, frozen=True):
    """A uuid of MariaDB as Debezium writes it: zero bytes at its end are moved to its front.

    A uuid that may have been changed in this way raises ValueError, because its value in the source is not known.
    """


class Untyped(Struct, frozen=True):
    """A value whose type the message does not name. It is read in the usual encoding of its gold type.

    Bytes are Latin-1 characters, or standard base64 if `base64` is True.
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
    """Return the encoding of a column, by its type in the message and its type in the DDL statement.

    `encoding` is the encoding for the type in the message, `declared` the one for the type in the statement. The type
    in the message may not say enough. For example, it says that values are whole numbers, and the statement says ENUM:
    then they are the numbers of labels. If the statement adds nothing, `encoding` is returned.
    """
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
    """Return a converter that always raises ValueError, for an encoding that does not fit the gold type of the column.

    For example, a time of day does not fit a column of numbers. `what` names the values of the encoding in the error.
    """

    def convert(_: str) -> Value:
        raise ValueError(f"{what} cannot be converted to this type")

    return convert
