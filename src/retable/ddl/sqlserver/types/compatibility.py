"""Decide which changes of a column type keep every stored value in SQL Server."""

from retable.ddl.sqlserver.types.gold_type import gold_type
from retable.ddl.type_text import read_type_text

_INTEGERS = frozenset({"tinyint", "smallint", "int", "integer", "bigint"})
_DECIMALS = frozenset({"decimal", "numeric", "dec"})
_VARYING = frozenset({"varchar", "nvarchar", "text", "ntext", "varbinary", "image", "xml"})
_KEPT = {
    "varchar": ("nvarchar", "text", "ntext"),
    "text": ("varchar", "nvarchar"),
    "ntext": ("nvarchar",),
    "image": ("varbinary",),
    "smallmoney": ("money",),
    "real": ("float",),
    "smalldatetime": ("datetime", "datetime2"),
    "date": ("datetime", "datetime2"),
    "char": ("varchar", "nvarchar"),
    "nchar": ("nvarchar",),
    "binary": ("varbinary",),
}
_LONGEST_INTEGER = 20
_FRACTIONS = frozenset({"datetime2", "datetimeoffset", "time"})


def keeps_values(old: str, new: str) -> bool:
    """Return whether SQL Server keeps every stored value when a column changes from type `old` to `new`.

    SQL Server refuses a change that would cut a text or a whole number. But it rounds digits after the point and
    fractions of a second, pads values of fixed length, and converts a whole number that is too long for a text type to
    `*`.
    """
    before, after = read_type_text(old), read_type_text(new)
    if before == after or {before.name, after.name} <= _INTEGERS:
        return True
    if before.name in _INTEGERS and after.name in ("varchar", "nvarchar"):
        return after.arguments == "max" or (after.lengths or [0]) >= [_LONGEST_INTEGER]
    if before.name in _INTEGERS and after.name in _DECIMALS:
        return True
    if {before.name, after.name} <= _DECIMALS:
        return _scale(old) <= _scale(new)
    if before.name == after.name and before.name in _FRACTIONS:
        return (before.lengths or [7]) <= (after.lengths or [7])
    if before.name == after.name:
        return before.name in _VARYING
    return after.name in _KEPT.get(before.name, ())


def _scale(source_type: str) -> int:
    kind = gold_type(source_type, has_lengths=True)
    return kind.scale if kind else 0
