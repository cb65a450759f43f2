"""The history of one table: its names, its epochs (schemas), its truncation points and its hold.

All classes here are immutable values. `trace` (trace.py) builds them from the statements of silver only. So two runs
with the same statements get the same tables, columns and ids, even if they replayed different windows before.
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
    """Says where a new column takes its values from, in rows that are older than the column.

    The values are those of the column `of`, as it was before the statement at the position `at`. They are converted to
    `type` (`source_type` in the source), the type that the new column had at that statement. `keeps` says that the
    conversion changes no value. If it is False, a value that is not exact in the new type holds the table.
    """

    at: Sequence
    of: "Column"
    source_type: str | None
    type: GoldType
    keeps: bool = False


@dataclass(frozen=True, slots=True)
class RetainedColumn:
    """Describes a column that the source dropped or renamed, and that gold keeps.

    `name` is the column's name in the source. `number` distinguishes retained columns of the same name; if it is 0,
    gold uses `name`, too. Rows after the drop show null in the column. If `follows` is the identity of another column,
    these rows show the value of that column.
    """

    name: str
    number: int
    follows: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column of a table in one epoch (between two schema changes).

    `id` is its identity, which stays the same when the column is renamed or its type changes: the position of the
    statement that added the column (`<sequence>:<n>`). A column that is dropped and added again gets another identity.
    `default` is the text of the value that rows older than the column show. If the type changed later so that gold's
    rows had to be written again (such as int to string), `born` is the column before the first such change. The text
    in `default` is read with the type of `born`, and converted to `type`. If `born` is None, it is read with `type`.
    `fill` says from which other column older rows get their values. From the position `text_since` on, the column is
    text in gold, whatever type the source declares. `retained` is set if the source no longer has the column.
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
    """The schema of a table between two schema changes.

    Rows with a sequence (position) above `start` were written with this schema, up to the next epoch. If `start` is
    None, the epoch begins with the table. `keys` are the names of the key columns; None means that no statement
    declares them. If `complete` is False, statements do not declare all columns, so undeclared columns of row images
    are accepted.
    """

    start: Sequence | None
    columns: tuple[Column, ...]
    keys: tuple[str, ...] | None
    complete: bool

    def column(self, name: str) -> Column | None:
        """Return the column with this name in the source, or None. Case is ignored, as in MySQL."""
        wanted = name.lower()
        return next((c for c in self.columns if c.name.lower() == wanted and c.retained is None), None)


@dataclass(frozen=True, slots=True)
class NameSpan:
    """A range of sequences (positions) in which a source table had the name `name`.

    Rows under this name with start <= sequence < end belong to the table. If a bound is None, the range is open there.
    `shown` is the name that gold uses for the table, if it is not `name`.
    """

    name: TableName
    start: Sequence | None
    end: Sequence | None
    shown: TableName | None = None

    def covers(self, sequence: Sequence) -> bool:
        return (self.start is None or sequence >= self.start) and (self.end is None or sequence < self.end)


@dataclass(frozen=True, slots=True)
class Claim:
    """Says to which table the rows of a name span belong: to this gold table (`is_own`) or to another one.

    If several source tables (shards) go into the gold table, `shard` is the label of the source table.
    """

    span: NameSpan
    is_own: bool
    shard: str | None

    def of(self, shard: str | None) -> "Claim":
        """Return the claim for one shard of this gold table: `is_own` is True only if the rows are of that shard."""
        return replace(self, is_own=self.is_own and self.shard == shard)


_OF_VALUES = frozenset({"BAD_VALUE", "INEXACT_CAST", "ROW_MISSING", "ZERO_DATE"})
"""Codes of holds whose reason contains a value or a key of a row."""


@dataclass(frozen=True, slots=True)
class Hold:
    """A stop of one table at a position: Retable does not apply rows from this position on, until the cause is solved.

    `code` and `reason` say why. If `position` is None, the whole table stops as it is, and `at` is the position of the
    cause, if it is known. `part` is the source partition of the position. `statement` is the statement or the row image
    that stops the table. `remedy` says what a person can do.
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
        """Whether a row stops the table. If so, `statement` is the row's image."""
        return is_row(self.statement)

    def is_same(self, other: "Hold | None") -> bool:
        """Return whether two holds have the same cause. Reason and remedy may differ, as their texts change."""
        return other is not None and replace(other, reason=self.reason, remedy=self.remedy) == self

    @property
    def words(self) -> str:
        """The reason of the hold, for logs and alerts. If it may show a value of a row, a general text instead."""
        shows = self.is_of_row or self.code in _OF_VALUES
        return (
            "a value of a row stops the table: `retable hold list` shows the value and the reason"
            if shows
            else self.reason
        )

    @property
    def shown_statement(self) -> str | None:
        """The statement that stops the table, or None if a row stops it or the statement is unknown."""
        return None if self.is_of_row else self.statement


@dataclass(frozen=True, slots=True)
class AppliedChange:
    """A DDL statement in the history of one table, and what Retable did with it (`status`).

    `meaning` are the schema changes of the statement, as facts for JSON. `reason` explains the status, if necessary.
    `orders_rows` says whether a row must be read differently if it comes before or after the statement.
    """

    position: Sequence
    part: str | None
    statement: str
    meaning: tuple[Mapping[str, object], ...]
    status: ChangeStatus
    reason: str | None = None
    orders_rows: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class TableHistory:
    """The history of one table of a source, under all names that the table had.

    `truncations` are the positions of TRUNCATE, DROP and CREATE TABLE, at which all rows are removed; the flag says
    whether the table is dropped from there on. `key_changes` are the positions at which the primary key was added,
    removed or changed. `ended` is the position at which the table was dropped, if the settings keep its rows.
    `skipped` are the rows and statements that a person decided to ignore: position, partition and text.
    `inferred_ids` are the identities of undeclared columns.

    If several source tables go into one gold table (shards/joined.py), `shards` are these source tables, and `cut`
    returns the history up to a hold. In the history of a shard, `called` is the shard's last name, even if a hold stops
    the shard earlier, and `label` is the name of the shard in its rows.
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
        """The table's name in the source, at the end of the history or at its hold."""
        return self.called or self._last.name

    @property
    def shown(self) -> TableName:
        """The name that gold uses for the table, at the end of the history or at its hold."""
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
        """The position at which the source dropped the table, or None if the table exists or was created again."""
        return (
            self.truncations[-1][0]
            if self.ended is None and self.truncations and self.truncations[-1][1]
            else self.ended
        )

    @property
    def rekeyed(self) -> tuple[Sequence, ...]:
        """The positions at which the key changed after the last truncation point."""
        return tuple(
            position for position in self.key_changes if self.truncated_at is None or self.truncated_at < position
        )

    @property
    def names(self) -> set[TableName]:
        """All source names that the table, or one of its shards (source tables), had."""
        return {span.name for _, history in self.parts() for span in history.spans}

    @property
    def identities(self) -> set[str]:
        """The identities of the source tables that make up this table."""
        return {history.identity for _, history in self.parts()}

    def parts(self) -> "list[tuple[str | None, TableHistory]]":
        """Return the histories of the shards (source tables) with their labels. Without shards: [(None, this history)].

        Rows are read with the history of their shard.
        """
        found: list[tuple[str | None, TableHistory]] = [(shard.label, shard.history) for shard in self.shards]
        return found or [(None, self)]

    def shard(self, label: str | None) -> "Shard":
        return next(shard for shard in self.shards if shard.label == label)

    def of(self, label: str | None) -> "TableHistory":
        """Return the history with which rows of the shard `label` are read. Without shards, return this history."""
        return self.shard(label).history if self.shards else self

    @property
    def shard_truncations(self) -> dict[str, Sequence]:
        """The last truncation point of each shard that has one, by the shard's label."""
        return {
            shard.label: shard.history.truncated_at for shard in self.shards if shard.history.truncated_at is not None
        }

    def until(self, hold: Hold) -> "TableHistory":
        """Return the history up to `hold`. If an earlier hold already stops the table, return it unchanged."""
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
        """Return the epoch in which a row with this sequence was written."""
        for epoch in reversed(self.epochs):
            if epoch.start is None or sequence > epoch.start:
                return epoch
        return self.epochs[0]


@dataclass(frozen=True, slots=True)
class Shard:
    """One of several source tables whose rows go into one gold table.

    `label` is the name of the source table, with its identity added if two tables had this name. `columns` has, for
    each final column of the gold table, the shard's column whose values go into it. If the shard has no such column,
    `columns` has the gold table's column there. `reassigned` is for columns of the shard that go into a gold column of
    another first name: it maps the identity of the shard's column to the identity of the gold column.
    """

    label: str
    history: TableHistory
    columns: tuple[Column, ...] = ()
    reassigned: Mapping[str, str] = field(default_factory=dict)

    def has_dropped(self, at: int) -> bool:
        """Return whether the shard dropped its column for the gold column at the index `at`."""
        own = self.columns[at].id
        ever = any(column.id == own for epoch in self.history.epochs for column in epoch.columns)
        return ever and all(column.id != own for column in self.history.final.columns)
