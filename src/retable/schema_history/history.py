"""What the schema changes of a source made of one table: its names, its epochs, what is void, where it is held.

Everything here is a value. `trace` (trace.py) builds it from the statements of silver, so that two runs
over the same statements see the same tables, columns and ids, whatever was replayed before.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from retable.model.event import TableName
from retable.model.schema import GoldType
from retable.model.sequence import Sequence
from retable.schema_history.decisions import is_row

ChangeStatus = Literal["applied", "nothing", "refused"]


@dataclass(frozen=True, slots=True)
class Fill:
    """Where rows older than a column take its values: from the column `of`, as it was before the statement `at`.

    The values become those of the type that the new column had then. Unless it `keeps` them all, one that is not
    exactly the same there holds the table.
    """

    at: Sequence
    of: "Column"
    source_type: str | None
    type: GoldType
    keeps: bool = False


@dataclass(frozen=True, slots=True)
class RetainedColumn:
    """A column that the source has no more, and gold still has: rows since then show null, or what `follows` shows.

    `name` is what the source called it, `number` tells several of one name apart; 0: gold still calls it so, too.
    """

    name: str
    number: int
    follows: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column of one epoch.

    `id` is its identity over renames and promotions: where it was added (`<sequence>:<n>`), so that a name dropped
    and added again is another column. `default` is the text that rows older than the column show; `born` is the column
    as it was when it was added, by whose type the default is read, where the type was rewritten since. From
    `text_since` on it is text in gold, whatever the source declares.
    """

    id: str
    name: str
    source_type: str | None
    type: GoldType
    default: str | None = None
    born: "Column | None" = None
    fill: Fill | None = None
    retained: RetainedColumn | None = None
    text_since: Sequence | None = None


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
        return next((c for c in self.columns if c.name.lower() == wanted and c.retained is None), None)


@dataclass(frozen=True, slots=True)
class NameSpan:
    """Rows of table `name` with start <= sequence < end belong to the table; None = no bound.

    Gold calls it by the name `shown`, where that is another one.
    """

    name: TableName
    start: Sequence | None
    end: Sequence | None
    shown: TableName | None = None

    def covers(self, sequence: Sequence) -> bool:
        return (self.start is None or sequence >= self.start) and (self.end is None or sequence < self.end)


@dataclass(frozen=True, slots=True)
class Claim:
    """Of whom the rows are that a span covers: of a table of gold (`is_own`) or of another one, and of which shard."""

    span: NameSpan
    is_own: bool
    shard: str | None

    def of(self, shard: str | None) -> "Claim":
        """The same, said of one of the tables that go into it alone."""
        return replace(self, is_own=self.is_own and self.shard == shard)


_OF_VALUES = frozenset({"BAD_VALUE", "INEXACT_CAST", "ROW_MISSING", "ZERO_DATE"})
"""Codes whose reasons show a value, or a key, of a row."""


@dataclass(frozen=True, slots=True)
class Hold:
    """A table stopped at a position. Rows above it wait; `remedy` says what a person can do.

    Without a position all of the table stops; `at` is where that which stops it stands, if that is known and elsewhere.
    """

    code: str
    reason: str
    position: Sequence | None
    part: str | None
    statement: str | None
    remedy: str
    at: Sequence | None = None

    @property
    def place(self) -> Sequence | None:
        """Where that which stops the table stands."""
        return self.at or self.position

    @property
    def is_of_row(self) -> bool:
        """Whether a row stops the table, whose image stands in the place of a statement."""
        return is_row(self.statement)

    @property
    def words(self) -> str:
        """The reason as logs and alerts may have it: of one that has a value of a row, only where it is shown."""
        shows = self.is_of_row or self.code in _OF_VALUES
        return "a value of a row stops it: `retable hold list` shows which, and why" if shows else self.reason

    @property
    def shown_statement(self) -> str | None:
        """The statement that stops the table; None where it is a row, or nothing is told."""
        return None if self.is_of_row else self.statement


@dataclass(frozen=True, slots=True)
class AppliedChange:
    """One statement in the history of one table, and what it came to."""

    position: Sequence
    part: str | None
    statement: str
    meaning: tuple[Mapping[str, object], ...]
    status: ChangeStatus
    reason: str | None = None
    orders_rows: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class TableHistory:
    """One table of a source through all its names.

    `truncations` are the positions below which no row counts (TRUNCATE, DROP, CREATE), each with whether the table is
    dropped from there on. `key_changes` are those at which its primary key came, went or changed. `ended` is where
    it was dropped and its rows stay. `skipped` are the places of rows that a person decided to leave out. One of
    several that go into one is `called` as it was at its end wherever a hold stops it, and its rows have its `label`.
    `shards` are the source's tables that go into this one together, if it is made of such (shards/joined.py), and `cut`
    gives it as it was where a hold stops it.
    """

    identity: str
    spans: tuple[NameSpan, ...]
    epochs: tuple[Epoch, ...]
    truncations: tuple[tuple[Sequence, bool], ...] = ()
    hold: Hold | None = None
    changes: tuple[AppliedChange, ...] = field(default=())
    key_changes: tuple[Sequence, ...] = ()
    ended: Sequence | None = None
    skipped: frozenset[tuple[Sequence, str | None, str | None]] = frozenset()
    inferred_ids: frozenset[str] = frozenset()
    called: TableName | None = None
    label: str = ""
    shards: "tuple[Shard, ...]" = ()
    cut: "Callable[[Hold], TableHistory] | None" = field(default=None, compare=False)

    @property
    def name(self) -> TableName:
        """The table's name at the end of the history, or where it is held."""
        return self.called or self._last.name

    @property
    def shown(self) -> TableName:
        """The name by which gold calls the table then."""
        return self._last.shown or self._last.name

    @property
    def _last(self) -> NameSpan:
        if self.hold is None or self.hold.position is None:
            return self.spans[-1]
        until = self.hold.position
        return next((span for span in reversed(self.spans) if span.start is None or span.start < until), self.spans[0])

    @property
    def final(self) -> Epoch:
        return self.epochs[-1]

    @property
    def truncated_at(self) -> Sequence | None:
        return self.truncations[-1][0] if self.truncations else None

    @property
    def dropped(self) -> bool:
        return self.dropped_at is not None

    @property
    def dropped_at(self) -> Sequence | None:
        """Where the source dropped the table, unless it made it again."""
        return (
            self.truncations[-1][0]
            if self.ended is None and self.truncations and self.truncations[-1][1]
            else self.ended
        )

    @property
    def rekeyed(self) -> tuple[Sequence, ...]:
        """Where the key changed, if rows that count can lie below."""
        return tuple(
            position for position in self.key_changes if self.truncated_at is None or self.truncated_at < position
        )

    @property
    def names(self) -> set[TableName]:
        """Every name under which its rows came."""
        return {span.name for _, history in self.parts() for span in history.spans}

    @property
    def identities(self) -> set[str]:
        """The identities of the source's tables that it is, or is made of."""
        return {history.identity for _, history in self.parts()}

    def parts(self) -> "list[tuple[str | None, TableHistory]]":
        """The histories under which its rows were written, by shard: of a table that has none, its own."""
        found: list[tuple[str | None, TableHistory]] = [(shard.label, shard.history) for shard in self.shards]
        return found or [(None, self)]

    def shard(self, label: str | None) -> "Shard":
        return next(shard for shard in self.shards if shard.label == label)

    def of(self, label: str | None) -> "TableHistory":
        """The history under which rows of a shard were written; of a table that has none, its own."""
        return self.shard(label).history if self.shards else self

    @property
    def shard_truncations(self) -> dict[str, Sequence]:
        """The positions below which no row of a shard counts."""
        return {
            shard.label: shard.history.truncated_at for shard in self.shards if shard.history.truncated_at is not None
        }

    def until(self, hold: Hold) -> "TableHistory":
        """The history as it was where `hold` stops the table, unless something stopped it before."""
        at = hold.position
        if at is not None and self.cut is not None:
            return self.cut(hold)
        if at is None or (self.hold is not None and self.hold.position is not None and self.hold.position <= at):
            return self
        return replace(
            self,
            epochs=tuple(epoch for epoch in self.epochs if epoch.start is None or epoch.start < at),
            truncations=tuple(truncated_at for truncated_at in self.truncations if truncated_at[0] < at),
            changes=tuple(change for change in self.changes if change.position < at),
            key_changes=tuple(position for position in self.key_changes if position < at),
            hold=hold,
            ended=self.ended if self.ended is not None and self.ended < at else None,
        )

    def epoch_of(self, sequence: Sequence) -> Epoch:
        """The epoch under which a row of this sequence was written."""
        for epoch in reversed(self.epochs):
            if epoch.start is None or sequence > epoch.start:
                return epoch
        return self.epochs[0]


@dataclass(frozen=True, slots=True)
class Shard:
    """One of several tables of the source that go into one of gold; `label` is its name, or tells it from one before.

    `columns` are its own for each final column of the whole, in their order; where it has none, the whole's. Those
    that stand `reassigned` have, by first name and number, another of the whole than the one of that name.
    """

    label: str
    history: TableHistory
    columns: tuple[Column, ...] = ()
    reassigned: Mapping[str, str] = field(default_factory=dict)

    def has_dropped(self, at: int) -> bool:
        """Whether it had the column at this place of the whole, and has it no more."""
        own = self.columns[at].id
        ever = any(column.id == own for epoch in self.history.epochs for column in epoch.columns)
        return ever and all(column.id != own for column in self.history.final.columns)
