"""What the events of one table come to: below which hold, and the change of gold that follows."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache

from retable.errors import MessageError, TableError
from retable.fold.exactness import cast_hold
from retable.fold.fold import REMEDY_REBUILD, Bounds, Folded, fold_keys
from retable.fold.images import TableReader
from retable.fold.key_changes import KeyChange, fold_key_changes, key_changes_of
from retable.gold.evolve import Evolution, RewriteNeeded, RowsMissing
from retable.gold.iceberg.partition_spec import resolve
from retable.gold.rows import to_values
from retable.gold.store import CurrentRow, GoldTable, RowStore
from retable.model.row_event import RowEvent
from retable.replay.batch.ranges import fold_by_ranges
from retable.replay.batch.row_batch import merged, to_events
from retable.replay.batch.vectorized import join_vectorized
from retable.replay.table.hold_rules import (
    above_hold,
    cut,
    is_newer,
    ordering_hold,
    schema_hold,
    standing_hold,
    stop_of,
)
from retable.replay.table.horizon import (
    UndecidedRows,
    check_key,
    count_accounted,
    left_or_held,
    older,
    retention_floor,
    settle,
    split_accounted,
    stopping,
    without_rewriting,
)
from retable.replay.table.next_state import new_truncations
from retable.replay.table.related_events import events_of, needs_all, owed
from retable.replay.table.replace import EventsMissed, is_below, replace_bag, replace_keys, replace_newer
from retable.replay.table.rewriting import check_findable, check_refused, evolution_of, is_keyed_otherwise
from retable.replay.table.rounds import Basis, in_rounds
from retable.replay.table.table_replay import Change, ReplayPlan, TableReplay, all_held
from retable.schema_history.history import Hold, TableHistory
from retable.schema_history.policies import keyed_cast

EventsOf = Callable[[bool], tuple[list[RowEvent], list[RowEvent]]]
"""The events to fold, or all of the table; and those that gold has from before."""


class Deciding:
    """Decides about tables of one window; nothing here writes."""

    def __init__(self, rows: RowStore, window: str, on_progress: Callable[[str], None]) -> None:
        self._rows = rows
        self._window = window
        self._on_progress = on_progress

    def decide(self, work: TableReplay, table: GoldTable) -> tuple[TableReplay, ReplayPlan]:
        """Decide from batches, else from rows one by one, else from all rows of the table; gives the work with them."""
        try:
            if (plan := self._decide_vectorized(work, table)) is not None:
                return work, plan
            return (work := work.one_by_one()), self._decide(work, table)
        except RewriteNeeded as reason:
            work = work.one_by_one()
            if retention_floor(work.state, work.history) is not None or isinstance(reason, RowsMissing):
                return work, without_rewriting(work, reason, lambda below: self._decide(below, table))
            self._on_progress(f"{work.gold}: writing all rows anew, {reason}")
            return self._decide_rewritten(work, table)

    def _decide_vectorized(self, work: TableReplay, table: GoldTable) -> ReplayPlan | None:
        """Fold batches of rows that are newer than all that gold has; None: each has to be looked at by itself."""
        history, batches = work.history, merged(work.batches)
        if not batches or not all(
            batch.is_plain and is_newer(work, batch, self._window, table.is_empty) for batch in batches
        ):
            return None
        try:
            keys = work.keys(history)
            reader = TableReader(history=history, keys=keys, source_format=work.source_format, rules=work.rules)
            wires = [reader.of(batch.shard).image_names(batch.types) for batch in batches]
            evolution = evolution_of(work, table, reader, work.names(history))
            resolve(work.partition or (), history)
        except (MessageError, TableError):
            return None
        if not keys or None in wires or keyed_cast(history, keys, ()) is not None:
            return None
        ordinals = {window: ordinal for ordinal, window in work.windows.items()}
        vectorized_batches, rest = [], []
        for batch, wire in zip(batches, wires, strict=True):
            vectorized_batches.append(
                fold_by_ranges(
                    batch.rows, reader.of(batch.shard), wire or {}, table.has_part(), batch.shard, work.hashed
                )
            )
            rest += batch.labelled(to_events(vectorized_batches[-1].rest, ordinals))
        vectorized = join_vectorized(vectorized_batches)
        folded = fold_keys(rest, reader.read, Bounds(history.truncated_at, None))
        if folded.hold is not None or not folded.touched.isdisjoint(
            to_values(vectorized.keys) if folded.touched else ()
        ):
            return None
        if self._has_others(table, evolution, reader, folded):
            return None
        for verdict, count in vectorized.verdicts.items():
            folded.verdicts[batches[0].sample[0].ordinal, verdict] += count
        defaults = reader.defaults if table.has_defaults() else {}
        change = Change(evolution, replace_newer(folded), defaults, (), vectorized)
        return ReplayPlan(history, None, folded, keys, change)

    def _decide_rewritten(self, work: TableReplay, table: GoldTable) -> tuple[TableReplay, ReplayPlan]:
        """Fold all rows anew; a window of which some are refused is left to a run that looks at its columns too."""
        plan = self._decide(anew := work.rewritten(), table)
        refused = {work.windows[reject.event.ordinal] for reject in plan.folded.rejects} - work.applied.keys()
        if refused:
            plan = self._decide(anew := work.rewritten(refused), table)
        return anew, plan

    def _decide(self, work: TableReplay, table: GoldTable) -> ReplayPlan:
        """Fold up to the lowest hold. One that rows or gold bring cuts the history, and then it is folded again."""

        @cache
        def gathered(complete: bool) -> tuple[list[RowEvent], list[RowEvent]]:
            needed = [*work.events, *older(work, None)] if complete else events_of(work, self._window)
            return split_accounted(work, needed)

        def decide(basis: Basis) -> ReplayPlan | Basis:
            return self._decide_once(work, table, basis, gathered)

        return in_rounds(work, Basis(standing_hold(work)), decide)

    def _decide_once(self, work: TableReplay, table: GoldTable, basis: Basis, gathered: EventsOf) -> ReplayPlan | Basis:
        """One round: fold what lies below the hold, unless statements, or their order, bring a lower one."""
        history, hold = cut(work, basis.hold)
        if hold is not None and hold.position is None:
            return ReplayPlan(history, hold, all_held(work.events))
        try:
            reader = TableReader(
                history=history, keys=work.keys(history), source_format=work.source_format, rules=work.rules
            )
            names = work.names(history)
            resolve(work.partition or (), history)
        except TableError as error:
            return basis.below(work, schema_hold(history, error))
        complete = basis.complete or needs_all(work, reader, self._window)
        events, in_gold = gathered(complete)
        if (clash := ordering_hold(work, history, events)) is not None:
            return basis.below(work, clash)
        try:
            key_changes = key_changes_of(work.former(history, events), reader)
        except TableError as error:
            return basis.below(work, schema_hold(history, error))
        bounds = Bounds(history.truncated_at, hold, history.skipped | basis.left, history.shard_truncations)
        check_findable(work, reader)
        if key_changes and is_keyed_otherwise(work, events, bounds, key_changes[-1].end):
            raise RewriteNeeded("its primary key changed")
        if (cast := _cast(history, reader, key_changes, events)) is not None:
            return basis.below(work, cast)
        folded = fold_key_changes(events, key_changes, reader, bounds)
        if folded.hold is not None:
            late = stopping(retention_floor(work.state, history), folded.hold, events, bounds)
            return _below_row(work, basis, hold, folded.hold, late)
        check_refused(work, folded)
        count_accounted(folded, in_gold, bounds)
        if work.mode == "rewrite":
            folded.touched |= folded.winners.keys() | folded.counts.keys()
        elif work.lifts_hold:
            folded.touched = above_hold(work, folded)
        try:
            change = self._change(work, table, folded, reader, names, complete, events, bounds)
            return ReplayPlan(history, hold, folded, reader.keys, change)
        except EventsMissed:
            return replace(basis.below(work, hold), complete=True)
        except UndecidedRows as found:
            return _without(work, basis, hold, found.events)
        except TableError as error:
            stop = Hold(error.code, error.message, stop_of(work, error), None, None, REMEDY_REBUILD)
            return basis.below(work, stop)

    def _change(
        self,
        work: TableReplay,
        table: GoldTable,
        folded: Folded,
        reader: TableReader,
        names: dict[str, str],
        complete: bool,
        events: list[RowEvent],
        bounds: Bounds,
    ) -> Change:
        evolution = evolution_of(work, table, reader, names)
        truncations = [] if table.is_empty else new_truncations(work, reader.history)
        standing = [] if work.replaces_all else self._standing(table, evolution, reader, folded)
        standing = [row for row in standing if not is_below(row, reader.history)]
        defaults = reader.defaults if table.has_defaults() else {}
        if work.state is not None and (floor := retention_floor(work.state, reader.history)) is not None:
            check_key(work.state, reader)
            settle(floor, folded, events, standing, reader, bounds, work.state.pending)
        if reader.keys:
            return Change(
                evolution, replace_keys(folded, reader.key_columns, standing, complete), defaults, truncations
            )
        debts = None if complete else owed(work, reader.history, truncations)
        return Change(evolution, replace_bag(folded, standing, debts), defaults, truncations)

    def _has_others(self, table: GoldTable, evolution: Evolution, reader: TableReader, folded: Folded) -> bool:
        """Whether gold has other rows than those that were told to leave their keys."""
        left = {key for key in folded.touched if folded.winners[key].leaving_row is not None}
        standing = self._standing(table, evolution, reader, replace(folded, touched=left)) if left else []
        return any(folded.winners[reader.key_of(row.values)].took_another(row.values) for row in standing)

    def _standing(
        self, table: GoldTable, evolution: Evolution, reader: TableReader, folded: Folded
    ) -> list[CurrentRow]:
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


def _cast(
    history: TableHistory, reader: TableReader, key_changes: list[KeyChange], events: list[RowEvent]
) -> Hold | None:
    try:
        return cast_hold(history, reader, key_changes, events)
    except TableError as error:
        return schema_hold(history, error)


def _below_row(work: TableReplay, basis: Basis, hold: Hold | None, found: Hold, late: list[RowEvent]) -> Basis:
    """What to go by where a row stops the table: below it, or without it, where nothing decides it."""
    return _without(work, basis, hold, late) if late else basis.below(work, found)


def _without(work: TableReplay, basis: Basis, hold: Hold | None, undecided: list[RowEvent]) -> Basis:
    """What to go by at rows that nothing decides."""
    stop, left = left_or_held(work, undecided, basis.left, hold)
    return replace(basis.below(work, stop), left=left)
