"""How MySQL stores a value in a column. A value that the column cannot hold unchanged raises ValueError."""

from decimal import Decimal

from retable.ddl.mysql.types.compatibility import capacity, labels, parse_type
from retable.ddl.mysql.types.gold_type import mysql_type_name
from retable.ddl.value_checks import Store, fraction_of, no_longer_than, refuse, same, span_of, within

_BITS = {"tinyint": 8, "smallint": 16, "mediumint": 24, "int": 32, "bigint": 64}


def storer(source_type: str) -> Store:
    parsed = parse_type(mysql_type_name(source_type.strip()))
    if parsed is None:
        return refuse
    kind, arguments, options = parsed
    signed = "unsigned" not in options
    if "zerofill" in options:
        return refuse
    return _of_number(kind, arguments, signed) or _of_text(kind, arguments) or _of_time(kind, arguments) or refuse


def _of_number(kind: str, arguments: str, signed: bool) -> Store | None:
    if kind in _BITS:
        bits = _BITS[kind]
        return within(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else within(0, 2**bits - 1)
    match kind:
        case "bit":
            return within(0, 2 ** int(arguments or "1") - 1)
        case "decimal":
            return same if signed else _not_negative
        case "float" | "double" if not arguments:
            return same if signed else _not_negative
    return None


def _of_text(kind: str, arguments: str) -> Store | None:
    match kind:
        case "varchar":
            return no_longer_than(capacity(kind, arguments), "characters")
        case "char":
            return _unpadded(capacity(kind, arguments))
        case "tinytext" | "text" | "mediumtext" | "longtext":
            return no_longer_than(capacity(kind, arguments), "bytes", _utf8_length)
        case "varbinary" | "tinyblob" | "blob" | "mediumblob" | "longblob":
            return no_longer_than(capacity(kind, arguments), "bytes")
        case "binary":
            return _octets(capacity(kind, arguments))
        case "enum":
            return _one_of(labels(arguments))
        case "set":
            return _some_of(labels(arguments))
        case "json":
            return same
    return None


def _of_time(kind: str, arguments: str) -> Store | None:
    match kind:
        case "datetime" | "timestamp":
            return fraction_of(_digits(arguments))
        case "time":
            return span_of(_digits(arguments))
        case "year":
            return _year
        case "date":
            return same
    return None


def _digits(arguments: str) -> int:
    return int(arguments) if arguments.strip().isdigit() else 0


def _utf8_length(text: str) -> int:
    return len(text.encode())


def _unpadded(length: int) -> Store:
    """Accept text that a CHAR of this length holds. Refuse trailing blanks, which a CHAR does not keep."""
    short = no_longer_than(length, "characters")

    def store(text: str) -> str:
        if text.endswith(" "):
            raise ValueError("the text ends in blanks, which a CHAR does not keep")
        return str(short(text))

    return store


def _octets(length: int) -> Store:
    def store(value: bytes) -> bytes:
        if len(value) != length:
            raise ValueError(f"the value is not {length} bytes long, the fixed length of the column")
        return value

    return store


def _one_of(known: list[str]) -> Store:
    def store(text: str) -> str:
        if text not in known:
            raise ValueError("the text is not one of the labels that the ENUM column declares")
        return text

    return store


def _some_of(known: list[str]) -> Store:
    """Accept a list of labels of a SET, each once and in the order of the definition, as MySQL shows them."""

    def store(text: str) -> str:
        members = text.split(",") if text else []
        if members != [label for label in known if label in members]:
            raise ValueError(
                "the text is not a list of labels that the SET column declares, each once and in the declared order"
            )
        return text

    return store


def _not_negative(value: int | float | Decimal) -> int | float | Decimal:
    if value < 0:
        raise ValueError("the number is less than zero, and the column is UNSIGNED")
    return value


def _year(value: int) -> int:
    if value and not 1901 <= value <= 2155:
        raise ValueError("the number is not a year that MySQL stores: expected 0, or 1901 to 2155")
    return value
