"""What a database makes of a value when its column takes another type, where it keeps the value whole."""

from collections.abc import Callable

from retable.ddl.mysql.types.assignment import storer as _mysql
from retable.ddl.oracle.types.assignment import storer as _oracle
from retable.ddl.sqlserver.types.assignment import storer as _sqlserver
from retable.ddl.value_checks import Store, refuse

_SYSTEMS: dict[str, Callable[[str], Store]] = {
    "mysql": _mysql,
    "mariadb": _mysql,
    "oracle": _oracle,
    "sqlserver": _sqlserver,
}


def storer(system: str, source_type: str) -> Store:
    """Find how values of the gold type that stands for `source_type` are stored in a column of it.

    A fixed length is filled as the database fills it. ValueError for a value that it would cut, round or refuse, and
    for every value where nobody knows the database or the type.
    """
    read = _SYSTEMS.get(system.lower())
    return read(source_type) if read else refuse
