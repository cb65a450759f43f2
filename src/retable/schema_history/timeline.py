"""Apply statements in order, to find which table a name means at a position, and which columns the table has there.

A RENAME ends one name span of a table's history (the positions at which the table has a name) and begins the next one.
A name that no table has begins a new history. If a table is dropped and created again, its history continues with new
columns, because gold keeps one table and only removes its rows.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import Literal, assert_never

from retable.model.event import TableName
from retable.model.policies import Policies
from retable.model.schema_change import (
    AddColumn,
    ChangeColumn,
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
from retable.model.sequence import Sequence
from retable.schema_history.columns import FROZEN, SchemaRules, Turn, evolve, shape
from retable.schema_history.created import created_epoch
from retable.schema_history.decisions import (
    REMEDY_APPROVAL,
    REMEDY_POLICY,
    REMEDY_STATEMENT,
    Decision,
    Decisions,
    approved,
    asks_first,
)
from retable.schema_history.declared import declare
from retable.schema_history.destructive import drop, drop_unseen, drops_database, leave_partitions, truncate
from retable.schema_history.history import ChangeStatus, Epoch, NameSpan, TableHistory
from retable.schema_history.policies import kept, left_behind
from retable.schema_history.statement import Redelivered, Statement, doubt
from retable.schema_history.traced import InferredColumn, TracedTable

LEFT_OUT = "a person decided to ignore the statement"
APPROVED = "a person approved the statement"


class Timeline:
    """Builds the histories of one source's tables from its DDL statements, which are applied in order (`trace`)."""

    def __init__(
        self,
        dialect: SchemaRules,
        inferred: Iterable[InferredColumn] = (),
        known: Iterable[TableName] = (),
        decisions: Iterable[Decision] = (),
    ) -> None:
        self._dialect = dialect
        self._decisions = Decisions(decisions)
        self._inferred: dict[str, dict[Sequence | None, list[InferredColumn]]] = {}
        for column in inferred:
            self._inferred.setdefault(column.identity, {}).setdefault(column.epoch_start, []).append(column)
        self._live: dict[TableName, TracedTable] = {}
        self._all: list[TracedTable] = []
        self._dropped_databases: dict[str, Statement] = {}
        self._redelivered = Redelivered()
        self._again: Statement | None = None
        for name in known:
            self._open(name, None)
        self.recorded: list[tuple[Statement, ChangeStatus, str | None]] = []

    # --- reading -------------------------------------------------------------------------------------------------
    def histories(self) -> list[TableHistory]:
        return [table.freeze() for table in self._all]

    def owner(self, name: TableName, sequence: Sequence) -> str:
        """Return the ID of the table that has `name` at `sequence`. If none has it, begin the history of a table."""
        for table in reversed(self._all):
            if any(span.name == name and span.covers(sequence) for span in table.spans):
                return table.identity
        table = self._open(name, sequence)
        if table.dropped:
            self._note(table, self._dropped_databases[name.database], DropDatabase(name.database))
        return table.identity

    # --- tracing -------------------------------------------------------------------------------------------------
    def apply(self, statement: Statement) -> None:
        """Apply the next statement and record its result. Statements must come in the order of their positions."""
        status: ChangeStatus = "nothing"
        reason: str | None = None
        self._again = self._redelivered.first_of(statement)
        for number, change in enumerate(statement.changes):
            outcome = self._rule(statement, change, number)
            if isinstance(outcome, str):
                reason = outcome
                status = "refused"
            elif outcome is None and not isinstance(change, NoChange) and status == "nothing":
                status = "applied"
        for table in self._all:
            if table.hold is None and table.epochs[-1].start == statement.position:
                table.complete()
        if status == "nothing" and self._again is not None:
            reason = f"the statement repeats the statement at {self._again.position}"
        self.recorded.append((statement, status, reason))

    def _rule(self, at: Statement, change: SchemaChange, number: int) -> str | Literal[False] | None:
        """Apply a schema change as people decided. Return the reason of a hold, False if it is ignored, or None."""
        name = at.table if isinstance(change, NoChange | DropDatabase) else change.table or at.table
        if not self._decisions.concerns(at.position, at.part) or name is None or isinstance(change, DropDatabase):
            return self._apply_one(at, change, number)
        table = self._table(name, at.position)
        decision = self._decision(table, at)
        if decision is None or table.hold is not None:
            return self._apply_one(at, change, number)
        if decision.kind == "approve":
            reason = self._apply_one(at, change, number)
            table.explain(at, APPROVED)
            return reason
        if table.has_noted(at):
            return False
        reason = self._replace(table, at, decision, number) if decision.kind == "replace" else None
        if table.has_noted(at):
            table.explain(at, f"a person replaced the statement by: {decision.statement}")
        else:
            table.record(at, (), "nothing", LEFT_OUT, orders=False)
        return reason or False

    def _decision(self, table: TracedTable, at: Statement) -> Decision | None:
        """Return the decision about a statement. A replacement of a DROP DATABASE is ignored."""
        decision = self._decisions.of(table.identity, at.position, at.part)
        return None if decision is not None and decision.kind == "replace" and drops_database(at) else decision

    def _policies(self, table: TracedTable, at: Statement) -> Policies:
        return approved(self._dialect.policies(table.name), self._decision(table, at))

    def _replace(self, table: TracedTable, at: Statement, decision: Decision, number: int) -> str | None:
        """Apply the statement that a person gave as replacement. Hold the table if it is about another table."""
        replacements = self._dialect.read(decision.statement or "", table.name)
        for place, change in enumerate(replacements):
            about = table.name if isinstance(change, NoChange) else getattr(change, "table", None)
            if about != table.name:
                return table.stop(at, f"the replacement is about {about}, not about {table.name}: {decision.statement}")
            reason = self._apply_one(at, change, number + place)
            if reason:
                return reason
        return None

    def _apply_one(self, at: Statement, change: SchemaChange, number: int) -> str | Literal[False] | None:
        match change:
            case NoChange():
                return None
            case DropDatabase(database):
                self._dropped_databases[database] = at
                for name in [name for name in self._live if name.database == database]:
                    self._drop(self._live[name], at, change)
                return None
            case Unsupported() | MovePartitions():
                return self._stop(at, change)
            case CreateTable() | CreateTableLike():
                return self._create(at, change, number)
            case DeclareTable(name) | StartTable(name):
                steps = declare(self._table(name, at.position), at.position, change, self._dialect)
                return next(filter(None, [self._apply_one(at, step, i) for i, step in enumerate(steps)]), None)
            case RenameTable(name) if self._again is not None:
                return self._rename_again(name, at, self._again)
            case RenameTable(name, to):
                return self._rename(self._table(name, at.position), to, at, change)
            case DropTable(name):
                return self._drop(self._table(name, at.position), at, change)
            case TruncateTable(name):
                target = self._table(name, at.position)
                held = truncate(target, at, self._policies(target, at))
                return self._done(target, at, change, held)
            case SetKey(name, keys):
                return self._set_key(self._table(name, at.position), keys, at, change)
            case AddColumn() | DropColumn() | ChangeColumn():
                return self._change_columns(at, change, number)
            case _:
                assert_never(change)

    def _stop(self, at: Statement, change: Unsupported | MovePartitions) -> str | None:
        stopped = change.table or at.table
        if stopped is None:
            return f"{change.reason}; the statement names no table, so no table is held"
        target = self._table(stopped, at.position)
        if isinstance(change, Unsupported):
            return target.stop(at, change.reason)
        return leave_partitions(target, at, change.reason, self._policies(target, at))

    def _change_columns(
        self, at: Statement, change: AddColumn | DropColumn | ChangeColumn, number: int
    ) -> str | Literal[False] | None:
        target = self._table(change.table, at.position)
        if target.hold is not None:
            return None
        target.save(at.position)
        if isinstance(change, DropColumn) and change.leaves_key:
            self._leave_key(target, change.name, at)
        return self._columns(target, at, change, number)

    def _table(self, name: TableName, at: Sequence) -> TracedTable:
        return self._live.get(name) or self._open(name, at)

    def _open(self, name: TableName, at: Sequence | None) -> TracedTable:
        """Begin a history for a name that no table has at the position `at` (None: the beginning).

        Its span reaches from the end of an earlier table of this name to the start of a later one, if there are such.
        """
        spans = [span for table in self._all for span in table.spans if span.name == name]
        ends = [span.end for span in spans if span.end is not None and at is not None and span.end <= at]
        starts = [span.start for span in spans if span.start is not None and at is not None and span.start >= at]
        start, end = max(ends, default=None), min(starts, default=None)
        identity = f"{name}@{'base' if start is None else start}"
        table = TracedTable(
            identity=identity, spans=[NameSpan(name, start, end)], epochs=[], inferred=self._inferred.get(identity, {})
        )
        table.skipped = self._decisions.skipped(identity)
        table.begin(Epoch(None, (), None, complete=False))
        table.complete()
        dropped = self._dropped_databases.get(name.database)
        if dropped is not None and (start is None or start < dropped.position):
            drop_unseen(table, dropped, self._policies(table, dropped))
        if end is None:
            self._live[name] = table
        self._all.append(table)
        return table

    def _create(self, at: Statement, change: CreateTable | CreateTableLike, number: int) -> str | Literal[False] | None:
        table = self._live.get(change.table)
        if table is not None and not table.dropped and table.changes:
            if self._again is not None:
                return False
            return None if change.if_not_exists else table.stop(at, "the statement creates a table that already exists")
        table = table or self._open(change.table, at.position)
        if table.hold is not None or (change.if_not_exists and not table.dropped and table.epochs[-1].columns):
            return None
        table.save(at.position)
        like = self._live.get(change.like) if isinstance(change, CreateTableLike) else None
        created = created_epoch(at.position, change, number, like, self._dialect)
        if isinstance(created, str):
            return table.stop(at, created)
        policies = self._policies(table, at)
        if policies.columns == "frozen" and (was := shape(table.epochs[-1].columns)) and was != shape(created.columns):
            return table.stop(at, FROZEN, remedy=REMEDY_POLICY)
        table.truncations.append((at.position, False))
        table.ended = table.declared = None
        retained = left_behind(table.epochs[-1], created.columns) if policies.columns == "additive" else ()
        table.begin(replace(created, columns=(*created.columns, *retained)))
        self._note(table, at, change)
        return None

    def _rename(self, table: TracedTable, to: TableName, at: Statement, change: RenameTable) -> str | None:
        if table.hold is not None and table.spans[-1].name == to:
            return None
        occupant = self._live.get(to)
        if occupant is not None and not occupant.dropped and occupant is not table:
            return table.stop(at, f"the statement renames the table to {to}, but a table of this name already exists")
        policy = self._policies(table, at).rename_table
        reason = f"the statement renames the table to {to}"
        held = table.stop(at, reason, remedy=REMEDY_POLICY) if policy == "hold" else None
        shown = table.spans[-1].shown or table.name if policy == "keep_name" else None
        del self._live[table.spans[-1].name]
        table.spans[-1] = replace(table.spans[-1], end=at.position)
        if occupant is not None:
            occupant.spans[-1] = replace(occupant.spans[-1], end=at.position)
        table.spans.append(NameSpan(to, at.position, None, shown))
        self._live[to] = table
        if table.hold is None:
            self._note(table, at, change)
        return held

    def _rename_again(self, name: TableName, at: Statement, first: Statement) -> str | Literal[False]:
        """Ignore a repeated RENAME if no table has the old name `name`. Otherwise, hold the table that has it."""
        table = self._live.get(name)
        return False if table is None or table.dropped else table.stop(at, doubt(first, name))

    def _drop(self, table: TracedTable, at: Statement, change: SchemaChange) -> str | None:
        return self._done(table, at, change, drop(table, at, self._policies(table, at)))

    def _done(self, table: TracedTable, at: Statement, change: SchemaChange, reason: str | None) -> str | None:
        """Record a schema change, unless it held the table. Return `reason`, the reason of the hold, or None."""
        if table.hold is None and not table.leaves_out(at):
            self._note(table, at, change)
        return reason

    def _columns(
        self, table: TracedTable, at: Statement, change: AddColumn | DropColumn | ChangeColumn, number: int
    ) -> str | Literal[False] | None:
        if isinstance(change, DropColumn) and table.epochs[-1].column(change.name) is not None:
            reason = asks_first(self._policies(table, at), "drop_column")
            if reason is not None:
                return table.stop(at, reason, "APPROVAL", REMEDY_APPROVAL)
        match change:
            case DropColumn(_, name):
                table.leave(name, None)
            case ChangeColumn(_, name, spec) if name.lower() != spec.name.lower():
                table.leave(name, spec.name)
        turn = Turn(at.position, f"{at.position}:{number}", tuple(table.epochs), self._policies(table, at))
        outcome = evolve(table.epochs[-1], change, turn, self._dialect)
        if isinstance(outcome, str):
            if self._again is not None and outcome != FROZEN:
                return False
            return table.stop(at, outcome, remedy=REMEDY_POLICY if outcome == FROZEN else REMEDY_STATEMENT)
        table.begin(replace(outcome, start=at.position))
        self._note(table, at, change)
        return None

    def _set_key(
        self, table: TracedTable, keys: tuple[str, ...], at: Statement, change: SetKey
    ) -> str | Literal[False] | None:
        """Set the primary key from this position on. Earlier rows keep the key that they were written with."""
        if table.hold is not None:
            return None
        if self._again is not None and keys == table.epochs[-1].keys:
            return False
        if change.if_not_exists and table.epochs[-1].keys:
            return False
        table.save(at.position)
        epoch = table.epochs[-1]
        if epoch.complete and (missing := [key for key in keys if epoch.column(key) is None]):
            return table.stop(at, f"the statement sets a key with column {missing[0]!r}, which does not exist")
        if self._policies(table, at).columns == "frozen" and keys != epoch.keys:
            return table.stop(at, FROZEN, remedy=REMEDY_POLICY)
        table.begin(replace(epoch, start=at.position, keys=keys))
        if at.position not in table.key_changes:
            table.key_changes.append(at.position)
        self._note(table, at, change)
        return None

    def _leave_key(self, table: TracedTable, name: str, at: Statement) -> None:
        """Remove the dropped column `name` from the primary key."""
        keys = table.epochs[-1].keys or ()
        left = tuple(key for key in keys if key.lower() != name.lower())
        if left != keys:
            self._set_key(table, left, at, SetKey(table.name, left))

    # --- recording -----------------------------------------------------------------------------------------------
    def _note(self, table: TracedTable, at: Statement, change: SchemaChange) -> None:
        shown = table.epochs[-1].column(change.column.name) if isinstance(change, AddColumn) else None
        adds = shown is not None and shown.default is None
        # A row without the column shows null before and after such a statement, so no order among rows is needed.
        orders = not (adds or isinstance(change, CreateTable | CreateTableLike))
        table.record(at, (self._dialect.describe(change),), "applied", kept(table.epochs), orders)
