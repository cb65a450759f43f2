"""The meanings that a DDL statement can have for a table. Each kind of schema change is one class."""

from dataclasses import dataclass
from typing import Literal

from retable.model.event import TableName
from retable.model.schema import ColumnSpec


@dataclass(frozen=True, slots=True)
class ColumnPosition:
    """The position of a column in a table: the `first` column, or the next one after the column `after`.

    If neither is set, a new column is the last one, and a present column stays where it is.
    """

    first: bool = False
    after: str | None = None


OnReferenced = Literal["refuse", "cascade", "set_null"]


@dataclass(frozen=True, slots=True)
class ForeignKey:
    """A foreign key: `columns` of this table refer to `parent_columns` of the table `parent`.

    If `parent_columns` is empty, they refer to the primary key of the parent. `on_delete` is what the source database
    does to rows of this table if their parent row is deleted, `on_update` if the referenced values change. `name` is
    None if the statement does not name the constraint.
    """

    name: str | None
    columns: tuple[str, ...]
    parent: TableName
    parent_columns: tuple[str, ...]
    on_delete: OnReferenced = "refuse"
    on_update: OnReferenced = "refuse"


@dataclass(frozen=True, slots=True)
class CreateTable:
    """A new table. `complete` is False if the statement does not contain all columns (CREATE … AS SELECT)."""

    table: TableName
    columns: tuple[ColumnSpec, ...]
    keys: tuple[str, ...]
    complete: bool = True
    if_not_exists: bool = False
    references: tuple[ForeignKey, ...] = ()


@dataclass(frozen=True, slots=True)
class CreateTableLike:
    table: TableName
    like: TableName
    if_not_exists: bool = False


@dataclass(frozen=True, slots=True)
class DeclareTable:
    """The columns and key of a table, as a dump of its schema shows them. The rows of the table stay.

    The change comes from an imported schema, not from a statement of the source.
    """

    table: TableName
    columns: tuple[ColumnSpec, ...]
    keys: tuple[str, ...]
    references: tuple[ForeignKey, ...] = ()


@dataclass(frozen=True, slots=True)
class StartTable:
    """A baseline of the table was taken at this position. It contains all earlier changes."""

    table: TableName


@dataclass(frozen=True, slots=True)
class AddColumn:
    table: TableName
    column: ColumnSpec
    place: ColumnPosition = ColumnPosition()
    if_not_exists: bool = False


@dataclass(frozen=True, slots=True)
class DropColumn:
    """A column is dropped. If `leaves_key` is True, the primary key loses this column but stays, as in MySQL."""

    table: TableName
    name: str
    if_exists: bool = False
    leaves_key: bool = False


@dataclass(frozen=True, slots=True)
class ChangeColumn:
    """MODIFY, CHANGE or RENAME COLUMN: the column `name` becomes `column`.

    If `column.source_type` is empty, the column keeps its type. `is_replaced` is True if the same statement also adds
    another column with the old name.
    """

    table: TableName
    name: str
    column: ColumnSpec
    place: ColumnPosition | None = None
    if_exists: bool = False
    is_replaced: bool = False


@dataclass(frozen=True, slots=True)
class SetKey:
    """The primary key of a table from this position on. If `keys` is empty, the table has no primary key.

    If `if_not_exists` is True, a table that already has a key keeps this key.
    """

    table: TableName
    keys: tuple[str, ...]
    if_not_exists: bool = False


@dataclass(frozen=True, slots=True)
class TruncateTable:
    """The statement removes all rows: rows of earlier changes no longer count."""

    table: TableName


@dataclass(frozen=True, slots=True)
class DropTable:
    table: TableName
    if_exists: bool = False


@dataclass(frozen=True, slots=True)
class RenameTable:
    table: TableName
    to: TableName


@dataclass(frozen=True, slots=True)
class DropDatabase:
    database: str


@dataclass(frozen=True, slots=True)
class NoChange:
    """The statement changes neither rows nor columns of gold.

    `what` says what the statement is about, such as an index, a comment, a view, a grant, a charset or an engine.
    """

    what: str


@dataclass(frozen=True, slots=True)
class AddForeignKey(NoChange):
    """A table gets a foreign key: from this position on, its rows refer to rows of another table."""

    table: TableName
    key: ForeignKey


@dataclass(frozen=True, slots=True)
class DropForeignKey(NoChange):
    """A table loses the foreign key with this name, if it has one."""

    table: TableName
    name: str


@dataclass(frozen=True, slots=True)
class Unsupported:
    """The statement changes `table` in a way that Retable cannot replay. Retable holds the table at this statement."""

    table: TableName | None
    reason: str


@dataclass(frozen=True, slots=True)
class MovePartitions:
    """The statement moves partitions with their rows out of `table` or into it. The log has no events of these rows."""

    table: TableName | None
    reason: str


SchemaChange = (
    CreateTable
    | CreateTableLike
    | DeclareTable
    | StartTable
    | AddColumn
    | DropColumn
    | ChangeColumn
    | SetKey
    | TruncateTable
    | DropTable
    | RenameTable
    | DropDatabase
    | NoChange
    | Unsupported
    | MovePartitions
)
