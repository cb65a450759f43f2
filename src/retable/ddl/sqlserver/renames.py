"""Read renames of SQL Server: sp_rename renames a table or a column, and ALTER SCHEMA moves a table to a schema."""

from retable.ddl.sqlserver.cursor import Cursor
from retable.ddl.sqlserver.names import DEFAULT_SCHEMA, Names
from retable.errors import UnsupportedChange
from retable.model.event import TableName
from retable.model.schema import ColumnSpec
from retable.model.schema_change import ChangeColumn, NoChange, RenameTable, SchemaChange

_PARAMETERS = ("OBJNAME", "NEWNAME", "OBJTYPE")


def read_execute(cursor: Cursor, names: Names) -> tuple[SchemaChange, ...]:
    """Read `EXEC sp_rename 'dbo.t.a', 'b', 'COLUMN'`. Raise UnsupportedChange for every other procedure."""
    if cursor.names()[-1].lower() != "sp_rename":
        raise UnsupportedChange(
            "EXEC calls a procedure other than sp_rename, and it is not known what this procedure changes; write its "
            "effect on this table with `retable hold release --as`, or use `--skip` if there is no effect"
        )
    found = _read_arguments(cursor)
    if "OBJNAME" not in found or "NEWNAME" not in found:
        raise cursor.unknown()
    new, kind = found["NEWNAME"], found.get("OBJTYPE", "OBJECT").upper()
    if kind not in ("COLUMN", "OBJECT"):
        return (NoChange(f"sp_rename {kind}"),)
    parts = Cursor(found["OBJNAME"])
    named = parts.names()
    if not parts.ended:
        raise parts.unknown()
    if kind == "OBJECT" and ("OBJTYPE" in found or _is_table(named, new, names)):
        table = names.take(named)
        return (RenameTable(table, TableName(table.database, table.schema, new)),)
    if len(named) < 2:
        raise UnsupportedChange(f"sp_rename does not name the table of column {named[-1]!r}: expected 'table.column'")
    return (ChangeColumn(names.take(named[:-1]), named[-1], ColumnSpec(new, ""), None),)


def _is_table(named: list[str], new: str, names: Names) -> bool:
    """Return whether the first argument of sp_rename means a table (True) or a column (False).

    `a.b` is the table b in the schema a, or the column b of the table a. SQL Server takes what exists. Here the table
    of the message decides. It may already have the new name, `new`.
    """
    if len(named) == 1:
        return True
    about, (table, _), (owner, _) = names.about, names.qualify(named), names.qualify(named[:-1])
    if about is not None and _same(about, owner):
        return False
    renamed = TableName(table.database, table.schema, new)
    if about is not None and (_same(about, table) or _same(about, renamed)):
        return True
    if len(named) == 2 and named[0].casefold() in (DEFAULT_SCHEMA, (names.schema or "").casefold()):
        return True
    raise UnsupportedChange(
        f"it is not known whether sp_rename renames the table {table} or a column of {owner}; add 'OBJECT' or 'COLUMN' "
        "with `retable hold release --as`"
    )


def _same(one: TableName, other: TableName) -> bool:
    return str(one).casefold() == str(other).casefold()


def read_transfer(cursor: Cursor, names: Names) -> tuple[SchemaChange, ...]:
    """Read the text after ALTER SCHEMA: `x TRANSFER [OBJECT::] y.t` moves the table t from the schema y to x."""
    schema = cursor.name()
    cursor.expect("TRANSFER")
    if not cursor.take("OBJECT", ":", ":") and not cursor.take("OBJECT", "::") and _names_kind(cursor):
        cursor.skip_rest()
        return (NoChange("ALTER SCHEMA"),)
    table = names.read(cursor)
    return (RenameTable(table, TableName(table.database, schema, table.table)),)


def _names_kind(cursor: Cursor) -> bool:
    return cursor.sees("TYPE", ":") or cursor.sees("TYPE", "::") or cursor.sees("XML", "SCHEMA", "COLLECTION")


def _read_arguments(cursor: Cursor) -> dict[str, str]:
    found: dict[str, str] = {}
    while not found or cursor.take(","):
        parameter = _PARAMETERS[len(found)] if len(found) < len(_PARAMETERS) else ""
        if cursor.take("@"):
            parameter = cursor.name().upper()
            cursor.expect("=")
        text = cursor.string()
        if text is None:
            text = cursor.name()
        if parameter not in _PARAMETERS:
            raise cursor.unknown()
        found[parameter] = text
    return found
