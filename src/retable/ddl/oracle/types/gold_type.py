"""Find the gold type of an Oracle column type. Source: docs/formats.md, types in gold."""

import re

from retable.ddl.type_text import LARGEST_DECIMAL, STRING, TypeText, decimal, read_type_text
from retable.model.schema import GoldType

_BINARY = GoldType("binary")
_TIMESTAMP, _TIMESTAMPTZ = GoldType("timestamp"), GoldType("timestamptz")

_PLAIN: dict[str, GoldType] = {
    **dict.fromkeys(("char", "nchar", "character", "national char", "national character"), STRING),
    **dict.fromkeys(("varchar2", "nvarchar2", "varchar", "char varying", "character varying"), STRING),
    **dict.fromkeys(("nchar varying", "national char varying", "national character varying"), STRING),
    **dict.fromkeys(("clob", "nclob", "long", "long varchar", "rowid", "urowid", "bfile", "json", "vector"), STRING),
    **dict.fromkeys(("xmltype", "sys.xmltype", '"sys"."xmltype"', '"public"."xmltype"'), STRING),
    **dict.fromkeys(("float", "real", "double precision"), STRING),
    **dict.fromkeys(("interval year to month", "interval day to second"), STRING),
    **dict.fromkeys(("raw", "long raw", "blob"), _BINARY),
    **dict.fromkeys(("integer", "int", "smallint"), GoldType("decimal", LARGEST_DECIMAL, 0)),
    "binary_float": GoldType("float"),
    "binary_double": GoldType("double"),
    **dict.fromkeys(("date", "timestamp"), _TIMESTAMP),
    **dict.fromkeys(("timestamp with time zone", "timestamp with local time zone"), _TIMESTAMPTZ),
    **dict.fromkeys(("boolean", "bool"), GoldType("boolean")),
}
_LENGTHS = re.compile(r"\s*\([^()]*\)\s*")


def gold_type(source_type: str, has_lengths: bool) -> GoldType | None:
    """Return the gold type, or None if the type is unknown.

    `has_lengths` says whether the messages write types with their lengths. It has no effect in Oracle.

    NUMBER without a precision becomes a string, because its numbers may have too many digits for a decimal of Iceberg.
    So do FLOAT, REAL and DOUBLE PRECISION: Oracle stores them as decimal numbers, and a double would round them. A DATE
    of Oracle has a time of day, so it becomes a timestamp.
    """
    text = read_type_text(source_type)
    if text.name in ("number", "numeric", "decimal", "dec"):
        return _number(text, bare_is_whole=text.name != "number")
    return _PLAIN.get(" ".join(_LENGTHS.sub(" ", source_type.strip().lower()).split()))


def _number(text: TypeText, bare_is_whole: bool) -> GoldType | None:
    """Return the gold type of NUMBER(p,s), DECIMAL or NUMERIC.

    A negative scale adds digits before the point. If the scale is greater than the precision, all digits are after the
    point. DECIMAL and NUMERIC without lengths, and NUMBER(*,0), are whole numbers of 38 digits.
    """
    first, *rest = (part.strip() for part in text.arguments.split(","))
    if first in ("", "*") and not rest:
        return decimal(LARGEST_DECIMAL, 0) if bare_is_whole else STRING
    if len(rest) > 1 or not all(part.removeprefix("-").isdecimal() and len(part) < 5 for part in rest):
        return None
    scale = int(rest[0]) if rest else 0
    if first == "*":
        return decimal(max(LARGEST_DECIMAL, scale) - min(scale, 0), max(scale, 0))
    if not first.isdecimal() or not 0 < len(first) < 3 or not 0 < int(first) <= LARGEST_DECIMAL:
        return None
    return decimal(max(int(first), scale) - min(scale, 0), max(scale, 0))
