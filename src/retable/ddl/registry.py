"""The list of DDL dialects (databases), and functions that read a statement or a column type in a dialect."""

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
"""The functions that read statements, by the name of the dialect."""
DEFAULT = MYSQL.name
"""The dialect of a source if neither its messages nor its settings name its database."""

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
    """Return the dialect of a database. The dialect of an unknown database understands no statement and no type."""
    return DIALECTS.get(system.lower(), _UNKNOWN)


def gold_type(system: str, source_type: str, *, has_lengths: bool = True) -> GoldType | None:
    """Return the gold type of a column type that DDL or a message writes. Return None if the type is unknown.

    `has_lengths` is False for messages that never contain lengths (Canal JSON of DTS). In these messages `decimal` may
    have any number of digits and becomes a string, and `bit` becomes a long. In DDL of MySQL, `decimal` without lengths
    is `decimal(10,0)`, and `bit` is `bit(1)`. Source: docs/formats.md, types in gold.
    """
    return find_dialect(system).gold_type(source_type, has_lengths)


def keeps_values(system: str, old: str | None, new: str) -> bool:
    """Return whether a database keeps every stored value when a column changes from type `old` to `new`.

    At such a change the source converts existing rows and writes no event for them. So Retable must know if the change
    can cut digits or fractions of a second, or change labels of an ENUM. If `old` is None, the type in the source is
    not known, and the result is True: the caller then decides by the gold types. For an unknown database the result is
    True only if the type does not change.
    """
    return old is None or find_dialect(system).keeps_values(old, new)


def storer(system: str, source_type: str) -> Store:
    """Return a function that takes a value of gold and returns it as a column of `source_type` stores it.

    For example, the returned function pads values of a type with fixed length. It raises ValueError for a value that
    the database `system` would cut, round or refuse. If the database or the type is unknown, it always raises
    ValueError.
    """
    return find_dialect(system).storer(source_type)


def parse_statement(
    dialect: str, statement: str, database: str | None, schema: str | None, table: str | None
) -> tuple[SchemaChange, ...]:
    """Return the schema changes that a DDL statement means, in the order in which they apply. There is at least one.

    `database`, `schema` and `table` are those that the message names. `database` and `schema` complete the names that
    the statement writes without them. The changed tables are those that the statement names, even if the message names
    another `table`.

    A statement that is not fully understood raises no error. The result is then one Unsupported for each table that the
    statement names. If it names none, the Unsupported is for `table`. Replay holds (stops) these tables. Raise
    InvalidSetting if Retable does not read statements of `dialect`. Results for short texts are cached, because every
    replay reads all statements of a source.
    """
    parse = _parse if len(statement) > _LONG_TEXT else _remembered
    return parse(dialect, statement, database, schema, table)


def _parse(
    dialect: str, statement: str, database: str | None, schema: str | None, table: str | None
) -> tuple[SchemaChange, ...]:
    parse = PARSERS.get(dialect.lower())
    if parse is None:
        raise InvalidSetting(f"{dialect!r} is not a DDL dialect of Retable; use one of {', '.join(sorted(PARSERS))}")
    held = TableName(database, schema, table) if database and table else None
    return parse(statement, Context(database, schema, held))


_remembered = lru_cache(maxsize=8192)(_parse)


@lru_cache(maxsize=8192)
def describe(change: SchemaChange) -> Mapping[str, object]:
    """Return a schema change as a mapping for JSON: `kind`, then the fields of the change by name.

    The result is cached, because every replay describes the same changes.
    """
    return {"kind": KINDS[type(change)], **asdict(change)}
