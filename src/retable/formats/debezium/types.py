"""The types in Debezium's messages: the encoding of their values, and the gold types of their columns.

A message with a schema part names each column's type. Without it the declared type, or else the gold type, and the
connector's two modes decide the encoding of a value.
"""

import re

from retable.formats.debezium.modes import clock_encoding, day_encoding, digits_of, octets_encoding, wall_clock_encoding
from retable.formats.debezium.options import DebeziumOptions
from retable.formats.debezium.oracle import oracle_form
from retable.formats.debezium.postgresql import postgresql_encoding
from retable.formats.debezium.schema import BITS, DECIMAL, LABELS, NUMERIC
from retable.formats.declared_encoding import declared_encoding_of
from retable.model.schema import GoldType
from retable.model.source_types import gold_of_bits
from retable.values.encodings import (
    Base64,
    Bits,
    ClockTicks,
    ClockTime,
    Day,
    Encoding,
    Enum,
    EpochDays,
    Exact,
    Instant,
    LabelSet,
    Octets,
    PackedBits,
    Real,
    SelfScaled,
    Shape,
    SpanTicks,
    Text,
    Truth,
    TurnedUuid,
    Unread,
    Unscaled,
    Untyped,
    WallClock,
    WallTicks,
    Whole,
    Wrapped,
    Year,
    Zoned,
    Zulu,
    refined_encoding,
)
from retable.values.mysql_encoding import SHAPES, base_type, unsigned_bits
from retable.values.times import ValueRules

_YEAR = Year(zero=1900)
"""MySQL's years begin with 1901. Debezium adds 1900 to every year, also to the zero year."""

_FORMS: dict[str, Encoding] = {
    **dict.fromkeys(("int8", "int16", "int32", "int64"), Whole()),
    "boolean": Truth(),
    **dict.fromkeys(("float", "float32"), Real(32, named=True)),
    **dict.fromkeys(("double", "float64"), Real(64, named=True)),
    **dict.fromkeys(("string", "array", "map", "struct"), Text()),
    "bytes": Base64(None),
    "io.debezium.time.Date": EpochDays(),
    "io.debezium.time.Time": ClockTicks(3),
    "io.debezium.time.MicroTime": ClockTicks(6),
    "io.debezium.time.NanoTime": ClockTicks(9),
    "io.debezium.time.Timestamp": WallTicks(3),
    "io.debezium.time.MicroTimestamp": WallTicks(6),
    "io.debezium.time.NanoTimestamp": WallTicks(9),
    "io.debezium.time.ZonedTimestamp": Zoned(),
    "io.debezium.time.IsoDate": Zulu(Day()),
    "io.debezium.time.IsoTime": Zulu(ClockTime()),
    "io.debezium.time.IsoTimestamp": Zulu(WallClock()),
    "io.debezium.time.Year": _YEAR,
    "io.debezium.time.MicroDuration": SpanTicks(6),
    "io.debezium.time.NanoDuration": SpanTicks(9),
    "io.debezium.data.VariableScaleDecimal": SelfScaled(),
    "io.debezium.data.Uuid": TurnedUuid(),
    **dict.fromkeys(
        (f"io.debezium.data.geometry.{name}" for name in ("Geometry", "Geography", "Point")), Shape(internal=False)
    ),
    "org.apache.kafka.connect.data.Date": EpochDays(),
    "org.apache.kafka.connect.data.Time": ClockTicks(3),
    "org.apache.kafka.connect.data.Timestamp": WallTicks(3),
}
_GOLD: dict[type[Encoding], GoldType] = {
    Truth: GoldType("boolean"),
    Base64: GoldType("binary"),
    Shape: GoldType("binary"),
    EpochDays: GoldType("date"),
    WallTicks: GoldType("timestamp"),
    Zoned: GoldType("timestamptz"),
    Year: GoldType("int"),
}
_STRING = GoldType("string")
_PARAMETERS = re.compile(r"\((?:([0-9]{1,9}|\*),)?(-?[0-9]{1,9}|\*)\)\Z")
_LABEL = re.compile(r"((?:\\.|[^,\\])*),", re.DOTALL)
_ESCAPED = re.compile(r"\\([,\\])")
_MOST_DIGITS = 38


def wire_encoding(wire_type: str | None) -> Encoding:
    """Return the encoding of values, by their type in the message, as `schema.wire_type` writes it.

    If the semantic name in the type is unknown, the primitive type decides.
    """
    if wire_type is None:
        return Untyped()
    name, _, parameters = wire_type.partition("(")
    if name == DECIMAL:
        _, scale = _numbers(wire_type)
        return (
            Unread("the schema part does not declare the scale of the decimal column")
            if scale is None
            else Unscaled(scale)
        )
    if name == NUMERIC:
        return Exact(_numbers(wire_type)[1])
    if name == BITS:
        return PackedBits(_numbers(wire_type)[1])
    if name in LABELS:
        labels = _labels(parameters[:-1])
        return LabelSet(labels, by_mask=False) if name.endswith("Set") else Enum(labels, False, escaped=True)
    return _FORMS.get(wire_type.partition(" ")[0], Text())


def default_type(wire_type: str) -> GoldType | None:
    """Return the gold type of a column that no statement declared, by its type in the message."""
    match wire_encoding(wire_type):
        case Whole():
            return GoldType("long" if wire_type.startswith("int64") else "int")
        case Real(width):
            return GoldType("float" if width == 32 else "double")
        case Unscaled() | Exact():
            return _decimal(*_numbers(wire_type))
        case PackedBits(width):
            return gold_of_bits(width)
        case Zulu(Day()):
            return GoldType("date")
        case Zulu(WallClock()):
            return GoldType("timestamp")
        case encoding:
            return _GOLD.get(type(encoding), _STRING)


def declared_encoding(encoding: Encoding, declared: str | None, gold: GoldType, rules: ValueRules) -> Encoding:
    """Return the encoding of a column's values, from the type in the message and the type that a statement declares.

    `encoding` is the encoding by the type in the message; it is `Untyped` if the message names no type. `declared` is
    the declared type, or None. It decides what the type in the message leaves open, such as the length of bytes. If
    both types are unknown, the gold type decides.
    """
    stated = Untyped() if declared is None else declared_encoding_of(declared, rules.system)
    if encoding == Untyped() and declared is not None and rules.system == "oracle":
        return _of_oracle(declared, gold, rules)
    if encoding == Untyped() and declared is not None and rules.system == "postgresql":
        return postgresql_encoding(declared, gold, rules)
    if encoding == TurnedUuid() or (encoding in (Untyped(), Text()) and base_type(declared or "") == "uuid"):
        return TurnedUuid() if rules.system == "mariadb" else Text()
    match encoding, stated:
        case Untyped(), Untyped():
            return _by_gold(gold, rules)
        case Untyped(), _:
            return _by_statement(declared or "", stated, rules)
        case Whole(), Whole() if bits := unsigned_bits(declared or ""):
            return Wrapped(bits)
        case ClockTicks(digits), ClockTime():
            return ClockTicks(digits, digits_of(declared or "", rules.system))
        case Shape(), Octets():
            return Shape(internal=True)
        case Text(), Octets() if gold.kind == "binary" and rules.binary_encoding == "utf-8":
            return Unread("the bytes are written as text; set `binary_encoding` of the source to `base64` or `hex`")
    return refined_encoding(encoding, stated)


def _of_oracle(declared: str, gold: GoldType, rules: ValueRules) -> Encoding:
    match oracle_form(declared, DebeziumOptions.of(rules.options).decimal_mode):
        case None:
            return _by_gold(gold, rules)
        case int(digits):
            return wall_clock_encoding(digits, rules)
        case Base64(length):
            return octets_encoding(length, rules)
        case encoding:
            return encoding


def _by_statement(declared: str, stated: Encoding, rules: ValueRules) -> Encoding:
    """Return the encoding of values whose type only a statement of MySQL declares.

    A BOOL is `true` or `false` if the connector read the word BOOL, and a number if it read `tinyint(1)`.
    """
    match stated:
        case Whole():
            bits = unsigned_bits(declared)
            return Whole(truths=True) if bits is None else Wrapped(bits)
        case Year():
            return _YEAR
        case Bits(width):
            return PackedBits(width) if width not in (None, 1) else Truth()
        case Exact(scale):
            return Unscaled(scale or 0) if DebeziumOptions.of(rules.options).decimal_mode == "precise" else stated
        case Real(width):
            return Real(width, named=True)
        case Day():
            return day_encoding(rules)
        case WallClock():
            return wall_clock_encoding(digits_of(declared, rules.system), rules)
        case Instant():
            return Zoned()
        case ClockTime():
            return clock_encoding(digits_of(declared, rules.system), rules)
        case Octets(length):
            return octets_encoding(length, rules) if base_type(declared) not in SHAPES else Shape(internal=True)
        case Enum(labels):
            return Enum(labels, False, escaped=True)
    return stated


def _by_gold(gold: GoldType, rules: ValueRules) -> Encoding:
    """Return the encoding of values whose type only the settings declare, by their gold type."""
    match gold.kind:
        case "boolean":
            return Truth()
        case "int" | "long":
            return Whole()
        case "decimal":
            return Unscaled(gold.scale) if DebeziumOptions.of(rules.options).decimal_mode == "precise" else Exact(None)
        case "float" | "double":
            return Real(32 if gold.kind == "float" else 64, named=True)
        case "date":
            return day_encoding(rules)
        case "timestamp":
            return wall_clock_encoding(None, rules)
        case "timestamptz":
            return Zoned()
        case "binary":
            return octets_encoding(None, rules)
        case "string":
            return Text()


def _numbers(wire_type: str) -> tuple[int | None, int | None]:
    """Return the two numbers in the parentheses of a type. A single number is the second; a `*` is None."""
    found = _PARAMETERS.search(wire_type)
    first, second = found.groups() if found else (None, None)
    return int(first) if first not in (None, "*") else None, int(second) if second not in (None, "*") else None


def _labels(allowed: str) -> tuple[str, ...]:
    """Read a list of labels separated by commas; a backslash escapes a comma or backslash inside a label."""
    found = _LABEL.findall(f"{allowed},")
    if not allowed or sum(len(label) + 1 for label in found) != len(allowed) + 1:
        return ()
    return tuple(_ESCAPED.sub(r"\1", label) for label in found)


def _decimal(precision: int | None, scale: int | None) -> GoldType:
    """Return the gold type of a decimal. It is a string if it has unbounded or too many digits for a decimal.

    A negative scale means zeros before the point.
    """
    if precision is None or scale is None:
        return _STRING
    digits, shown = (precision - scale, 0) if scale < 0 else (precision, scale)
    fits = 0 < digits <= _MOST_DIGITS and shown <= digits
    return GoldType("decimal", digits, shown) if fits else _STRING
