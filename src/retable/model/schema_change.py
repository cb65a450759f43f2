"""The meaning of a DDL statement for a table: a closed set, one class each."""

from dataclasses import dataclass
from typing import Literal

from retable.model.event import TableName
from retable.model.schema import ColumnSpec


@dataclass(frozen=True, slots=True)
class ColumnPosition:
    """Where a column goes: `first`, or after the column `after`; neither = the end (or its present position)."""

    first: bool = False
    after: str | None = None


OnReferenced = Literal["refuse", "cascade", "set_null"]


@dataclass(frozen=True, slots=True)
class ForeignKey:
    """Rows refer by `columns` to rows of `parent`, by its `parent_columns`, or by its primary key if none are named.

    `on_delete` and `on_update`: what the source does to these rows if such a row of the parent is deleted, or gets
    other values there. `name` is None if the statement gives none.
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
    """A table as a dump of its schema shows it: facts that no statement of the source declared. Its rows stay."""

    table: TableName
    columns: tuple[ColumnSpec, ...]
    keys: tuple[str, ...]
    references: tuple[ForeignKey, ...] = ()


@dataclass(frozen=True, slots=True)
class StartTable:
    """A baseline of the table was taken here: it holds all earlier changes, and newer changes apply to it."""

    table: TableName


@dataclass(frozen=True, slots=True)
class AddColumn:
    table: TableName
    column: ColumnSpec
    place: ColumnPosition = ColumnPosition()
    if_not_exists: bool = False


@dataclass(frozen=True, slots=True)
class DropColumn:
    """A column is dropped; `leaves_key`: a primary key with this column continues without it, as in MySQL."""

    table: TableName
    name: str
    if_exists: bool = False
    leaves_key: bool = False


@dataclass(frozen=True, slots=True)
class ChangeColumn:
    """MODIFY, CHANGE and RENAME COLUMN: `name` becomes `column.name`; an empty `source_type` keeps the type.

    `is_replaced`: the statement adds another column of the old name.
    """

    table: TableName
    name: str
    column: ColumnSpec
    place: ColumnPosition | None = None
    if_exists: bool = False
    is_replaced: bool = False


@dataclass(frozen=True, slots=True)
class SetKey:
    """The primary key of a table from here on; without columns it has none.

    `if_not_exists`: a table that has a key keeps it.
    """

    table: TableName
    keys: tuple[str, ...]
    if_not_exists: bool = False


@dataclass(frozen=True, slots=True)
class TruncateTable:
    """Everything before this position no longer counts."""

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
    """The statement changes neither rows nor columns of gold: index, comment, view, grant, charset, engine."""

    what: str


@dataclass(frozen=True, slots=True)
class AddForeignKey(NoChange):
    """Rows of a table refer to rows of another table from here on."""

    table: TableName
    key: ForeignKey


@dataclass(frozen=True, slots=True)
class DropForeignKey(NoChange):
    """Rows of a table no longer refer to others by a constraint of this name, if there is one, from here on."""

    table: TableName
    name: str


@dataclass(frozen=True, slots=True)
class Unsupported:
    """The statement changes `table` in a way that Retable does not replay; the table is held at it."""

    table: TableName | None
    reason: str


@dataclass(frozen=True, slots=True)
class MovePartitions:
    """Rows leave `table`, or come into it, with partitions and without an event for each."""

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
