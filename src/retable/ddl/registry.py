"""The dialects, one line each, and what their statements and types mean."""

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
"""What a source speaks of which nothing tells the database."""

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
    """Give a database's dialect; of one that nobody knows neither statements nor types are understood."""
    return DIALECTS.get(system.lower(), _UNKNOWN)


def gold_type(system: str, source_type: str, *, has_lengths: bool = True) -> GoldType | None:
    """Find the gold type of a column type, as DDL writes it or as a message names it; None: an unknown type.

    `has_lengths` False is for messages that never print lengths (Canal JSON of DTS): there a bare `decimal` may
    hold any digits and becomes a string, and a bare `bit` a long; in DDL they are `decimal(10,0)` and `bit(1)`.
    Source: docs/formats.md, types in gold.
    """
    return find_dialect(system).gold_type(source_type, has_lengths)


def keeps_values(system: str, old: str | None, new: str) -> bool:
    """Say whether a database keeps every stored value when a column goes from type `old` to `new`.

    Rows that stood before such a change are converted at the source without any event, so a change that can cut
    digits, fractions of a second or labels must not be replayed as if nothing happened. An unknown `old` is believed.
    Where nobody knows the database, only a type that stays as it is keeps values.
    """
    return old is None or find_dialect(system).keeps_values(old, new)


def storer(system: str, source_type: str) -> Store:
    """Find how values of the gold type that stands for `source_type` are stored in a column of it.

    A fixed length is filled as the database fills it. ValueError for a value that it would cut, round or refuse, and
    for every value where nobody knows the database or the type.
    """
    return find_dialect(system).storer(source_type)


def parse_statement(
    dialect: str, statement: str, database: str | None, schema: str | None, table: str | None
) -> tuple[SchemaChange, ...]:
    """Read what a DDL statement means, in the order in which its changes apply; at least one change comes back.

    Names that the statement does not qualify are of `database`. The statement's own text decides which tables
    change: `table` (a rename's message carries the new name, several tables' only the first) is held where the
    text cannot be understood. No text raises: what is not understood is Unsupported, the whole statement at once.
    InvalidSetting for a dialect that is not in PARSERS. Every replay reads all statements of its source: one text is
    parsed once a process.
    """
    parse = _parse if len(statement) > _LONG_TEXT else _remembered
    return parse(dialect, statement, database, schema, table)


def _parse(
    dialect: str, statement: str, database: str | None, schema: str | None, table: str | None
) -> tuple[SchemaChange, ...]:
    parse = PARSERS.get(dialect.lower())
    if parse is None:
        raise InvalidSetting(f"there is no DDL dialect {dialect!r}; there are {', '.join(sorted(PARSERS))}")
    held = TableName(database, schema, table) if database and table else None
    return parse(statement, Context(database, schema, held))


_remembered = lru_cache(maxsize=8192)(_parse)


@lru_cache(maxsize=8192)
def describe(change: SchemaChange) -> Mapping[str, object]:
    """Show a schema change as JSON can hold it: `kind`, then its fields under their own names.

    A change that every replay traces anew is shown once a process.
    """
    return {"kind": KINDS[type(change)], **asdict(change)}
