"""Which changes of an Oracle type leave every stored value as it is."""

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
    """Say whether Oracle keeps every stored value when a column goes from type `old` to `new`.

    Oracle refuses what would cut a value: it shortens only what fits, and takes digits only from an empty column. But
    it fills a CHAR with blanks to its new length.
    """
    before, after = read_type_text(old), read_type_text(new)
    if before.name == after.name:
        return before.name not in _PADDED or before.arguments == after.arguments
    return {before.name, after.name} <= _NUMBERS or after.name in _KEPT.get(before.name, ())
