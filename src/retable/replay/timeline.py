"""Statements in order to table histories: who a name meant at a position, and under which columns.

A RENAME ends one span of a history and begins the next; a name that is free again belongs to a new history; a table
that was dropped and created again goes on with new columns, because gold keeps it as one table that was emptied.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import assert_never

from retable.model.event import TableName
from retable.model.schema_change import (
    AddColumn,
    ChangeColumn,
    CreateTable,
    CreateTableLike,
    DropColumn,
    DropDatabase,
    DropTable,
    NoChange,
    RenameTable,
    SchemaChange,
    SetKey,
    TruncateTable,
    Unsupported,
)
from retable.model.sequence import Sequence
from retable.replay.columns import Dialect, evolve, unknown_type
from retable.replay.history import AppliedChange, ChangeStatus, Column, Epoch, Hold, NameSpan, TableHistory
from retable.replay.traced import ImplicitColumn, TracedTable

KEY_CHANGES = "the primary key changes"
REMEDY_STATEMENT = (
    "this kind of statement is not replayed yet; after a version that replays it: "
    "retable hold release TABLE --rebuild --reason ..."
)


@dataclass(frozen=True, slots=True)
class Statement:
    """One schema event of silver with what its text means.

    A source may cut one statement into several (a RENAME of three tables), which then stand at one position: there
    `offset` orders them.
    """

    position: Sequence
    part: str | None
    table: TableName | None
    text: str
    changes: tuple[SchemaChange, ...]
    event_time_ms: int | None = None
    offset: int = field(default=0, compare=False)


class Timeline:
    """The tables of one source up to the last statement that it was given."""

    def __init__(
        self, dialect: Dialect, implicit: Iterable[ImplicitColumn] = (), known: Iterable[TableName] = ()
    ) -> None:
        self._dialect = dialect
        self._implicit: dict[str, dict[Sequence | None, list[ImplicitColumn]]] = {}
        for column in implicit:
            self._implicit.setdefault(column.identity, {}).setdefault(column.epoch_start, []).append(column)
        self._live: dict[TableName, TracedTable] = {}
        self._all: list[TracedTable] = []
        self._dropped_databases: dict[str, Sequence] = {}
        for name in known:
            self._open(name, None)
        self.recorded: list[tuple[Statement, ChangeStatus, str | None]] = []

    # --- reading -------------------------------------------------------------------------------------------------
    def histories(self) -> list[TableHistory]:
        return [table.freeze() for table in self._all]

    def owner(self, name: TableName, sequence: Sequence) -> str:
        """The identity of the table that `name` meant at `sequence`; a name without a statement is a table too."""
        for table in reversed(self._all):
            if any(span.name == name and span.covers(sequence) for span in table.spans):
                return table.identity
        return self._open(name, sequence).identity

    # --- tracing -------------------------------------------------------------------------------------------------
    def apply(self, statement: Statement) -> None:
        """Take the next statement. One that names no table and changes nothing is recorded and that is all."""
        status: ChangeStatus = "nothing"
        reason: str | None = None
        for number, change in enumerate(statement.changes):
            outcome = self._apply_one(statement, change, number)
            if outcome is not None:
                reason = outcome
                status = "refused"
            elif not isinstance(change, NoChange) and status == "nothing":
                status = "applied"
        for table in self._all:
            if table.hold is None and table.epochs[-1].start == statement.position:
                table.complete()
        self.recorded.append((statement, status, reason))

    def _apply_one(self, at: Statement, change: SchemaChange, number: int) -> str | None:
        match change:
            case NoChange():
                return None
            case DropDatabase(database):
                self._dropped_databases[database] = at.position
                for name in [name for name in self._live if name.database == database]:
                    if self._live[name].hold is None:
                        self._live[name].save(at.position)
                        self._drop(self._live[name], at, change)
                return None
            case Unsupported(table, reason):
                stopped = table or at.table
                if stopped is None:
                    return f"{reason}; the statement names no table, so no table is held"
                return self._hold(self._table(stopped, at.position), at, reason)
            case CreateTable() | CreateTableLike():
                return self._create(at, change, number)
            case RenameTable(name, to):
                return self._rename(self._table(name, at.position), to, at, change)
            case TruncateTable(name) | DropTable(name):
                target = self._table(name, at.position)
                if target.hold is None:
                    target.save(at.position)
                    if isinstance(change, DropTable):
                        self._drop(target, at, change)
                    else:
                        target.voids.append((at.position, False))
                        self._note(target, at, change)
                return None
            case SetKey(name, keys):
                return self._set_key(self._table(name, at.position), keys, at, change)
            case AddColumn() | DropColumn() | ChangeColumn():
                target = self._table(change.table, at.position)
                if target.hold is not None:
                    return None
                target.save(at.position)
                return self._columns(target, at, change, number)
            case _:
                assert_never(change)

    def _table(self, name: TableName, at: Sequence) -> TracedTable:
        return self._live.get(name) or self._open(name, at)

    def _open(self, name: TableName, at: Sequence | None) -> TracedTable:
        """Begin a history for a name that nobody has at `at`; before the first statement about it, from the beginning.

        Where a later history has the name, this one ends there.
        """
        spans = [span for table in self._all for span in table.spans if span.name == name]
        ends = [span.end for span in spans if span.end is not None and at is not None and span.end <= at]
        starts = [span.start for span in spans if span.start is not None and at is not None and span.start >= at]
        start, end = max(ends, default=None), min(starts, default=None)
        identity = f"{name}@{'base' if start is None else start}"
        table = TracedTable(identity, [NameSpan(name, start, end)], [], self._implicit.get(identity, {}))
        table.begin(Epoch(None, (), None, complete=False))
        table.complete()
        dropped = self._dropped_databases.get(name.database)
        if dropped is not None and (start is None or start < dropped):
            table.voids.append((dropped, False))
        if end is None:
            self._live[name] = table
        self._all.append(table)
        return table

    def _create(self, at: Statement, change: CreateTable | CreateTableLike, number: int) -> str | None:
        table = self._live.get(change.table)
        if table is not None and not table.dropped and table.changes:
            return None if change.if_not_exists else self._hold(table, at, "the table is there already")
        table = table or self._open(change.table, at.position)
        if table.hold is not None or (change.if_not_exists and not table.dropped and table.epochs[-1].columns):
            return None
        table.save(at.position)
        columns, keys, complete, reason = self._created_columns(at, change, number)
        if reason is not None:
            return self._hold(table, at, reason)
        table.voids.append((at.position, False))
        table.begin(Epoch(at.position, columns, keys, complete))
        self._note(table, at, change)
        return None

    def _created_columns(
        self, at: Statement, change: CreateTable | CreateTableLike, number: int
    ) -> tuple[tuple[Column, ...], tuple[str, ...] | None, bool, str | None]:
        def identify(index: int) -> str:
            return f"{at.position}:{number}.{index}"

        if isinstance(change, CreateTableLike):
            like = self._live.get(change.like)
            if like is None or like.hold is not None or not like.epochs[-1].complete:
                return (), None, False, None
            model = like.epochs[-1]
            copied = tuple(replace(column, id=identify(i), default=None) for i, column in enumerate(model.columns))
            return copied, model.keys, True, None
        columns: list[Column] = []
        for index, spec in enumerate(change.columns):
            kind = self._dialect.type_of(change.table, spec)
            if kind is None:
                return (), None, False, unknown_type(spec)
            columns.append(Column(identify(index), spec.name, spec.source_type, kind))
        keys = change.keys if change.keys or change.complete else None
        return tuple(columns), keys, change.complete, None

    def _rename(self, table: TracedTable, to: TableName, at: Statement, change: RenameTable) -> str | None:
        if table.hold is not None and table.spans[-1].name == to:
            return None
        occupant = self._live.get(to)
        if occupant is not None and not occupant.dropped and occupant is not table:
            return self._hold(table, at, f"{to} is another live table")
        del self._live[table.spans[-1].name]
        table.spans[-1] = replace(table.spans[-1], end=at.position)
        if occupant is not None:
            occupant.spans[-1] = replace(occupant.spans[-1], end=at.position)
        table.spans.append(NameSpan(to, at.position, None))
        self._live[to] = table
        if table.hold is None:
            self._note(table, at, change)
        return None

    def _drop(self, table: TracedTable, at: Statement, change: SchemaChange) -> None:
        table.voids.append((at.position, True))
        self._note(table, at, change)

    def _columns(
        self, table: TracedTable, at: Statement, change: AddColumn | DropColumn | ChangeColumn, number: int
    ) -> str | None:
        match change:
            case DropColumn(_, name):
                table.leave(name, None)
            case ChangeColumn(_, name, spec) if name.lower() != spec.name.lower():
                table.leave(name, spec.name)
        outcome = evolve(table.epochs[-1], change, f"{at.position}:{number}", self._dialect)
        if isinstance(outcome, str):
            return self._hold(table, at, outcome)
        table.begin(replace(outcome, start=at.position))
        self._note(table, at, change)
        return None

    def _set_key(self, table: TracedTable, keys: tuple[str, ...], at: Statement, change: SetKey) -> str | None:
        """The key holds from here on; whether rows came before is known where rows are (`TableHistory.key_set`)."""
        if table.hold is not None:
            return None
        table.save(at.position)
        epoch = table.epochs[-1]
        if epoch.keys:
            return self._hold(table, at, KEY_CHANGES)
        if epoch.complete and (missing := [key for key in keys if epoch.column(key) is None]):
            return self._hold(table, at, f"column {missing[0]!r} of its key is not there")
        table.begin(replace(epoch, start=at.position, keys=keys))
        table.key_sets.append(at.position)
        self._note(table, at, change)
        return None

    # --- recording -----------------------------------------------------------------------------------------------
    def _note(self, table: TracedTable, at: Statement, change: SchemaChange) -> None:
        shown = table.epochs[-1].column(change.column.name) if isinstance(change, AddColumn) else None
        adds = shown is not None and shown.default is None
        # A row without the column shows null on either side of such a statement: it needs no place among the rows.
        orders = not (adds or isinstance(change, CreateTable | CreateTableLike))
        self._record(table, at, (self._dialect.describe(change),), "applied", None, orders)

    def _hold(self, table: TracedTable, at: Statement, reason: str) -> str:
        if table.hold is None:
            table.undo(at.position)
            table.hold = Hold("UNSUPPORTED_CHANGE", reason, at.position, at.part, at.text, REMEDY_STATEMENT)
            self._record(table, at, (), "refused", reason, orders=True)
        return reason

    @staticmethod
    def _record(
        table: TracedTable,
        at: Statement,
        meaning: tuple[dict[str, object], ...],
        status: ChangeStatus,
        reason: str | None,
        orders: bool,
    ) -> None:
        last = table.changes[-1] if table.changes else None
        if last is not None and last.position == at.position and last.part == at.part:
            joined = replace(last, meaning=(*last.meaning, *meaning), orders_rows=last.orders_rows or orders)
            table.changes[-1] = joined if status == last.status else replace(joined, status=status, reason=reason)
        else:
            table.changes.append(AppliedChange(at.position, at.part, at.text, meaning, status, reason, orders))


def trace(
    statements: Iterable[Statement],
    dialect: Dialect,
    implicit: Iterable[ImplicitColumn] = (),
    known: Iterable[TableName] = (),
) -> Timeline:
    """Trace statements in the order of their positions. The same statement twice (a redelivery) counts once.

    `known` are tables that are there though no statement made them.
    """
    timeline = Timeline(dialect, implicit, known)
    seen: set[tuple[Sequence, str | None, TableName | None, str]] = set()
    for statement in sorted(statements, key=lambda s: (s.position, s.part or "", s.offset)):
        same = (statement.position, statement.part, statement.table, statement.text)
        if same not in seen:
            seen.add(same)
            timeline.apply(statement)
    return timeline
