"""The gold type of a source's column type (docs/formats.md, types in gold)."""

from collections.abc import Callable

from retable.model.schema import GoldType

_INT = GoldType("int")
_LONG = GoldType("long")
_FLOAT = GoldType("float")
_DOUBLE = GoldType("double")
_STRING = GoldType("string")
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
    **dict.fromkeys(("char", "varchar", "tinytext", "text", "mediumtext", "longtext"), _STRING),
    **dict.fromkeys(("time", "enum", "set", "json", "uuid", "inet4", "inet6"), _STRING),
    **dict.fromkeys(("binary", "varbinary", "tinyblob", "blob", "mediumblob", "longblob", "vector"), _BINARY),
    **dict.fromkeys(("geometry", "point", "linestring", "polygon", "geometrycollection"), _BINARY),
    **dict.fromkeys(("multipoint", "multilinestring", "multipolygon"), _BINARY),
}

_ATTRIBUTES = frozenset({"unsigned", "signed", "zerofill"})
_LARGEST_DECIMAL = 38
_LARGEST_FLOAT_PRECISION = 24


def gold_type(system: str, source_type: str, *, lengths_told: bool = True) -> GoldType | None:
    """Find the gold type of a column type, as DDL writes it or as a message names it; None: an unknown type.

    `lengths_told` False is for messages that never print lengths (Canal JSON of DTS): there a bare `decimal` may
    hold any digits and becomes a string, and a bare `bit` a long; in DDL they are `decimal(10,0)` and `bit(1)`.
    """
    read = _SYSTEMS.get(system.lower())
    return read(source_type, lengths_told) if read else None


def mysql_type_name(name: str) -> str:
    """The name under which MySQL's information_schema shows a type: `tinyint(1)` for BOOL, `int` for INTEGER."""
    return _MYSQL_SHORTHANDS.get(name.lower()) or _MYSQL_SYNONYMS.get(name.lower(), name)


def _mysql_type(source_type: str, lengths_told: bool) -> GoldType | None:
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
            return _bit(_numbers(arguments), lengths_told)
        case "decimal":
            return _decimal(_numbers(arguments), lengths_told)
        case "float":
            return _float(_numbers(arguments))
        case plain:
            return _MYSQL_PLAIN.get(plain)


def _numbers(arguments: str) -> list[int] | None:
    """The numbers between a type's parentheses; None where something else stands there."""
    parts = arguments.split(",") if arguments.strip() else []
    if not all(part.strip().isdecimal() and len(part) < 9 for part in parts):
        return None
    return [int(part) for part in parts]


def _bit(lengths: list[int] | None, lengths_told: bool) -> GoldType | None:
    match lengths:
        case []:
            return GoldType("boolean") if lengths_told else _LONG
        case [1]:
            return GoldType("boolean")
        case [bits] if 1 < bits <= 64:
            return _LONG if bits < 64 else _UNSIGNED_LONG
    return None


def _decimal(lengths: list[int] | None, lengths_told: bool) -> GoldType | None:
    match lengths:
        case []:
            return GoldType("decimal", 10, 0) if lengths_told else _STRING
        case [digits, *scales] if len(scales) < 2:
            precision, scale = digits or 10, sum(scales)
            if scale > precision:
                return None
            return GoldType("decimal", precision, scale) if precision <= _LARGEST_DECIMAL else _STRING
    return None


def _float(lengths: list[int] | None) -> GoldType | None:
    """FLOAT(53) is a double; FLOAT(7,4) is a float that shows four digits."""
    match lengths:
        case [precision] if precision > _LARGEST_FLOAT_PRECISION:
            return _DOUBLE
        case [] | [_] | [_, _]:
            return _FLOAT
    return None


_SYSTEMS: dict[str, Callable[[str, bool], GoldType | None]] = {"mysql": _mysql_type, "mariadb": _mysql_type}
