"""Read ALTER TABLE of SQL Server. A statement has one kind of action, such as ADD, on any number of columns.

Retable applies no part of a statement if it does not understand the whole statement.
"""

from retable.ddl.defaults import for_no_rows
from retable.ddl.order import in_order
from retable.ddl.sqlserver.columns import ColumnDefinition, read_type
from retable.ddl.sqlserver.cursor import Cursor
from retable.ddl.sqlserver.elements import read_element
from retable.ddl.sqlserver.names import Names, is_temporary
from retable.errors import UnsupportedChange
from retable.model.event import TableName
from retable.model.schema import ColumnSpec
from retable.model.schema_change import AddColumn, ChangeColumn, DropColumn, NoChange, SchemaChange, SetKey

_COLUMN_OPTIONS = frozenset({"ADD", "DROP"})


def read_alter_table(cursor: Cursor, names: Names) -> tuple[SchemaChange, ...]:
    """Read the text after ALTER TABLE. `names` reads the table names in it. Return the schema changes."""
    table = names.read(cursor)
    cursor.begin_clause()
    if is_temporary(table):
        cursor.skip_rest()
        return (NoChange("temporary table"),)
    if cursor.take("WITH") and not cursor.take_any({"CHECK", "NOCHECK"}):
        raise cursor.unknown()
    return in_order(_read_action(cursor, table, names))


def _read_action(cursor: Cursor, table: TableName, names: Names) -> list[SchemaChange]:
    match cursor.word:
        case "ADD":
            return _read_add(cursor, table)
        case "ALTER":
            return [_read_alter_column(cursor, table)]
        case "DROP":
            return _read_drop(cursor, table)
        case "CHECK" | "NOCHECK":
            cursor.next()
            cursor.expect("CONSTRAINT")
            return [_skip_names(cursor, "constraint")]
        case "ENABLE" | "DISABLE":
            cursor.next()
            if not (cursor.take("TRIGGER") or cursor.sees("CHANGE_TRACKING") or cursor.sees("FILETABLE_NAMESPACE")):
                raise cursor.unknown()
            cursor.skip_rest()
            return [NoChange("triggers or tracking")]
        case "SET" | "REBUILD":
            what = cursor.next().text.lower()
            cursor.skip_rest()
            return [NoChange(what)]
        case "SWITCH":
            cursor.skip_to("TO")
            cursor.expect("TO")
            names.read(cursor)
            reason = "SWITCH removes or adds rows, and the log has no event for each of them"
            raise UnsupportedChange(reason, moves_partitions=True)
    raise cursor.unknown()


def _read_add(cursor: Cursor, table: TableName) -> list[SchemaChange]:
    cursor.expect("ADD")
    changes: list[SchemaChange] = []
    while not changes or cursor.take(","):
        cursor.begin_clause()
        element = read_element(cursor)
        if isinstance(element, ColumnDefinition):
            changes.append(_added(table, element))
            changes += [SetKey(table, element.key)] if element.key else []
        elif element.key:
            changes.append(SetKey(table, element.key))
        else:
            changes.append(NoChange(element.what))
    return changes


def _added(table: TableName, column: ColumnDefinition) -> AddColumn:
    """Return an added column. Old rows show its default if it is NOT NULL or has WITH VALUES, else null."""
    if column.generated:
        raise UnsupportedChange(
            f"the source computes column {column.name!r} in old rows, and the log has no event with the values; "
            "`retable hold release --as` can declare a plain column, which does not get these values"
        )
    if column.numbered:
        raise UnsupportedChange(
            f"the source fills column {column.name!r} of old rows with numbers, and the log has no event with these "
            "numbers; `retable hold release --as` can add a column without numbering, which is null in old rows"
        )
    default = column.default
    if not (column.not_null or column.fills_old_rows):
        default = column.default = None
    if default is not None and not (default.is_known or default.is_computed):
        raise UnsupportedChange(
            f"the value of column {column.name!r} in old rows is not known: Retable cannot convert its DEFAULT to "
            f"{column.source_type} as the source does; write another default with `retable hold release --as`"
        )
    return AddColumn(table, for_no_rows(column.spec()))


def _read_alter_column(cursor: Cursor, table: TableName) -> SchemaChange:
    cursor.expect("ALTER", "COLUMN")
    name = cursor.name()
    if cursor.word in _COLUMN_OPTIONS:
        cursor.skip_rest()
        return NoChange("column")
    source_type = read_type(cursor)
    not_null = False
    while not (cursor.ended or cursor.sees(";")):
        if cursor.take("NOT", "NULL"):
            not_null = True
        elif cursor.take("COLLATE"):
            cursor.name()
        elif cursor.sees("WITH", "(") or cursor.sees("MASKED", "WITH") or cursor.sees("ENCRYPTED", "WITH"):
            cursor.skip_to("(")
            cursor.skip_group()
        elif not cursor.take_any({"NULL", "SPARSE"}):
            raise cursor.unknown()
    return ChangeColumn(table, name, ColumnSpec(name, source_type, not_null), None)


def _read_drop(cursor: Cursor, table: TableName) -> list[SchemaChange]:
    """Read `DROP COLUMN a, b, CONSTRAINT c`.

    COLUMN or CONSTRAINT says what the names after it are. Names before the first of these words are constraints.
    """
    cursor.expect("DROP")
    if cursor.take("PERIOD", "FOR", "SYSTEM_TIME"):
        return [NoChange("period")]
    changes: list[SchemaChange] = []
    of_columns, if_exists = False, False
    while not changes or cursor.take(","):
        if cursor.word in ("COLUMN", "CONSTRAINT"):
            of_columns = cursor.next().text.upper() == "COLUMN"
            if_exists = cursor.take("IF", "EXISTS")
        name = cursor.name()
        changes.append(DropColumn(table, name, if_exists) if of_columns else _dropped_constraint(name))
        if not of_columns and cursor.take("WITH"):
            cursor.skip_group()
    return changes


def _dropped_constraint(name: str) -> NoChange:
    """Return a NoChange for the drop of the constraint `name`.

    Raise UnsupportedChange if the name may be that of the primary key. The statement shows only the name.
    """
    if "PK" in name.upper() or "PRIMARY" in name.upper():
        raise UnsupportedChange(
            f"the dropped constraint {name!r} may be the primary key, and the statement shows only its name; if it is "
            "another constraint, use `retable hold release --skip`"
        )
    return NoChange("constraint")


def _skip_names(cursor: Cursor, what: str) -> NoChange:
    cursor.name()
    while cursor.take(","):
        cursor.name()
    return NoChange(what)
