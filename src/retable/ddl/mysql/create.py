"""Read CREATE TABLE of MySQL."""

from collections.abc import Set
from dataclasses import replace

from retable.ddl.mysql.columns import ColumnDefinition, read_charset
from retable.ddl.mysql.cursor import Cursor
from retable.ddl.mysql.elements import read_elements
from retable.ddl.mysql.names import Names
from retable.ddl.mysql.references import of_database
from retable.errors import UnsupportedChange
from retable.model.schema import ColumnSpec
from retable.model.schema_change import CreateTable, CreateTableLike, DropTable, SchemaChange

_QUERY_WORDS = ("SELECT", "WITH", "VALUES", "TABLE")


def read_create_table(cursor: Cursor, names: Names, replacing: bool) -> tuple[SchemaChange, ...]:
    """Read the text after CREATE TABLE. `replacing` is True after MariaDB's OR REPLACE, which drops the old table."""
    if_not_exists = cursor.take("IF", "NOT", "EXISTS")
    table = names.read(cursor)
    dropped = (DropTable(table, if_exists=True),) if replacing else ()
    cursor.begin_clause()
    if cursor.take("LIKE"):
        return *dropped, CreateTableLike(table, names.read(cursor, changes=False), if_not_exists)
    if cursor.take("(", "LIKE"):
        like = names.read(cursor, changes=False)
        cursor.expect(")")
        return *dropped, CreateTableLike(table, like, if_not_exists)
    declared = cursor.sees("(") and not _at_query(cursor)
    elements = read_elements(cursor) if declared else None
    columns = elements.columns if elements else ()
    keys = elements.primary if elements else ()
    references = tuple(of_database(key, table.database) for key in elements.references) if elements else ()
    queried = _skip_options(cursor, columns)
    if not (declared or queried):
        raise UnsupportedChange("CREATE TABLE declares no columns, so the columns of the table are not known")
    in_key = {key.lower() for key in keys}
    specs = tuple(_spec(column, in_key) for column in columns)
    return *dropped, CreateTable(table, specs, _as_declared(keys, specs), not queried, if_not_exists, references)


def _at_query(cursor: Cursor) -> bool:
    return cursor.word in _QUERY_WORDS or cursor.sees("(", "(") or any(cursor.sees("(", word) for word in _QUERY_WORDS)


def _skip_options(cursor: Cursor, columns: tuple[ColumnDefinition, ...]) -> bool:
    """Step over options, partitions and a query. Return whether there is a query."""
    has_text = any(column.is_text and column.charset is None for column in columns)
    while not (cursor.ended or cursor.sees(";") or cursor.sees(")")):
        if cursor.sees("WITH", "SYSTEM"):
            raise UnsupportedChange("WITH SYSTEM VERSIONING: the table keeps rows that the log shows as deleted")
        if cursor.take("AS") or _at_query(cursor):
            cursor.skip_to()
            return True
        charset = read_charset(cursor)
        if charset is None:
            cursor.skip()
        elif charset == "BINARY" and has_text:
            raise UnsupportedChange(
                "the character set of the table is `binary`, so its text columns contain bytes; declare these columns "
                "as BINARY, VARBINARY or BLOB with `retable hold release --as`"
            )
    return False


def _spec(column: ColumnDefinition, in_key: Set[str]) -> ColumnSpec:
    return replace(column.spec(), not_null=column.not_null or column.name.lower() in in_key)


def _as_declared(keys: tuple[str, ...], columns: tuple[ColumnSpec, ...]) -> tuple[str, ...]:
    """Return the columns of the key, each in upper and lower case as in its own definition."""
    spelling = {column.name.lower(): column.name for column in columns}
    return tuple(spelling.get(key.lower(), key) for key in keys)
