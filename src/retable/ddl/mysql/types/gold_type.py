"""Find the gold type of a column type of MySQL or MariaDB. Source: docs/formats.md, types in gold."""

from retable.ddl.type_text import STRING, decimal, numbers
from retable.model.schema import GoldType

_INT = GoldType("int")
_LONG = GoldType("long")
_FLOAT = GoldType("float")
_DOUBLE = GoldType("double")
_BINARY = GoldType("binary")
_UNSIGNED_LONG = GoldType("decimal", 20, 0)

_MYSQL_SHORTHANDS = {"bool": "tinyint(1)", "boolean": "tinyint(1)", "serial": "bigint unsigned"}

_MYSQL_SYNONYMS: dict[str, str] = {
    "int1": "tinyint",
    "int2": "smallint",
    **dict.fromkeys(("int3", "middleint"), "mediumint"),
    **dict.fromkeys(("integer", "int4"), "int"),
    "int8": "bigint",
    **dict.fromkeys(("dec", "numeric", "fixed"), "decimal"),
    "float4": "float",
    **dict.fromkeys(("double precision", "float8", "real"), "double"),
    **dict.fromkeys(("character", "nchar", "national char", "national character"), "char"),
    **dict.fromkeys(("char varying", "character varying", "varcharacter", "nvarchar"), "varchar"),
    **dict.fromkeys(("nchar varying", "nchar varchar", "national varchar", "national varcharacter"), "varchar"),
    **dict.fromkeys(("national char varying", "national character varying"), "varchar"),
    **dict.fromkeys(("long", "long varchar", "long varcharacter"), "mediumtext"),
    **dict.fromkeys(("long char varying", "long character varying"), "mediumtext"),
    "long varbinary": "mediumblob",
    "geomcollection": "geometrycollection",
}

_MYSQL_PLAIN: dict[str, GoldType] = {
    **dict.fromkeys(("tinyint", "smallint", "mediumint", "year"), _INT),
    "double": _DOUBLE,
    "date": GoldType("date"),
    "datetime": GoldType("timestamp"),
    "timestamp": GoldType("timestamptz"),
    **dict.fromkeys(("char", "varchar", "tinytext", "text", "mediumtext", "longtext"), STRING),
    **dict.fromkeys(("time", "enum", "set", "json", "uuid", "inet4", "inet6"), STRING),
    **dict.fromkeys(("binary", "varbinary", "tinyblob", "blob", "mediumblob", "longblob", "vector"), _BINARY),
    **dict.fromkeys(("geometry", "point", "linestring", "polygon", "geometrycollection"), _BINARY),
    **dict.fromkeys(("multipoint", "multilinestring", "multipolygon"), _BINARY),
}

_ATTRIBUTES = frozenset({"unsigned", "signed", "zerofill"})
LARGEST_FLOAT_PRECISION = 24
"""The greatest precision `p`, in bits, for which FLOAT(p) is a FLOAT. FLOAT(p) with a greater `p` is a DOUBLE (MySQL's
manual, Floating-Point Types)."""


def mysql_type_name(name: str) -> str:
    """Return the name that MySQL's information_schema shows for a type: `tinyint(1)` for BOOL, `int` for INTEGER.

    A name without synonym is returned unchanged.
    """
    return _MYSQL_SHORTHANDS.get(name.lower()) or _MYSQL_SYNONYMS.get(name.lower(), name)


def gold_type(source_type: str, has_lengths: bool) -> GoldType | None:
    text = source_type.strip().lower()
    head, _, rest = _MYSQL_SHORTHANDS.get(text, text).partition("(")
    arguments, _, tail = rest.rpartition(")")
    words = [*head.split(), *tail.split()]
    unsigned = "unsigned" in words or "zerofill" in words
    name = " ".join(word for word in words if word not in _ATTRIBUTES)
    match _MYSQL_SYNONYMS.get(name, name):
        case "int":
            return _LONG if unsigned else _INT
        case "bigint":
            return _UNSIGNED_LONG if unsigned else _LONG
        case "bit":
            return _bit(numbers(arguments), has_lengths)
        case "decimal":
            return _decimal(numbers(arguments), has_lengths)
        case "float":
            return _float(numbers(arguments))
        case plain:
            return _MYSQL_PLAIN.get(plain)


def _bit(lengths: list[int] | None, has_lengths: bool) -> GoldType | None:
    match lengths:
        case []:
            return GoldType("boolean") if has_lengths else _LONG
        case [1]:
            return GoldType("boolean")
        case [bits] if 1 < bits <= 64:
            return _LONG if bits < 64 else _UNSIGNED_LONG
    return None


def _decimal(lengths: list[int] | None, has_lengths: bool) -> GoldType | None:
    match lengths:
        case []:
            return GoldType("decimal", 10, 0) if has_lengths else STRING
        case [digits, *scales] if len(scales) < 2:
            precision, scale = digits or 10, sum(scales)
            return decimal(precision, scale) if 0 <= scale <= precision else None
    return None


def _float(lengths: list[int] | None) -> GoldType | None:
    """Return a double for FLOAT(53). Return a float for FLOAT(7,4), which shows four digits after the point."""
    match lengths:
        case [precision] if precision > LARGEST_FLOAT_PRECISION:
            return _DOUBLE
        case [] | [_] | [_, _]:
            return _FLOAT
    return None
