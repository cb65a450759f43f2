"""CREATE TABLE of Oracle."""

from dataclasses import replace

from retable.ddl.oracle.columns import ColumnDefinition
from retable.ddl.oracle.cursor import Cursor
from retable.ddl.oracle.elements import Elements, read_elements
from retable.ddl.oracle.names import Names
from retable.errors import UnsupportedChange
from retable.model.event import TableName
from retable.model.schema import ColumnSpec
from retable.model.schema_change import CreateTable, CreateTableLike, SchemaChange


def read_create_table(cursor: Cursor, names: Names) -> tuple[SchemaChange, ...]:
    """Read the text after CREATE TABLE. Skip how and where the table is stored."""
    if_not_exists = cursor.take("IF", "NOT", "EXISTS")
    table = names.read(cursor)
    cursor.begin_clause()
    if cursor.take("SHARING"):
        cursor.take("=")
        cursor.next()
    if cursor.sees("OF"):
        raise UnsupportedChange("an object table has the columns of its type, and the statement does not declare them")
    if cursor.take("FOR", "EXCHANGE", "WITH", "TABLE"):
        like = CreateTableLike(table, names.read(cursor, changes=False), if_not_exists)
        cursor.skip_to()
        return (like,)
    elements = read_elements(cursor) if cursor.sees("(") else None
    queried = _skip_storage(cursor)
    if elements is None and not queried:
        raise UnsupportedChange("the statement declares no column")
    return (_created(table, elements or Elements((), ()), queried, if_not_exists),)


def _skip_storage(cursor: Cursor) -> bool:
    """Step over everything about storage. Say whether a query follows it."""
    while not (cursor.ended or cursor.word in (";", ")")):
        if cursor.sees("AS", "SELECT") or cursor.sees("AS", "WITH") or cursor.sees("AS", "("):
            cursor.skip_to()
            return True
        cursor.skip()
    return False


def _created(table: TableName, elements: Elements, queried: bool, if_not_exists: bool) -> CreateTable:
    """The table. Columns without stored values, or with a type that comes from a query, are left to the rows."""
    untyped = [column.name for column in elements.columns if not (column.source_type or column.generated)]
    if untyped and not queried:
        raise UnsupportedChange(f"the statement does not declare the type of column {untyped[0]!r}")
    stored = [column for column in elements.columns if column.source_type and not column.generated]
    left_out = {column.name for column in elements.columns if column.generated or not column.source_type}
    if missing := [key for key in elements.primary if key in left_out]:
        raise UnsupportedChange(f"the type of the key column {missing[0]!r} is not known")
    complete = not queried and len(stored) == len(elements.columns) and "period" not in elements.others
    keys = frozenset(elements.primary)
    columns = tuple(_spec(column, keys) for column in stored)
    return CreateTable(table, columns, elements.primary, complete, if_not_exists)


def _spec(column: ColumnDefinition, keys: frozenset[str]) -> ColumnSpec:
    return replace(column.spec(), not_null=column.not_null or column.name in keys)
