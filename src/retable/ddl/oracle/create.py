"""Read CREATE TABLE of Oracle."""

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
    """Read the text after CREATE TABLE. Skip the words about the storage of the table."""
    if_not_exists = cursor.take("IF", "NOT", "EXISTS")
    table = names.read(cursor)
    cursor.begin_clause()
    if cursor.take("SHARING"):
        cursor.take("=")
        cursor.next()
    if cursor.sees("OF"):
        raise UnsupportedChange("CREATE TABLE … OF declares no columns: they are in the declaration of the object type")
    if cursor.take("FOR", "EXCHANGE", "WITH", "TABLE"):
        like = CreateTableLike(table, names.read(cursor, changes=False), if_not_exists)
        cursor.skip_to()
        return (like,)
    elements = read_elements(cursor) if cursor.sees("(") else None
    queried = _skip_storage(cursor)
    if elements is None and not queried:
        raise UnsupportedChange("CREATE TABLE declares no columns, so the columns of the table are not known")
    return (_created(table, elements or Elements((), ()), queried, if_not_exists),)


def _skip_storage(cursor: Cursor) -> bool:
    """Step over all words about storage. Return whether a query comes after them."""
    while not (cursor.ended or cursor.word in (";", ")")):
        if cursor.sees("AS", "SELECT") or cursor.sees("AS", "WITH") or cursor.sees("AS", "("):
            cursor.skip_to()
            return True
        cursor.skip()
    return False


def _created(table: TableName, elements: Elements, queried: bool, if_not_exists: bool) -> CreateTable:
    """Return the schema change for CREATE TABLE.

    Virtual columns, and columns whose type comes from a query, are not in it: the rows show them.
    """
    untyped = [column.name for column in elements.columns if not (column.source_type or column.generated)]
    if untyped and not queried:
        raise UnsupportedChange(f"CREATE TABLE does not declare the type of column {untyped[0]!r}")
    stored = [column for column in elements.columns if column.source_type and not column.generated]
    left_out = {column.name for column in elements.columns if column.generated or not column.source_type}
    if missing := [key for key in elements.primary if key in left_out]:
        raise UnsupportedChange(
            f"the type of column {missing[0]!r} in the primary key is not known: CREATE TABLE does not declare this "
            "type, or the column is computed"
        )
    complete = not queried and len(stored) == len(elements.columns) and "period" not in elements.others
    keys = frozenset(elements.primary)
    columns = tuple(_spec(column, keys) for column in stored)
    return CreateTable(table, columns, elements.primary, complete, if_not_exists)


def _spec(column: ColumnDefinition, keys: frozenset[str]) -> ColumnSpec:
    return replace(column.spec(), not_null=column.not_null or column.name in keys)
