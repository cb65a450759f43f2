"""Replay a table after retention dropped old row events from silver. Only gold's rows show the result of these events.

The retention floor says up to which sequence (position in the source's log) events of the table were dropped.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from retable.errors import BehindHorizon, MessageError, NotKept, TableError
from retable.fold.bounds import Bounds
from retable.fold.fold import Folded, Key
from retable.fold.images import TableReader
from retable.gold.evolve import RewriteNeeded, RowsMissing
from retable.gold.state import GoldState, RetentionFloor
from retable.gold.store import CurrentRow, LateKeys
from retable.model.row_event import RowEvent, row_text
from retable.model.sequence import Sequence
from retable.replay.table.table_replay import ReplayPlan, TableReplay, all_held
from retable.schema_history.decisions import BEHIND, REMEDY_ALL_ROWS, REMEDY_BEHIND
from retable.schema_history.history import Hold, TableHistory
from retable.schema_history.traced import InferredColumn

LeftOut = frozenset[tuple[Sequence, str | None, str | None]]
_SHOWN = 3


class UndecidedRows(Exception):
    """Late row events (`events`) are below the retention floor, and neither silver nor gold shows their result."""

    def __init__(self, events: list[RowEvent]) -> None:
        super().__init__(f"{len(events)} rows")
        self.events = events


def retention_floor(state: GoldState | None, history: TableHistory) -> RetentionFloor | None:
    """Return up to which sequences retention dropped rows of a table. Return None if it dropped none that count.

    Rows below the last truncation of the table do not count.
    """
    return None if state is None or state.floor is None else state.floor.above(history.truncated_at)


def check_whole(gold: str, state: GoldState | None, history: TableHistory, dropped: RetentionFloor | None) -> None:
    """Raise NotKept if a table cannot be built again, because retention dropped rows of it from silver.

    `dropped` is the retention floor of rows that are in other gold tables and belong to this table now.
    """
    if (floor := retention_floor(state, history) or dropped) is not None:
        raise not_kept(gold, floor, "the table cannot be built again from silver")


def not_kept(gold: str, floor: RetentionFloor, what: str) -> NotKept:
    """Return the error for an action that is not possible, because silver no longer has all rows of a table.

    `what` is a clause that says which action is not possible. `floor` says up to where rows are missing.
    """
    some = sorted(floor.dropped.items())[:_SHOWN]
    ends = ", ".join(f"{last} of {part}" if part else str(last) for part, last in some)
    return NotKept(
        f"{gold}: {what}, because silver no longer has the table's rows up to {ends} (setting retention.silver). New "
        f"rows are still replayed; to start the table again, take a full copy: `retable baseline {gold} --from ... "
        f"--at ...`",
        table=gold,
    )


def remembered(state: GoldState | None) -> tuple[InferredColumn, ...]:
    """Return gold's undeclared columns (columns that only rows show), if retention may have dropped these rows.

    Return an empty tuple if retention dropped no rows of the table.
    """
    return () if state is None or state.floor is None else state.inferred


def older(work: TableReplay, needed: LateKeys | None) -> list[RowEvent]:
    """Return the events of other windows that a fold may use. They are above the retention floor.

    `needed` limits the events to some keys. If it is None, return events of all keys.
    """
    floor = retention_floor(work.state, work.history)
    return [event for event in work.older(needed) if floor is None or not floor.covers(event.part, event.sequence)]


def split_accounted(work: TableReplay, events: list[RowEvent]) -> tuple[list[RowEvent], list[RowEvent]]:
    """Divide `events` into two lists: the events to fold, and those whose result gold already has.

    The second list is empty unless a hold is lifted and retention dropped rows.
    """
    floor = retention_floor(work.state, work.history) if work.lifts_hold else None
    if floor is None:
        return events, []
    known_ones = [e.ordinal <= floor.through and floor.covers(e.part, e.sequence) for e in events]
    return (
        [event for event, is_known in zip(events, known_ones, strict=True) if not is_known],
        [event for event, is_known in zip(events, known_ones, strict=True) if is_known],
    )


def count_accounted(folded: Folded, events: Iterable[RowEvent], bounds: Bounds) -> None:
    """Count `events`, whose result gold already has, as `superseded` in `folded`.

    `bounds` knows the events that a fold does not apply, for example because they wait for a hold or are older than a
    truncation. Such an event is counted under that verdict (`held`, `voided`, `excluded`) instead.
    """
    for event in events:
        folded.verdicts[event.ordinal, bounds.verdict(event) or "superseded"] += event.counted


def check_key(state: GoldState, reader: TableReader) -> None:
    """Raise BehindHorizon if the table's key is not the key of gold's rows.

    Gold would have to be built again with the new key, but retention dropped rows of the table.
    """
    known = {column.name: column.id for column in state.columns}
    now = [reader.columns[at].id for at in reader.key_columns]
    if sorted(known.get(name, "") for name in state.keys) != sorted(now):
        raise BehindHorizon(
            f"the key of the table is ({', '.join(reader.keys)}) now, but gold has the key ({', '.join(state.keys)}), "
            f"and silver no longer has all rows to build gold with the new key (setting retention.silver); set the "
            f"former key in the settings and release the hold with --retry, or take a baseline"
        )


# --- late rows ---------------------------------------------------------------------------------------------------
def settle(
    floor: RetentionFloor,
    folded: Folded,
    events: Iterable[RowEvent],
    standing: Iterable[CurrentRow],
    reader: TableReader,
    bounds: Bounds,
    waiting: Mapping[str, str],
) -> None:
    """Decide about late `events` below the retention floor: remove from `folded` the keys whose row in gold stays.

    Gold's row of a key shows the result of all dropped events of this key. If gold's row is newer than the last event
    of the key, it stays. If it is older, the fold's result replaces it. Raise UndecidedRows if this cannot be decided:

    - the event leaves a row, but gold has none of this key, so that the source may have deleted it later;
    - images may be partial, so that gold's newer row may lack values of the late event;
    - an event is one half of an update, and the other half may be dropped.

    `standing` are gold's rows of the keys. `bounds` says which events count. `waiting` has the halves of updates that
    lacked their other half before this run: by sequence, the window of the half. UndecidedRows has the events.
    """
    found = list(events)
    late = [
        (event, _keys_of(event, reader))
        for event in found
        if event.counted and floor.covers(event.part, event.sequence) and bounds.verdict(event) is None
    ]
    if not late:
        return
    present: dict[Key, list[CurrentRow]] = defaultdict(list)
    for row in standing:
        present[tuple(row.values[index] for index in reader.key_columns)].append(row)
    is_partial = floor.partial or any(event.partial for event in found)
    known_better: set[Key] = set()
    open_ones: set[Key] = set()
    lowest: dict[Key, Sequence] = {}
    for event, keys in late:
        lowest |= {key: min(event.sequence, lowest.get(key, event.sequence)) for key in keys}
    for key, first in lowest.items():
        winner, rows = folded.winners.get(key), present.get(key, [])
        if winner is None or not (is_partial or floor.covers(winner.part, winner.sequence)):
            continue
        newer = any(row.sequence > (first if is_partial else winner.sequence) for row in rows)
        base_gone = winner.base is not None and not present.get(winner.base)
        if (winner.row is not None and not rows) or (is_partial and (newer or base_gone)):
            open_ones.add(key)
        elif newer:
            known_better.add(key)
    lone = {event.pair for event in folded.pending if str(event.sequence) not in waiting}
    undecided = [e for e, keys in late if (e.half and e.pair in lone) or not open_ones.isdisjoint(keys)]
    if undecided:
        raise UndecidedRows(undecided)
    _supersede(folded, known_better, late)


def _keys_of(event: RowEvent, reader: TableReader) -> tuple[Key, ...]:
    """Return the keys that an event changes, the key of its new row last; empty if the event cannot be read."""
    try:
        action = reader.read(event)
    except (MessageError, TableError):
        return ()
    return tuple(key for key in (action.gone, action.key) if key is not None)


def _supersede(folded: Folded, keys: set[Key], late: list[tuple[RowEvent, tuple[Key, ...]]]) -> None:
    """Leave gold's rows of these keys unchanged, and count their events as superseded."""
    left = set(keys)
    for event, touched in sorted(late, key=lambda each: each[0].arrival):
        last = touched[-1] if touched else None
        if last in left and folded.winners[last].sequence == event.sequence:
            left.discard(last)
            folded.verdicts[event.ordinal, "applied"] -= 1
            folded.verdicts[event.ordinal, "superseded"] += 1
    folded.touched -= keys


def stopping(floor: RetentionFloor | None, hold: Hold, events: Iterable[RowEvent], bounds: Bounds) -> list[RowEvent]:
    """Return the events at the position of `hold` that are below the retention floor. Without a floor, return [].

    If there are such events, perhaps the hold exists only because retention dropped earlier events. An event is left
    out if this run does not count it, or if a fold does not apply it according to `bounds`.
    """
    here = (event for event in events if event.counted and event.sequence == hold.position)
    if floor is None:
        return []
    return [each for each in here if floor.covers(each.part, each.sequence) and bounds.verdict(each) is None]


def left_or_held(
    work: TableReplay, undecided: list[RowEvent], left: LeftOut, hold: Hold | None
) -> tuple[Hold | None, LeftOut]:
    """Return the hold and the rows to leave out when the table is folded again, after `undecided` rows were found.

    `undecided` are late rows whose result is not known. `hold` and `left` (the rows left out) are those of the fold
    that found them. If a person decided to skip late rows of these windows, keep `hold` and add the rows to `left`.
    Otherwise keep `left` and return a new hold, which stops the table in its present state.
    """
    said = [text for _, _, text in work.history.skipped if text is not None and text.startswith(BEHIND)]
    until = max((text.removeprefix(BEHIND) for text in said), default="")
    if any(work.windows[event.ordinal] > until for event in undecided):
        return _hold_behind(work, undecided), left
    return hold, left | {(event.sequence, event.part, row_text(event)) for event in undecided}


def _hold_behind(work: TableReplay, undecided: list[RowEvent]) -> Hold:
    """Return the hold for undecided rows: the table stops in its present state."""
    first = min(undecided, key=lambda event: event.arrival)
    came = work.windows[first.ordinal]
    reason = (
        f"{len(undecided)} late rows came in the window {came}, the first with the sequence {first.sequence}; silver "
        f"no longer has the table's rows up to this sequence (setting retention.silver), and gold does not show "
        f"whether the source deleted these rows later"
    )
    return Hold(BehindHorizon.code, reason, None, first.part, row_text(first), REMEDY_BEHIND)


# --- what needs all rows -----------------------------------------------------------------------------------------
def without_rewriting(work: TableReplay, why: RewriteNeeded, decide: Callable[[TableReplay], ReplayPlan]) -> ReplayPlan:
    """Return a plan that holds a table, because all rows must be written again but silver does not have all of them.

    `why` says why they must be written again. The hold is at the statement of this run that is the cause, so that
    earlier changes are still applied: `decide` makes the plan with a hold. If no statement is the cause, the table
    stops in its present state.
    """
    where = (
        "`retable plan` shows the windows that were decoded without the table"
        if isinstance(why, RowsMissing)
        else "setting retention.silver"
    )
    reason = f"all rows of the table must be written again ({why}), but silver does not have all of them ({where})"
    done = () if work.state is None else work.state.changes
    stop = None if work.state is None or work.state.hold is None or work.lifts_hold else work.state.hold.position
    fresh = [each for each in work.history.changes if each.status == "applied" and str(each.position) not in done]
    for change in reversed([each for each in fresh if stop is None or each.position < stop]):
        hold = Hold(BehindHorizon.code, reason, change.position, change.part, change.statement, REMEDY_ALL_ROWS)
        try:
            return decide(replace(work, clash=hold))
        except RewriteNeeded:
            continue
    return ReplayPlan(work.history, Hold(BehindHorizon.code, reason, None, None, None, REMEDY_BEHIND), all_held(work))
