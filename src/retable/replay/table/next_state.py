"""Compute the state (`GoldState`) of a gold table after a replay, from the former state and what this run replayed."""

from collections.abc import Mapping
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc

from retable.fold.bounds import Bounds
from retable.fold.fold import Folded
from retable.gold.evolve import Evolution
from retable.gold.state import GoldColumn, GoldState, RetentionFloor, ShardState
from retable.gold.store import GoldTable
from retable.model.sequence import Sequence, parse_sequence
from retable.replay.batch.row_batch import RowBatch, above, ends_of
from retable.replay.batch.silver_rows import sequence_of
from retable.replay.table.horizon import retention_floor
from retable.replay.table.table_replay import ReplayPlan, TableReplay, Truncations
from retable.schema_history.history import Hold, TableHistory
from retable.schema_history.shards.parts import source_part

DROP_TAG = "retable_dropped_"


def drop_tag(work: TableReplay, history: TableHistory, empty: bool) -> str | None:
    """Return the name of the tag for gold's last snapshot before the source dropped the table.

    Return None if the source did not drop the table since the last replay, or if gold is `empty`.
    """
    if work.state is None or empty:
        return None
    before = work.state.truncated_at
    drops = [at for at, is_drop in history.truncations if is_drop and (before is None or at > before)]
    return f"{DROP_TAG}{'_'.join(map(str, max(drops)))}".replace("-", "n") if drops else None


def _pending(
    work: TableReplay, folded: Folded, before: Mapping[str, str], truncated_at: Sequence | None
) -> dict[str, str]:
    """Return the halves of updates that wait for their other halves, by sequence, each with its window.

    `before` are those of the former state. They wait no longer if they are settled or below `truncated_at`. If all rows
    were folded, `folded` has each half that waits.
    """
    waiting = dict[str, str]()
    if not work.has_all or retention_floor(work.state, work.history) is not None:
        waiting = {text: window for text, window in before.items() if parse_sequence(text) not in folded.settled}
    waiting |= {str(event.sequence): work.windows[event.ordinal] for event in folded.pending}
    return {
        text: window for text, window in waiting.items() if truncated_at is None or parse_sequence(text) >= truncated_at
    }


def new_truncations(work: TableReplay, history: TableHistory) -> Truncations:
    """Return the truncation points (no earlier row counts) that gold does not have yet, each with its source table."""
    state = work.state
    if history.shards:
        known = {} if state is None else {identity: shard.truncated_at for identity, shard in state.shards.items()}
        now = [(shard.label, shard.history.truncated_at, known.get(shard.history.identity)) for shard in history.shards]
        return [
            (label, truncated_at)
            for label, truncated_at, before in now
            if truncated_at is not None and truncated_at != before
        ]
    if history.truncated_at is None or (state is not None and state.truncated_at == history.truncated_at):
        return []
    return [(None, history.truncated_at)]


def is_emptied(work: TableReplay, history: TableHistory) -> bool:
    """Return whether a truncation that gold does not have yet removes all of gold's rows."""
    state, truncated_at = work.state, history.truncated_at
    if state is None or truncated_at is None or history.shards or not new_truncations(work, history):
        return False
    return all(high_water < truncated_at for high_water in state.high_water.values())


def _shard_states(history: TableHistory) -> dict[str, ShardState]:
    return {
        shard.history.identity: ShardState(shard.history.name, shard.history.truncated_at, dict(shard.reassigned))
        for shard in history.shards
    }


def is_late(state: GoldState, part: str | None, sequence: Sequence) -> bool:
    """Return whether gold already has an equal or higher sequence of the Kafka partition `part`."""
    high_water = state.high_water.get(part or "")
    return high_water is not None and sequence <= high_water


def gold_columns(
    table: GoldTable, history: TableHistory, evolution: Evolution, work: TableReplay
) -> tuple[GoldColumn, ...]:
    """Return the columns of a gold table, as its state describes them: with identity, Iceberg field ID, names and type.

    `table` must already have the columns that `evolution` adds.
    """
    ids = {name: field_id for field_id, name, _ in table.fields()}
    names = work.names(history)
    return tuple(
        GoldColumn(c.id, ids[physical], c.name, names[c.id], c.source_type, c.type, c.default)
        for c, physical in zip(history.final.columns, evolution.physical, strict=True)
    )


def new_state(work: TableReplay, plan: ReplayPlan, columns: tuple[GoldColumn, ...], clashes: int | None) -> GoldState:
    """Return the state to commit to a gold table after this run. If the plan has no change, the table is held.

    `columns` are gold's columns. `clashes` is the number of keys that rows of several source tables have; None means
    that it is the same as before.
    """
    history, hold = plan.history, plan.hold
    before = work.state
    if before is None or (work.mode == "rebuild" and plan.change is not None):
        floor = None if before is None else before.floor
        before = GoldState(source=work.source, identity=history.identity, table=history.name, floor=floor)
    for window, identity in work.applied.items():
        before = before.with_applied(window, identity)
    if plan.change is None:
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
        keys=plan.keys,
        changes=tuple(str(change.position) for change in applied),
        inferred=work.inferred,
        typing=work.typing,
        keys_are_set=work.keys_are_set,
        debts=plan.change.debts,
        pending=_pending(work, plan.folded, before.pending, history.truncated_at),
        truncated_at=history.truncated_at,
        shards=_shard_states(history),
        gathered=dict(work.gathered),
        clashes=before.clashes if clashes is None else clashes,
        hold=hold,
        horizon=max(before.horizon, work.horizon),
        is_set_back=False,
    )
    seen = _not_held(work, hold)
    marks: dict[str | None, Sequence] = {}
    for part, sequence in [*seen, *((change.part, change.position) for change in applied)]:
        marks[part] = max(sequence, marks.get(part, sequence))
    for part, sequence in marks.items():
        state = state.with_high_water(part, sequence)
    lives = history.dropped_at is not None and any(
        high_water > history.dropped_at for high_water in state.high_water.values()
    )
    return replace(state, state="live") if lives and hold is None else state


def _not_held(work: TableReplay, hold: Hold | None) -> list[tuple[str | None, Sequence]]:
    """Return the positions of events that are not held: at least the highest one of each Kafka partition."""
    if not work.batches or hold is None:
        bounds = Bounds(None, hold)
        return [(event.part, event.sequence) for event in work.events if bounds.verdict(event) is None]
    if hold.position is None:
        return []
    bounds, found = Bounds(None, hold), list[tuple[str | None, Sequence]]()
    for batch in work.batches:
        # The sample has the highest and the lowest row of each partition.
        for part in {event.part for event in batch.sample}:
            mine = [event for event in batch.sample if event.part == part]
            free = [event for event in mine if bounds.verdict(event) is None]
            if 0 < len(free) < len(mine):
                found.append((part, _highest_below(batch, part, hold.position)))
            found += ((part, event.sequence) for event in free)
    return found


def _highest_below(batch: RowBatch, part: str | None, position: Sequence) -> Sequence:
    """Return the highest sequence below `position` among the batch's rows of a Kafka partition. There must be one."""
    rows = batch.places()
    own = part if batch.shard is None else source_part(part)
    mine = pc.is_in(rows["part"], pa.array([own], pa.string()))
    below = rows.filter(pc.and_(mine, pa.array(~above(rows, position, or_at=True))))
    return sequence_of(below.take([ends_of(below)[-1]]).to_pylist()[0])


def _floor_below(floor: RetentionFloor | None, work: TableReplay) -> RetentionFloor | None:
    """Return the floor of a table that this run does not change: the events of this run are not in gold."""
    first = min((event.ordinal for event in work.events if event.counted), default=None)
    return (
        floor
        if floor is None or first is None or work.lifts_hold
        else replace(floor, through=min(floor.through, first - 1))
    )
