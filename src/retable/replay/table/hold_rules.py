"""Rules for holds (stops of a table with a reason): which existing or new hold stops a table, and at which position."""

from collections.abc import Iterable, Set

from retable.errors import BehindHorizon, LateChange, OrderUndefined, PartitionUnfit, RowMissing, TableError
from retable.fold.exactness import cast_hold
from retable.fold.fold import REMEDY_REBUILD, Folded
from retable.fold.images import TableReader, ordering_clash
from retable.fold.key_changes import KeyChange
from retable.gold.state import GoldState
from retable.model.row_event import RowEvent
from retable.model.sequence import Sequence
from retable.replay.batch.row_batch import RowBatch
from retable.replay.table.next_state import is_emptied, is_late, new_truncations
from retable.replay.table.table_replay import TableReplay
from retable.schema_history.decisions import REMEDY_ROW
from retable.schema_history.history import Hold, TableHistory
from retable.schema_history.policies import hold_at
from retable.schema_history.shards.parts import SHARD_ID, shard_of

REMEDY_PARTITION = "correct `partition` in the settings, then: retable hold release TABLE --retry --reason ..."
REMEDY_LATE = REMEDY_MOVED = "retable rebuild TABLE --reason ..."
MOVED = "MOVED"
"""The code of a hold if settings or a RENAME send rows to another gold table, so that this one lacks or has some."""
ORDER_REASON = (
    "rows of the table and this statement came in different Kafka partitions, so it is not known which of them is older"
)
LATE_REASON = "a schema change arrived that is older than rows already replayed: they were read under another schema"
LATE_ROW = (
    "a row arrived that is older than rows already replayed, and no replayed window has the whole row that it changes"
)


def standing_hold(work: TableReplay) -> Hold | None:
    """Return the hold that stops a table before any row is folded; None if there is none.

    If this run found a hold itself (`work.clash`), return this one. Otherwise, in a table that is not rebuilt, it is:

    - the present hold, unless this run lifts it;
    - a hold because of a statement that arrived late: gold already has newer rows, read without the statement;
    - a hold because silver no longer has a statement that made a part of gold's schema.
    """
    if work.clash is not None or work.state is None or work.mode == "rebuild":
        return work.clash
    if work.state.hold is not None and not work.lifts_hold:
        return work.state.hold
    applied = {str(change.position): change for change in work.history.changes if change.status == "applied"}
    for position, change in applied.items():
        if position not in work.state.changes and is_late(work.state, change.part, change.position):
            return Hold("LATE_CHANGE", LATE_REASON, None, change.part, change.statement, REMEDY_LATE)
    if work.history.hold is None and (vanished := set(work.state.changes) - set(applied)):
        reason = f"the statement at {min(vanished)} is no longer in silver, but the schema of the gold table needs it"
        return Hold("LATE_CHANGE", reason, None, None, None, REMEDY_LATE)
    return None


def moved_hold(history: TableHistory, state: GoldState | None, missing: list[str]) -> Hold | None:
    """Return a hold if a gold table has wrong rows, since the settings changed or a RENAME came. Otherwise return None.

    This is so if other gold tables (`missing`, their names) have rows that belong to this table now, or if this table
    has rows that belong to another one now. It is also so if the table has rows of several source tables, but no column
    that shows the source table of each row.
    """
    why = None
    if missing:
        why = f"{', '.join(missing)} {'has' if len(missing) == 1 else 'have'} rows that belong to this table now"
    elif state is not None and (left := state.shards.keys() - history.identities):
        names = sorted(str(state.shards[identity].table) for identity in left)
        why = f"the gold table has rows of {', '.join(names)}, which belong to another gold table now"
    elif state is not None and state.shards and state.columns and all(c.id != SHARD_ID for c in state.columns):
        why = "the rows of the gold table do not show which source table each row is from"
    return None if why is None else Hold(MOVED, why, None, None, None, REMEDY_MOVED)


def is_newer(work: TableReplay, batch: RowBatch, window: str, empty: bool) -> bool:
    """Return whether a batch of rows of a window can be folded as Arrow columns, instead of row by row.

    It cannot, for example, if a truncation, a key change, a hold or a person's decision may concern its rows, or if its
    window (`window`) was already replayed into the table. `empty` says whether gold has no rows. If the result is True,
    the rows may still be older than gold's rows: `late_marks` finds such rows.
    """
    history, state, first = work.history, work.state, batch.first.sequence
    own = history.of(batch.shard)
    starts = (own.truncated_at, *own.rekeyed)
    if any(start is not None and first <= start for start in starts) or history.hold is not None:
        return False
    if any(place >= first for place, _, _ in history.skipped):
        return False
    if not work.hashed or any(column.retained is not None for column in history.final.columns):
        return False
    if standing_hold(work) is not None or ordering_hold(work, history, batch.sample) is not None:
        return False
    if work.replaces_all:
        return True
    if state is None:
        return empty
    if state.is_set_back or (state.keys_are_set and not work.keys_are_set):
        return False
    if work.is_relabelled:
        return False
    keyed = all(str(position) in state.changes for position in history.rekeyed)
    is_known = state.truncated_at == history.truncated_at and not new_truncations(work, history)
    voided = empty or is_known or is_emptied(work, history)
    again = not work.lifts_hold and (window in state.applied or bool(state.pending))
    return keyed and voided and not again


def are_of_one_part(work: TableReplay, batches: Iterable[RowBatch]) -> bool:
    """Return whether the rows of each source table, in gold and in the batches, all come from one Kafka partition."""
    parts = {event.part or "" for batch in batches for event in batch.sample}
    shards = {shard_of(part) for part in parts}
    if work.state is not None and not work.replaces_all:
        parts |= {part for part in work.state.high_water if shard_of(part) in shards}
    return len(parts) == len(shards)


def is_all_late(work: TableReplay, batch: RowBatch) -> bool:
    """Return whether each row of a batch may be older than gold's newest row of its Kafka partition."""
    state = work.state
    return state is not None and all(is_late(state, event.part, event.sequence) for event in batch.sample)


def late_marks(work: TableReplay, batch: RowBatch) -> dict[str, Sequence]:
    """Return gold's high-water mark (highest sequence), by Kafka partition, if rows of a batch may be older than it.

    Partitions in which all rows of the batch are newer than gold are not returned.
    """
    state = work.state
    late = () if state is None else (e for e in batch.sample if is_late(state, e.part, e.sequence))
    return {} if state is None else {event.part or "": state.high_water[event.part or ""] for event in late}


def lifted_from(work: TableReplay) -> Sequence | None:
    """Return the position from which events can change gold, if this run lifts a hold: the position of this hold.

    Gold already has the result of all events below it. Return None if events at every position can change gold. This is
    so if no hold with a position is lifted, or if several source tables go into the gold table. It is also so if the
    settings or the content of decoded windows changed since they were replayed.
    """
    if work.state is None or work.state.hold is None or not work.lifts_hold or work.history.shards:
        return None
    done = work.state.applied
    same = all(done.get(window, identity) == identity for window, identity in work.applied.items())
    return work.state.hold.position if same else None


def touched_from(folded: Folded, position: Sequence | None) -> set[tuple[object, ...]]:
    """Return the keys in `folded.touched` whose last event is at or after `position`. None: return all touched keys.

    The last image of such a key may be partial. The values that it lacks then come from a row of gold, which may have
    another key, if an update changed the key. The result also has the key of this row.
    """
    if position is None:
        return folded.touched
    latest = folded.winners | folded.latest
    above = {key for key in folded.touched if key in latest and latest[key].sequence >= position}
    bases = {folded.winners[key].base for key in above if key in folded.winners}
    return above | {base for base in bases if base is not None}


def is_behind(work: TableReplay, hold: Hold) -> bool:
    """Return whether gold already has rows at or above the position of the new hold `hold`.

    Then the table stops in its present state, and only a rebuild can remove these rows. If a row is the cause of the
    hold, its position is compared only with gold's rows of the same Kafka partition.
    """
    if work.state is None or work.mode == "rebuild" or hold.is_same(work.state.hold) or hold.position is None:
        return False
    marks = work.state.high_water
    if shard_of(hold.part) is not None:
        marks = {part: high_water for part, high_water in marks.items() if shard_of(part) == shard_of(hold.part)}
    if hold.remedy == REMEDY_ROW and hold.part is not None:
        marks = {part: high_water for part, high_water in marks.items() if part == hold.part}
    return any(hold.position <= high_water for high_water in marks.values())


def late_hold(hold: Hold) -> Hold:
    """Return the hold to use instead of `hold` if gold has newer rows: the table stops in its present state.

    If an order is not known, it is not known either that something came late, so the code and the reason stay.
    """
    if hold.code == OrderUndefined.code:
        return Hold(hold.code, hold.reason, None, hold.part, hold.statement, REMEDY_REBUILD)
    what = LATE_ROW if hold.code == RowMissing.code else LATE_REASON
    return Hold("LATE_CHANGE", f"{what} ({hold.reason})", None, hold.part, hold.statement, REMEDY_LATE)


def ordering_hold(work: TableReplay, history: TableHistory, events: list[RowEvent]) -> Hold | None:
    """Return a hold if it is not known whether a schema change is before or after `events` or gold's rows.

    This happens if they came in different Kafka partitions. The hold is at the schema change. Return None if there is
    no such schema change. A statement that already holds the table, and later ones, are not considered.
    """
    return ordering_hold_at(work, history, {(event.part, event.sequence.epoch) for event in events})


def ordering_hold_at(work: TableReplay, history: TableHistory, places: Set[tuple[str | None, int]]) -> Hold | None:
    """Return a hold if it is not known whether a schema change is before or after rows of the table; otherwise None.

    It is the hold that `ordering_hold` returns. `places` has the Kafka partition and the source epoch of each new row.
    """
    if work.state is not None and work.mode != "rebuild":
        places = places | {(part or None, high_water.epoch) for part, high_water in work.state.high_water.items()}
    stop = history.hold.position if history.hold is not None else None
    below = [change for change in history.changes if stop is None or change.position < stop]
    shards = {shard_of(change.part) for change in below}
    clashes = (
        ordering_clash([change for change in below if shard_of(change.part) == shard], part, epoch)
        for part, epoch in sorted(places, key=str)
        for shard in shards
        if shard_of(part) == shard
    )
    clash = next((clash for clash in clashes if clash is not None), None)
    if clash is None:
        return None
    return Hold("ORDER_UNDEFINED", ORDER_REASON, clash.position, clash.part, clash.statement, REMEDY_REBUILD)


def cut(work: TableReplay, hold: Hold | None) -> tuple[TableHistory, Hold | None]:
    """Return the history of a table up to `hold`, and the hold that stops the table.

    The second is usually `hold`. If an earlier statement in the history holds the table, it is the hold at this
    statement. If gold already has rows at or above the hold, it is a hold without a position: the whole table stops in
    its present state. It is None if nothing holds the table.
    """
    if hold is not None and hold.position is None:
        return work.history, hold
    history = work.history if hold is None else work.history.until(hold)
    hold = history.hold or hold
    return history, late_hold(hold) if hold is not None and is_behind(work, hold) else hold


def schema_hold(history: TableHistory, error: TableError) -> Hold:
    """Return the hold for `error`, which says why gold cannot have the table's schema.

    The hold is at the statement that `error` names, or else at the last applied statement. It has no position if no
    statement was applied, or if the setting `partition`, and not a statement, is the cause.
    """
    if isinstance(error, PartitionUnfit):
        return Hold(error.code, error.message, None, None, None, REMEDY_PARTITION)
    if isinstance(at := error.facts.get("at"), Sequence):
        return hold_at(history, at, error.code, error.message, REMEDY_REBUILD)
    change = next((change for change in reversed(history.changes) if change.status == "applied"), None)
    if change is None:
        return Hold(error.code, error.message, None, None, None, REMEDY_REBUILD)
    return Hold(error.code, error.message, change.position, change.part, change.statement, REMEDY_REBUILD)


def cast_or_schema_hold(
    history: TableHistory, reader: TableReader, key_changes: list[KeyChange], events: list[RowEvent]
) -> Hold | None:
    """Return the hold at the first type change that cannot be applied, or None if there is no such change.

    It cannot be applied if a value in `events` is not exact in the new type, or if it may change values of a key
    column. If gold cannot have the schema of the table for another reason, return the hold that `schema_hold` makes.
    `key_changes` has, for each former primary key, a reader of the events from before the key changed.
    """
    try:
        return cast_hold(history, reader, key_changes, events)
    except TableError as error:
        return schema_hold(history, error)


def stop_of(work: TableReplay, error: TableError) -> Sequence | None:
    """Return the position at which `error` stops a table. Return None if the whole table stops in its present state.

    In a rebuild, it is the position of the row that failed; None if `error` does not name it. Otherwise it is the
    lowest position of the window's events. LateChange, BehindHorizon and PartitionUnfit always stop the whole table.
    """
    if isinstance(error, LateChange | BehindHorizon | PartitionUnfit):
        return None
    if work.mode == "rebuild":
        at = error.facts.get("at")
        return at if isinstance(at, Sequence) else None
    return min((event.sequence for event in work.events if event.counted), default=None)
