"""Find the gold type of a SQL Server column type. Source: docs/formats.md, types in gold."""

from retable.ddl.type_text import LARGEST_DECIMAL, STRING, decimal, read_type_text
from retable.model.schema import GoldType

_INT, _LONG, _FLOAT, _DOUBLE = GoldType("int"), GoldType("long"), GoldType("float"), GoldType("double")
_TIMESTAMP, _BINARY = GoldType("timestamp"), GoldType("binary")
_LARGEST_FLOAT_PRECISION = 24

_PLAIN: dict[str, GoldType] = {
    **dict.fromkeys(("tinyint", "smallint", "int", "integer"), _INT),
    "bigint": _LONG,
    "bit": GoldType("boolean"),
    "money": GoldType("decimal", 19, 4),
    "smallmoney": GoldType("decimal", 10, 4),
    "real": _FLOAT,
    "double precision": _DOUBLE,
    "date": GoldType("date"),
    **dict.fromkeys(("datetime", "datetime2", "smalldatetime"), _TIMESTAMP),
    "datetimeoffset": GoldType("timestamptz"),
    **dict.fromkeys(("time", "uniqueidentifier", "xml", "json", "sysname", "vector"), STRING),
    **dict.fromkeys(("char", "varchar", "nchar", "nvarchar", "text", "ntext", "character"), STRING),
    **dict.fromkeys(("char varying", "character varying", "national char", "national character"), STRING),
    **dict.fromkeys(("national char varying", "national character varying", "national text"), STRING),
    **dict.fromkeys(("binary", "varbinary", "binary varying", "image", "rowversion", "timestamp"), _BINARY),
    **dict.fromkeys(("geometry", "geography"), _BINARY),
}


def gold_type(source_type: str, has_lengths: bool) -> GoldType | None:
    """Return the gold type. Return None for an unknown type, and for sql_variant, whose values have many types.

    `has_lengths` is False if the messages write types without their lengths. A decimal may then have any number of
    digits, so it becomes a string. TIMESTAMP is not a time: it is the old name of ROWVERSION.
    """
    text = read_type_text(source_type.replace("[", "").replace("]", ""))
    name = text.name.removeprefix("sys.").removesuffix(" identity")
    match name:
        case "decimal" | "numeric" | "dec":
            return _decimal(text.lengths, has_lengths)
        case "float":
            return _float(text.lengths)
    return _PLAIN.get(name)


def _decimal(lengths: list[int] | None, has_lengths: bool) -> GoldType | None:
    match lengths:
        case []:
            return GoldType("decimal", 18, 0) if has_lengths else STRING
        case [precision, *scales] if len(scales) < 2 and 0 <= sum(scales) <= precision <= LARGEST_DECIMAL:
            return decimal(precision, sum(scales))
    return None


def _float(lengths: list[int] | None) -> GoldType | None:
    match lengths:
        case []:
            return _DOUBLE
        case [digits]:
            return _FLOAT if digits <= _LARGEST_FLOAT_PRECISION else _DOUBLE
    return None
