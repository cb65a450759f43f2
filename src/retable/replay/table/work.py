"""What a run has to do for one table, what it decides, and the state that gold is left in."""

from collections import Counter
from collections.abc import Callable, Collection, Mapping
from collections.abc import Sequence as Seq
from dataclasses import dataclass, field, replace

from retable.fold.fold import Bounds, Folded, Reject
from retable.fold.stages import FormerKey
from retable.formats.reading import Value, ValueRules
from retable.gold.evolve import Evolution
from retable.gold.state import Floor, GoldColumn, GoldState, ShardState
from retable.gold.store import GoldTable, Halves, Late
from retable.ledger.rows import TableRow
from retable.model.partitioning import PartitionField
from retable.model.row_event import RowEvent
from retable.model.sequence import Sequence, parse_sequence
from retable.replay.batch.bulk import Bulk, events_of_all
from retable.replay.batch.plain import Plain
from retable.replay.table.replace import Replacement
from retable.schema_history.history import Epoch, Hold, NameSpan, TableHistory
from retable.schema_history.shards.parts import SHARD_ID
from retable.schema_history.traced import ImplicitColumn

Voids = Seq[tuple[str | None, Sequence]]
"""Positions below which rows count no more, each of one shard, or, without one, of the whole table."""
DROP_TAG = "retable_dropped_"


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """One table of one run: what the statements made of it, and the events to replay.

    `older` fetches events of the same table in other windows: the other halves of updates, those of late keys, or all;
    the fold needs them where an event is not newer than what gold holds. `windows` names windows by ordinal; `applied`
    is what this run replays, by window, `before` what the ledger says of it and what it counted, and `identities` what
    the windows that were replayed would be applied as now; `clash` holds the table whatever its rows say; `partition`
    is by what the settings part its files; the settings leave a `retired` one out, and did so with a `left_out` one
    when some windows were decoded; `claims` are the gold tables that have rows of it, which it `gathers` now, and
    `dropped` what silver no longer holds of those. `keys` and `former` are the key that the table has at the end of a
    history, and those that it had before; `keys_are_set`: the settings name them; `hashed`: silver's key hashes are of
    the key. `names` are the gold names of the final columns, by column identity. `rebuilds`: gold's rows are all
    replaced; its record too, unless the work only `rewrites`. `resumes`: the table's hold is lifted, and the events are
    all that it has.
    """

    source: str
    gold: str
    history: TableHistory
    state: GoldState | None
    implicit: tuple[ImplicitColumn, ...]
    typing: str
    events: list[RowEvent]
    older: Callable[[Late | Halves | None], list[RowEvent]]
    windows: Mapping[int, str]
    keys: Callable[[TableHistory], tuple[str, ...]]
    former: Callable[[TableHistory, list[RowEvent]], tuple[FormerKey, ...]]
    hashed: bool
    keys_are_set: bool
    names: Callable[[TableHistory], dict[str, str]]
    source_format: str
    rules: ValueRules
    applied: Mapping[str, str]
    before: Mapping[str, tuple[str | None, Mapping[str, int]]]
    identities: Callable[[], Mapping[str, str]]
    horizon: int
    bulks: tuple[Bulk, ...] = ()
    format_version: int = 3
    partition: tuple[PartitionField, ...] | None = None
    clash: Hold | None = None
    retired: bool = False
    left_out: bool = False
    claims: Mapping[str, str] = field(default_factory=dict)
    gathers: bool = False
    dropped: Floor | None = None
    rebuilds: bool = False
    rewrites: bool = False
    resumes: bool = False

    @property
    def is_parted(self) -> bool:
        """Whether tables that went into it do no more, or under other names."""
        return self.state is not None and not self.state.has_shards_of(self.history)

    @property
    def is_keyed_by_shard_otherwise(self) -> bool:
        """Whether the name of the source's table joined the key, or left it, since."""
        columns = () if self.state is None else self.state.columns
        there, told = ({column.id for column in each} for each in (columns, self.history.final.columns))
        return self.state is not None and SHARD_ID in there ^ told

    def one_by_one(self) -> "Work":
        """The same with every row as an event of its own."""
        if not self.bulks:
            return self
        ordinals = {window: ordinal for ordinal, window in self.windows.items()}
        return replace(self, events=events_of_all(self.bulks, ordinals), bulks=())

    def rewritten(self, without: Collection[str] = ()) -> "Work":
        """The same with all events of the table, so that every row of gold is written anew.

        Windows whose identity is another by now are replayed with it: what their rows come to now, is counted now;
        `without` those that are left to a run of their own. Where other tables go into it than before, all are.
        """
        done = {} if self.state is None else self.state.applied
        found = self.identities().items()
        anew = self.gathers or self.is_parted
        stale = {window: now for window, now in found if (anew or done.get(window) != now) and window not in without}
        older = [event._replace(counted=self.windows[event.ordinal] in stale) for event in self.older(None)]
        mine = {self.windows[event.ordinal] for event in older if event.counted}
        mine |= self.before.keys() & stale.keys() if anew else set()
        applied = {**{window: stale[window] for window in mine}, **self.applied}
        return replace(self, events=[*self.events, *older], applied=applied, rebuilds=True, rewrites=True)


@dataclass(frozen=True, slots=True)
class Decision:
    """What the events come to: the history up to the hold, and what that changes. No `change`: only the state."""

    history: TableHistory
    hold: Hold | None
    folded: Folded
    keys: tuple[str, ...] = ()
    change: "Change | None" = None


@dataclass(frozen=True, slots=True)
class Change:
    """The way to gold: columns, and rows. Rows below `voids` go first: all of them, or those of a shard."""

    evolution: Evolution
    replacement: Replacement
    defaults: Mapping[str, Value]
    voids: Voids = ()
    plain: Plain | None = None


@dataclass(slots=True)
class Counted:
    """How many rows of a window were replayed, and their lowest and highest sequence by partition."""

    rows: int = 0
    lowest: dict[str, Sequence] = field(default_factory=dict)
    highest: dict[str, Sequence] = field(default_factory=dict)

    def add(self, part: str | None, sequence: Sequence) -> None:
        self.rows += 1
        name = part or ""
        self.lowest[name] = min(sequence, self.lowest.get(name, sequence))
        self.highest[name] = max(sequence, self.highest.get(name, sequence))


def drop_tag(work: Work, history: TableHistory, empty: bool) -> str | None:
    """The name for gold's last snapshot from before the source dropped the table; None where nothing is to keep."""
    if work.state is None or empty:
        return None
    before = work.state.void
    drops = [at for at, is_drop in history.voids if is_drop and (before is None or at > before)]
    return f"{DROP_TAG}{'_'.join(map(str, max(drops)))}".replace("-", "n") if drops else None


def counted_of(work: Work) -> dict[int, Counted]:
    """What of a work counts, by window; one that had rows before, and has none, too."""
    found: dict[int, Counted] = {}
    for event in work.events:
        if event.counted:
            found.setdefault(event.ordinal, Counted()).add(event.part, event.sequence)
    if work.bulks:
        found[work.events[0].ordinal].rows = sum(bulk.rows.num_rows for bulk in work.bulks)
    if (work.resumes and not work.is_parted) or (work.rebuilds and not work.rewrites):
        return found
    for ordinal, window in work.windows.items():
        if window in work.before and work.before[window][1].get("rows"):
            found.setdefault(ordinal, Counted())
    return found


@dataclass(slots=True, kw_only=True)
class Outcome:
    """What came of a table, by window. `wrote`: gold has a new commit; a reader of main now sees `snapshot`."""

    gold: str
    state: GoldState
    snapshot: int | None
    history: TableHistory
    counted: Mapping[int, "Counted"] = field(default_factory=dict)
    applied: Mapping[str, str] = field(default_factory=dict)
    verdicts: Counter[tuple[int, str]] = field(default_factory=Counter)
    rejects: list[Reject] = field(default_factory=list)
    wrote: bool = False


def _pending(work: Work, folded: Folded, before: Mapping[str, str], void: Sequence | None) -> dict[str, str]:
    """The halves that wait, with their windows: those from before that nothing settled, voided or skipped; new ones."""
    settled = {pair[:2] for pair in folded.settled} | {place[:2] for place, _, _ in work.history.skipped}
    waiting = {text: window for text, window in before.items() if parse_sequence(text)[:2] not in settled}
    waiting |= {str(event.sequence): work.windows[event.ordinal] for event in folded.pending}
    return {text: window for text, window in waiting.items() if void is None or parse_sequence(text) >= void}


def fresh_voids(work: Work, history: TableHistory) -> Voids:
    """The voids that gold does not know yet."""
    state = work.state
    if history.shards:
        known = {} if state is None else {identity: shard.void for identity, shard in state.shards.items()}
        now = [(shard.label, shard.history.void, known.get(shard.history.identity)) for shard in history.shards]
        return [(label, void) for label, void, before in now if void is not None and void != before]
    if history.void is None or (state is not None and state.void == history.void):
        return []
    return [(None, history.void)]


def _shard_states(history: TableHistory) -> dict[str, ShardState]:
    return {
        shard.history.identity: ShardState(shard.history.name, shard.history.void, dict(shard.aside))
        for shard in history.shards
    }


def is_late(state: GoldState, part: str | None, sequence: Sequence) -> bool:
    mark = state.mark.get(part or "")
    return mark is not None and sequence <= mark


def gold_columns(table: GoldTable, history: TableHistory, evolution: Evolution, work: Work) -> tuple[GoldColumn, ...]:
    ids = {name: field_id for field_id, name, _ in table.fields()}
    names = work.names(history)
    return tuple(
        GoldColumn(c.id, ids[physical], c.name, names[c.id], c.source_type, c.type, c.default)
        for c, physical in zip(history.final.columns, evolution.physical, strict=True)
    )


def new_state(work: Work, decision: Decision, columns: tuple[GoldColumn, ...]) -> GoldState:
    """The state to commit: what stood, and what this run replayed; a table held wholly keeps all but the hold."""
    history, hold = decision.history, decision.hold
    before = work.state
    if before is None or (work.rebuilds and not work.rewrites and decision.change is not None):
        floor = None if before is None else before.floor
        before = GoldState(source=work.source, identity=history.identity, table=history.name, floor=floor)
    for window, identity in work.applied.items():
        before = before.with_applied(window, identity)
    if decision.change is None:
        floor = _floor_below(before.floor, work)
        shards = _shard_states(work.history) | before.shards
        horizon = max(before.horizon, work.horizon)
        return replace(before, state="held", hold=hold, horizon=horizon, floor=floor, shards=shards)
    applied = [change for change in history.changes if change.status == "applied"]
    state = replace(
        before,
        table=history.name,
        state="held" if hold else "dropped" if history.dropped else "live",
        columns=columns,
        keys=decision.keys,
        changes=tuple(str(change.position) for change in applied),
        implicit=work.implicit,
        typing=work.typing,
        keys_are_set=work.keys_are_set,
        pending=_pending(work, decision.folded, before.pending, history.void),
        void=history.void,
        shards=_shard_states(history),
        gathered=dict(work.claims),
        hold=hold,
        horizon=max(before.horizon, work.horizon),
        is_set_back=False,
    )
    bounds = Bounds(None, hold)
    seen = [(event.part, event.sequence) for event in work.events if bounds.verdict(event) is None]
    marks: dict[str | None, Sequence] = {}
    for part, sequence in [*seen, *((change.part, change.position) for change in applied)]:
        marks[part] = max(sequence, marks.get(part, sequence))
    for part, sequence in marks.items():
        state = state.with_mark(part, sequence)
    lives = history.dropped_at is not None and any(mark > history.dropped_at for mark in state.mark.values())
    return replace(state, state="live") if lives and hold is None else state


def _floor_below(floor: Floor | None, work: Work) -> Floor | None:
    """The floor of a table that takes no row: what this run leaves out is not in gold."""
    first = min((event.ordinal for event in work.events if event.counted), default=None)
    return (
        floor
        if floor is None or first is None or work.resumes
        else replace(floor, through=min(floor.through, first - 1))
    )


def all_held(events: list[RowEvent]) -> Folded:
    """Every event kept back."""
    folded = Folded()
    for event in events:
        folded.verdicts[event.ordinal, "held"] += event.counted
    return folded


def left_unread(work: Work, state: GoldState) -> Outcome:
    """What comes of a table whose metadata cannot be read: all its rows wait, and nothing is committed to it."""
    work = work.one_by_one()
    history = replace(work.history, changes=())
    verdicts = all_held(work.events).verdicts
    return Outcome(
        gold=work.gold,
        state=state,
        snapshot=None,
        history=history,
        counted=counted_of(work),
        applied=work.applied,
        verdicts=verdicts,
    )


def given_up(row: TableRow) -> Outcome:
    """What comes of a table that is no more, as its rows are another's: nothing tells of it but its record."""
    state = GoldState(source=row.source, identity=row.identity, table=row.name, state="dropped")
    history = TableHistory(
        identity=row.identity, spans=(NameSpan(row.name, None, None),), epochs=(Epoch(None, (), None, complete=False),)
    )
    return Outcome(gold=row.gold, state=state, snapshot=None, history=history)
