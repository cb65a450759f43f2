"""The gold type of a source's column type (docs/formats.md, types in gold)."""

from collections.abc import Callable

from retable.ddl.mysql.types.gold_type import gold_type as _mysql
from retable.ddl.oracle.types.gold_type import gold_type as _oracle
from retable.ddl.postgresql.types import gold_type as _postgresql
from retable.ddl.sqlserver.types.gold_type import gold_type as _sqlserver
from retable.model.schema import GoldType

_SYSTEMS: dict[str, Callable[[str, bool], GoldType | None]] = {
    "mysql": _mysql,
    "mariadb": _mysql,
    "oracle": _oracle,
    "postgresql": _postgresql,
    "sqlserver": _sqlserver,
}


def gold_type(system: str, source_type: str, *, lengths_told: bool = True) -> GoldType | None:
    """Find the gold type of a column type, as DDL writes it or as a message names it; None: an unknown type.

    `lengths_told` False is for messages that never print lengths (Canal JSON of DTS): there a bare `decimal` may
    hold any digits and becomes a string, and a bare `bit` a long; in DDL they are `decimal(10,0)` and `bit(1)`.
    """
    read = _SYSTEMS.get(system.lower())
    return read(source_type, lengths_told) if read else None
