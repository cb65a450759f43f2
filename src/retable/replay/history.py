"""What the schema changes of a source made of one table: its names, its epochs, what is void, where it is held.

Everything here is a value. `trace` (in timeline.py) builds it from the statements of silver, so that two runs
over the same statements see the same tables, columns and ids, whatever was replayed before.
"""

from dataclasses import dataclass, field, replace
from typing import Literal

from retable.model.event import TableName
from retable.model.schema import GoldType
from retable.model.sequence import Sequence

ChangeStatus = Literal["applied", "nothing", "refused"]


@dataclass(frozen=True, slots=True)
class Column:
    """A column of one epoch.

    `id` is its identity over renames and promotions: where it was added (`<sequence>:<n>`), so that a name dropped
    and added again is another column. `default` is the text that rows older than the column show; `born` is the column
    as it was when it was added, by whose type the default is read, where the type was rewritten since.
    """

    id: str
    name: str
    source_type: str | None
    type: GoldType
    default: str | None = None
    born: "Column | None" = None


@dataclass(frozen=True, slots=True)
class Epoch:
    """The schema between two changes: rows with a sequence above `start` were written under it.

    `start` None = the beginning of the table. `complete` False: the statements do not tell all columns, so a
    column that an image brings is believed.
    """

    start: Sequence | None
    columns: tuple[Column, ...]
    keys: tuple[str, ...] | None
    complete: bool

    def column(self, name: str) -> Column | None:
        """Find a column by its source name; MySQL's column names ignore case."""
        wanted = name.lower()
        return next((column for column in self.columns if column.name.lower() == wanted), None)


@dataclass(frozen=True, slots=True)
class NameSpan:
    """Rows of table `name` with start <= sequence < end belong to the table; None = no bound."""

    name: TableName
    start: Sequence | None
    end: Sequence | None

    def covers(self, sequence: Sequence) -> bool:
        return (self.start is None or sequence >= self.start) and (self.end is None or sequence < self.end)


@dataclass(frozen=True, slots=True)
class Hold:
    """A table stopped at a position. Rows above it wait; `remedy` says what a person can do."""

    code: str
    reason: str
    position: Sequence | None
    part: str | None
    statement: str | None
    remedy: str


@dataclass(frozen=True, slots=True)
class AppliedChange:
    """One statement in the history of one table, and what it came to."""

    position: Sequence
    part: str | None
    statement: str
    meaning: tuple[dict[str, object], ...]
    status: ChangeStatus
    reason: str | None = None
    orders_rows: bool = True


@dataclass(frozen=True, slots=True)
class TableHistory:
    """One table of a source through all its names.

    `voids` are the positions below which no row counts (TRUNCATE, DROP, CREATE), each with whether the table is
    dropped from there on. `key_sets` are those at which a table without a key got one.
    """

    identity: str
    spans: tuple[NameSpan, ...]
    epochs: tuple[Epoch, ...]
    voids: tuple[tuple[Sequence, bool], ...] = ()
    hold: Hold | None = None
    changes: tuple[AppliedChange, ...] = field(default=())
    key_sets: tuple[Sequence, ...] = ()

    @property
    def name(self) -> TableName:
        """The table's name at the end of the history, or where it is held."""
        if self.hold is None or self.hold.position is None:
            return self.spans[-1].name
        until = self.hold.position
        return next((s.name for s in reversed(self.spans) if s.start is None or s.start < until), self.spans[0].name)

    @property
    def final(self) -> Epoch:
        return self.epochs[-1]

    @property
    def void(self) -> Sequence | None:
        return self.voids[-1][0] if self.voids else None

    @property
    def dropped(self) -> bool:
        return bool(self.voids) and self.voids[-1][1]

    @property
    def key_set(self) -> Sequence | None:
        """Where the table got its key, if rows without one can lie below and count."""
        last = max(self.key_sets, default=None)
        return last if last is not None and (self.void is None or self.void < last) else None

    def until(self, hold: Hold) -> "TableHistory":
        """The history as it was where `hold` stops the table, unless something stopped it before."""
        at = hold.position
        if at is None or (self.hold is not None and self.hold.position is not None and self.hold.position <= at):
            return self
        return replace(
            self,
            epochs=tuple(epoch for epoch in self.epochs if epoch.start is None or epoch.start < at),
            voids=tuple(void for void in self.voids if void[0] < at),
            changes=tuple(change for change in self.changes if change.position < at),
            key_sets=tuple(position for position in self.key_sets if position < at),
            hold=hold,
        )

    def epoch_of(self, sequence: Sequence) -> Epoch:
        """The epoch under which a row of this sequence was written."""
        for epoch in reversed(self.epochs):
            if epoch.start is None or sequence > epoch.start:
                return epoch
        return self.epochs[0]
