"""How SQL Server stores a value in a column. A value that the column cannot hold unchanged raises ValueError."""

from retable.ddl.type_text import TypeText, read_type_text
from retable.ddl.value_checks import (
    Store,
    fraction_of,
    no_longer_than,
    only_ascii,
    padded,
    refuse,
    same,
    span_of,
    within,
)

_BOUNDS = {"tinyint": (0, 255), "smallint": (-(2**15), 2**15 - 1), "int": (-(2**31), 2**31 - 1)} | {
    "integer": (-(2**31), 2**31 - 1),
    "bigint": (-(2**63), 2**63 - 1),
}
_MOST = 2**31 - 1
_TEN_MILLISECONDS = 10_000
"""Microseconds. A datetime is stored in units of 1/300 second. Each multiple of 10 ms is a whole number of units."""


def storer(source_type: str) -> Store:
    kind = read_type_text(source_type)
    if kind.name in _BOUNDS:
        return within(*_BOUNDS[kind.name])
    match kind.name:
        case "varchar":
            return only_ascii(no_longer_than(_length(kind), "characters"))
        case "nvarchar" | "sysname":
            return no_longer_than(_length(kind), "characters", _units)
        case "text":
            return only_ascii(same)
        case "char" | "nchar":
            return padded(_length(kind))
        case "varbinary":
            return no_longer_than(_length(kind), "bytes")
        case "datetime2" | "datetimeoffset":
            return fraction_of((kind.lengths or [7])[0])
        case "time":
            return span_of((kind.lengths or [7])[0])
        case "datetime":
            return _multiple_of(_TEN_MILLISECONDS)
        case "smalldatetime":
            return _multiple_of(60_000_000)
        case "decimal" | "numeric" | "dec" | "real" | "float" | "date" | "ntext" | "image" | "bit":
            return same
    return refuse


def _length(kind: TypeText) -> int:
    if kind.arguments == "max":
        return _MOST
    return kind.lengths[0] if kind.lengths else 128 if kind.name == "sysname" else 1


def _units(text: str) -> int:
    return len(text.encode("utf-16-le")) // 2


def _multiple_of(micros: int) -> Store:
    def store(value: int) -> int:
        if value % micros:
            raise ValueError(f"the time is not a multiple of {micros} microseconds, so the column may round it")
        return value

    return store
