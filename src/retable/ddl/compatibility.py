"""Which changes of a source type leave every stored value as it is."""

from collections.abc import Callable

from retable.ddl.mysql.types.compatibility import keeps_values as _mysql
from retable.ddl.mysql.types.compatibility import mariadb_keeps_values as _mariadb
from retable.ddl.oracle.types.compatibility import keeps_values as _oracle
from retable.ddl.sqlserver.types.compatibility import keeps_values as _sqlserver

_SYSTEMS: dict[str, Callable[[str, str], bool]] = {
    "mysql": _mysql,
    "mariadb": _mariadb,
    "oracle": _oracle,
    "sqlserver": _sqlserver,
}


def keeps_values(system: str, old: str | None, new: str) -> bool:
    """Say whether a database keeps every stored value when a column goes from type `old` to `new`.

    Rows that stood before such a change are converted at the source without any event, so a change that can cut
    digits, fractions of a second or labels must not be replayed as if nothing happened. An unknown `old` is believed.
    Where nobody knows the database, only a type that stays as it is keeps values.
    """
    if old is None:
        return True
    read = _SYSTEMS.get(system.lower())
    return read(old, new) if read else old.strip().lower() == new.strip().lower()
