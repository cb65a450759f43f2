"""Find foreign keys by which the source database deletes or changes rows without an event in the log.

With ON DELETE CASCADE and similar actions, InnoDB changes rows inside the engine, up to MySQL 9.5 and in MariaDB
(MySQL's bug 32506). Other databases log these changes.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from retable.model.event import TableName
from retable.model.schema_change import (
    AddForeignKey,
    ChangeColumn,
    CreateTable,
    DeclareTable,
    DropDatabase,
    DropForeignKey,
    DropTable,
    ForeignKey,
    RenameTable,
    SchemaChange,
)
from retable.model.sequence import Sequence
from retable.schema_history.shards.parts import follows
from retable.schema_history.statement import Statement


@dataclass(frozen=True, slots=True)
class Moment:
    """A position in the log of a source. `time` is its source time in epoch milliseconds, or None if unknown."""

    sequence: Sequence
    part: str | None
    time: int | None = None

    def is_before(self, other: "Moment") -> bool | None:
        """Return whether this position is before `other`.

        Sequences are compared. If the positions are in partitions without a common order, the times are compared.
        Return None if then the times are equal or one of them is unknown.
        """
        if follows(self.part, self.sequence, other.part, other.sequence):
            return self.sequence < other.sequence
        if self.time is None or other.time is None or self.time == other.time:
            return None
        return self.time < other.time


@dataclass(frozen=True, slots=True)
class ForeignKeyReference:
    """A foreign key of the table `child`, with the present names of its tables and columns.

    The foreign key exists from `since` to `until`. If `since` is None, it exists from the beginning; if `until` is
    None, it is not dropped. If it has no name, `number` is its number among the unnamed foreign keys of its table,
    from 1.
    """

    child: TableName
    key: ForeignKey
    since: Moment | None
    until: Moment | None = None
    number: int | None = None

    def __str__(self) -> str:
        key = self.key
        parent = f"{key.parent} ({', '.join(key.parent_columns)})" if key.parent_columns else str(key.parent)
        words = {"cascade": "CASCADE", "set_null": "SET NULL"}
        actions = [
            f"ON {event} {words[action]}"
            for event, action in (("DELETE", key.on_delete), ("UPDATE", key.on_update))
            if action in words
        ]
        return f"FOREIGN KEY ({', '.join(key.columns)}) REFERENCES {parent} {' '.join(actions)}"

    def may_cover(self, moment: Moment) -> bool:
        """Return whether the foreign key may have existed at a moment. False means that it did not exist."""
        began = self.since is None or moment.is_before(self.since) is not True
        return began and (self.until is None or self.until.is_before(moment) is not True)

    def is_called(self, name: str) -> bool:
        """Return whether this foreign key has the name `name`. The source calls an unnamed key `t_ibfk_1` or `1`."""
        own = {self.key.name} if self.key.name else {f"{self.child.table}_ibfk_{self.number}", str(self.number)}
        return name.lower() in {each.lower() for each in own}

    def renamed(self, table: TableName, to: TableName) -> "ForeignKeyReference":
        parent = to if self.key.parent == table else self.key.parent
        return replace(self, child=to if self.child == table else self.child, key=replace(self.key, parent=parent))

    def with_column(self, table: TableName, name: str, to: str) -> "ForeignKeyReference":
        key = self.key
        if self.child == table:
            key = replace(key, columns=_renamed(key.columns, name, to))
        if key.parent == table:
            key = replace(key, parent_columns=_renamed(key.parent_columns, name, to))
        return replace(self, key=key)


def trace_references(statements: Iterable[Statement]) -> list[ForeignKeyReference]:
    """Return the foreign keys, also dropped ones, by which the source deletes or changes rows in other tables."""
    found: list[ForeignKeyReference] = []
    for statement in sorted(statements, key=lambda each: (each.position, each.part or "", each.offset)):
        at = Moment(statement.position, statement.part, statement.event_time_ms)
        for change in statement.changes:
            found = _after(found, change, at)
    return [each for each in found if (each.key.on_delete, each.key.on_update) != ("refuse", "refuse")]


def _after(found: list[ForeignKeyReference], change: SchemaChange, at: Moment) -> list[ForeignKeyReference]:
    match change:
        case CreateTable(table, references=keys):
            if change.if_not_exists and any(each.child == table for each in found):
                return found
            # A repeated CREATE TABLE does not restart its keys: they exist since the first one.
            same = [each for each in found if each.child == table and each.key in keys]
            return _added([each for each in found if each.child != table] + same, table, keys, at)
        case DeclareTable(table, references=keys):
            return _added(found, table, keys, None)
        case AddForeignKey(_, table, key):
            return _added(found, table, (key,), at)
        case DropForeignKey(_, table, name):
            gone = [each for each in found if each.child == table and each.until is None and each.is_called(name)]
            return [replace(each, until=at) if each in gone else each for each in found]
        case DropTable(table):
            return [each for each in found if each.child != table]
        case DropDatabase(database):
            return [each for each in found if each.child.database != database]
        case RenameTable(table, to):
            return [each.renamed(table, to) for each in found]
        case ChangeColumn(table, name, column) if name != column.name:
            return [each.with_column(table, name, column.name) for each in found]
    return found


def _added(
    found: list[ForeignKeyReference], table: TableName, keys: Iterable[ForeignKey], since: Moment | None
) -> list[ForeignKeyReference]:
    for key in keys:
        mine = [each for each in found if each.child == table and each.until is None]
        if not any(_is_same(each.key, key) for each in mine):
            number = None if key.name else max((each.number or 0 for each in mine), default=0) + 1
            found = [*found, ForeignKeyReference(table, key, since, number=number)]
    return found


def _is_same(one: ForeignKey, other: ForeignKey) -> bool:
    """Return whether two foreign keys are equal without their names. A dump names a key that its statement did not."""
    return replace(one, name=None) == replace(other, name=None)


def _renamed(columns: tuple[str, ...], name: str, to: str) -> tuple[str, ...]:
    return tuple(to if each.lower() == name.lower() else each for each in columns)
