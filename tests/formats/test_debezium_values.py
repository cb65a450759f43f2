"""Values that an encoder of its own wrote as Debezium does come back equal, with the schema part and without."""

import base64
import re
import struct
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from formats.debezium_messages import column, decoded, payload, with_schema
from retable.errors import BadValue
from retable.formats.debezium.options import DebeziumOptions, DecimalMode, TimeMode
from retable.formats.image_text import read_image
from retable.formats.reading import Value, ValueRules, value_reader
from retable.formats.registry import find_format
from retable.model.schema import GoldType, parse_gold_type
from retable.values.far_dates import far_day
from retable.values.time_text import day_text

CONNECT = "org.apache.kafka.connect.data"
TIME, DATA = "io.debezium.time", "io.debezium.data"
EPOCH = datetime.fromisoformat("1970-01-01")
MICROSECOND = timedelta(microseconds=1)
DEBEZIUM = find_format("debezium_json")


def gold(text: str) -> GoldType:
    parsed = parse_gold_type(text)
    assert parsed is not None
    return parsed


def b64(octets: bytes) -> str:
    return base64.b64encode(octets).decode()


def unscaled(number: Decimal, scale: int) -> str:
    """The digits without the point, as Java's BigInteger writes them: the fewest bytes of two's complement."""
    sign, digits, exponent = number.as_tuple()
    assert isinstance(exponent, int)
    whole = (-1 if sign else 1) * int("".join(map(str, digits))) * 10 ** (scale + exponent)
    return b64(whole.to_bytes((whole + (whole < 0)).bit_length() // 8 + 1, "big", signed=True))


def micros(moment: datetime) -> int:
    return (moment - EPOCH) // MICROSECOND


def days(day: date) -> int:
    return (day - EPOCH.date()).days


def shape(octets: bytes) -> dict[str, object]:
    return {"wkb": b64(octets), "srid": None}


def clock(ticks: int, digits: int, shown: int | None = None) -> str:
    """A time as text, with the fewest digits of a second, or with as many as the column shows."""
    hours, rest = divmod(abs(ticks), 3600 * 10**digits)
    minutes, rest = divmod(rest, 60 * 10**digits)
    second = f"{Decimal(rest) / 10**digits:f}"
    whole, _, fraction = second.partition(".")
    fraction = fraction.rstrip("0") if shown is None else fraction.ljust(shown, "0")[:shown]
    return f"{'-' if ticks < 0 else ''}{hours:02}:{minutes:02}:{whole:0>2}{'.' if fraction else ''}{fraction}"


def decimals(digits: int, scale: int) -> st.SearchStrategy[Decimal]:
    most = 10**digits - 1
    return st.integers(-most, most).map(lambda whole: Decimal((whole < 0, tuple(map(int, str(abs(whole)))), -scale)))


def floats(width: Any) -> st.SearchStrategy[float]:
    return st.floats(width=width, allow_nan=False, allow_subnormal=True)


def java(number: float) -> object:
    """A double as JSON of Java has it: what is no number of JSON is a word."""
    return {float("inf"): "Infinity", float("-inf"): "-Infinity"}.get(number, number)


def escaped(labels: tuple[str, ...]) -> str:
    return ",".join(label.replace("\\", "\\\\").replace(",", "\\,") for label in labels)


@dataclass(frozen=True)
class Kind:
    """A type of Kafka Connect: values of it, how a connector writes one, and what gold then holds."""

    kind: str
    meaning: str | None
    gold: str
    values: st.SearchStrategy[Any]
    write: Callable[[Any], object] = lambda value: value
    read: Callable[[Any], object] = lambda value: value
    parameters: Mapping[str, object] | None = None


LABELS = ("a", "x,y", "back\\slash", "'q'", "\\,", "ü")
MOMENTS = st.datetimes(min_value=datetime.fromisoformat("0001-01-01"))
MILLIS = MOMENTS.map(lambda moment: moment.replace(microsecond=moment.microsecond // 1000 * 1000))
ZONES = st.integers(-18 * 60, 18 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))
AWARE = st.datetimes(datetime.fromisoformat("0002-01-01"), datetime.fromisoformat("9998-01-01"), timezones=ZONES)
DATES = st.dates()
SECONDS = 3600 * 839
TEXT = st.text(st.characters(exclude_categories=("Cs",)))
KINDS = {
    "int8": Kind("int8", None, "int", st.integers(-128, 127)),
    "int16": Kind("int16", None, "int", st.integers(-(2**15), 2**15 - 1)),
    "int32": Kind("int32", None, "int", st.integers(-(2**31), 2**31 - 1)),
    "int64": Kind("int64", None, "long", st.integers(-(2**63), 2**63 - 1)),
    "boolean": Kind("boolean", None, "boolean", st.booleans()),
    "float": Kind("float", None, "float", floats(32), java),
    "double": Kind("double", None, "double", floats(64), java),
    "string": Kind("string", None, "string", TEXT),
    "bytes": Kind("bytes", None, "binary", st.binary(), b64),
    "Decimal": Kind(
        *("bytes", f"{CONNECT}.Decimal", "decimal(38,9)", decimals(38, 9), lambda v: unscaled(v, 9)),
        parameters={"scale": 9, "connect.decimal.precision": 38},
    ),
    "Decimal of zeros": Kind(
        *("bytes", f"{CONNECT}.Decimal", "decimal(7,0)", decimals(5, -2), lambda v: unscaled(v, -2)),
        parameters={"scale": -2, "connect.decimal.precision": 5},
    ),
    "Decimal of many digits": Kind(
        *("bytes", f"{CONNECT}.Decimal", "string", decimals(65, 30), lambda v: unscaled(v, 30), lambda v: f"{v:f}"),
        parameters={"scale": 30, "connect.decimal.precision": 65},
    ),
    "Decimal as a number": Kind(
        *("bytes", f"{CONNECT}.Decimal", "decimal(38,9)", decimals(14, 9), float),
        parameters={"scale": 9, "connect.decimal.precision": 38},
    ),
    "Decimal without a fraction as a number": Kind(
        *("bytes", f"{CONNECT}.Decimal", "decimal(20,0)", decimals(20, 0), int),
        parameters={"scale": 0, "connect.decimal.precision": 20},
    ),
    "VariableScaleDecimal": Kind(
        *("struct", f"{DATA}.VariableScaleDecimal", "string"),
        st.integers(0, 40).flatmap(lambda scale: decimals(38, scale)),
        lambda v: {"scale": -v.as_tuple().exponent, "value": unscaled(v, -v.as_tuple().exponent)},
        lambda v: f"{v:f}",
    ),
    "Date": Kind("int32", f"{TIME}.Date", "date", DATES, days, days),
    "Time": Kind("int32", f"{TIME}.Time", "string", st.integers(0, 86_400_000), read=lambda v: clock(v, 3)),
    "MicroTime": Kind(
        *("int64", f"{TIME}.MicroTime", "string", st.integers(-SECONDS * 10**6, SECONDS * 10**6)),
        read=lambda v: clock(v, 6),
    ),
    "NanoTime": Kind(
        *("int64", f"{TIME}.NanoTime", "string", st.integers(0, 86_400 * 10**9)), read=lambda v: clock(v, 9)
    ),
    "Timestamp": Kind(
        *(
            "int64",
            f"{TIME}.Timestamp",
            "timestamp",
            MILLIS,
        ),
        lambda v: micros(v) // 1000,
        micros,
    ),
    "MicroTimestamp": Kind("int64", f"{TIME}.MicroTimestamp", "timestamp", MOMENTS, micros, micros),
    "NanoTimestamp": Kind("int64", f"{TIME}.NanoTimestamp", "timestamp", MOMENTS, lambda v: micros(v) * 1000, micros),
    "ZonedTimestamp": Kind(
        *("string", f"{TIME}.ZonedTimestamp", "timestamptz", AWARE),
        lambda v: v.isoformat().replace("+00:00", "Z"),
        lambda v: micros(v.replace(tzinfo=None) - v.utcoffset()),
    ),
    "ZonedTime": Kind("string", f"{TIME}.ZonedTime", "string", st.times().map(lambda v: f"{v.isoformat()}Z")),
    "IsoDate": Kind("string", f"{TIME}.IsoDate", "date", DATES, lambda v: f"{v}Z", days),
    "IsoTime": Kind("string", f"{TIME}.IsoTime", "string", st.times(), lambda v: f"{v}Z", str),
    "IsoTimestamp": Kind("string", f"{TIME}.IsoTimestamp", "timestamp", MOMENTS, lambda v: f"{v.isoformat()}Z", micros),
    "Year": Kind("int32", f"{TIME}.Year", "int", st.just(0) | st.integers(1901, 2155), lambda v: v or 1900),
    "Interval": Kind("string", f"{TIME}.Interval", "string", st.just("P1Y2M3DT4H5M6.78S")),
    "Json": Kind("string", f"{DATA}.Json", "string", st.just('{"a": 1.10, "b": [null]}')),
    "Uuid": Kind("string", f"{DATA}.Uuid", "string", st.uuids().map(str)),
    "Xml": Kind("string", f"{DATA}.Xml", "string", st.just('<a b="1">é</a>')),
    "Bits": Kind(
        *("bytes", f"{DATA}.Bits", "decimal(20,0)", st.integers(0, 2**64 - 1)),
        lambda v: b64(v.to_bytes(8, "little")),
        Decimal,
        {"length": 64},
    ),
    "Bits of a long": Kind(
        *("bytes", f"{DATA}.Bits", "long", st.integers(0, 2**12 - 1)),
        lambda v: b64(v.to_bytes((v.bit_length() + 7) // 8, "little")),
        parameters={"length": 12},
    ),
    "Enum": Kind("string", f"{DATA}.Enum", "string", st.sampled_from(LABELS), parameters={"allowed": escaped(LABELS)}),
    "Enum with its commas escaped": Kind(
        *("string", f"{DATA}.Enum", "string", st.sampled_from(("a", "x,y"))),
        lambda v: v.replace(",", "\\,"),
        parameters={"allowed": "a,x\\,y"},
    ),
    "EnumSet": Kind(
        *("string", f"{DATA}.EnumSet", "string", st.lists(st.sampled_from("rwx"), unique=True).map(",".join)),
        parameters={"allowed": "r,w,x"},
    ),
    "Geometry": Kind("struct", f"{DATA}.geometry.Geometry", "binary", st.binary(), shape),
    "Point": Kind(
        "struct", f"{DATA}.geometry.Point", "binary", st.binary(), lambda v: {"x": 1.5, "y": -2.0} | shape(v)
    ),
    "Geography": Kind("struct", f"{DATA}.geometry.Geography", "binary", st.binary(), lambda v: shape(v) | {"srid": 0}),
    "Connect's Date": Kind("int32", f"{CONNECT}.Date", "date", DATES, days, days),
    "Connect's Time": Kind(
        "int32", f"{CONNECT}.Time", "string", st.integers(0, 86_399_999), read=lambda v: clock(v, 3)
    ),
    "Connect's Timestamp": Kind(
        *("int64", f"{CONNECT}.Timestamp", "timestamp", st.integers(-62_135_596_800_000, 253_402_300_799_999)),
        read=lambda v: v * 1000,
    ),
    "array": Kind("array", None, "string", st.just([1, None]), read=lambda v: "[1,null]"),
}


@pytest.mark.parametrize("name", KINDS)
@settings(max_examples=40)
@given(data=st.data())
def test_a_value_comes_back_as_the_one_that_was_written(name: str, data: st.DataObject) -> None:
    kind = KINDS[name]
    value = data.draw(kind.values | st.none())
    field = column("v", kind.kind, kind.meaning, **(kind.parameters or {}))
    row = {"id": 1, "v": None if value is None else kind.write(value)}
    event = decoded(with_schema(payload(after=row), [column("id", "int32"), field]), {"id": 1})
    wire = (event.column_types or {})["v"]
    told = DEBEZIUM.default_type(wire)
    assert str(told) == kind.gold
    read = value_reader("debezium_json", wire, gold(kind.gold), ValueRules())
    found = read(read_image(event.after or "")["v"])
    expected = None if value is None else kind.read(value)
    assert found == expected
    assert type(found) is type(expected)


@pytest.mark.parametrize("name", ["float", "double"])
def test_not_a_number_is_a_value_of_a_float_and_of_nothing_else(name: str) -> None:
    """NaN is no number of JSON, so a connector writes the word; a string keeps it."""
    values = [value_reader("debezium_json", name, gold(kind), ValueRules())("NaN") for kind in (name, "string")]
    assert repr(values) == "[nan, 'NaN']"
    with pytest.raises(BadValue):
        value_reader("debezium_json", name, gold("decimal(10,2)"), ValueRules())("NaN")


@given(st.integers(-(2**63), 2**63 - 1), st.sampled_from([6, 9]))
def test_an_interval_of_ticks_is_told_in_days_hours_minutes_and_seconds(ticks: int, digits: int) -> None:
    wire = f"{TIME}.{'Micro' if digits == 6 else 'Nano'}Duration"
    text = str(value_reader("debezium_json", wire, gold("string"), ValueRules())(str(ticks)))
    found = re.fullmatch(r"P(?:(-?\d+)D)?(?:T(?:(-?\d+)H)?(?:(-?\d+)M)?(?:(-?[\d.]+)S)?)?", text)
    assert found is not None
    days, hours, minutes, seconds = (Decimal(part or 0) for part in found.groups())
    assert (((days * 24 + hours) * 60 + minutes) * 60 + seconds) * 10**digits == ticks
    assert max(abs(hours), abs(minutes) * 24 / 60, abs(seconds) * 24 / 60) < 24


@pytest.mark.parametrize(
    ("ticks", "text"),
    [
        ("1", "PT0.000001S"),
        ("-86400000000", "P-1D"),
        ("0", "PT0S"),
        ("37091106789000", "P429DT7H5M6.789S"),
        ("1.5E6", "PT1.5S"),
    ],
)
def test_an_interval_is_spelled_as_its_source_would(ticks: str, text: str) -> None:
    assert value_reader("debezium_json", f"{TIME}.MicroDuration", gold("string"), ValueRules())(ticks) == text


# --- without the schema part ------------------------------------------------------------------------------------------

WHOLE = MOMENTS.map(lambda moment: moment.replace(microsecond=0))


@dataclass(frozen=True)
class Stated:
    """A column of MySQL whose type only its statement tells."""

    declared: str
    gold: str
    values: st.SearchStrategy[Any]
    write: Callable[[Any], object] = lambda value: value
    read: Callable[[Any], object] = lambda value: value
    time_mode: TimeMode = "adaptive"
    decimal_mode: DecimalMode = "precise"


def moments(declared: str, values: st.SearchStrategy[Any], digits: int, mode: TimeMode = "adaptive") -> Stated:
    return Stated(declared, "timestamp", values, lambda v: micros(v) * 10**digits // 10**6, micros, mode)


def clocks(declared: str, digits: int, shown: int, mode: TimeMode = "adaptive") -> Stated:
    step = 10 ** (digits - min(shown, digits))
    values = st.integers(-SECONDS * 10 ** min(shown, digits), SECONDS * 10 ** min(shown, digits)).map(
        lambda v: v * step
    )
    return Stated(declared, "string", values, read=lambda v: clock(v, digits, shown), time_mode=mode)


STATED = [
    Stated("tinyint(1)", "int", st.integers(-128, 127)),
    Stated("boolean", "int", st.integers(-128, 127)),
    Stated("bool", "int", st.booleans(), read=int),
    Stated("BOOLEAN", "boolean", st.booleans()),
    Stated("tinyint(1)", "int", st.booleans(), read=int),
    Stated("bigint unsigned", "decimal(20,0)", st.integers(0, 2**64 - 1), lambda v: v - 2**64 * (v >> 63), Decimal),
    *(
        Stated(f"{name} unsigned", kind, st.integers(0, 2**bits - 1), lambda v, bits=bits: v - (v >> bits - 1 << bits))
        for bits, kind, names in (
            (8, "int", ("tinyint", "INT1")),
            (16, "int", ("smallint", "int2")),
            (24, "int", ("mediumint(8)", "middleint", "int3")),
            (32, "long", ("int", "INTEGER", "integer(10) zerofill", "int4")),
        )
        for name in names
    ),
    Stated("serial", "decimal(20,0)", st.integers(0, 2**64 - 1), lambda v: v - 2**64 * (v >> 63), Decimal),
    Stated("BIGINT(20) UNSIGNED ZEROFILL", "decimal(20,0)", st.just(2**64 - 1), lambda _: -1, Decimal),
    Stated("bit(1)", "boolean", st.booleans()),
    Stated("bit", "boolean", st.booleans()),
    Stated("bit(9)", "long", st.integers(0, 511), lambda v: b64(v.to_bytes(2, "little"))),
    Stated("year(4)", "int", st.just(0) | st.integers(1901, 2155), lambda v: v or 1900),
    Stated("decimal(20,6)", "decimal(20,6)", decimals(20, 6), lambda v: unscaled(v, 6)),
    Stated("numeric(65,30)", "string", decimals(65, 30), lambda v: unscaled(v, 30), lambda v: f"{v:f}"),
    Stated("decimal(20,6)", "decimal(20,6)", decimals(20, 6), lambda v: f"{v:f}", decimal_mode="string"),
    Stated("decimal(9,2)", "decimal(9,2)", decimals(9, 2), float, decimal_mode="double"),
    Stated("float", "float", floats(32), java),
    Stated("double", "double", floats(64), java),
    Stated("date", "date", DATES, days, days),
    Stated("date", "date", DATES, lambda v: f"{v}Z", days, "isostring"),
    moments("datetime", WHOLE, 3),
    moments("datetime(3)", MILLIS, 3),
    moments("datetime(4)", MILLIS, 6),
    moments("datetime(6)", MOMENTS, 6, "adaptive_time_microseconds"),
    moments("datetime(6)", MILLIS, 3, "connect"),
    moments("datetime", WHOLE, 6, "microseconds"),
    moments("datetime(6)", MOMENTS, 9, "nanoseconds"),
    Stated("datetime(6)", "timestamp", MOMENTS, lambda v: f"{v.isoformat()}Z", micros, "isostring"),
    Stated("timestamp(6)", "timestamptz", MOMENTS, lambda v: f"{v.isoformat()}Z", micros),
    clocks("time", 6, 0),
    clocks("time(6)", 6, 6),
    clocks("time(3)", 6, 3, "adaptive_time_microseconds"),
    clocks("time(3)", 3, 3, "connect"),
    clocks("time(6)", 9, 6, "nanoseconds"),
    Stated("time(6)", "string", st.times(), lambda v: f"{v}Z", str, "isostring"),
    Stated("enum('a','x,y')", "string", st.sampled_from(["", "a", "x,y"]), lambda v: v.replace(",", "\\,")),
    Stated("set('r','w')", "string", st.sampled_from(["", "r", "r,w"])),
    Stated("varchar(9)", "string", TEXT),
    Stated("json", "string", st.just('{"a": 1.10}')),
    Stated("varbinary(9)", "binary", st.binary(), b64),
    Stated("binary(4)", "binary", st.binary(max_size=4), b64, lambda v: v.ljust(4, b"\0")),
    Stated("point", "binary", st.binary(), lambda v: {"wkb": b64(v), "srid": 4326}, lambda v: b"\xe6\x10\0\0" + v),
]


@pytest.mark.parametrize("column_of", STATED, ids=lambda each: f"{each.declared} {each.time_mode} {each.decimal_mode}")
@settings(max_examples=40)
@given(data=st.data())
def test_without_schemas_the_statement_and_the_modes_tell_how_a_value_stands(
    column_of: Stated, data: st.DataObject
) -> None:
    value = data.draw(column_of.values)
    event = decoded(payload(after={"id": 1, "v": column_of.write(value)}), {"id": 1})
    assert event.column_types is None
    rules = ValueRules(options=DebeziumOptions(decimal_mode=column_of.decimal_mode, time_mode=column_of.time_mode))
    read = value_reader("debezium_json", None, gold(column_of.gold), rules, column_of.declared)
    assert read(read_image(event.after or "")["v"]) == column_of.read(value)


OTHERS = [
    ("sqlserver", "datetime2", "timestamp", 1772341200123456000, 1772341200123456),
    ("sqlserver", "datetime2(3)", "timestamp", 1772341200123, 1772341200123000),
    ("sqlserver", "datetime", "timestamp", 1772341200123, 1772341200123000),
    ("sqlserver", "smalldatetime", "timestamp", 1772341200000, 1772341200000000),
    ("sqlserver", "time(3)", "string", 18000123, "05:00:00.123"),
    ("sqlserver", "time", "string", 18000123456700, "05:00:00.1234567"),
    ("postgresql", "timestamp without time zone", "timestamp", 1772341200123456, 1772341200123456),
    ("postgresql", "timestamp(3) without time zone", "timestamp", 1772341200123, 1772341200123000),
    ("postgresql", "timestamp(0) with time zone", "timestamptz", "2026-03-01T05:00:00Z", 1772341200000000),
    ("postgresql", "time without time zone", "string", 18000500000, "05:00:00.5"),
    ("postgresql", "time(3)", "string", 18000500, "05:00:00.5"),
    ("postgresql", "time with time zone", "string", "05:00:00Z", "05:00:00Z"),
    ("postgresql", "numeric", "string", {"scale": 3, "value": "AeI="}, "0.482"),
    ("postgresql", "numeric(9,3)", "decimal(9,3)", "AeI=", Decimal("0.482")),
    ("postgresql", "interval", "string", 3600000000, "PT1H"),
    ("postgresql", "bit", "boolean", True, True),
    ("postgresql", "bit varying(12)", "long", "BQ==", 5),
    ("postgresql", "integer[]", "string", [1, None], "[1,null]"),
    ("postgresql", "mood", "string", "sad", "sad"),
]
"""Types that a dump of another database tells, as the connector writes their values by default (its documentation)."""


@pytest.mark.parametrize(("system", "declared", "kind", "written", "value"), OTHERS)
def test_without_schemas_a_dump_of_another_database_tells_how_a_value_stands(
    system: str, declared: str, kind: str, written: object, value: object
) -> None:
    event = decoded(payload(after={"id": 1, "v": written}), {"id": 1})
    read = value_reader("debezium_json", None, gold(kind), ValueRules(system=system), declared)
    assert read(read_image(event.after or "")["v"]) == value


GOLD = [
    ("boolean", True, True),
    ("int", -7, -7),
    ("long", 2**53 + 1, 2**53 + 1),
    ("decimal(10,2)", "MDk=", Decimal("123.45")),
    ("decimal(10,2)", {"scale": 1, "value": "Bw=="}, Decimal("0.7")),
    ("double", 0.1, 0.1),
    ("double", "NaN", "nan"),
    ("date", -1, -1),
    ("timestamptz", "2026-03-01T05:00:00.5+08:00", 1772312400500000),
    ("string", {"a": 1.10}, '{"a":1.1}'),
    ("binary", "AAE=", b"\0\1"),
]


@pytest.mark.parametrize(("kind", "written", "value"), GOLD)
def test_without_a_statement_the_type_of_the_settings_tells_how_a_value_stands(
    kind: str, written: object, value: object
) -> None:
    event = decoded(payload(after={"id": 1, "v": written}), {"id": 1})
    found = value_reader("debezium_json", None, gold(kind), ValueRules())(read_image(event.after or "")["v"])
    assert found == value or repr(found) == value


@pytest.mark.parametrize(
    ("mode", "text"),
    [
        ("connect", "1772341200123"),
        ("microseconds", "1772341200123000"),
        ("nanoseconds", "1772341200123000000"),
        ("isostring", "2026-03-01T05:00:00.123Z"),
    ],
)
def test_a_wall_clock_that_only_the_settings_type_needs_a_mode_of_one_unit(mode: TimeMode, text: str) -> None:
    read = value_reader("debezium_json", None, gold("timestamp"), ValueRules(options=DebeziumOptions(time_mode=mode)))
    assert read(text) == 1772341200123000
    with pytest.raises(BadValue, match="`time_mode`"):
        value_reader("debezium_json", None, gold("timestamp"), ValueRules())(text)


# --- what no type holds -----------------------------------------------------------------------------------------------

REFUSED = [
    (f"{CONNECT}.Decimal(10,2)", "decimal(10,2)", "", "no bytes"),
    (f"{CONNECT}.Decimal(10,2)", "decimal(10,2)", "123.45", "base64"),
    (f"{CONNECT}.Decimal(10,2)", "decimal(10,2)", "MDk", "padding"),
    (f"{CONNECT}.Decimal(10,2)", "decimal(4,2)", "MDk=", "more digits"),
    (f"{CONNECT}.Decimal(10,2)", "string", b64(b"\1" * 400), "digits"),
    (f"{CONNECT}.Decimal(10,*)", "string", "MDk=", "scale"),
    (f"{DATA}.VariableScaleDecimal", "string", '{"scale":2000000000,"value":"Bw=="}', "digits"),
    (f"{DATA}.VariableScaleDecimal", "string", "Bw==", "object"),
    (f"{DATA}.VariableScaleDecimal", "string", '{"scale":"1","value":"Bw=="}', "object"),
    (f"{DATA}.Bits(5)", "long", "IA==", "more than 5 bits"),
    (f"{DATA}.Bits(2147483647)", "long", "AAAAAAAAAACA", "not in the range"),
    (f"{DATA}.Enum(a,b)", "string", "c", "not one of"),
    (f"{DATA}.EnumSet(r,w)", "string", "r,x", "not one of"),
    (f"{DATA}.geometry.Geometry", "binary", '{"wkb":null,"srid":1}', "no WKB"),
    (f"{DATA}.geometry.Geometry", "long", '{"wkb":"","srid":1}', "a geometry"),
    (f"{TIME}.Date", "date", "2932897", "years 1 to 9999"),
    (f"{TIME}.Date", "date", "-719163", "years 1 to 9999"),
    (f"{TIME}.MicroTimestamp", "timestamp", "9223372036825200000", "years 1 to 9999"),
    (f"{TIME}.NanoTimestamp", "timestamp", "1", "below the microsecond"),
    (f"{TIME}.ZonedTimestamp", "timestamptz", "2026-03-01T05:00:00.123456789Z", "below the microsecond"),
    (f"{TIME}.ZonedTimestamp", "timestamptz", "2026-03-01T05:00:00", "date and time"),
    (f"{TIME}.ZonedTimestamp", "timestamptz", "2026-03-01T05:00:00+19:00", "not a valid UTC offset"),
    (f"{TIME}.ZonedTimestamp", "timestamptz", "0001-01-01T00:00:00+08:00", "years 1 to 9999"),
    (f"{TIME}.ZonedTimestamp", "timestamptz", "2026-02-29T05:00:00Z", "day"),
    (f"{TIME}.ZonedTimestamp", "timestamptz", "2026-03-01T24:00:00Z", "hour"),
    (f"{TIME}.IsoDate", "date", "2026-03-01", "does not end in 'Z'"),
    (f"{TIME}.Year", "int", "1899", "1901"),
    (f"{TIME}.Year", "int", "70", "1901"),
    (f"{TIME}.MicroTime", "string", "3600000000000", "thousand hours"),
    (f"{TIME}.MicroTime", "long", "1", "a time of day"),
    (f"{TIME}.MicroDuration", "string", "0.5", "whole"),
    ("int32", "int", "1.0", "whole"),
    ("boolean", "boolean", "yes", "true"),
    ("bytes", "binary", "AA", "padding"),
]


@pytest.mark.parametrize(("wire", "kind", "text", "reason"), REFUSED)
def test_a_value_that_its_type_does_not_hold_is_refused_with_the_reason(
    wire: str, kind: str, text: str, reason: str
) -> None:
    with pytest.raises(BadValue, match=reason) as refused:
        value_reader("debezium_json", wire, gold(kind), ValueRules())(text)
    assert refused.value.facts["wire_type"] == wire


SHOWN = [
    (f"{TIME}.NanoTimestamp", "string", "1772341200123456789", "2026-03-01 05:00:00.123456789"),
    (f"{TIME}.NanoTimestamp", "string", "1772341200000000001", "2026-03-01 05:00:00.000000001"),
    (f"{TIME}.Timestamp", "string", "-1", "1969-12-31 23:59:59.999"),
    (f"{TIME}.Timestamp", "date", "1772323200000", 20513),
    (f"{TIME}.Timestamp", "timestamptz", "1772341200000", 1772312400000000),
    (f"{TIME}.Date", "string", "-1", "1969-12-31"),
    (f"{TIME}.Date", "timestamp", "1", 86_400_000_000),
    (f"{TIME}.ZonedTimestamp", "string", "2026-03-01T05:00:00.123456789Z", "2026-03-01T05:00:00.123456789Z"),
    (f"{TIME}.ZonedTimestamp", "timestamp", "2026-03-01T05:00:00Z", 1772370000000000),
    (f"{TIME}.ZonedTimestamp", "date", "2026-03-01T16:00:00Z", 20514),
    (f"{TIME}.MicroTime", "string", "86400000000", "24:00:00"),
    (f"{TIME}.Year", "string", "1900", "0"),
    (f"{DATA}.Bits(5)", "long", "", 0),
    (f"{DATA}.Enum()", "string", "x", "x"),
    (f"{DATA}.geometry.Geometry", "string", '{"wkb":"","srid":1}', '{"wkb":"","srid":1}'),
    ("string", "decimal(10,2)", "1.5", Decimal("1.50")),
    ("double", "decimal(10,2)", "1.5", Decimal("1.50")),
    ("int64", "decimal(20,0)", "-1", Decimal(-1)),
    ("boolean", "int", "true", 1),
    ("int64 com.example.Ticks", "long", "7", 7),
]


MARIADB = ValueRules(system="mariadb")
SOUND = uuid.UUID("0cbf3360-a824-42f6-a2bc-c5944cd77501")


@given(st.one_of(*(st.uuids(version=version) for version in (1, 3, 4, 5))), st.integers(0, 3))
def test_a_uuid_that_the_connector_turned_is_refused_and_none_other_is_changed(drawn: uuid.UUID, zeros: int) -> None:
    """As the connector of MariaDB (3.4) writes one that ends in zero bytes; RFC 9562 has the others' versions."""
    octets = drawn.bytes[: 16 - zeros] + bytes(zeros)
    length = len(octets.rstrip(b"\0"))
    written = str(uuid.UUID(bytes=octets[:length].rjust(16, b"\0")))
    for wire, declared in ((None, "uuid"), (f"{DATA}.Uuid", "UUID"), (f"{DATA}.Uuid", None)):
        read = value_reader("debezium_json", wire, gold("string"), MARIADB, declared)
        if length < 16:
            with pytest.raises(BadValue, match="a changed uuid"):
                read(written)
        elif octets[0]:
            assert read(written) == written


@pytest.mark.parametrize(
    ("text", "system"),
    [
        ("00000000-0000-0000-0000-000000000000", "mariadb"),
        ("00000000-0000-0000-0000-000000000001", "mariadb"),
        (str(SOUND), "mariadb"),
        ("000cbf33-60a8-2442-f6a2-bcc5944cd775", "postgresql"),
    ],
)
def test_a_uuid_that_nothing_makes_doubtful_is_as_it_stands(text: str, system: str) -> None:
    rules = ValueRules(system=system)
    for wire, declared in ((None, "uuid"), (f"{DATA}.Uuid", "uuid")):
        assert value_reader("debezium_json", wire, gold("string"), rules, declared)(text) == text


@pytest.mark.parametrize(("wire", "kind", "text", "value"), SHOWN)
def test_a_value_can_become_what_the_settings_ask_for(wire: str, kind: str, text: str, value: Value) -> None:
    """Wall clocks are those of Shanghai where they must be an instant, and instants are shown on its clocks."""
    rules = ValueRules(time_zone="Asia/Shanghai")
    assert value_reader("debezium_json", wire, gold(kind), rules)(text) == value


@pytest.mark.parametrize(
    ("srid", "octets"),
    [
        (None, "0101000000"),
        (4326, "0101000020e6100000"),
    ],
)
def test_a_geometry_that_no_statement_told_is_wkb_and_with_an_srid_ewkb(srid: int | None, octets: str) -> None:
    text = f'{{"wkb":"{b64(bytes.fromhex("0101000000"))}","srid":{"null" if srid is None else srid}}}'
    read = value_reader("debezium_json", f"{DATA}.geometry.Geometry", gold("binary"), ValueRules())
    assert read(text) == bytes.fromhex(octets)


@pytest.mark.parametrize(("encoding", "text"), [("base64", "AAE="), ("hex", "0001")])
@pytest.mark.parametrize("wire", ["string", None])
def test_bytes_that_are_spelled_as_text_need_their_encoding(encoding: Any, text: str, wire: str | None) -> None:
    read = value_reader("debezium_json", wire, gold("binary"), ValueRules(binary_encoding=encoding), "varbinary(9)")
    assert read(text) == b"\0\1"
    if wire is not None:
        with pytest.raises(BadValue, match="binary_encoding"):
            value_reader("debezium_json", wire, gold("binary"), ValueRules(), "varbinary(9)")(text)


@pytest.mark.parametrize(
    ("wire", "told"),
    [
        (f"{CONNECT}.Decimal(38,38)", "decimal(38,38)"),
        (f"{CONNECT}.Decimal(39,0)", "string"),
        (f"{CONNECT}.Decimal(5,-2)", "decimal(7,0)"),
        (f"{CONNECT}.Decimal(37,-2)", "string"),
        (f"{CONNECT}.Decimal(*,2)", "string"),
        (f"{CONNECT}.Decimal(2,5)", "string"),
        (f"{DATA}.Bits(1)", "boolean"),
        (f"{DATA}.Bits(63)", "long"),
        (f"{DATA}.Bits(64)", "decimal(20,0)"),
        (f"{DATA}.Bits(126)", "decimal(38,0)"),
        (f"{DATA}.Bits(127)", "string"),
        (f"{DATA}.Bits(2147483647)", "string"),
        (f"{DATA}.Bits(*)", "string"),
        (f"{DATA}.FloatVector", "string"),
        (f"{TIME}.StructuredTimestamp", "string"),
        ("float64", "double"),
        ("map", "string"),
    ],
)
def test_the_type_of_a_column_that_no_statement_told(wire: str, told: str) -> None:
    assert str(DEBEZIUM.default_type(wire)) == told


def test_a_date_is_a_date() -> None:
    """The number of days is that of the calendar that Python has too."""
    assert value_reader("debezium_json", f"{TIME}.Date", gold("date"), ValueRules())("20513") == days(
        date.fromisoformat("2026-03-01")
    )


def test_a_float_keeps_its_own_width() -> None:
    narrow = struct.unpack("<f", struct.pack("<f", 0.1))[0]
    assert value_reader("debezium_json", "float", gold("double"), ValueRules())("0.1") == narrow


FAR = [
    ("io.debezium.time.Date", "-735160", "0044-03-15 BC"),
    ("io.debezium.time.Date", "-719163", "0001-12-31 BC"),
    ("io.debezium.time.Date", "2932897", "10000-01-01"),
    ("io.debezium.time.Date", "-2147472692", "infinity"),
    ("io.debezium.time.Date", "2146033979", "infinity"),
    ("io.debezium.time.Date", "-2147472691", "-infinity"),
    ("io.debezium.time.MicroTimestamp", "9223372036825200000", "infinity"),
    ("io.debezium.time.MicroTimestamp", "-9223372036832400000", "-infinity"),
    ("io.debezium.time.Timestamp", "9223372036825200", "infinity"),
    ("io.debezium.time.MicroTimestamp", "-63517823999500000", "0044-03-15 00:00:00.5 BC"),
    ("org.apache.kafka.connect.data.Timestamp", "-63517824000000", "0044-03-15 00:00:00 BC"),
    ("io.debezium.time.ZonedTimestamp", "+292278994-08-16T23:00:00Z", "infinity"),
    ("io.debezium.time.ZonedTimestamp", "-292269055-12-02T23:00:00Z", "-infinity"),
    ("io.debezium.time.ZonedTimestamp", "-0043-03-15T00:00:00Z", "-0043-03-15T00:00:00Z"),
]


@pytest.mark.parametrize(("wire", "text", "shown"), FAR)
def test_a_date_that_no_date_holds_is_rejected_null_or_text_as_the_settings_say(
    wire: str, text: str, shown: str
) -> None:
    kind = {"D": "date", "Z": "timestamptz"}.get(wire.rsplit(".", 1)[1][0], "timestamp")
    with pytest.raises(BadValue, match="far_date"):
        value_reader("debezium_json", wire, gold(kind), ValueRules())(text)
    assert value_reader("debezium_json", wire, gold(kind), ValueRules(far_date="null"))(text) is None
    for rules in (ValueRules(), ValueRules(far_date="string"), ValueRules(far_date="null")):
        assert value_reader("debezium_json", wire, gold("string"), rules)(text) == shown


@pytest.mark.parametrize(
    ("wire", "text"),
    [
        ("io.debezium.time.Date", "2147483647"),
        ("io.debezium.time.Date", "-2147483648"),
        ("io.debezium.time.Date", "x"),
        ("io.debezium.time.ZonedTimestamp", "+12"),
    ],
)
def test_what_no_database_writes_is_never_a_far_date(wire: str, text: str) -> None:
    for kind in ("date", "timestamp", "timestamptz", "string"):
        with pytest.raises(BadValue):
            value_reader("debezium_json", wire, gold(kind), ValueRules(far_date="null"))(text)


@given(st.integers(-719_162, 2_932_896))
def test_the_calendar_of_far_dates_is_that_of_all_others(days: int) -> None:
    """It comes again every 400 years."""
    year, rest = day_text(days).split("-", 1)
    assert far_day(str(days)) is None
    assert far_day(str(days + 25 * 146_097)) == f"{int(year) + 10_000}-{rest}"
    if int(year) < 4000:
        assert far_day(str(days - 10 * 146_097)) == f"{4001 - int(year):04}-{rest} BC"
