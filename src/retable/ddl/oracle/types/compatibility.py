"""Decide which changes of a column type keep every stored value in Oracle."""

from retable.ddl.type_text import read_type_text

_NUMBERS = frozenset({"number", "numeric", "decimal", "dec", "integer", "int", "smallint"})
_KEPT = {
    "char": ("varchar2", "varchar"),
    "nchar": ("nvarchar2",),
    "varchar": ("varchar2",),
    "varchar2": ("varchar",),
    "long": ("clob",),
    "long raw": ("blob",),
    "date": ("timestamp",),
}
_PADDED = frozenset({"char", "nchar"})


def keeps_values(old: str, new: str) -> bool:
    """Return whether Oracle keeps every stored value when a column changes from type `old` to `new`.

    Oracle refuses a change that would cut a value: it shortens a column only if all values fit, and reduces digits only
    in an empty column. But Oracle pads the values of a CHAR with blanks to the new length.
    """
    before, after = read_type_text(old), read_type_text(new)
    if before.name == after.name:
        return before.name not in _PADDED or before.arguments == after.arguments
    return {before.name, after.name} <= _NUMBERS or after.name in _KEPT.get(before.name, ())
