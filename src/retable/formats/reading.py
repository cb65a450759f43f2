"""Convert raw values (values as messages write them) to values of gold columns: exactly, or with an error.

A format says which encoding the values of a type have (`Format.encoding`). The conversion of each encoding is defined
once for all formats, in `retable.values`.
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
    """Return a function that converts raw values of one column to values of its type in gold. A null is None in both.

    `wire_type` is the type of the column in the message, or None if the message names no type. `declared` is its type
    in a statement, which decides what the message does not say. A date becomes days since 1970, a timestamp
    microseconds since 1970. The function raises BadValue if the gold type cannot hold the value exactly. It raises
    ZeroDate if a year, month or day is zero, unless `rules.zero_date` is `null` or the gold type is string.
    """
    encoding = value_encoding(source_format, wire_type, gold, rules, declared)
    return read_value_of(encoding, wire_type or declared, gold, rules)


def value_encoding(
    source_format: str, wire_type: str | None, gold: GoldType, rules: ValueRules, declared: str | None
) -> Encoding:
    """Return the encoding of a column's raw values, in messages of the format `source_format`.

    `wire_type` is the type in the message, `declared` the type in a statement; each is None if it is not known. `gold`
    is the column's type in gold. `rules` are the settings for values whose meaning the message does not show.
    """
    if wire_type is not None and is_baseline(wire_type):
        return baseline_encoding(wire_type)
    known = find_format(source_format)
    return known.declared_encoding(known.encoding(wire_type), declared, gold, rules)


def number_reader(
    source_format: str, wire_type: str | None, gold: GoldType, rules: ValueRules, declared: str | None
) -> Callable[[str | None], Value] | None:
    """Return a function that reads the values of a decimal column that are JSON numbers.

    Some producers write decimals either as base64 or as JSON numbers. If messages name no types, the value itself shows
    which of the two it is: a JSON string is base64. Return None if no separate function is needed:
    the values are not decimals in base64, or `wire_type` (the type in the message) shows how they are written.
    """
    encoding = value_encoding(source_format, wire_type, gold, rules, declared)
    if wire_type is not None or not isinstance(encoding, Unscaled):
        return None
    return read_value_of(Exact(encoding.scale), declared, gold, rules)


def default_reader(declared: str, gold: GoldType, rules: ValueRules) -> Callable[[str | None], Value]:
    """Return a function that reads the default value of a column from the text in its statement.

    `declared` is the type in the statement. The encoding of messages does not matter. Points in time are in the
    `time_zone` of the source, not in the zone of the producer that writes the messages.
    """
    return read_value_of(
        declared_encoding_of(declared, rules.system), declared, gold, replace(rules, timestamp_zone=rules.time_zone)
    )


def read_value_of(
    encoding: Encoding, spelling: str | None, gold: GoldType, rules: ValueRules
) -> Callable[[str | None], Value]:
    """Return a function that reads values of an encoding; `spelling` is the name of their type in errors."""
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
            reason = "the text has a character above U+00FF, so its characters are not bytes"
        case UnicodeDecodeError():
            reason = "the bytes of the value are not UTF-8"
        case _:
            reason = str(error)
    return BadValue(
        f"{shown} (type in the message: {wire_type or 'unknown'}) is not a valid {gold}: {reason}",
        value=shown,
        wire_type=wire_type,
        gold=str(gold),
    )
