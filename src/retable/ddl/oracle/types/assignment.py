"""How Oracle stores a value in a column. It pads a CHAR with blanks and does not cut values."""

from retable.ddl.type_text import read_type_text
from retable.ddl.value_checks import Store, padded, refuse, same

_WHOLE = frozenset(
    {"number", "numeric", "decimal", "dec", "integer", "int", "smallint", "float"}
    | {"varchar2", "varchar", "nvarchar2", "clob", "nclob", "long", "raw", "long raw", "blob", "date"}
)


def storer(source_type: str) -> Store:
    kind = read_type_text(source_type)
    if kind.name in ("char", "nchar"):
        length = kind.arguments.split()[0] if kind.arguments else "1"
        return padded(int(length)) if length.isdigit() else refuse
    return same if kind.name in _WHOLE else refuse
