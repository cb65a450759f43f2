"""The data of one table's replay: what a run replays (`TableReplay`), the plan of the changes, and the result."""

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Set
from collections.abc import Sequence as Seq
from dataclasses import dataclass, field, replace
from typing import Literal

import pyarrow as pa

from retable.fold.fold import Folded, Reject
from retable.fold.key_changes import FormerKey
from retable.formats.reading import Value, ValueRules
from retable.gold.evolve import Evolution
from retable.gold.state import GoldState
from retable.gold.store import Exchange, Halves, LateKeys, RemoteChange
from retable.ledger.rows import TableRow
from retable.model.event import TableName
from retable.model.partitioning import PartitionField
from retable.model.row_event import RowEvent
from retable.model.sequence import Sequence
from retable.replay.batch.row_batch import RemoteRows, RowBatch, events_of_all
from retable.replay.batch.vectorized import VectorizedRows
from retable.replay.table.replace import Replacement
from retable.schema_history.history import Claim, Epoch, Hold, NameSpan, TableHistory
from retable.schema_history.shards.parts import join_part
from retable.schema_history.traced import InferredColumn

Truncations = Seq[tuple[str | None, Sequence]]
"""Truncation points, each with its shard (one of several source tables of a gold table), or None for the whole table.
Rows with lower sequences do not count."""


Mode = Literal["replay", "resume", "rebuild", "rewrite"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TableReplay:
    """What a run replays for one gold table: its schema history by the statements, its state, and the events."""

    source: str
    gold: str
    history: TableHistory
    state: GoldState | None
    """The state of the gold table; None if the table does not exist yet."""
    mode: Mode
    """`replay`: fold the events of a window, and change gold's rows. `resume`: fold all events of a table whose hold is
    lifted, and change gold's rows. `rebuild`: fold all events, replace all rows and start a new state. `rewrite`: fold
    all events and replace all rows, but keep the present state."""
    lifts_hold: bool = False
    """Whether this run lifts the table's hold. This is so in the mode `resume`, and if it then changes to `rewrite`."""
    clash: Hold | None = None
    """A hold that the run found before it folds any row, for example for a damaged file; None if there is none."""

    inferred: tuple[InferredColumn, ...]
    """The undeclared columns: columns that only rows show, not a statement."""
    typing: str
    """The digest of the settings that decide the types of undeclared columns."""
    keys: Callable[[TableHistory], tuple[str, ...]]
    """Returns the key columns of the table at the end of a history."""
    former: Callable[[TableHistory, list[RowEvent]], tuple[FormerKey, ...]]
    """Returns the former primary keys of the table that these events need, each with its last position."""
    hashed: bool
    """Whether silver's hashes of row keys were made from the columns that are the table's key now."""
    keys_are_set: bool
    """Whether the settings name the key."""
    names: Callable[[TableHistory], dict[str, str]]
    """Returns the gold names of the final columns, by column identity."""
    source_format: str
    rules: ValueRules
    format_version: int = 3
    partition: tuple[PartitionField, ...] | None = None
    """The Iceberg partition fields of the settings; None if the settings do not name any."""

    events: list[RowEvent]
    """The row events to fold. If there are `batches`, these are only a sample of their rows."""
    batches: tuple[RowBatch, ...] = ()
    """All rows of the window, as columns, if they are many (`RowBatch`)."""
    others: Set[str]
    """The names of the other windows whose rows gold has. Windows that are only in silver are not among them."""
    older: Callable[[LateKeys | Halves | None], list[RowEvent]]
    """Returns events of the same table in the windows `others`: those of late keys, the other halves of updates in two
    messages, or all events if the argument is None. The fold needs them if an event is not newer than gold's rows."""
    whole: Callable[[], tuple[RowBatch, ...]] = tuple
    """Returns all rows of the table in this run's windows and in `others`, which stay in silver's files. Returns ()
    unless they are many."""
    claims: Mapping[TableName, Seq[Claim]]
    """By table name in messages, which rows under this name belong to the table. A claim says so for a range of
    positions; the first one whose range has the row's position decides."""
    windows: Mapping[int, str]
    """Names of windows by ordinal (window number)."""
    ordinals: Mapping[str, int]
    """Ordinals of windows by name."""
    applied: Mapping[str, str]
    """By window that this run replays, its identity: a digest of its content in silver and of the settings."""
    before: Mapping[str, tuple[str | None, Mapping[str, int]]]
    """By window, the identity and the counts that the ledger recorded for the table in the former replay."""
    identities: Callable[[], Mapping[str, str]]
    """Returns, by window, the identities that the already replayed windows would have if they were replayed now."""
    horizon: int
    """The ordinal of the newest window whose statements are read."""

    retired: bool = False
    """Whether the settings exclude the table now."""
    left_out: Callable[[], bool] = lambda: False
    """Returns whether the settings excluded the table when some windows were decoded, so that silver lacks its rows."""
    gathered: Mapping[str, str] = field(default_factory=dict)
    """The other gold tables that got rows of this table: by table identity, a digest of what was replayed into them."""

    @property
    def replaces_all(self) -> bool:
        """Whether this run replaces all rows of the gold table."""
        return self.mode in ("rebuild", "rewrite")

    @property
    def has_all(self) -> bool:
        """Whether `events` (or `batches`) are all events of the table, not only those of one window."""
        return self.replaces_all or self.lifts_hold

    @property
    def is_relabelled(self) -> bool:
        """Whether a source table of this table has another name now than when its rows were written to gold."""
        return self.state is not None and not self.state.has_shards_of(self.history)

    def of_shard(self, shard: str | None) -> "TableReplay":
        """Return this work with only the rows of `shard`, one of several source tables that go into the gold table."""
        mine = {name: [each.of(shard) for each in claims] for name, claims in self.claims.items()}
        return replace(
            self,
            events=[event for event in self.events if event.shard == shard],
            batches=tuple(batch for batch in self.batches if batch.shard == shard),
            claims={name: claims for name, claims in mine.items() if any(each.is_own for each in claims)},
        )

    def one_by_one(self) -> "TableReplay":
        """Return this work with all rows of the window as single events in `events`, and without `batches`."""
        if not self.batches:
            return self
        return replace(self, events=events_of_all(self.batches, self.ordinals), batches=())

    def rewritten(self, without: Collection[str] = ()) -> "TableReplay":
        """Return this work with all events of the table, so that every row of gold is written again.

        The events of other windows are folded again, but not all are counted again for the ledger. They are counted if
        the identity of their window (a digest of its content and the settings) changed since its replay. If source
        tables of this table have other names now, they are counted in all windows. Windows in `without` are never
        counted here, because a later run replays them.
        """
        older = self.older(None)
        applied = self._counted_again({event.ordinal for event in older}, without)
        events = [event._replace(counted=self.windows[event.ordinal] in applied) for event in older]
        return replace(self, events=[*self.events, *events], applied=applied, mode="rewrite")

    def rewritten_from(self, batches: tuple[RowBatch, ...], without: Collection[str] = ()) -> "TableReplay":
        """Return this work with all rows of a big table as Arrow columns (`batches`), to write all rows of gold again.

        The attribute `whole` returns these `batches`. In the result, `events` has only a sample of their rows. Which
        windows are counted is as in `rewritten`: never those in `without`.
        """
        rows = sum((batch.rows_by_window() for batch in batches), Counter[int]())
        applied = self._counted_again(rows.keys(), without)
        sample = [event for batch in batches for event in batch.sample]
        events = [event._replace(counted=self.windows[event.ordinal] in applied) for event in sample]
        return replace(self, events=events, batches=batches, applied=applied, mode="rewrite")

    def _counted_again(self, ordinals: Set[int], without: Collection[str]) -> dict[str, str]:
        """Return the identities of the windows that a rewrite counts again, if these windows have rows of the table."""
        done = {} if self.state is None else self.state.applied
        found = self.identities().items()
        anew = self.is_relabelled
        stale = {window: now for window, now in found if (anew or done.get(window) != now) and window not in without}
        mine = {self.windows[ordinal] for ordinal in ordinals} & stale.keys()
        mine |= self.before.keys() & stale.keys() if anew else set()
        return {**{window: stale[window] for window in mine}, **self.applied}


@dataclass(frozen=True, slots=True)
class ReplayPlan:
    """What was decided about a table: `history` is its schema history up to `hold`, and `change` the change of gold.

    If `change` is None, no row changes: the table is held. `folded` has the counts and the rejected rows, and `keys`
    are the key columns.
    """

    history: TableHistory
    hold: Hold | None
    folded: Folded
    keys: tuple[str, ...] = ()
    change: "Change | None" = None


@dataclass(frozen=True, slots=True)
class Change:
    """The change of gold's columns and rows. Rows below `truncations` are deleted first.

    `evolution` has the steps for columns, and `defaults` the default of each new column. `replacement` (rows as Python
    objects) and `vectorized` (rows as Arrow columns) have the deleted and the new rows. If Spark tasks folded a big
    window, these rows are in files, and `left` names them. `debts` is for a table without a key: the number of deletes
    whose insert has not come yet. It is None if they are not counted.
    """

    evolution: Evolution
    replacement: Replacement
    defaults: Mapping[str, Value]
    truncations: Truncations = ()
    vectorized: VectorizedRows | None = None
    debts: int | None = None
    left: "LeftRows | None" = None


@dataclass(frozen=True, slots=True)
class LeftRows:
    """The keys to delete (`gone`) and the new rows (`rows`) that tasks wrote to an exchange (files between tasks).

    `gone` and `rows` map each name under which a task stored rows in the exchange to the number of these rows. `edges`
    has the lowest and highest value of each key column. In all these tables, a column is named by its index.
    """

    exchange: Exchange
    gone: Mapping[str, int]
    rows: Mapping[str, int]
    edges: pa.Table

    def change(self, on: Seq[str], columns: Seq[str], nulls: pa.Schema) -> RemoteChange:
        """Return the change with gold's column names: `on` for the key, `columns` for all columns of the new rows.

        `nulls` are columns of gold that the new rows lack; they are NULL.
        """
        return RemoteChange(
            exchange=self.exchange,
            gone=self.gone,
            rows=self.rows,
            on=tuple(on),
            columns=tuple(columns),
            edges=self.edges.rename_columns([*on]),
            nulls=nulls,
        )


@dataclass(slots=True)
class WindowCounts:
    """Counts the replayed rows of one window, and keeps their lowest and highest sequence by Kafka partition."""

    rows: int = 0
    lowest: dict[str, Sequence] = field(default_factory=dict)
    highest: dict[str, Sequence] = field(default_factory=dict)

    def add(self, part: str | None, *sequences: Sequence, rows: int = 1) -> None:
        self.rows += rows
        for sequence in sequences:
            self._see(part or "", sequence)

    def _see(self, name: str, sequence: Sequence) -> None:
        self.lowest[name] = min(sequence, self.lowest.get(name, sequence))
        self.highest[name] = max(sequence, self.highest.get(name, sequence))


def counted_of(work: TableReplay) -> dict[int, WindowCounts]:
    """Return the counts of the rows that this run replays, by window ordinal (window number).

    Windows that had rows of the table in a former replay and have none now are included, with a count of 0.
    """
    found: dict[int, WindowCounts] = {}
    for event in work.events if not work.batches else ():
        if event.counted:
            found.setdefault(event.ordinal, WindowCounts()).add(event.part, event.sequence)
    for batch in work.batches:
        if isinstance(batch.source, RemoteRows):
            for (ordinal, part), count in batch.source.counts.items():
                if work.mode == "rewrite" and work.windows[ordinal] not in work.applied:
                    continue
                counts = found.setdefault(ordinal, WindowCounts())
                mine = part if batch.shard is None else join_part(batch.shard, part)
                counts.add(mine, count.lowest, count.highest, rows=count.rows)
            continue
        counts = found.setdefault(batch.sample[0].ordinal, WindowCounts())
        counts.rows += batch.source.num_rows
        for event in batch.sample:
            counts.add(event.part, event.sequence, rows=0)
    if (work.lifts_hold and not work.is_relabelled) or work.mode == "rebuild":
        return found
    for window, (_, before) in work.before.items():
        if window in work.ordinals and before.get("rows"):
            found.setdefault(work.ordinals[window], WindowCounts())
    return found


@dataclass(slots=True, kw_only=True)
class ReplayResult:
    """The result of a replay for one table, to be recorded in the ledger.

    `counted` has the row counts by window ordinal, `verdicts` the numbers of rows by window ordinal and verdict (such
    as applied or held), and `rejects` the rows for quarantine. `applied` has the identities (content and settings) of
    the replayed windows. `wrote` is True if gold has a new commit. `snapshot` is the present snapshot of main.
    """

    gold: str
    state: GoldState
    snapshot: int | None
    history: TableHistory
    counted: Mapping[int, "WindowCounts"] = field(default_factory=dict)
    applied: Mapping[str, str] = field(default_factory=dict)
    verdicts: Counter[tuple[int, str]] = field(default_factory=Counter)
    rejects: list[Reject] = field(default_factory=list)
    wrote: bool = False


def all_held(work: TableReplay) -> Folded:
    """Return a fold result that counts every row of this work as held (waiting), and changes nothing."""
    rows = {ordinal: counted.rows for ordinal, counted in counted_of(work).items()}
    return Folded(verdicts=Counter({(ordinal, "held"): count for ordinal, count in rows.items() if count}))


def left_unread(work: TableReplay, state: GoldState) -> ReplayResult:
    """Return the result for a table whose metadata cannot be read: all its rows wait, and nothing is committed."""
    history = replace(work.history, changes=())
    verdicts = all_held(work).verdicts
    return ReplayResult(
        gold=work.gold,
        state=state,
        snapshot=None,
        history=history,
        counted=counted_of(work),
        applied=work.applied,
        verdicts=verdicts,
    )


def given_up(row: TableRow) -> ReplayResult:
    """Return the result for a gold table that the run dropped because all its rows belong to another gold table now."""
    state = GoldState(source=row.source, identity=row.identity, table=row.name, state="dropped")
    history = TableHistory(
        identity=row.identity, spans=(NameSpan(row.name, None, None),), epochs=(Epoch(None, (), None, complete=False),)
    )
    return ReplayResult(gold=row.gold, state=state, snapshot=None, history=history)
