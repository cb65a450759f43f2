"""The list of dialects, and the functions that read statements and types in them."""

from collections.abc import Mapping
from dataclasses import asdict
from functools import lru_cache

from retable.ddl.dialect import Dialect
from retable.ddl.mysql.dialect import MARIADB, MYSQL
from retable.ddl.oracle.dialect import ORACLE
from retable.ddl.postgresql.dialect import POSTGRESQL
from retable.ddl.sqlserver.dialect import SQLSERVER
from retable.ddl.statement import Context
from retable.ddl.value_checks import Store
from retable.errors import InvalidSetting
from retable.model.event import TableName
from retable.model.schema import GoldType
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

DIALECTS = {
    known.name: known
    for known in (
        MYSQL,
        MARIADB,
        ORACLE,
        SQLSERVER,
        POSTGRESQL,
    )
}
PARSERS = {name: known.parse for name, known in DIALECTS.items() if known.parse is not None}
"""The dialects whose statements are read."""
DEFAULT = MYSQL.name
"""The dialect of a source if nothing names its database."""

_UNKNOWN = Dialect(name="")

_LONG_TEXT = 4096

KINDS: dict[type[SchemaChange], str] = {
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


def find_dialect(system: str) -> Dialect:
    """Give a database's dialect. For an unknown database no statement and no type is understood."""
    return DIALECTS.get(system.lower(), _UNKNOWN)


def gold_type(system: str, source_type: str, *, has_lengths: bool = True) -> GoldType | None:
    """Find the gold type of a column type, as DDL or a message writes it; None: an unknown type.

    `has_lengths` False is for messages that never contain lengths (Canal JSON of DTS): there a bare `decimal` may hold
    any digits and becomes a string, and a bare `bit` a long; in DDL they are `decimal(10,0)` and `bit(1)`. Source:
    docs/formats.md, types in gold.
    """
    return find_dialect(system).gold_type(source_type, has_lengths)


def keeps_values(system: str, old: str | None, new: str) -> bool:
    """Say whether a database keeps every stored value when a column changes from type `old` to `new`.

    The source converts existing rows at such a change without an event. So a change that can cut digits, fractions of a
    second or labels must not be replayed as if nothing happened. With an unknown `old` the answer is yes. For an
    unknown database only an unchanged type keeps values.
    """
    return old is None or find_dialect(system).keeps_values(old, new)


def storer(system: str, source_type: str) -> Store:
    """Find how values of the gold type for `source_type` are stored in a column of it.

    A value of fixed length is padded as the database pads it. ValueError for a value that the database would cut, round
    or refuse, and for every value if the database or the type is unknown.
    """
    return find_dialect(system).storer(source_type)


def parse_statement(
    dialect: str, statement: str, database: str | None, schema: str | None, table: str | None
) -> tuple[SchemaChange, ...]:
    """Read what a DDL statement means. Return at least one change, in the order in which they apply.

    Unqualified names are in `database`. The statement's text decides which tables change. `table` (the new name of a
    rename, the first of several tables) is held if the text cannot be understood. No text raises: a statement that is
    not fully understood is Unsupported as a whole. InvalidSetting for a dialect that is not in PARSERS. Every replay
    reads all statements of its source, so a process parses each text once.
    """
    parse = _parse if len(statement) > _LONG_TEXT else _remembered
    return parse(dialect, statement, database, schema, table)


def _parse(
    dialect: str, statement: str, database: str | None, schema: str | None, table: str | None
) -> tuple[SchemaChange, ...]:
    parse = PARSERS.get(dialect.lower())
    if parse is None:
        raise InvalidSetting(f"there is no DDL dialect {dialect!r}; the dialects are {', '.join(sorted(PARSERS))}")
    held = TableName(database, schema, table) if database and table else None
    return parse(statement, Context(database, schema, held))


_remembered = lru_cache(maxsize=8192)(_parse)


@lru_cache(maxsize=8192)
def describe(change: SchemaChange) -> Mapping[str, object]:
    """Show a schema change as JSON can hold it: `kind`, then its fields under their own names.

    Every replay describes the same changes, so a process does it once for each.
    """
    return {"kind": KINDS[type(change)], **asdict(change)}
