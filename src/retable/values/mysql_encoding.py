"""Find the encoding in which values of a MySQL type are written as text. Types are spelled as in DDL and Canal."""

import re

from retable.values.encodings import (
    Bits,
    ClockTime,
    Day,
    Encoding,
    Enum,
    Exact,
    Instant,
    LabelSet,
    Octets,
    Real,
    Text,
    Untyped,
    WallClock,
    Whole,
    Year,
)

_DDL = re.compile(
    r"(?>\s|;|/\*(?!M?!).*?\*/|/\*M?!\d*|--(?=\s)[^\n]*|#[^\n]*)*+"
    r"(?:create|alter|drop|rename|truncate|set\s+statement)\b",
    re.IGNORECASE | re.DOTALL,
)
_BASE = re.compile(r"\s*([a-z0-9_]*)", re.IGNORECASE)
_BITS = {
    **dict.fromkeys(("tinyint", "int1"), 8),
    **dict.fromkeys(("smallint", "int2"), 16),
    **dict.fromkeys(("mediumint", "middleint", "int3"), 24),
    **dict.fromkeys(("int", "integer", "int4"), 32),
    **dict.fromkeys(("bigint", "int8", "serial"), 64),
}
_UNSIGNED = re.compile(r"\b(?:unsigned|zerofill)\b", re.IGNORECASE)
_ARGUMENTS = re.compile(r"\((.*)\)", re.DOTALL)
_LABEL = re.compile(r"'((?:[^']|'')*)'")
_NUMBER = re.compile(r"\s*[0-9]{1,3}\s*\Z")
_TEXTS = frozenset({"char", "varchar", "tinytext", "text", "mediumtext", "longtext", "nchar", "nvarchar", "character"})
SHAPES = frozenset(
    {
        *("geometry", "point", "linestring", "polygon", "multipoint", "multilinestring", "multipolygon"),
        *("geometrycollection", "geomcollection"),
    }
)
"""MySQL's types of geometries."""
_OCTETS = SHAPES | {"varbinary", "tinyblob", "blob", "mediumblob", "longblob"}


def changes_schema(text: str) -> bool:
    """Return whether a statement is DDL: whether it begins with a word such as CREATE, after blanks and comments.

    Messages also contain other statements, for example BEGIN, COMMIT, GRANT, or an UPDATE that changed rows.
    """
    return _DDL.match(text) is not None


def base_type(declared: str) -> str:
    """Return the first word of a type in lower case: `int` for `INT(8) unsigned`."""
    found = _BASE.match(declared)
    return found[1].lower() if found else ""


def unsigned_bits(declared: str) -> int | None:
    """Return the number of bits of an unsigned whole number type, 32 for `int unsigned`, or None for other types."""
    base = base_type(declared)
    return _BITS.get(base) if base == "serial" or _UNSIGNED.search(declared) else None


_OF_ONE_ENCODING: dict[str, Encoding] = {
    "year": Year(),
    "double": Real(64),
    "real": Real(64),
    "date": Day(),
    "datetime": WallClock(),
    "timestamp": Instant(),
    "time": ClockTime(),
}


def mysql_encoding(declared: str) -> Encoding:
    """Return the encoding in which values of a MySQL type, such as `int(8) unsigned`, are written as text.

    An ENUM or a SET is written as the texts of its labels, and bytes as Latin-1 characters.

    If the type has no precision, scale, length or labels, the values are not checked against them.
    """
    found = _ARGUMENTS.search(declared)
    arguments = found[1] if found else ""
    numbers = [int(text) for text in arguments.split(",") if _NUMBER.match(text)]
    base = base_type(declared)
    if base in _BITS or base in ("bool", "boolean"):
        return Whole()
    if base in _OF_ONE_ENCODING:
        return _OF_ONE_ENCODING[base]
    match base:
        case "bit":
            return Bits(numbers[0] if numbers else None)
        case "decimal" | "numeric" | "dec" | "fixed":
            return Exact([*numbers, 0][1] if numbers else None)
        case "float":
            return Real(64 if len(numbers) == 1 and numbers[0] > 24 else 32)
        case "enum":
            return Enum(_labels(arguments), by_number=False)
        case "set":
            return LabelSet(_labels(arguments), by_mask=False)
        case "binary":
            return Octets(numbers[0] if numbers else None)
        case base if base in _OCTETS:
            return Octets(None)
        case base if base in _TEXTS or base == "json":
            return Text()
    return Untyped()


def _labels(arguments: str) -> tuple[str, ...]:
    return tuple(label.replace("''", "'") for label in _LABEL.findall(arguments))
