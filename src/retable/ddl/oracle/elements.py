"""Read the elements in the parentheses of CREATE TABLE and ADD: columns, constraints and supplemental log groups."""

from dataclasses import dataclass

from retable.ddl.oracle.columns import ColumnDefinition, read_column
from retable.ddl.oracle.constraints import read_constraint
from retable.ddl.oracle.cursor import Cursor


@dataclass(frozen=True, slots=True)
class Elements:
    """The elements that a statement declares. `primary` has the names of the columns of the primary key.

    `others` has the kind of each other element in words, such as `check`. Gold has no column for these elements.
    """

    columns: tuple[ColumnDefinition, ...]
    primary: tuple[str, ...]
    others: tuple[str, ...] = ()


def read_elements(cursor: Cursor) -> Elements:
    """Read all elements in parentheses: `(a NUMBER, PRIMARY KEY (a))`."""
    cursor.expect("(")
    columns: list[ColumnDefinition] = []
    primary: tuple[str, ...] = ()
    others: list[str] = []
    while True:
        cursor.begin_clause()
        if not at_column(cursor):
            what, key = read_other(cursor)
            others.append(what)
            primary = primary or key
        else:
            column = read_column(cursor)
            if column.hidden:
                others.append("statistics")
            else:
                columns.append(column)
            primary = primary or ((column.name,) if column.primary else ())
        if not cursor.take(","):
            cursor.expect(")")
            return Elements(tuple(columns), primary, tuple(others))


def at_column(cursor: Cursor) -> bool:
    return not (
        cursor.word in ("CONSTRAINT", "UNIQUE", "CHECK", "SUPPLEMENTAL", "PRIMARY")
        or cursor.sees("FOREIGN", "KEY")
        or cursor.sees("PERIOD", "FOR")
    )


def read_other(cursor: Cursor) -> tuple[str, tuple[str, ...]]:
    """Read an element that is not a column. Return its kind in words, and the columns of an enabled primary key."""
    if cursor.take("SUPPLEMENTAL", "LOG"):
        skip_log_group(cursor)
        return "supplemental log", ()
    if cursor.take("PERIOD", "FOR"):
        cursor.name()
        cursor.skip_group()
        return "period", ()
    constraint = read_constraint(cursor)
    return constraint.what, constraint.columns if constraint.is_key else ()


def skip_log_group(cursor: Cursor) -> None:
    """Step over the text after SUPPLEMENTAL LOG.

    It is `GROUP g (a, b NO LOG) ALWAYS` or `DATA (ALL, PRIMARY KEY) COLUMNS`.
    """
    if cursor.take("DATA"):
        if not cursor.skip_group():
            raise cursor.unknown()
        cursor.expect("COLUMNS")
        return
    cursor.expect("GROUP")
    cursor.name()
    cursor.skip_group()
    cursor.take("ALWAYS")
