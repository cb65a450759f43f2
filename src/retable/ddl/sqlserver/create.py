"""Read CREATE TABLE of SQL Server."""

from dataclasses import replace

from retable.ddl.sqlserver.columns import ColumnDefinition
from retable.ddl.sqlserver.cursor import Cursor
from retable.ddl.sqlserver.elements import read_element
from retable.ddl.sqlserver.names import Names, is_temporary
from retable.errors import UnsupportedChange
from retable.model.schema import ColumnSpec
from retable.model.schema_change import CreateTable, NoChange, SchemaChange


def read_create_table(cursor: Cursor, names: Names) -> tuple[SchemaChange, ...]:
    """Read the text after CREATE TABLE. Skip the words about the storage of the table."""
    table = names.read(cursor)
    cursor.begin_clause()
    if is_temporary(table):
        cursor.skip_rest()
        return (NoChange("temporary table"),)
    if not cursor.sees("("):
        raise UnsupportedChange("CREATE TABLE declares no columns, so the columns of the table are not known")
    columns, key = _read_elements(cursor)
    cursor.skip_rest()
    stored = [column for column in columns if not column.generated]
    folded = {name.casefold() for name in key}
    if missing := [c.name for c in columns if c.generated and c.name.casefold() in folded]:
        raise UnsupportedChange(
            f"the type of column {missing[0]!r} in the primary key is not known, because the column is computed"
        )
    spelling = {column.name.casefold(): column.name for column in stored}
    specs = tuple(_spec(column, folded) for column in stored)
    keys = tuple(spelling.get(name.casefold(), name) for name in key)
    return (CreateTable(table, specs, keys, complete=len(stored) == len(columns)),)


def _read_elements(cursor: Cursor) -> tuple[list[ColumnDefinition], tuple[str, ...]]:
    cursor.expect("(")
    columns: list[ColumnDefinition] = []
    key: tuple[str, ...] = ()
    while True:
        cursor.begin_clause()
        element = read_element(cursor)
        if isinstance(element, ColumnDefinition):
            columns.append(element)
        key = key or element.key
        if not cursor.take(",") or cursor.sees(")"):
            cursor.expect(")")
            return columns, key


def _spec(column: ColumnDefinition, key: set[str]) -> ColumnSpec:
    return replace(column.spec(), not_null=column.not_null or column.name.casefold() in key)
