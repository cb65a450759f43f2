"""What stands between the parentheses of CREATE TABLE: columns, keys and constraints."""

from dataclasses import dataclass

from retable.ddl.mysql.columns import ColumnDefinition, read_column
from retable.ddl.mysql.cursor import Cursor
from retable.errors import UnsupportedChange

_KEY_WORDS = {
    "PRIMARY": "primary key",
    "UNIQUE": "unique index",
    "INDEX": "index",
    "KEY": "index",
    "FULLTEXT": "index",
    "SPATIAL": "index",
    "FOREIGN": "foreign key",
    "CHECK": "check",
}


@dataclass(frozen=True, slots=True)
class Key:
    """A key or constraint of the table; `columns` only of the primary key."""

    what: str
    columns: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Elements:
    columns: tuple[ColumnDefinition, ...]
    primary: tuple[str, ...]


def read_elements(cursor: Cursor) -> Elements:
    cursor.expect("(")
    columns: list[ColumnDefinition] = []
    primary: tuple[str, ...] = ()
    while True:
        cursor.begin_clause()
        if key := read_key(cursor):
            primary = primary or key.columns
        else:
            column = read_column(cursor, cursor.name())
            columns.append(column)
            primary = primary or ((column.name,) if column.primary else ())
        if not cursor.take(","):
            cursor.expect(")")
            return Elements(tuple(columns), primary)


def read_key(cursor: Cursor) -> Key | None:
    """Read a key or constraint up to the next comma; None where a column's name comes next."""
    if cursor.sees("PERIOD", "FOR"):
        raise UnsupportedChange("a table with periods keeps rows that its events delete")
    named = cursor.take("CONSTRAINT")
    if named and cursor.word not in _KEY_WORDS:
        cursor.name()
    if cursor.sees("VECTOR", "INDEX") or cursor.sees("VECTOR", "KEY"):
        cursor.next()
    what = _KEY_WORDS.get(cursor.word)
    if what is None:
        if named:
            raise cursor.unknown()
        return None
    columns: tuple[str, ...] = ()
    if cursor.take("PRIMARY", "KEY"):
        cursor.skip_to("(")
        columns = _read_key_columns(cursor)
    cursor.skip_to(",")
    return Key(what, columns)


def _read_key_columns(cursor: Cursor) -> tuple[str, ...]:
    """Read `(a, b(10) DESC)`; a prefix that is unique makes the whole value unique."""
    columns: list[str] = []
    cursor.expect("(")
    while True:
        columns.append(cursor.name())
        cursor.skip_group()
        cursor.take_any({"ASC", "DESC"})
        if not cursor.take(","):
            cursor.expect(")")
            return tuple(columns)
