"""One table's replay: what its events come to, and the change of gold that follows."""

from collections.abc import Callable
from dataclasses import replace

import pyarrow as pa

from retable.errors import Compacted, Fenced, MessageError, TableError
from retable.gold.bulk import to_events
from retable.gold.evolve import Evolution, RewriteNeeded, RowsMissing
from retable.gold.holding import (
    above_hold,
    is_behind,
    is_newer,
    late_hold,
    ordering_hold,
    schema_hold,
    standing_hold,
    stop_of,
)
from retable.gold.horizon import (
    LeftOut,
    Undecided,
    check_key,
    count_accounted,
    floor_of,
    left_or_held,
    older,
    settle,
    split_accounted,
    stopping,
    without_rewriting,
)
from retable.gold.needed import events_of
from retable.gold.parted import resolve, wanted_fields
from retable.gold.plain import fold_plain, join_plains
from retable.gold.replace import EventsMissed, is_below, replace_bag, replace_keys, replace_newer
from retable.gold.rewriting import check_findable, check_refused, evolution_of, is_keyed_otherwise
from retable.gold.rows import arrow_type, to_keys, to_table, to_values
from retable.gold.state import RUN_PROPERTY, GoldState, to_properties
from retable.gold.store import Catalog, GoldTable, RowStore, Standing
from retable.gold.work import (
    Change,
    Decision,
    Outcome,
    Voids,
    Work,
    all_held,
    counted_of,
    drop_tag,
    fresh_voids,
    gold_columns,
    new_state,
)
from retable.replay.exactness import cast_hold
from retable.replay.fold import REMEDY_REBUILD, Bounds, Folded, fold_keys
from retable.replay.history import Hold
from retable.replay.images import TableReader, key_columns
from retable.replay.policies import keyed_cast
from retable.replay.row_event import RowEvent
from retable.replay.shard_parts import SHARED_KEY
from retable.replay.sharded import together
from retable.replay.stages import fold_stages, stages_of

_ATTEMPTS = 5


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
        table = self._load(work, location)
        try:
            decision = self._decide_plainly(work, table) or self._decide(work := work.one_by_one(), table)
        except RewriteNeeded as reason:
            if floor_of(work, work.history) is not None or isinstance(reason, RowsMissing):
                decision = without_rewriting(work, reason, lambda cut: self._decide(cut, table))
            else:
                self._step(f"{work.gold}: writing all rows anew, {reason}")
                work, decision = self._decide_rewritten(work.one_by_one(), table)
        state, wrote = self._commit(work, table, decision)
        folded = decision.folded
        return Outcome(
            work.gold,
            state,
            table.snapshot_id,
            decision.history,
            counted_of(work),
            work.applied,
            folded.verdicts,
            folded.rejects,
            wrote,
        )

    def _commit(self, work: Work, table: GoldTable, decision: Decision) -> tuple[GoldState, bool]:
        """Write and publish; where only the files of gold are others by then, what was decided is written again."""
        for left in reversed(range(_ATTEMPTS)):
            written = self._write(work, table, decision, is_first=left == _ATTEMPTS - 1)
            columns, evolution = () if work.state is None else work.state.columns, None
            if decision.change is not None:
                evolution = decision.change.evolution
                columns = gold_columns(table, decision.history, evolution, work)
            state = new_state(work, decision, columns)
            if not (written or state != work.state or (evolution is not None and evolution.changes)):
                return state, False
            properties = {**to_properties(state), RUN_PROPERTY: f"{self._run_id}/{self._window}"}
            tag = drop_tag(work, decision.history, table.is_empty)
            try:
                table.publish(evolution, properties, self._window, self._step, tag)
                break
            except Compacted:
                if not left:
                    raise
                table.rebase()
        return state, True

    def _load(self, work: Work, location: Callable[[], str]) -> GoldTable:
        """The table as it was when its state was read, made where it is missing; Fenced where a run came between."""
        table = self._catalog.load(work.gold)
        if table is None and work.state is None:
            parts = [event.part for event in work.events] + [change.part for change in work.history.changes]
            with_part = any(part is not None for part in parts)
            table = self._catalog.create(work.gold, with_part, location(), work.format_version)
        there = None if table is None else table.state
        strange = table is not None and there is None and not table.is_empty
        if strange or (there is not None and (there.source, there.identity) != (work.source, work.history.identity)):
            raise TableError(f"{work.gold} is not {work.history.name} of this source; move it away, then replay again")
        if table is None or there != work.state:
            raise Fenced(f"{work.gold}: another writer committed first; run this window again", table=work.gold)
        return table

    # --- deciding ------------------------------------------------------------------------------------------------
    def _decide_plainly(self, work: Work, table: GoldTable) -> Decision | None:
        """Fold bulks of rows that are newer than all that gold has; None: each has to be looked at by itself."""
        history, bulks = work.history, work.bulks
        if not bulks or not all(is_newer(work, bulk, self._window, table.is_empty) for bulk in bulks):
            return None
        try:
            keys = work.keys(history)
            reader = TableReader(history, keys, work.source_format, work.rules)
            wires = [reader.of(bulk.shard).plain_wire(bulk.types) for bulk in bulks]
            evolution = evolution_of(work, table, reader, work.names(history))
            resolve(work.partition or (), history)
        except (MessageError, TableError):
            return None
        if not keys or None in wires or keyed_cast(history, keys, ()) is not None:
            return None
        ordinals = {window: ordinal for ordinal, window in work.windows.items()}
        plains, rest = [], []
        for bulk, wire in zip(bulks, wires, strict=True):
            plains.append(fold_plain(bulk.rows, reader.of(bulk.shard), wire or {}, table.has_part(), bulk.shard))
            rest += bulk.labelled(to_events(plains[-1].rest, ordinals))
        plain = join_plains(plains)
        folded = fold_keys(rest, reader.read, Bounds(history.void, None))
        if folded.hold is not None or not folded.touched.isdisjoint(to_values(plain.keys) if folded.touched else ()):
            return None
        if self._has_others(table, evolution, reader, folded):
            return None
        for verdict, count in plain.verdicts.items():
            folded.verdicts[bulks[0].ends[0].ordinal, verdict] += count
        defaults = reader.defaults if table.has_defaults() else {}
        change = Change(evolution, replace_newer(folded), defaults, (), plain)
        return Decision(history, None, folded, keys, change)

    def _decide_rewritten(self, work: Work, table: GoldTable) -> tuple[Work, Decision]:
        """Fold all rows anew; a window of which some are refused is left to a run that looks at its columns too."""
        decision = self._decide(anew := work.rewritten(), table)
        refused = {work.windows[reject.event.ordinal] for reject in decision.folded.rejects} - work.applied.keys()
        if refused:
            decision = self._decide(anew := work.rewritten(refused), table)
        return anew, decision

    def _decide(self, work: Work, table: GoldTable) -> Decision:
        """Fold up to the lowest hold. One that rows or gold bring cuts the history, and then it is folded again."""
        hold = standing_hold(work)
        events: list[RowEvent] | None = None
        in_gold: list[RowEvent] = []
        left: LeftOut = frozenset()
        complete = False
        known: Hold | None = None
        while True:
            if work.history.shards:
                hold = known = together(known, hold)
            if hold is not None and hold.position is None:
                return Decision(work.history, hold, all_held(work.events))
            history = work.history if hold is None else work.history.until(hold)
            hold = history.hold or hold
            if hold is not None and is_behind(work, hold):
                hold = late_hold(hold)
            if hold is not None and hold.position is None:
                return Decision(history, hold, all_held(work.events))
            try:
                keys = work.keys(history)
                reader = TableReader(history, keys, work.source_format, work.rules)
                names = work.names(history)
                resolve(work.partition or (), history)
            except TableError as error:
                hold = schema_hold(history, error)
                continue
            if events is None:
                needed = [*work.events, *older(work, None)] if complete else events_of(work, self._window)
                events, in_gold = split_accounted(work, needed)
            clash = ordering_hold(work, history, events)
            if clash is not None:
                hold = clash
                continue
            try:
                stages = stages_of(work.former(history, events), reader)
            except TableError as error:
                hold = schema_hold(history, error)
                continue
            bounds = Bounds(history.void, hold, history.skipped | left, history.shard_voids)
            check_findable(work, reader)
            if stages and is_keyed_otherwise(work, events, bounds, stages[-1].end):
                raise RewriteNeeded("its primary key changed")
            try:
                cast = cast_hold(history, reader, stages, events)
            except TableError as error:
                cast = schema_hold(history, error)
            if cast is not None:
                hold = cast
                continue
            folded = fold_stages(events, stages, reader, bounds)
            if folded.hold is not None and folded.hold.code == SHARED_KEY and not complete:
                events, complete = None, True
                continue
            if folded.hold is not None:
                late = stopping(floor_of(work, history), folded.hold, events, bounds)
                hold, left = left_or_held(work, late, left, hold) if late else (folded.hold, left)
                continue
            check_refused(work, folded)
            count_accounted(folded, in_gold, bounds)
            if work.rewrites:
                folded.touched |= folded.winners.keys() | folded.counts.keys()
            elif work.resumes:
                folded.touched = above_hold(work, folded)
            try:
                change = self._change(work, table, folded, reader, names, complete, events, bounds)
                return Decision(history, hold, folded, keys, change)
            except EventsMissed:
                events, complete = None, True
            except Undecided as found:
                hold, left = left_or_held(work, found.events, left, hold)
            except TableError as error:
                hold = Hold(error.code, error.message, stop_of(work, error), None, None, REMEDY_REBUILD)

    def _change(
        self,
        work: Work,
        table: GoldTable,
        folded: Folded,
        reader: TableReader,
        names: dict[str, str],
        complete: bool,
        events: list[RowEvent],
        bounds: Bounds,
    ) -> Change:
        evolution = evolution_of(work, table, reader, names)
        voids = [] if table.is_empty else fresh_voids(work, reader.history)
        standing = [] if work.rebuilds else self._standing(table, evolution, reader, folded)
        standing = [row for row in standing if not is_below(row, reader.history)]
        defaults = reader.defaults if table.has_defaults() else {}
        if work.state is not None and (floor := floor_of(work, reader.history)) is not None:
            check_key(work.state, reader)
            settle(floor, folded, events, standing, reader, bounds, work.state.pending)
        if reader.keys:
            return Change(evolution, replace_keys(folded, reader.key_columns, standing, complete), defaults, voids)
        return Change(evolution, replace_bag(folded, standing), defaults, voids)

    def _has_others(self, table: GoldTable, evolution: Evolution, reader: TableReader, folded: Folded) -> bool:
        """Whether gold has other rows than those that were told to leave their keys."""
        left = {key for key in folded.touched if folded.winners[key].told is not None}
        standing = self._standing(table, evolution, reader, replace(folded, touched=left)) if left else []
        return any(folded.winners[reader.key_of(row.values)].took_another(row.values) for row in standing)

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
    def _write(self, work: Work, table: GoldTable, decision: Decision, is_first: bool) -> bool:
        """Expand, then write what goes and comes where no reader looks; False where no row changes."""
        history, change = decision.history, decision.change
        if change is None:
            return False
        evolution, replacement, plain = change.evolution, change.replacement, change.plain
        if evolution.expands and is_first:
            table.expand(evolution, change.defaults)
            self._step(f"{work.gold}: expanded")
        if is_first and work.partition is not None:
            fields = wanted_fields(work.partition, history, evolution, work.state is None)
            if fields is not None:
                table.part_by(fields)
        if not (work.rebuilds or change.voids or replacement.deletes or replacement.rows or plain):
            return False
        final = history.final.columns
        columns = [(name, column.type) for name, column in zip(evolution.physical, final, strict=True)]
        on = key_columns(history, decision.keys) or list(range(len(columns)))
        gone = to_keys(replacement.deletes, [columns[at] for at in on])
        rows = to_table(replacement.rows, columns, table.has_part())
        if plain is not None:
            gone = pa.concat_tables([gone, plain.keys.rename_columns(gone.column_names)])
            rows = pa.concat_tables([rows, plain.rows.rename_columns(rows.column_names)])
        for _, name, kind in table.fields():
            if name in evolution.drops and kind is not None:
                rows = rows.append_column(name, pa.nulls(len(rows), arrow_type(kind)))
        if work.rebuilds or change.voids or not table.replace(gone, rows, self._run_id, self._window):
            self._write_branch(work, table, change.voids, gone, rows)
        self._step(f"{work.gold}: written")
        return True

    def _write_branch(self, work: Work, table: GoldTable, voids: Voids, gone: pa.Table, rows: pa.Table) -> None:
        """Delete and append by a commit each, which nobody sees, where one snapshot cannot hold both."""
        branch = table.branch(self._run_id)
        if work.rebuilds:
            self._rows.delete_all(work.gold, branch)
        else:
            for shard, void in voids:
                self._rows.delete_below(work.gold, branch, void, shard)
        if gone.num_rows and not table.is_empty:
            self._rows.delete_keys(work.gold, branch, gone)
            self._step(f"{work.gold}: deleted")
        if rows.num_rows:
            table.append(rows, self._run_id, self._window)
