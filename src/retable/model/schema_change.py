"""The meanings that a DDL statement can have for a table. Each kind of schema change is one class."""

from dataclasses import dataclass
from typing import Literal

from retable.model.event import TableName
from retable.model.schema import ColumnSpec


@dataclass(frozen=True, slots=True)
class ColumnPosition:
    """FIRST or AFTER in a statement: the column becomes the first column, or follows the column named `after`.

    If `first` is False and `after` is None, a new column becomes the last column, and a present column stays where it
    is.
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
    """CREATE TABLE. `keys` is the primary key, `references` the foreign keys.

    `complete` is False if the statement does not name all columns (CREATE … AS SELECT).
    """

    table: TableName
    columns: tuple[ColumnSpec, ...]
    keys: tuple[str, ...]
    complete: bool = True
    if_not_exists: bool = False
    references: tuple[ForeignKey, ...] = ()


@dataclass(frozen=True, slots=True)
class CreateTableLike:
    """CREATE TABLE … LIKE: the new table `table` gets the columns and the key of the table `like`."""

    table: TableName
    like: TableName
    if_not_exists: bool = False


@dataclass(frozen=True, slots=True)
class DeclareTable:
    """The columns and key of an existing table, as an imported schema dump shows them. The rows of the table stay.

    This change comes from a schema import by a person, not from a statement of the source.
    """

    table: TableName
    columns: tuple[ColumnSpec, ...]
    keys: tuple[str, ...]
    references: tuple[ForeignKey, ...] = ()


@dataclass(frozen=True, slots=True)
class StartTable:
    """A baseline (full copy) of the table was taken at the position of this change. It has all earlier changes."""

    table: TableName


@dataclass(frozen=True, slots=True)
class AddColumn:
    """ADD COLUMN: the table gets `column` at the position `place`."""

    table: TableName
    column: ColumnSpec
    place: ColumnPosition = ColumnPosition()
    if_not_exists: bool = False


@dataclass(frozen=True, slots=True)
class DropColumn:
    """DROP COLUMN. The table loses the column `name`.

    `leaves_key` matters if the column is in the primary key. If it is True, the primary key keeps its other columns, as
    in MySQL. If it is False, Retable cannot apply the statement, and the table is held.
    """

    table: TableName
    name: str
    if_exists: bool = False
    leaves_key: bool = False


@dataclass(frozen=True, slots=True)
class ChangeColumn:
    """MODIFY, CHANGE or RENAME COLUMN: the column `name` gets the name and definition of `column`.

    If `column.source_type` is empty, the column keeps its type. If `place` is None, it keeps its position.
    `is_replaced` is True if the same statement also adds another column with the old name.
    """

    table: TableName
    name: str
    column: ColumnSpec
    place: ColumnPosition | None = None
    if_exists: bool = False
    is_replaced: bool = False


@dataclass(frozen=True, slots=True)
class SetKey:
    """The primary key of a table, from the statement on. If `keys` is empty, the table has no primary key any more.

    If `if_not_exists` is True, a table that already has a primary key keeps it.
    """

    table: TableName
    keys: tuple[str, ...]
    if_not_exists: bool = False


@dataclass(frozen=True, slots=True)
class TruncateTable:
    """TRUNCATE: the statement removes all rows, so gold ignores row changes that are older than the statement."""

    table: TableName


@dataclass(frozen=True, slots=True)
class DropTable:
    """DROP TABLE. The setting `on.drop_table` says what happens to the gold table."""

    table: TableName
    if_exists: bool = False


@dataclass(frozen=True, slots=True)
class RenameTable:
    """RENAME TABLE: `table` has the name `to` from the statement on."""

    table: TableName
    to: TableName


@dataclass(frozen=True, slots=True)
class DropDatabase:
    """DROP DATABASE, which drops all tables of the database."""

    database: str


@dataclass(frozen=True, slots=True)
class NoChange:
    """The statement changes neither rows nor columns of gold.

    `what` says what the statement is about, such as an index, a comment, a view, a grant, a charset or an engine.
    """

    what: str


@dataclass(frozen=True, slots=True)
class AddForeignKey(NoChange):
    """A table gets a foreign key: from the statement on, its rows refer to rows of another table."""

    table: TableName
    key: ForeignKey


@dataclass(frozen=True, slots=True)
class DropForeignKey(NoChange):
    """DROP FOREIGN KEY: `table` loses the foreign key called `name`, if it has it."""

    table: TableName
    name: str


@dataclass(frozen=True, slots=True)
class Unsupported:
    """Retable cannot replay this statement about `table`, and holds (stops) the table there. `reason` says why."""

    table: TableName | None
    reason: str


@dataclass(frozen=True, slots=True)
class MovePartitions:
    """The statement moves partitions with their rows out of `table` or into it; `reason` describes it.

    The source's log has no events of these rows.
    """

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
