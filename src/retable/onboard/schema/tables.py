"""The tables that the statements of a schema declare, and the statements that were not understood."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from retable.model.event import TableName
from retable.model.schema import ColumnSpec
from retable.model.schema_change import (
    AddColumn,
    AddForeignKey,
    ChangeColumn,
    ColumnPosition,
    CreateTable,
    CreateTableLike,
    DeclareTable,
    DropColumn,
    DropDatabase,
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

_EXCERPT = 200


@dataclass(frozen=True, slots=True)
class UnreadStatement:
    """A statement of a schema that Retable does not understand, for the report of an import.

    `table` is None if the table is not known. `line` is the line of the script at which the statement begins.
    """

    table: TableName | None
    reason: str
    statement: str
    line: int


@dataclass(frozen=True, slots=True)
class DeclaredTable:
    """A declared table, and the text of the statement that creates it."""

    table: DeclareTable
    statement: str


@dataclass(slots=True)
class Schema:
    """The tables that a dump or a database declares, after all of its statements were applied.

    `dialect` is the SQL dialect of the statements, as `mysql`. `place` is the log file and offset at which the schema
    was read, if it is known. `marks` are texts about this position, for example a GTID. `unread` has the statements
    that Retable does not understand, in the order of the script.
    """

    dialect: str
    tables: dict[TableName, DeclaredTable] = field(default_factory=dict)
    unread: list[UnreadStatement] = field(default_factory=list)
    place: tuple[str, int] | None = None
    marks: list[str] = field(default_factory=list)

    def take(self, changes: Iterable[SchemaChange], statement: str, line: int) -> None:
        """Apply the changes of one statement to `tables`. Add a change that cannot be applied to `unread`.

        `statement` is the text of the statement, and `line` the line of the script at which it begins.
        """
        for change in changes:
            reason = self._take(change, statement)
            if reason is not None:
                table = getattr(change, "table", None)
                self.unread.append(UnreadStatement(table, reason, statement[:_EXCERPT], line))

    def _take(self, change: SchemaChange, statement: str) -> str | None:
        match change:
            case AddForeignKey():
                return self._alter(change)
            case NoChange() | TruncateTable() | DeclareTable() | StartTable():
                return None
            case CreateTable(table, columns, keys):
                self.tables[table] = DeclaredTable(DeclareTable(table, columns, keys, change.references), statement)
            case CreateTableLike(table, like):
                if like not in self.tables:
                    return f"CREATE TABLE … LIKE names {like}, which the script does not declare"
                self.tables[table] = DeclaredTable(
                    replace(self.tables[like].table, table=table, references=()), statement
                )
            case DropTable(table):
                self.tables.pop(table, None)
            case DropDatabase(database):
                self.tables = {name: known for name, known in self.tables.items() if name.database != database}
            case RenameTable(table, to):
                if table not in self.tables:
                    return "the statement renames a table that the script does not declare"
                known = self.tables.pop(table)
                self.tables[to] = replace(known, table=replace(known.table, table=to))
            case Unsupported(_, reason) | MovePartitions(_, reason):
                return reason
            case _:
                return self._alter(change)
        return None

    def _alter(self, change: SetKey | AddColumn | DropColumn | ChangeColumn | AddForeignKey) -> str | None:
        known = self.tables.get(change.table)
        if known is None:
            return "the statement changes a table that the script does not declare"
        table = known.table
        match change:
            case AddForeignKey(_, _, key):
                table = replace(table, references=(*table.references, key))
            case SetKey(_, keys):
                table = replace(table, keys=keys)
            case AddColumn(_, column, place):
                table = replace(table, columns=_placed(table.columns, column, place))
            case DropColumn(_, name):
                table = replace(table, columns=tuple(c for c in table.columns if not _same(c.name, name)))
            case ChangeColumn(_, name, column, place):
                was = next((c for c in table.columns if _same(c.name, name)), None)
                if was is None:
                    return f"the statement changes the column {name!r}, which the table does not have"
                new = column if column.source_type else replace(was, name=column.name)
                if place is None or place == ColumnPosition():
                    columns = tuple(new if c == was else c for c in table.columns)
                else:
                    columns = _placed(tuple(c for c in table.columns if c != was), new, place)
                keys = tuple(new.name if _same(key, name) else key for key in table.keys)
                table = replace(table, columns=columns, keys=keys)
        self.tables[change.table] = replace(known, table=table)
        return None

    def comment(self, table: TableName, column: str, text: str) -> None:
        """Set the comment of a column to `text`. Do nothing if the table or column is not declared."""
        known = self.tables.get(table)
        if known is not None:
            columns = tuple(replace(c, comment=text) if c.name == column else c for c in known.table.columns)
            self.tables[table] = replace(known, table=replace(known.table, columns=columns))


def _placed(columns: tuple[ColumnSpec, ...], column: ColumnSpec, place: ColumnPosition) -> tuple[ColumnSpec, ...]:
    if place.first:
        return (column, *columns)
    at = next((i for i, each in enumerate(columns) if place.after and _same(each.name, place.after)), len(columns) - 1)
    return (*columns[: at + 1], column, *columns[at + 1 :])


def _same(name: str, other: str) -> bool:
    return name.lower() == other.lower()
