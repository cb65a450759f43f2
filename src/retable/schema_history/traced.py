"""The history of a table while it is built from DDL statements."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import chain

from retable.model.event import TableName
from retable.model.schema import ColumnSpec, GoldType
from retable.model.sequence import Sequence
from retable.schema_history.decisions import REMEDY_STATEMENT
from retable.schema_history.history import AppliedChange, ChangeStatus, Column, Epoch, Hold, NameSpan, TableHistory
from retable.schema_history.policies import arranged
from retable.schema_history.statement import Statement


@dataclass(frozen=True, slots=True)
class InferredColumn:
    """A column that no statement declares, but that row images contain.

    `identity` is the ID of the table, which a RENAME does not change. `epoch_start` is the start of the first epoch
    (schema of the table) whose rows have the column; None means the first epoch. A second entry with the same name and
    a wider type makes the column wider.
    """

    identity: str
    epoch_start: Sequence | None
    name: str
    source_type: str | None
    type: GoldType


def first_identity(name: str) -> str:
    """Return the identity of an undeclared column, if no other column of the table had this name before.

    The identity is an ID that a rename of the column does not change.
    """
    return _identity(name.lower(), 0)


def _identity(wanted: str, left: int) -> str:
    return f"i:{wanted}:{left}"


@dataclass(slots=True, kw_only=True)
class TracedTable:
    """The history of a table while statements are applied to it. `freeze` returns the finished history.

    A field that `TableHistory` also has means the same here. The identity of a column is an ID that a rename does not
    change. An undeclared column is known only from row images.

    - `inferred`: the undeclared columns, by the start of the epoch (schema of the table) whose images show them.
    - `left`: for each name, how often a column with this name was dropped or renamed. A later undeclared column with
      this name then gets another identity.
    - `renamed`: for undeclared columns that were renamed before an image showed them, the identity by new name.
    - `declared`: the columns in the last dump of the table's schema. None before the first dump and after CREATE TABLE.
    - `saved`: the state before the current statement. `save` sets it, and `undo` returns to it.
    """

    identity: str
    spans: list[NameSpan]
    epochs: list[Epoch]
    inferred: dict[Sequence | None, list[InferredColumn]]
    truncations: list[tuple[Sequence, bool]] = field(default_factory=list)
    hold: Hold | None = None
    changes: list[AppliedChange] = field(default_factory=list)
    left: Counter[str] = field(default_factory=Counter)
    renamed: dict[str, str] = field(default_factory=dict)
    key_changes: list[Sequence] = field(default_factory=list)
    ended: Sequence | None = None
    skipped: frozenset[tuple[Sequence, str | None, str | None]] = frozenset()
    declared: tuple[ColumnSpec, ...] | None = None
    saved: tuple[Sequence, list[Epoch], list[tuple[Sequence, bool]], list[AppliedChange], Sequence | None] | None = None

    @property
    def dropped(self) -> bool:
        return self.ended is not None or (bool(self.truncations) and self.truncations[-1][1])

    @property
    def name(self) -> TableName:
        return self.spans[-1].name

    @property
    def is_known(self) -> bool:
        """Whether a statement or a row has shown that the table exists."""
        return bool(self.changes or self.epochs[-1].columns)

    def leaves_out(self, at: Statement) -> bool:
        """Return whether a person decided to ignore this statement for this table."""
        return any((position, part) == (at.position, at.part) for position, part, _ in self.skipped)

    def has_noted(self, at: Statement) -> bool:
        return any((noted.position, noted.part) == (at.position, at.part) for noted in self.changes)

    def explain(self, at: Statement, reason: str) -> None:
        """Set the reason that is recorded for the statement `at`, if this is the last recorded statement of the table.

        If the statement was refused, it keeps its reason.
        """
        last = self.changes[-1] if self.changes else None
        if last is not None and (last.position, last.part) == (at.position, at.part) and last.status != "refused":
            self.changes[-1] = replace(last, reason=reason)

    def save(self, position: Sequence) -> None:
        """Save the table's state before a statement, for `undo`. A statement is applied completely or not at all."""
        if self.saved is None or self.saved[0] != position:
            self.saved = (position, list(self.epochs), list(self.truncations), list(self.changes), self.ended)

    def undo(self, position: Sequence) -> None:
        if self.saved is not None and self.saved[0] == position:
            _, self.epochs, self.truncations, self.changes, self.ended = self.saved
            self.key_changes = [at for at in self.key_changes if at != position]

    def stop(self, at: Statement, reason: str, code: str = "UNSUPPORTED_CHANGE", remedy: str = REMEDY_STATEMENT) -> str:
        """Hold the table at a statement, undo the statement, and return the reason."""
        if self.hold is None:
            self.undo(at.position)
            self.hold = Hold(code, reason, at.position, at.part, at.text, remedy)
            self.record(at, (), "refused", reason, orders=True)
        return reason

    def record(
        self,
        at: Statement,
        meaning: tuple[Mapping[str, object], ...],
        status: ChangeStatus,
        reason: str | None,
        orders: bool,
    ) -> None:
        """Record the result of a statement. If the statement has several schema changes, they get one record.

        `meaning` has the schema changes as dicts for JSON. `reason` explains the status, if necessary. `orders` is true
        if rows before the statement must be read differently from rows after it. It is false, for example, for a new
        column without a default: rows show null in it before and after the statement.
        """
        last = self.changes[-1] if self.changes else None
        if last is not None and last.position == at.position and last.part == at.part:
            joined = replace(last, meaning=(*last.meaning, *meaning), orders_rows=last.orders_rows or orders)
            self.changes[-1] = replace(joined, status=status, reason=reason)
        else:
            self.changes.append(AppliedChange(at.position, at.part, at.text, meaning, status, reason, orders))

    def begin(self, epoch: Epoch) -> None:
        """Start a new epoch (schema of the table). If the last epoch is from the same statement, replace it."""
        if self.epochs and self.epochs[-1].start == epoch.start:
            self.epochs[-1] = epoch
        else:
            self.epochs.append(epoch)

    def complete(self) -> None:
        """Add the undeclared columns of the last epoch's row images to that epoch, after the declared columns."""
        epoch = self.epochs[-1]
        for seen in self.inferred.get(epoch.start, []):
            column = epoch.column(seen.name)
            if column is None:
                column = Column(
                    id=self.identify(seen.name), name=seen.name, source_type=seen.source_type, type=seen.type
                )
                epoch = replace(epoch, columns=(*epoch.columns, column))
            elif column.type != seen.type == column.type.joined(seen.type) and self.is_of_images(column):
                wider = replace(column, source_type=seen.source_type, type=seen.type)
                epoch = replace(epoch, columns=tuple(wider if each is column else each for each in epoch.columns))
        self.epochs[-1] = arranged(epoch)

    def is_of_images(self, column: Column) -> bool:
        """Return whether the column's type comes from row images and not from a statement or a dump of the schema."""
        return (column.name.lower(), column.source_type, column.type) in self._seen

    @property
    def _seen(self) -> set[tuple[str, str | None, GoldType]]:
        return {(each.name.lower(), each.source_type, each.type) for each in chain(*self.inferred.values())}

    def identify(self, name: str) -> str:
        """Return the identity (an ID that a rename does not change) of the undeclared column with this name now."""
        wanted = name.lower()
        return self.renamed.get(wanted) or _identity(wanted, self.left[wanted])

    def leave(self, name: str, to: str | None) -> None:
        """Record that a column no longer has a name. `to` is its new name, or None if the column was dropped."""
        identity = self.identify(name)
        self.left[name.lower()] += 1
        self.renamed.pop(name.lower(), None)
        if to is not None and self.epochs[-1].column(name) is None:
            self.renamed[to.lower()] = identity

    def freeze(self) -> TableHistory:
        seen = self._seen
        columns = [
            (each.id, (each.name.lower(), each.source_type, each.type)) for e in self.epochs for each in e.columns
        ]
        inferred_ids = {identity for identity, _ in columns} - {
            identity for identity, known in columns if known not in seen
        }
        return TableHistory(
            identity=self.identity,
            spans=tuple(self.spans),
            epochs=tuple(self.epochs),
            truncations=tuple(self.truncations),
            hold=self.hold,
            changes=tuple(self.changes),
            key_changes=tuple(self.key_changes),
            ended=self.ended,
            skipped=self.skipped,
            inferred_ids=frozenset(inferred_ids),
        )
