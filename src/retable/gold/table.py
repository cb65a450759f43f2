"""One table's replay: what its events come to, and the change of gold that follows."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import pyarrow as pa

from retable.decode.values import Value, ValueRules
from retable.errors import LateChange, TableError
from retable.gold.evolve import Evolution, plan_evolution
from retable.gold.iceberg import RUN_PROPERTY, Catalog, GoldTable
from retable.gold.replace import Replacement, replace_bag, replace_keys
from retable.gold.rows import arrow_type, to_table
from retable.gold.state import GoldColumn, GoldState, to_properties
from retable.gold.store import Late, RowStore, Standing
from retable.model.sequence import Sequence
from retable.replay.fold import REMEDY_REBUILD, Bounds, Folded, Reject, RowEvent, fold_bag, fold_keys
from retable.replay.history import AppliedChange, Hold, TableHistory
from retable.replay.images import TableReader, key_columns, ordering_clash
from retable.replay.timeline import ImplicitColumn

REMEDY_LATE = "retable hold release TABLE --rebuild --reason ..."
ORDER_REASON = "rows and this statement came in several partitions: nothing tells which came first"
LATE_REASON = "a schema change arrived that is older than rows already replayed: they were read under another schema"


@dataclass(frozen=True, slots=True)
class Work:
    """One table of one run: what the statements made of it, and the events to replay.

    `older` fetches events of the same table in other windows, of late keys or of all: the fold needs them where an
    event is not newer than what gold holds. `applied` is what this run replays, by window; `clash` holds
    the table whatever its rows say. `hashed`: silver's key hashes are those of `keys`. `names` are the
    gold names of the final columns, by column identity.
    """

    source: str
    gold: str
    history: TableHistory
    state: GoldState | None
    implicit: tuple[ImplicitColumn, ...]
    events: list[RowEvent]
    older: Callable[[Late | None], list[RowEvent]]
    keys: tuple[str, ...]
    hashed: bool
    names: Callable[[TableHistory], dict[str, str]]
    source_format: str
    rules: ValueRules
    applied: Mapping[str, str]
    horizon: int
    clash: Hold | None = None
    rebuilds: bool = False


@dataclass(frozen=True, slots=True)
class Decision:
    """What the events come to: the history up to the hold, and what that changes. No `change`: only the state."""

    history: TableHistory
    hold: Hold | None
    folded: Folded
    change: "Change | None" = None


@dataclass(frozen=True, slots=True)
class Change:
    """The way to gold: columns, and rows. `voids`: rows below the history's void must go first."""

    evolution: Evolution
    replacement: Replacement
    defaults: Mapping[str, Value]
    voids: bool


@dataclass(slots=True)
class Outcome:
    """What came of a table. `wrote`: gold has a new commit; `snapshot` is what a reader of main now sees."""

    gold: str
    state: GoldState
    snapshot: int
    history: TableHistory
    verdicts: Counter[tuple[int, str]] = field(default_factory=Counter)
    rejects: list[Reject] = field(default_factory=list)
    wrote: bool = False


class TableReplay:
    """Replays tables through one Spark session."""

    def __init__(self, catalog: Catalog, rows: RowStore, run_id: str, window: str, step: Callable[[str], None]) -> None:
        self._catalog = catalog
        self._rows = rows
        self._run_id = run_id
        self._window = window
        self._step = step

    def replay(self, work: Work, location: Callable[[], str]) -> Outcome:
        """Decide, expand, write on a branch, publish; nothing is written where gold already says all this."""
        table = self._catalog.load(work.gold)
        if table is None:
            parts = [event.part for event in work.events] + [change.part for change in work.history.changes]
            table = self._catalog.create(work.gold, any(part is not None for part in parts), location())
        elif work.state is None and not table.is_empty:
            raise TableError(f"{work.gold} has rows that Retable did not write; move it away, then replay again")
        decision = self._decide(work, table)
        branch, columns = None, () if work.state is None else work.state.columns
        if decision.change is not None:
            branch = self._write(work, table, decision.history, decision.change)
            columns = _gold_columns(table, decision.history, decision.change.evolution, work)
        state = _new_state(work, decision, columns)
        evolution = None if decision.change is None else decision.change.evolution
        wrote = branch is not None or state != work.state or (evolution is not None and evolution.changes)
        if wrote:
            properties = {**to_properties(state), RUN_PROPERTY: f"{self._run_id}/{self._window}"}
            table.publish(branch, evolution, properties, self._window, self._step)
        folded = decision.folded
        return Outcome(
            work.gold, state, table.snapshot_id, decision.history, folded.verdicts, folded.rejects, bool(wrote)
        )

    # --- deciding ------------------------------------------------------------------------------------------------
    def _decide(self, work: Work, table: GoldTable) -> Decision:
        """Fold up to the lowest hold. One that rows or gold bring cuts the history, and then it is folded again."""
        hold = _standing_hold(work)
        events: list[RowEvent] | None = None
        while True:
            history = work.history if hold is None else work.history.until(hold)
            hold = history.hold or hold
            if hold is not None and _is_behind(work, hold):
                hold = replace(hold, position=None)
            if hold is not None and hold.position is None:
                return Decision(history, hold, _all_held(work.events))
            try:
                reader = TableReader(history, work.keys, work.source_format, work.rules)
                names = work.names(history)
            except TableError as error:
                hold = _schema_hold(history, error)
                continue
            events = self._events(work) if events is None else events
            clash = _clash(work, history, events)
            if clash is not None:
                hold = Hold(
                    "ORDER_UNDEFINED", ORDER_REASON, clash.position, clash.part, clash.statement, REMEDY_REBUILD
                )
                continue
            fold = fold_keys if work.keys else fold_bag
            folded = fold(events, reader.read, Bounds(history.void, hold))
            if folded.hold is not None:
                hold = folded.hold
                continue
            try:
                return Decision(history, hold, folded, self._change(work, table, history, folded, reader, names))
            except TableError as error:
                first = min((event.sequence for event in work.events), default=None)
                at = None if isinstance(error, LateChange) else first
                hold = Hold(error.code, error.message, at, None, None, REMEDY_REBUILD)

    def _events(self, work: Work) -> list[RowEvent]:
        """The window's events and, for the late ones among them, all others of their keys."""
        if work.rebuilds or not work.events or work.state is None:
            return work.events
        if not work.keys or not work.hashed:
            return [*work.events, *work.older(None)]
        again = self._window in work.state.applied
        late = [event for event in work.events if again or _is_late(work.state, event.part, event.sequence)]
        if not late:
            return work.events
        hashes = frozenset(h for event in late for h in (event.key_hash, event.old_key_hash) if h is not None)
        keys = late[0].keys or ()
        return [*work.events, *work.older(Late(hashes, keys, min(event.sequence for event in late)))]

    def _change(
        self,
        work: Work,
        table: GoldTable,
        history: TableHistory,
        folded: Folded,
        reader: TableReader,
        names: dict[str, str],
    ) -> Change:
        known = () if work.state is None else work.state.columns
        by_name = work.rebuilds or work.state is None
        final = history.final.columns
        evolution = plan_evolution(table.fields(), known, final, names, by_name)
        told = tuple(str(change.position) for change in history.changes if change.status == "applied")
        if work.state is not None and not work.rebuilds and evolution.drops and told == work.state.changes:
            raise LateChange(f"rows that came late tell columns otherwise; gold would lose {evolution.drops[0]!r}")
        void = history.void
        voids = void is not None and not table.is_empty and (work.state is None or work.state.void != void)
        standing = [] if work.rebuilds else self._standing(table, evolution, reader, folded)
        standing = [row for row in standing if void is None or row.sequence > void]
        if reader.keys:
            return Change(evolution, replace_keys(folded, reader.key_columns, standing), reader.defaults, voids)
        return Change(evolution, replace_bag(folded, standing), reader.defaults, voids)

    def _standing(self, table: GoldTable, evolution: Evolution, reader: TableReader, folded: Folded) -> list[Standing]:
        """Gold's rows of the touched keys, as rows of the final schema; a column to come shows its default."""
        touched = list(folded.touched)
        final = reader.history.final.columns
        added = {column.id for _, column in evolution.adds}
        here = [index for index, column in enumerate(final) if column.id not in added]
        on = reader.key_columns or here
        if table.is_empty or not touched or not set(on) <= set(here) or not here:
            return []
        columns = [(evolution.physical[index], final[index].type) for index in here]
        keys = [key if reader.keys else tuple(key[index] for index in here) for key in touched]
        found = self._rows.matching(table.name, columns, [here.index(index) for index in on], keys)
        rows = []
        for row in found:
            values: list[object] = [reader.defaults[column.id] for column in final]
            for index, value in zip(here, row.values, strict=True):
                values[index] = value
            rows.append(replace(row, values=tuple(values)))
        return rows

    # --- writing -------------------------------------------------------------------------------------------------
    def _write(self, work: Work, table: GoldTable, history: TableHistory, change: Change) -> str | None:
        """Expand, then delete and append on a branch of the run's own; None where no row changes."""
        evolution, replacement = change.evolution, change.replacement
        if evolution.expands:
            table.expand(evolution, change.defaults)
            self._step(f"{work.gold}: expanded")
        if not (work.rebuilds or change.voids or replacement.deletes or replacement.rows):
            return None
        final = history.final.columns
        columns = [(name, column.type) for name, column in zip(evolution.physical, final, strict=True)]
        branch = table.branch(self._run_id)
        if work.rebuilds:
            self._rows.delete_all(work.gold, branch)
        elif change.voids and history.void is not None:
            self._rows.delete_below(work.gold, branch, history.void)
        if replacement.deletes:
            on = key_columns(history, work.keys) or list(range(len(columns)))
            self._rows.delete_keys(work.gold, branch, columns, on, replacement.deletes)
            self._step(f"{work.gold}: deleted")
        if replacement.rows:
            rows = to_table(replacement.rows, columns, table.has_part())
            for _, name, kind in table.fields():
                if name in evolution.drops and kind is not None:
                    rows = rows.append_column(name, pa.nulls(len(rows), arrow_type(kind)))
            self._rows.append(work.gold, branch, rows, self._run_id, self._window)
            self._step(f"{work.gold}: appended")
        return branch


# --- holds -------------------------------------------------------------------------------------------------------
def _standing_hold(work: Work) -> Hold | None:
    """The hold that stands from before, or that a statement older than what gold was built on brings."""
    if work.clash is not None or work.state is None or work.rebuilds:
        return work.clash
    if work.state.hold is not None:
        return work.state.hold
    told = {str(change.position): change for change in work.history.changes if change.status == "applied"}
    for position, change in told.items():
        if position not in work.state.changes and _is_late(work.state, change.part, change.position):
            return Hold("LATE_CHANGE", LATE_REASON, None, change.part, change.statement, REMEDY_LATE)
    if work.history.hold is None and (vanished := set(work.state.changes) - set(told)):
        reason = f"the statement at {min(vanished)}, on which gold's schema stands, is not in silver any more"
        return Hold("LATE_CHANGE", reason, None, None, None, REMEDY_LATE)
    return None


def _is_behind(work: Work, hold: Hold) -> bool:
    """Whether gold already has rows above a new hold: then the table stops as it is, and only a rebuild goes back."""
    if work.state is None or work.rebuilds or hold == work.state.hold or hold.position is None:
        return False
    return any(hold.position <= mark for mark in work.state.mark.values())


def _clash(work: Work, history: TableHistory, events: list[RowEvent]) -> AppliedChange | None:
    """A change of the history that nothing orders against rows of another partition, replayed now or before."""
    places = {(event.part, event.sequence.epoch) for event in events}
    if work.state is not None and not work.rebuilds:
        places |= {(part or None, mark.epoch) for part, mark in work.state.mark.items()}
    clashes = (ordering_clash(history.changes, part, epoch) for part, epoch in sorted(places, key=str))
    return next((clash for clash in clashes if clash is not None), None)


def _schema_hold(history: TableHistory, error: TableError) -> Hold:
    """A schema that gold cannot have holds the table at the statement that made it; without one, wholly."""
    change = next((change for change in reversed(history.changes) if change.status == "applied"), None)
    if change is None:
        return Hold(error.code, error.message, None, None, None, REMEDY_REBUILD)
    return Hold(error.code, error.message, change.position, change.part, change.statement, REMEDY_REBUILD)


def _all_held(events: list[RowEvent]) -> Folded:
    folded = Folded()
    for event in events:
        folded.verdicts[event.ordinal, "held"] += event.counted
    return folded


# --- state -------------------------------------------------------------------------------------------------------
def _is_late(state: GoldState, part: str | None, sequence: Sequence) -> bool:
    mark = state.mark.get(part or "")
    return mark is not None and sequence <= mark


def _gold_columns(table: GoldTable, history: TableHistory, evolution: Evolution, work: Work) -> tuple[GoldColumn, ...]:
    ids = {name: field_id for field_id, name, _ in table.fields()}
    names = work.names(history)
    return tuple(
        GoldColumn(c.id, ids[physical], c.name, names[c.id], c.source_type, c.type, c.default)
        for c, physical in zip(history.final.columns, evolution.physical, strict=True)
    )


def _new_state(work: Work, decision: Decision, columns: tuple[GoldColumn, ...]) -> GoldState:
    """The state to commit: what stood, and what this run replayed; a table held wholly keeps all but the hold."""
    history, hold = decision.history, decision.hold
    before = work.state
    if before is None or (work.rebuilds and decision.change is not None):
        before = GoldState(work.source, history.identity, history.name)
    for window, identity in work.applied.items():
        before = before.with_applied(window, identity)
    if decision.change is None:
        return replace(before, state="held", hold=hold, horizon=max(before.horizon, work.horizon))
    applied = [change for change in history.changes if change.status == "applied"]
    state = replace(
        before,
        table=history.name,
        state="held" if hold else "dropped" if history.dropped else "live",
        columns=columns,
        keys=work.keys,
        changes=tuple(str(change.position) for change in applied),
        implicit=work.implicit,
        void=history.void,
        hold=hold,
        horizon=max(before.horizon, work.horizon),
    )
    bounds = Bounds(None, hold)
    seen = [(event.part, event.sequence) for event in work.events if bounds.verdict(event) is None]
    marks: dict[str | None, Sequence] = {}
    for part, sequence in [*seen, *((change.part, change.position) for change in applied)]:
        marks[part] = max(sequence, marks.get(part, sequence))
    for part, sequence in marks.items():
        state = state.with_mark(part, sequence)
    return state
