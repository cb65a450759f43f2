"""The work of a run for one table, its plan, and its result."""

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
"""Truncation points: rows below them do not count. Each is of one shard or, without a shard, of the whole table."""


Mode = Literal["replay", "resume", "rebuild", "rewrite"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TableReplay:
    """One table of one run: its history by the statements, and the events to replay."""

    source: str
    gold: str
    history: TableHistory
    state: GoldState | None
    """The state of the gold table; None: there is no table yet."""
    mode: Mode
    """`replay`: the events of a window, over gold's rows. `resume`: all events of a table whose hold is lifted, over
    the rows that it has. `rebuild`: all events, with new rows and a new record. `rewrite`: all events, with new rows
    under the present record."""
    lifts_hold: bool = False
    """Whether the present hold is lifted: in `resume`, and in the `rewrite` that it may become."""
    clash: Hold | None = None
    """Holds the table whatever its rows are."""

    inferred: tuple[InferredColumn, ...]
    """The undeclared columns."""
    typing: str
    """The digest of the settings that decide their types."""
    keys: Callable[[TableHistory], tuple[str, ...]]
    """The key of the table at the end of a history."""
    former: Callable[[TableHistory, list[RowEvent]], tuple[FormerKey, ...]]
    """The former keys of the table."""
    hashed: bool
    """Whether silver's key hashes are of the key."""
    keys_are_set: bool
    """Whether the settings name the key."""
    names: Callable[[TableHistory], dict[str, str]]
    """The gold names of the final columns, by column identity."""
    source_format: str
    rules: ValueRules
    format_version: int = 3
    partition: tuple[PartitionField, ...] | None = None
    """The partition fields of the settings."""

    events: list[RowEvent]
    batches: tuple[RowBatch, ...] = ()
    """The rows of the window, if `events` are only a sample of them (`RowBatch`)."""
    others: Set[str]
    """The other windows that gold has. A window that waits for its turn is not among them, even if silver has it:
    otherwise gold would have its rows before its turn."""
    older: Callable[[LateKeys | Halves | None], list[RowEvent]]
    """Fetch events of the same table in these windows: the other halves of updates, those of late keys, or all; the
    fold needs them if an event is not newer than gold."""
    claims: Mapping[TableName, Seq[Claim]]
    """Which rows of its names are its own: the first span that covers a row decides."""
    windows: Mapping[int, str]
    """Windows by ordinal."""
    ordinals: Mapping[str, int]
    """Ordinals by window."""
    applied: Mapping[str, str]
    """What this run replays, by window: the content of silver, and the settings by which it is read."""
    before: Mapping[str, tuple[str | None, Mapping[str, int]]]
    """The identity and the counts of windows in the ledger."""
    identities: Callable[[], Mapping[str, str]]
    """The identities that the replayed windows would have now."""
    horizon: int

    retired: bool = False
    """Whether the settings leave the table out."""
    left_out: Callable[[], bool] = lambda: False
    """Whether the settings left it out when some windows were decoded."""
    gathered: Mapping[str, str] = field(default_factory=dict)
    """The gold tables that have rows of it: by identity, what was replayed into them."""

    @property
    def replaces_all(self) -> bool:
        """Whether all of gold's rows are replaced."""
        return self.mode in ("rebuild", "rewrite")

    @property
    def has_all(self) -> bool:
        """Whether its events are all events of the table."""
        return self.replaces_all or self.lifts_hold

    @property
    def is_relabelled(self) -> bool:
        """Whether tables that go into it have other names than when their rows were written."""
        return self.state is not None and not self.state.has_shards_of(self.history)

    def of_shard(self, shard: str | None) -> "TableReplay":
        """The same for the rows of one of the tables that go into it."""
        mine = {name: [each.of(shard) for each in claims] for name, claims in self.claims.items()}
        return replace(
            self,
            events=[event for event in self.events if event.shard == shard],
            batches=tuple(batch for batch in self.batches if batch.shard == shard),
            claims={name: claims for name, claims in mine.items() if any(each.is_own for each in claims)},
        )

    def one_by_one(self) -> "TableReplay":
        """The same with every row as a separate event."""
        if not self.batches:
            return self
        return replace(self, events=events_of_all(self.batches, self.ordinals), batches=())

    def rewritten(self, without: Collection[str] = ()) -> "TableReplay":
        """The same with all events of the table, so that every row of gold is written again.

        Windows whose identity has changed are replayed with it, and counted again, without those in `without`, which
        are left to a separate run. If the tables that go into it have other names, all windows are replayed.
        """
        done = {} if self.state is None else self.state.applied
        found = self.identities().items()
        anew = self.is_relabelled
        stale = {window: now for window, now in found if (anew or done.get(window) != now) and window not in without}
        older = [event._replace(counted=self.windows[event.ordinal] in stale) for event in self.older(None)]
        mine = {self.windows[event.ordinal] for event in older if event.counted}
        mine |= self.before.keys() & stale.keys() if anew else set()
        applied = {**{window: stale[window] for window in mine}, **self.applied}
        return replace(self, events=[*self.events, *older], applied=applied, mode="rewrite")


@dataclass(frozen=True, slots=True)
class ReplayPlan:
    """The result of the events: the history up to the hold, and the change. No `change`: only the state changes."""

    history: TableHistory
    hold: Hold | None
    folded: Folded
    keys: tuple[str, ...] = ()
    change: "Change | None" = None


@dataclass(frozen=True, slots=True)
class Change:
    """The change of gold's columns and rows. Rows below `truncations` are deleted first: all, or those of a shard.

    `debts` are those of a table without a key after the change (`GoldState.debts`). The rows of a big window are not
    here: tasks have `left` them.
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
    """The result that tasks left in an exchange: names of deleted keys and of new rows, with their numbers.

    Columns are named by their index, also those of `edges` (`RemoteChange`).
    """

    exchange: Exchange
    gone: Mapping[str, int]
    rows: Mapping[str, int]
    edges: pa.Table

    def change(self, on: Seq[str], columns: Seq[str], nulls: pa.Schema) -> RemoteChange:
        """The change of a table whose columns have these names."""
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
    """How many rows of a window were replayed, and their lowest and highest sequence by partition."""

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
    """The counted rows of a work by window; also windows that had rows before and have none now."""
    found: dict[int, WindowCounts] = {}
    for event in work.events if not work.batches else ():
        if event.counted:
            found.setdefault(event.ordinal, WindowCounts()).add(event.part, event.sequence)
    for batch in work.batches:
        if isinstance(batch.source, RemoteRows):
            for (ordinal, part), count in batch.source.counts.items():
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
    """The result for one table, by window. `wrote`: gold has a new commit; a reader of main now sees `snapshot`."""

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
    """Count every event as held."""
    rows = {ordinal: counted.rows for ordinal, counted in counted_of(work).items()}
    return Folded(verdicts=Counter({(ordinal, "held"): count for ordinal, count in rows.items() if count}))


def left_unread(work: TableReplay, state: GoldState) -> ReplayResult:
    """The result for a table whose metadata cannot be read: all its rows wait, and nothing is committed to it."""
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
    """The result for a dropped table whose rows are another's: only its record still names it."""
    state = GoldState(source=row.source, identity=row.identity, table=row.name, state="dropped")
    history = TableHistory(
        identity=row.identity, spans=(NameSpan(row.name, None, None),), epochs=(Epoch(None, (), None, complete=False),)
    )
    return ReplayResult(gold=row.gold, state=state, snapshot=None, history=history)
