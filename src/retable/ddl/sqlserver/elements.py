"""Read the elements in the parentheses of CREATE TABLE and after ADD: columns and constraints."""

from dataclasses import dataclass

from retable.ddl.sqlserver.columns import ColumnDefinition, read_column
from retable.ddl.sqlserver.constraints import read_constraint
from retable.ddl.sqlserver.cursor import Cursor

_CONSTRAINTS = frozenset({"CONSTRAINT", "PRIMARY", "UNIQUE", "FOREIGN", "CHECK", "INDEX", "DEFAULT"})


@dataclass(frozen=True, slots=True)
class Other:
    """An element of a table that is not a column: a constraint, an index or a period.

    `what` is its kind in words. `key` has the columns if the element is the primary key.
    """

    what: str
    key: tuple[str, ...] = ()


def read_element(cursor: Cursor) -> ColumnDefinition | Other:
    if cursor.take("PERIOD", "FOR", "SYSTEM_TIME"):
        if not cursor.skip_group():
            raise cursor.unknown()
        return Other("period")
    return Other(*read_constraint(cursor)) if cursor.word in _CONSTRAINTS else read_column(cursor)
