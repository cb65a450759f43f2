"""Values of row images to values of gold columns: exactly, or with an error.

A format gives the encoding of its types (`wire`). The conversion of an encoding is defined once for all formats, in
`number_values`, `time_values` and `text_values`.
"""

from collections.abc import Callable
from dataclasses import replace

from retable.errors import BadValue
from retable.formats.declared_encoding import declared_encoding_of
from retable.formats.image_text import read_image as read_image
from retable.formats.registry import find_format
from retable.model.schema import GoldType
from retable.values.baseline_encoding import baseline_encoding, is_baseline
from retable.values.encodings import (
    Bits,
    ClockTicks,
    ClockTime,
    Convert,
    Day,
    Encoding,
    EpochClock,
    EpochDays,
    EpochMicros,
    EpochMillis,
    Exact,
    Instant,
    Numeral,
    PackedBits,
    Real,
    SelfScaled,
    SpanTicks,
    Unscaled,
    WallClock,
    WallTicks,
    Whole,
    Wrapped,
    Year,
    Zoned,
    Zulu,
)
from retable.values.encodings import Value as Value
from retable.values.epochs import epoch_converter
from retable.values.numbers import number_converter
from retable.values.texts import text_converter
from retable.values.times import ValueRules as ValueRules
from retable.values.times import time_converter

_SHOWN = 80


def value_reader(
    source_format: str, wire_type: str | None, gold: GoldType, rules: ValueRules, declared: str | None = None
) -> Callable[[str | None], Value]:
    """Compile the reader of one column: raw values of a type in the message to values of a gold type, null to null.

    `declared` is the type of the column in its statement, for what the message leaves open. A date is days, a timestamp
    microseconds since 1970. The reader raises BadValue for a value that the gold type does not hold exactly, and
    ZeroDate for a date with a zero in it if the rules hold such dates.
    """
    encoding = value_encoding(source_format, wire_type, gold, rules, declared)
    return read_value_of(encoding, wire_type or declared, gold, rules)


def value_encoding(
    source_format: str, wire_type: str | None, gold: GoldType, rules: ValueRules, declared: str | None
) -> Encoding:
    """Give the encoding of values of a type in the message; `declared` is the column's type in its statement."""
    if wire_type is not None and is_baseline(wire_type):
        return baseline_encoding(wire_type)
    known = find_format(source_format)
    return known.declared_encoding(known.encoding(wire_type), declared, gold, rules)


def number_reader(
    source_format: str, wire_type: str | None, gold: GoldType, rules: ValueRules, declared: str | None
) -> Callable[[str | None], Value] | None:
    """Compile the reader of JSON numbers in a column whose other decimal values are base64.

    None if the encoding allows no such choice.
    """
    encoding = value_encoding(source_format, wire_type, gold, rules, declared)
    if wire_type is not None or not isinstance(encoding, Unscaled):
        return None
    return read_value_of(Exact(encoding.scale), declared, gold, rules)


def default_reader(declared: str, gold: GoldType, rules: ValueRules) -> Callable[[str | None], Value]:
    """Compile the reader of a column's default, which is text of its statement, independent of the message encoding.

    Points in time in it use the clock of the source, `time_zone`, not the clock of the message's producer.
    """
    return read_value_of(
        declared_encoding_of(declared, rules.system), declared, gold, replace(rules, timestamp_zone=rules.time_zone)
    )


def read_value_of(
    encoding: Encoding, spelling: str | None, gold: GoldType, rules: ValueRules
) -> Callable[[str | None], Value]:
    """Compile the reader of values of an encoding; `spelling` is the name of their type in errors."""
    convert = _converter(encoding, gold, rules)

    def read(raw_value: str | None) -> Value:
        if raw_value is None:
            return None
        try:
            return convert(raw_value)
        except (ValueError, ArithmeticError) as error:
            raise _bad_value(raw_value, spelling, gold, error) from error

    return read


def _converter(encoding: Encoding, gold: GoldType, rules: ValueRules) -> Convert:
    match encoding:
        case Whole() | Year() | Bits() | Exact() | Real() | Numeral():
            return number_converter(encoding, gold)
        case Wrapped() | Unscaled() | SelfScaled() | PackedBits():
            return number_converter(encoding, gold)
        case Day() | WallClock() | Instant() | ClockTime() | EpochMillis() | EpochMicros() | EpochClock():
            return time_converter(encoding, gold, rules)
        case EpochDays() | WallTicks() | ClockTicks() | SpanTicks() | Zoned() | Zulu():
            return epoch_converter(encoding, gold, rules)
        case _:
            return text_converter(encoding, gold, rules)


def _bad_value(raw_value: str, wire_type: str | None, gold: GoldType, error: Exception) -> BadValue:
    shown = repr(raw_value) if len(raw_value) <= _SHOWN else f"{raw_value[:_SHOWN]!r}…"
    match error:
        case UnicodeEncodeError():
            reason = "it has a character above U+00FF, so it is not a sequence of bytes"
        case UnicodeDecodeError():
            reason = "its bytes are not UTF-8"
        case _:
            reason = str(error)
    return BadValue(
        f"{shown} (type in the message: {wire_type or 'unknown'}) is not a valid {gold}: {reason}",
        value=shown,
        wire_type=wire_type,
        gold=str(gold),
    )
