"""The door of this room: one line per dialect."""

from collections.abc import Callable
from dataclasses import asdict
from functools import lru_cache

from retable.ddl.mysql.statement import GRAMMAR as MYSQL
from retable.ddl.oracle.statement import GRAMMAR as ORACLE
from retable.ddl.sqlserver.statement import GRAMMAR as SQLSERVER
from retable.ddl.statement import Context
from retable.errors import InvalidSetting
from retable.model.event import TableName
from retable.model.schema_change import (
    AddColumn,
    AddForeignKey,
    ChangeColumn,
    CreateTable,
    CreateTableLike,
    DeclareTable,
    DropColumn,
    DropDatabase,
    DropForeignKey,
    DropTable,
    MovePartitions,
    NoChange,
    RenameTable,
    SchemaChange,
    SetKey,
    StartTable,
    TruncateTable,
    Unsupported,
)

Dialect = Callable[[str, Context], tuple[SchemaChange, ...]]

DIALECTS: dict[str, Dialect] = {
    "mysql": MYSQL.parse,
    "mariadb": MYSQL.parse,
    "oracle": ORACLE.parse,
    "sqlserver": SQLSERVER.parse,
}

_LONG_TEXT = 4096

_KINDS: dict[type[SchemaChange], str] = {
    CreateTable: "create_table",
    CreateTableLike: "create_table_like",
    DeclareTable: "declare_table",
    StartTable: "start_table",
    AddColumn: "add_column",
    DropColumn: "drop_column",
    ChangeColumn: "change_column",
    SetKey: "set_key",
    TruncateTable: "truncate_table",
    DropTable: "drop_table",
    RenameTable: "rename_table",
    DropDatabase: "drop_database",
    AddForeignKey: "add_foreign_key",
    DropForeignKey: "drop_foreign_key",
    NoChange: "no_change",
    Unsupported: "unsupported",
    MovePartitions: "move_partitions",
}


def parse_statement(
    dialect: str, statement: str, database: str | None, schema: str | None, table: str | None
) -> tuple[SchemaChange, ...]:
    """Read what a DDL statement means, in the order in which its changes apply; at least one change comes back.

    Names that the statement does not qualify are of `database`. The statement's own text decides which tables
    change: `table` (a rename's message carries the new name, several tables' only the first) is held where the
    text cannot be understood. No text raises: what is not understood is Unsupported, the whole statement at once.
    InvalidSetting for a dialect that is not in DIALECTS. Every replay reads all statements of its source: one text is
    parsed once a process.
    """
    parse = _parse if len(statement) > _LONG_TEXT else _remembered
    return parse(dialect, statement, database, schema, table)


def _parse(
    dialect: str, statement: str, database: str | None, schema: str | None, table: str | None
) -> tuple[SchemaChange, ...]:
    parse = DIALECTS.get(dialect.lower())
    if parse is None:
        raise InvalidSetting(f"there is no DDL dialect {dialect!r}; there are {', '.join(sorted(DIALECTS))}")
    held = TableName(database, schema, table) if database and table else None
    return parse(statement, Context(database, schema, held))


_remembered = lru_cache(maxsize=8192)(_parse)


def describe(change: SchemaChange) -> dict[str, object]:
    """Show a schema change as JSON can hold it: `kind`, then its fields under their own names."""
    return {"kind": _KINDS[type(change)], **asdict(change)}
