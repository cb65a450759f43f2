"""What stands between the parentheses of CREATE TABLE: columns, keys and constraints."""

from dataclasses import dataclass

from retable.ddl.mysql.columns import ColumnDefinition, read_column
from retable.ddl.mysql.cursor import Cursor
from retable.ddl.mysql.references import read_foreign_key, read_key_columns
from retable.errors import UnsupportedChange
from retable.model.schema_change import ForeignKey

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
    """A key or constraint of the table; `columns` only of the primary key, `reference` of a foreign one."""

    what: str
    columns: tuple[str, ...] = ()
    reference: ForeignKey | None = None


@dataclass(frozen=True, slots=True)
class Elements:
    columns: tuple[ColumnDefinition, ...]
    primary: tuple[str, ...]
    references: tuple[ForeignKey, ...]


def read_elements(cursor: Cursor) -> Elements:
    cursor.expect("(")
    columns: list[ColumnDefinition] = []
    primary: tuple[str, ...] = ()
    references: list[ForeignKey] = []
    while True:
        cursor.begin_clause()
        if key := read_key(cursor):
            primary = primary or key.columns
            references += [key.reference] if key.reference else []
        else:
            column = read_column(cursor, cursor.name())
            columns.append(column)
            primary = primary or ((column.name,) if column.primary else ())
            references += [column.reference] if column.reference else []
        if not cursor.take(","):
            cursor.expect(")")
            return Elements(tuple(columns), primary, tuple(references))


def read_key(cursor: Cursor) -> Key | None:
    """Read a key or constraint up to the next comma; None where a column's name comes next."""
    if cursor.sees("PERIOD", "FOR"):
        raise UnsupportedChange("a table with periods keeps rows that its events delete")
    named = cursor.take("CONSTRAINT")
    name = cursor.name() if named and cursor.word not in _KEY_WORDS else None
    if cursor.sees("VECTOR", "INDEX") or cursor.sees("VECTOR", "KEY"):
        cursor.next()
    what = _KEY_WORDS.get(cursor.word)
    if what is None:
        if named:
            raise cursor.unknown()
        return None
    if what == "foreign key":
        return Key(what, reference=read_foreign_key(cursor, name))
    columns: tuple[str, ...] = ()
    if cursor.take("PRIMARY", "KEY"):
        cursor.skip_to("(")
        columns = read_key_columns(cursor)
    cursor.skip_to(",")
    return Key(what, columns)
