"""The encoding of PostgreSQL values in Debezium messages without a schema part, by the type that a dump declares."""

import re

from retable.formats.debezium.modes import clock_encoding, day_encoding, digits_of, octets_encoding, wall_clock_encoding
from retable.formats.debezium.options import DebeziumOptions
from retable.model.schema import GoldType
from retable.values.encodings import (
    Encoding,
    Exact,
    PackedBits,
    Real,
    Shape,
    SpanTicks,
    Text,
    Truth,
    Unscaled,
    Whole,
    Zoned,
)
from retable.values.times import ValueRules

_TYPE = re.compile(r"(?P<base>[a-z ]+?)\s*(?:\((?P<arguments>[\d,\s-]+)\))?(?P<zone>\s+with(?:out)? time zone)?\Z")
_CENTS = 2


def postgresql_encoding(declared: str, gold: GoldType, rules: ValueRules) -> Encoding:
    """Return the encoding of values of a declared type. Return Text if the connector writes them as text.

    `declared` is the type as PostgreSQL's function `format_type` writes it, such as `numeric(10,2)`. `gold` is the
    column's type in gold: an interval is converted to text only if gold has text.
    """
    found = _TYPE.match(declared.strip().lower())
    if found is None:
        return Text()
    arguments = [int(part) for part in (found["arguments"] or "").split(",") if part.strip()]
    has_zone = (found["zone"] or "").strip() == "with time zone"
    match found["base"]:
        case "smallint" | "integer" | "bigint":
            return Whole()
        case "real" | "double precision":
            return Real(32 if found["base"] == "real" else 64, named=True)
        case "boolean":
            return Truth()
        case "numeric" | "money":
            scale = _CENTS if found["base"] == "money" else arguments[-1] if len(arguments) > 1 else 0
            return Unscaled(scale) if DebeziumOptions.of(rules.options).decimal_mode == "precise" else Exact(None)
        case "date":
            return day_encoding(rules)
        case "timestamp":
            return Zoned() if has_zone else wall_clock_encoding(digits_of(declared, rules.system), rules)
        case "time":
            return Text() if has_zone else clock_encoding(digits_of(declared, rules.system), rules, pads=False)
        case "interval" if gold.kind == "string":
            return SpanTicks(6)
        case "bit" | "bit varying":
            width = arguments[0] if arguments else 1
            return Truth() if found["base"] == "bit" and width == 1 else PackedBits(width)
        case "bytea":
            return octets_encoding(None, rules)
        case "point" | "geometry" | "geography":
            return Shape(internal=False)
    return Text()
