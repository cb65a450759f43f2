"""The history of one table: its names, its epochs, its truncation points and its hold.

All classes here are values. `trace` (trace.py) builds them from the statements of silver. Two runs over the same
statements therefore get the same tables, columns and ids, whatever was replayed before.
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
    """The values that rows older than a column show: those of the column `of`, as it was before the statement `at`.

    They are converted to the type that the new column had then. Unless the change `keeps` them all, a value that is not
    exact in the new type holds the table.
    """

    at: Sequence
    of: "Column"
    source_type: str | None
    type: GoldType
    keeps: bool = False


@dataclass(frozen=True, slots=True)
class RetainedColumn:
    """A column that the source dropped and gold keeps. Newer rows show null in it, or the value of `follows`.

    `name` is the source's name for it. `number` separates columns of one name; 0: gold uses `name` too.
    """

    name: str
    number: int
    follows: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column of one epoch.

    `id` is its identity over renames and promotions: where it was added (`<sequence>:<n>`). A name that is dropped and
    added again is another column. `default` is the text that rows older than the column show. `born` is the column as
    it was added, if its type was rewritten later: the default is read with its type. From `text_since` on the column is
    text in gold, whatever the source declares.
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

    `start` None: the beginning of the table. `complete` False: the statements do not declare all columns, so columns of
    an image are accepted.
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
    """Rows of table `name` with start <= sequence < end belong to the table; None: no bound.

    `shown` is gold's name for the table, if it is another one.
    """

    name: TableName
    start: Sequence | None
    end: Sequence | None
    shown: TableName | None = None

    def covers(self, sequence: Sequence) -> bool:
        return (self.start is None or sequence >= self.start) and (self.end is None or sequence < self.end)


@dataclass(frozen=True, slots=True)
class Claim:
    """The owner of the rows of a span: this gold table (`is_own`) or another one, and the shard."""

    span: NameSpan
    is_own: bool
    shard: str | None

    def of(self, shard: str | None) -> "Claim":
        """The same claim for one shard alone."""
        return replace(self, is_own=self.is_own and self.shard == shard)


_OF_VALUES = frozenset({"BAD_VALUE", "INEXACT_CAST", "ROW_MISSING", "ZERO_DATE"})
"""Codes with a reason that shows a value or a key of a row."""


@dataclass(frozen=True, slots=True)
class Hold:
    """A table stopped at a position. Rows from there on wait. `remedy` says what a person can do.

    Without a position the whole table stops. `at` is then the position of the cause, if it is known.
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
        """The position of the statement or row that stops the table."""
        return self.at or self.position

    @property
    def is_of_row(self) -> bool:
        """Whether a row stops the table. `statement` is then the row's image."""
        return is_row(self.statement)

    def is_same(self, other: "Hold | None") -> bool:
        """Whether the same change stops the table. Another version of Retable may have other words for it."""
        return other is not None and replace(other, reason=self.reason, remedy=self.remedy) == self

    @property
    def words(self) -> str:
        """The reason for logs and alerts. If it has a value of a row, only where to see it."""
        shows = self.is_of_row or self.code in _OF_VALUES
        return "a value of a row stops it: `retable hold list` shows the value and the reason" if shows else self.reason

    @property
    def shown_statement(self) -> str | None:
        """The statement that stops the table; None if it is a row, or unknown."""
        return None if self.is_of_row else self.statement


@dataclass(frozen=True, slots=True)
class AppliedChange:
    """One statement in the history of one table, and its result."""

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

    `truncations` are the truncation points (TRUNCATE, DROP, CREATE), each with whether the table is dropped from there
    on. `key_changes` are the positions at which its primary key was added, removed or changed. `ended` is where it was
    dropped and its rows are kept. `skipped` are the positions of rows that a person left out. A shard has a `called`,
    its name at its end, also if a hold stops it earlier; its rows have its `label`. `shards` are the source tables of
    this table, if it has several (shards/joined.py). `cut` gives such a table up to a hold.
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
        """The table's name at the end of the history, or at its hold."""
        return self.called or self._last.name

    @property
    def shown(self) -> TableName:
        """Gold's name for the table at that position."""
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
        """Where the source dropped the table, unless it was created again."""
        return (
            self.truncations[-1][0]
            if self.ended is None and self.truncations and self.truncations[-1][1]
            else self.ended
        )

    @property
    def rekeyed(self) -> tuple[Sequence, ...]:
        """Where the key changed, if rows that count can be below that position."""
        return tuple(
            position for position in self.key_changes if self.truncated_at is None or self.truncated_at < position
        )

    @property
    def names(self) -> set[TableName]:
        """All names under which the table's rows came."""
        return {span.name for _, history in self.parts() for span in history.spans}

    @property
    def identities(self) -> set[str]:
        """The identities of the source tables that make up this table."""
        return {history.identity for _, history in self.parts()}

    def parts(self) -> "list[tuple[str | None, TableHistory]]":
        """The histories under which its rows were written, by shard; without shards, this history."""
        found: list[tuple[str | None, TableHistory]] = [(shard.label, shard.history) for shard in self.shards]
        return found or [(None, self)]

    def shard(self, label: str | None) -> "Shard":
        return next(shard for shard in self.shards if shard.label == label)

    def of(self, label: str | None) -> "TableHistory":
        """The history under which rows of a shard were written; without shards, this history."""
        return self.shard(label).history if self.shards else self

    @property
    def shard_truncations(self) -> dict[str, Sequence]:
        """The truncation point of each shard."""
        return {
            shard.label: shard.history.truncated_at for shard in self.shards if shard.history.truncated_at is not None
        }

    def until(self, hold: Hold) -> "TableHistory":
        """The history up to `hold`, or unchanged if an earlier hold stops the table."""
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
        """Find the epoch under which a row of this sequence was written."""
        for epoch in reversed(self.epochs):
            if epoch.start is None or sequence > epoch.start:
                return epoch
        return self.epochs[0]


@dataclass(frozen=True, slots=True)
class Shard:
    """One of several source tables of one gold table. `label` is its name, made unique if two tables had it.

    `columns` are its own column for each final column of the whole, in that order; if it has none, the whole's.
    `reassigned` maps the identity of columns that belong to a gold column of another first name to that one's.
    """

    label: str
    history: TableHistory
    columns: tuple[Column, ...] = ()
    reassigned: Mapping[str, str] = field(default_factory=dict)

    def has_dropped(self, at: int) -> bool:
        """Whether the shard once had the column at this position of the whole, and dropped it."""
        own = self.columns[at].id
        ever = any(column.id == own for epoch in self.history.epochs for column in epoch.columns)
        return ever and all(column.id != own for column in self.history.final.columns)
