"""Find the Oracle type changes that leave every stored value as it is."""

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
    """Say whether Oracle keeps every stored value when a column changes from type `old` to `new`.

    Oracle refuses a change that would cut a value. It shortens only columns whose values fit, and removes digits only
    from an empty column. But it pads a CHAR with blanks to its new length.
    """
    before, after = read_type_text(old), read_type_text(new)
    if before.name == after.name:
        return before.name not in _PADDED or before.arguments == after.arguments
    return {before.name, after.name} <= _NUMBERS or after.name in _KEPT.get(before.name, ())
