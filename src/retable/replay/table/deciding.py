"""Decide what the events of one table change in gold, and at which hold (stop with a reason) the table stops."""

from collections.abc import Callable
from collections.abc import Sequence as Seq
from dataclasses import replace
from functools import cache, partial

import pyarrow as pa

from retable.errors import MessageError, TableError
from retable.fold.bounds import Bounds
from retable.fold.cells import Wire
from retable.fold.fold import REMEDY_REBUILD, Folded
from retable.fold.images import TableReader
from retable.fold.key_changes import key_changes_of
from retable.gold.evolve import Evolution, RewriteNeeded, RowsMissing
from retable.gold.iceberg.partition_spec import resolve
from retable.gold.store import Exchange, GoldTable, NotHere, RowStore
from retable.model.row_event import unpaired
from retable.replay.batch.ranges import fold_by_ranges, has_twice
from retable.replay.batch.row_batch import RemoteRows, RowBatch, are_of_one_kind, merged
from retable.replay.batch.vectorized import VectorizedRows, join_vectorized
from retable.replay.events.key_share import KeyShare, NotParted, OthersNeeded
from retable.replay.events.related import events_of, needs_all
from retable.replay.events.shares import Gathered, check_parted, is_much, share_of, touched_keys
from retable.replay.table.folding import Outcome, Round, are_of_other_parts, has_others
from retable.replay.table.hold_rules import (
    are_of_one_part,
    cast_or_schema_hold,
    cut,
    is_all_late,
    is_newer,
    late_marks,
    ordering_hold,
    schema_hold,
    standing_hold,
    stop_of,
)
from retable.replay.table.horizon import (
    UndecidedRows,
    older,
    retention_floor,
    split_accounted,
    without_rewriting,
)
from retable.replay.table.next_state import new_truncations
from retable.replay.table.replace import EventsMissed, replace_newer
from retable.replay.table.rewriting import (
    check_findable,
    check_refused,
    evolution_of,
    is_keyed_otherwise,
    may_rewrite,
    rewritten_in_tasks,
    takes_new_key,
)
from retable.replay.table.rounds import Basis, in_rounds
from retable.replay.table.table_replay import Change, ReplayPlan, TableReplay, all_held
from retable.replay.tasks.apart import check_in_tasks
from retable.replay.tasks.folding import fold_in_tasks
from retable.replay.tasks.task_rows import Alike, Plain
from retable.schema_history.history import Hold
from retable.schema_history.policies import keyed_cast

EventsOf = Callable[[bool, TableReader], Gathered]
"""Returns the events to fold, as `Gathered`. If the flag is True, these are all events of the table."""


class Deciding:
    """Decides what one window changes in gold tables: `decide` returns the plan for a table. It does not write gold."""

    def __init__(self, rows: RowStore, window: str, on_progress: Callable[[str], None]) -> None:
        self._rows = rows
        self._window = window
        self._on_progress = on_progress
        self._left: set[str] = set()
        self._exchange: Exchange | None = None

    def forget(self) -> None:
        """Remove what tasks of the last decision wrote to the exchange (the files that pass rows between tasks)."""
        if self._exchange is not None:
            self._exchange.remove(self._left)
        self._left, self._exchange = set(), None

    def decide(self, work: TableReplay, table: GoldTable) -> tuple[TableReplay, ReplayPlan]:
        """Decide what changes in `table`. Return the plan, and the final `work`, which may have more events now."""
        work = replace(work, batches=tuple(batch.read() for batch in work.batches))
        try:
            if (plan := self._decide_in_tasks(work, table)) is not None:
                return work, plan
            if (plan := self._decide_vectorized(work, table)) is not None:
                return work, plan
            return (work := work.one_by_one()), self._decide(work, table)
        except RewriteNeeded as reason:
            if retention_floor(work.state, work.history) is not None or isinstance(reason, RowsMissing):
                work = work.one_by_one()
                return work, without_rewriting(work, reason, lambda below: self._decide(below, table))
            self._on_progress(f"{work.gold}: writing all rows again, {reason}")
            in_tasks = rewritten_in_tasks(work, lambda anew: self._decide_in_tasks(anew, table))
            return in_tasks or self._decide_rewritten(work.one_by_one(), table)

    def _decide_vectorized(self, work: TableReplay, table: GoldTable) -> ReplayPlan | None:
        """Fold plain rows as columns. Return None if the rows must be folded one by one."""
        history, batches = work.history, [] if work.has_all else merged(work.batches)
        if (plain := self._as_plain(work, table, batches)) is None:
            return None
        reader, evolution, wires = plain
        if not are_of_one_part(work, batches) and (
            history.shards or are_of_other_parts(self._rows, table, evolution, reader, batches[0].rows, wires)
        ):
            return None
        vectorized_batches, shares, is_late = list[VectorizedRows](), list[KeyShare](), False
        for batch, wire in zip(batches, wires, strict=True):
            late = late_marks(work, batch)
            if late and (history.shards or is_all_late(work, batch)):
                return None
            is_late |= bool(late)
            mine = fold_by_ranges(batch.rows, reader.of(batch.shard), wire, table.has_part(), batch.shard, late)
            if mine is None or is_much(batch, mine.rest):
                return None
            share = share_of(batch.rows, mine.rest, partial(batch.events_of, ordinals=work.ordinals))
            if unpaired(share.events):
                return None
            vectorized_batches.append(mine)
            shares.append(share)
        vectorized = join_vectorized(vectorized_batches)
        if is_late:
            return self._beside_late(work, table, reader, vectorized, shares[0])
        folded = Folded()
        try:
            for share in shares:
                folded.take(share.fold(reader, Bounds(history.truncated_at, None)))
        except NotParted:
            return None
        if folded.hold is not None or has_twice(pa.concat_tables([vectorized.keys, touched_keys(folded, reader)])):
            return None
        if has_others(None if table.is_empty else partial(self._rows.matching, table.name), evolution, reader, folded):
            return None
        folded.verdicts += vectorized.counted(work.ordinals)
        defaults = reader.defaults if table.has_defaults() else {}
        truncations = () if table.is_empty else new_truncations(work, history)
        change = Change(evolution, replace_newer(folded), defaults, truncations, vectorized)
        return ReplayPlan(history, None, folded, reader.keys, change)

    def _as_plain(
        self, work: TableReplay, table: GoldTable, batches: Seq[RowBatch]
    ) -> tuple[TableReader, Evolution, list[Wire]] | None:
        """Return how to read batches of plain rows; None if their rows may have to be folded one by one."""
        history = work.history
        if not batches or not all(
            batch.is_plain and is_newer(work, batch, self._window, table.is_empty) for batch in batches
        ):
            return None
        try:
            keys = work.keys(history)
            reader = TableReader(history=history, keys=keys, source_format=work.source_format, rules=work.rules)
            ends = ((batch.first.sequence, batch.last.sequence) for batch in batches)
            names = [reader.of(b.shard).image_names(b.types, *mine) for b, mine in zip(batches, ends, strict=True)]
            evolution = evolution_of(work, table, reader, work.names(history))
            resolve(work.partition or (), history)
        except (MessageError, TableError):
            return None
        wires: list[Wire] = [wire for wire in names if wire is not None]
        if not keys or len(wires) < len(names) or keyed_cast(history, keys, ()) is not None:
            return None
        return None if needs_all(work, reader, self._window) else (reader, evolution, wires)

    def _beside_late(
        self, work: TableReplay, table: GoldTable, reader: TableReader, vectorized: VectorizedRows, share: KeyShare
    ) -> ReplayPlan | None:
        """Fold keys with late rows, also their events of other windows. Add `vectorized`, the result for other keys."""
        history, late = reader.history, replace(work, events=share.events, batches=())
        try:
            check_parted(late, reader)
            if self._window in late.before:
                return None
            events = events_of(late, self._window)
            outcome = Round(
                work=late,
                table=table,
                rows=self._rows,
                reader=reader,
                names=late.names(history),
                key_changes=(),
                bounds=Bounds(history.truncated_at, None, history.skipped),
                found=Gathered(events, share=replace(share, events=events)),
                complete=False,
            ).fold()
            if outcome.hold is not None or ordering_hold(late, history, events) is not None:
                return None
            change = outcome.change()
        except (NotParted, EventsMissed, TableError):
            return None
        if outcome.touched is None or has_twice(pa.concat_tables([vectorized.keys, outcome.touched])):
            return None
        outcome.folded.verdicts += vectorized.counted(work.ordinals)
        return ReplayPlan(history, None, outcome.folded, reader.keys, replace(change, vectorized=vectorized))

    def _decide_rewritten(self, work: TableReplay, table: GoldTable) -> tuple[TableReplay, ReplayPlan]:
        """Fold all rows again. Other windows with rejected rows are not counted now: another run replays them."""
        plan = self._decide(anew := work.rewritten(), table)
        refused = {work.windows[reject.event.ordinal] for reject in plan.folded.rejects} - work.applied.keys()
        if refused:
            plan = self._decide(anew := work.rewritten(refused), table)
        return anew, plan

    def _decide(self, work: TableReplay, table: GoldTable) -> ReplayPlan:
        """Fold the events one by one up to the lowest hold. If rows result in a lower hold, fold again up to it."""

        @cache
        def events(complete: bool) -> Gathered:
            needed = [*work.events, *older(work, None)] if complete else events_of(work, self._window)
            fresh, in_gold = split_accounted(work, needed)
            return Gathered(fresh, in_gold)

        def gathered(complete: bool, reader: TableReader) -> Gathered:
            return events(complete)

        def decide(basis: Basis) -> ReplayPlan | Basis:
            return self._decide_once(work, table, basis, gathered)

        return in_rounds(work, Basis(standing_hold(work)), decide)

    def _decide_in_tasks(self, work: TableReplay, table: GoldTable) -> ReplayPlan | None:
        """Fold the rows of a big window by tasks. Return None if the rows must be folded in the driver."""
        if not work.batches or not all(isinstance(batch.source, RemoteRows) for batch in work.batches):
            return None

        def gathered(complete: bool, reader: TableReader) -> Gathered:
            check_in_tasks(work, reader)
            if complete:
                raise NotParted("all its events are needed")
            return Gathered(work.events, in_tasks=True)

        try:
            return in_rounds(
                work, Basis(standing_hold(work)), lambda basis: self._decide_once(work, table, basis, gathered)
            )
        except (NotParted, NotHere) as reason:
            if isinstance(reason, OthersNeeded) and may_rewrite(work):
                raise RewriteNeeded(str(reason)) from reason
            self._on_progress(f"{work.gold}: the driver folds all rows, and not tasks, because {reason}")
            return None

    def _fold(self, of: Round) -> Outcome:
        if not of.found.in_tasks:
            return of.fold()
        self._exchange = self._exchange or self._rows.exchange(of.work.gold)
        self._on_progress(f"{of.work.gold}: {sum(b.source.num_rows for b in of.work.batches):,} rows, folded by tasks")
        parts = [(each, self._plain(each)) for each in of.of_shards()]
        return fold_in_tasks(of, parts, self._window, self._exchange, self._left)

    def _plain(self, of: Round) -> Plain | None:
        """Return how tasks fold the rows of a round as columns; None if the rows are not plain."""
        batches, first = of.work.batches, of.work.batches[0].first
        if of.bounds.hold is not None or any(event.keys != first.keys for b in batches for event in b.sample):
            return None
        if (found := self._as_plain(of.work, of.table, batches)) is None:
            return None
        wires, parted = found[2], not are_of_one_part(of.work, batches)
        if parted and of.work.history.shards:
            return None
        if not are_of_one_kind(batches) or any(wire != wires[0] for wire in wires):
            return Plain(wires, None, parted)
        return Plain(wires[:1], Alike(first.keys or (), first.types), parted)

    def _decide_once(self, work: TableReplay, table: GoldTable, basis: Basis, gathered: EventsOf) -> ReplayPlan | Basis:
        """Do one round: fold the events below the hold of `basis`.

        Return the plan, or the basis of the next round if statements or rows result in a lower hold.
        """
        history, hold = cut(work, basis.hold)
        if hold is not None and hold.position is None:
            return ReplayPlan(history, hold, all_held(work))
        try:
            reader = TableReader(
                history=history, keys=work.keys(history), source_format=work.source_format, rules=work.rules
            )
            names = work.names(history)
            resolve(work.partition or (), history)
        except TableError as error:
            return basis.below(work, schema_hold(history, error))
        complete = basis.complete or needs_all(work, reader, self._window)
        if complete and takes_new_key(work, history):
            raise RewriteNeeded("its primary key changed")
        if complete and may_rewrite(work):
            raise RewriteNeeded("the rows of this window need all other rows of the table, and these are many")
        found = gathered(complete, reader)
        if (clash := ordering_hold(work, history, found.sample)) is not None:
            return basis.below(work, clash)
        try:
            key_changes = key_changes_of(work.former(history, found.sample), reader)
        except TableError as error:
            return basis.below(work, schema_hold(history, error))
        bounds = Bounds(history.truncated_at, hold, history.skipped | basis.left, history.shard_truncations)
        check_findable(work, reader)
        if key_changes and is_keyed_otherwise(work, found.sample, bounds, key_changes[-1].end):
            raise RewriteNeeded("its primary key changed")
        cast = cast_or_schema_hold(history, reader, key_changes, [] if found.in_tasks else found.sample)
        if cast is not None:
            return basis.below(work, cast)
        outcome = self._fold(
            Round(
                work=work,
                table=table,
                rows=self._rows,
                reader=reader,
                names=names,
                key_changes=key_changes,
                bounds=bounds,
                found=found,
                complete=complete,
            )
        )
        if outcome.hold is not None:
            return basis.without(work, outcome.late, hold) if outcome.late else basis.below(work, outcome.hold)
        check_refused(work, outcome.folded)
        try:
            return ReplayPlan(history, hold, outcome.folded, reader.keys, outcome.change())
        except EventsMissed:
            return replace(basis.below(work, hold), complete=True)
        except UndecidedRows as undecided:
            return basis.without(work, undecided.events, hold)
        except TableError as error:
            stop = Hold(error.code, error.message, stop_of(work, error), None, None, REMEDY_REBUILD)
            return basis.below(work, stop)
