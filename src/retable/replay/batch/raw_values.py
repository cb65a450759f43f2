"""Convert the raw values of one column to an Arrow column, many at a time.

A raw value is the text of a value in a message. Columns of numbers may also come as Arrow numbers (`number_type`).

`read_value_of` reads single values, and only its result defines what raw values mean. The functions here have the same
result. They convert the usual raw values of an encoding by a short cut. If a column has any other raw value, the
reader of single values reads the whole column.
"""

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from retable.formats.reading import ValueRules, read_value_of, value_encoding
from retable.gold.rows import arrow_type, to_column
from retable.model.schema import GoldType
from retable.values.encodings import (
    Day,
    EpochMicros,
    EpochMillis,
    Exact,
    Instant,
    Numeral,
    Real,
    Text,
    Untyped,
    WallClock,
    Whole,
)

_Reader = Callable[[pa.Array], pa.Array]

_WHOLE = r"^-?[0-9]{1,18}$"
_REAL = r"^-?[0-9]{1,15}(\.[0-9]{1,15})?$"
_DAY = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"
_CLOCK = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}[ T][0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?$"
_MOST_DIGITS = 38
_FIRST_DAY, _FIRST_MICRO, _LAST_MICRO = -719_162, -62_135_596_800_000_000, 253_402_300_799_999_999
_ZONED_FROM, _ZONED_UNTIL = 0, 2_145_916_800_000_000


class _Unusual(Exception):
    """The column has a raw value that the short cut does not accept."""


def column_reader(
    source_format: str, wire_type: str | None, gold: GoldType, rules: ValueRules, declared: str | None
) -> _Reader:
    """Return a function that converts the raw values of a column to its gold type.

    `wire_type` is the column's type in the message, and `declared` its type at the source. Either is None if unknown.
    `rules` are the settings that say how values are read. The function raises a RetableError for the first value that
    cannot be converted, as the reader of single values does.
    """
    encoding = value_encoding(source_format, wire_type, gold, rules, declared)
    read = read_value_of(encoding, wire_type or declared, gold, rules)
    short = _short_cut(encoding, gold, rules)

    def one_by_one(column: pa.Array) -> pa.Array:
        raw_values = column.cast(pa.string()).to_pylist()
        values = {raw_value: read(raw_value) for raw_value in dict.fromkeys(raw_values)}
        return to_column([values[raw_value] for raw_value in raw_values], gold)

    def many(raw_values: pa.Array) -> pa.Array:
        try:
            return short(raw_values)
        except (_Unusual, pa.ArrowInvalid):
            return one_by_one(raw_values)

    return one_by_one if short is None else many


def number_type(
    source_format: str, wire_type: str | None, gold: GoldType, rules: ValueRules, declared: str | None
) -> pa.DataType | None:
    """Return the Arrow number type with which the raw values of a column may be parsed. None: parse them as text.

    The type is int64 for whole numbers and for times as epoch numbers, and a decimal type for decimals. All other
    columns need text, for example whole numbers that may also be written as `true`. `column_reader` then converts the
    parsed values to the gold type `gold`. `wire_type` is the column's type in the message, and `declared` its type at
    the source. Either is None if unknown. `rules` are the settings that say how values are read.
    """
    match value_encoding(source_format, wire_type, gold, rules, declared), gold.kind:
        case (Whole(truths=False), "int" | "long") | (EpochMicros() | EpochMillis(), _):
            return pa.int64()
        case Exact() | Numeral(), "decimal":
            return pa.decimal128(_MOST_DIGITS, gold.scale)
    return None


def _short_cut(encoding: object, gold: GoldType, rules: ValueRules) -> Any:
    match encoding, gold.kind:
        case (Text() | Untyped(), "string"):
            return _as_it_is
        case Whole(), "int" | "long":
            return lambda numbers: _shaped(numbers, _WHOLE).cast(pa.int64()).cast(arrow_type(gold))
        case Exact() | Numeral(), "decimal":
            shape = _decimal_shape(gold)
            return lambda numbers: _shaped(numbers, shape).cast(arrow_type(gold))
        case Real(width=64), "double":
            return lambda texts: _shaped(texts, _REAL).cast(pa.float64())
        case Day(), "date":
            return lambda texts: _not_before(_shaped(texts, _DAY).cast(pa.date32()), pa.int32(), _FIRST_DAY)
        case WallClock(), "timestamp":
            return _wall_clock
        case WallClock(), "timestamptz":
            return _instant(rules.time_zone)
        case Instant(zone), "timestamptz":
            return _instant(zone or rules.timestamp_zone)
        case EpochMicros() | EpochMillis(), "timestamptz" | "timestamp":
            factor, show = (1 if isinstance(encoding, EpochMicros) else 1000), _shown(gold, rules.time_zone)
            return lambda numbers: show(pc.multiply_checked(_shaped(numbers, _WHOLE).cast(pa.int64()), factor))
    return None


def _as_it_is(texts: pa.Array) -> pa.Array:
    return texts


def _shaped(texts: pa.Array, shape: str) -> pa.Array:
    """Return the column. Raise _Unusual if a text does not match the regular expression `shape`.

    Values that were read as numbers are not checked.
    """
    if not pa.types.is_string(texts.type):
        return texts
    if pc.all(pc.match_substring_regex(texts, shape)).as_py() is False:
        raise _Unusual
    return texts


def _decimal_shape(gold: GoldType) -> str:
    whole, scale = gold.precision - gold.scale, gold.scale
    fraction = rf"(\.[0-9]{{1,{scale}}})?" if scale else ""
    return rf"^-?[0-9]{{1,{max(whole, 1)}}}{fraction}$"


def _not_before(column: pa.Array, stored: pa.DataType, least: int) -> pa.Array:
    if (pc.min(column.cast(stored)).as_py() or 0) < least:
        raise _Unusual
    return column


def _wall_clock(texts: pa.Array) -> pa.Array:
    return _not_before(_shaped(texts, _CLOCK).cast(pa.timestamp("us")), pa.int64(), _FIRST_MICRO)


def _instant(zone: str) -> _Reader:
    """Return the short cut for wall-clock times of a time zone.

    If the zone is not UTC, the short cut raises _Unusual for times before 1970 and after the start of 2038. These times
    are outside the range of the zone's known rules.
    """
    if zone == "UTC":
        return lambda texts: _wall_clock(texts).cast(pa.timestamp("us", "UTC"))

    def read(texts: pa.Array) -> pa.Array:
        walls = _wall_clock(texts)
        if len(walls) > walls.null_count:
            first, last = (pc.min_max(walls.cast(pa.int64()))[name].as_py() for name in ("min", "max"))
            if first < _ZONED_FROM or last > _ZONED_UNTIL:
                raise _Unusual
        zoned = pc.assume_timezone(walls, zone, ambiguous="raise", nonexistent="raise")
        return zoned.cast(pa.timestamp("us", "UTC"))

    return read


def _shown(gold: GoldType, zone: str) -> _Reader:
    """Return a function that converts microseconds since the epoch to points in time.

    If the gold type is `timestamp`, it converts them to the wall-clock time of `zone`.
    """

    def show(micros: pa.Array) -> pa.Array:
        if len(micros) > micros.null_count:
            first, last = (pc.min_max(micros)[name].as_py() for name in ("min", "max"))
            known = zone == "UTC" or gold.kind == "timestamptz"
            least, most = (_FIRST_MICRO, _LAST_MICRO) if known else (_ZONED_FROM, _ZONED_UNTIL)
            if first < least or last > most:
                raise _Unusual
        if gold.kind == "timestamptz":
            return micros.cast(pa.timestamp("us", "UTC"))
        return pc.local_timestamp(micros.cast(pa.timestamp("us", "UTC")).cast(pa.timestamp("us", zone)))

    return show
