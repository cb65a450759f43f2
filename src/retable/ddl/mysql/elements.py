"""Read the elements in the parentheses of CREATE TABLE: columns, keys and constraints."""

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
class KeyDefinition:
    """A key or constraint in a statement. `what` is its kind in words, such as `unique index`.

    `columns` are set only for a primary key, and `reference` only for a foreign key.
    """

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


def read_key(cursor: Cursor) -> KeyDefinition | None:
    """Read a key or constraint. Return None if neither comes next, as before the definition of a column."""
    if cursor.sees("PERIOD", "FOR"):
        raise UnsupportedChange(
            "PERIOD FOR: in such a table a delete may leave rows with another period, and the log does not show them"
        )
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
        return KeyDefinition(what, reference=read_foreign_key(cursor, name))
    if what == "check":
        cursor.next()
        if not cursor.skip_group():
            raise cursor.unknown()
        skip_enforcement(cursor)
        return KeyDefinition(what)
    columns = _read_index(cursor)
    while _skip_index_option(cursor):
        pass
    return KeyDefinition(what, columns if what == "primary key" else ())


def skip_enforcement(cursor: Cursor) -> None:
    """Step over ENFORCED or NOT ENFORCED after a constraint, if it comes next."""
    if not cursor.take("NOT", "ENFORCED"):
        cursor.take("ENFORCED")


def skip_index_visibility(cursor: Cursor) -> bool:
    """Step over VISIBLE, INVISIBLE, IGNORED or NOT IGNORED after an index. Return whether such a word came next."""
    return cursor.take("NOT", "IGNORED") or cursor.take_any({"VISIBLE", "INVISIBLE", "IGNORED"})


def _read_index(cursor: Cursor) -> tuple[str, ...]:
    """Read an index from its kind to its columns. Return the columns only if it is the primary key."""
    is_primary = cursor.take("PRIMARY", "KEY")
    if not is_primary:
        cursor.take_any({"UNIQUE", "FULLTEXT", "SPATIAL"})
        cursor.take_any({"INDEX", "KEY"})
        cursor.take("IF", "NOT", "EXISTS")
    while not cursor.sees("("):
        if cursor.take("USING"):
            cursor.next()
        else:
            cursor.name()
    if is_primary:
        return read_key_columns(cursor)
    cursor.skip_group()
    return ()


def _skip_index_option(cursor: Cursor) -> bool:
    """Step over one option after an index. Return False if no option comes next.

    MariaDB has further options in the form `name=value`, such as `M=8`.
    """
    if skip_index_visibility(cursor) or cursor.take_any({"CLUSTERED", "NONCLUSTERED", "GLOBAL", "LOCAL"}):
        return True
    if cursor.take("USING"):
        cursor.next()
    elif cursor.take("WITH", "PARSER"):
        cursor.name()
    elif cursor.take("COMMENT"):
        cursor.take("=")
        cursor.expect_string()
    elif cursor.take_any({"KEY_BLOCK_SIZE", "BLOCK_SIZE", "ENGINE_ATTRIBUTE", "SECONDARY_ENGINE_ATTRIBUTE"}):
        cursor.take("=")
        cursor.next()
    else:
        mark = cursor.mark
        if cursor.ended or cursor.word in (",", ")", ";"):
            return False
        cursor.next()
        if not cursor.take("="):
            cursor.rewind(mark)
            return False
        cursor.next()
    return True
