"""Replay one table: decide the changes, write them where readers do not see them, then publish them."""

from collections.abc import Callable

import pyarrow as pa

from retable.errors import Compacted, Fenced, TableError
from retable.fold.images import key_columns
from retable.gold.iceberg.partition_spec import wanted_fields
from retable.gold.rows import arrow_type, to_keys, to_table, with_nulls
from retable.gold.state import RUN_PROPERTY, GoldState, to_properties
from retable.gold.store import Columns, GoldCatalog, GoldTable, RemoteChange, RowChange, RowStore
from retable.replay.table.clashes import clashes_after, count_clashes, count_in_tasks, hidden_key
from retable.replay.table.deciding import Deciding
from retable.replay.table.next_state import drop_tag, gold_columns, is_emptied, new_state
from retable.replay.table.table_replay import (
    Change,
    ReplayPlan,
    ReplayResult,
    TableReplay,
    Truncations,
    all_held,
    counted_of,
)
from retable.schema_history.history import Hold
from retable.schema_history.shards.joined import HIDDEN

_ATTEMPTS = 5


class TableReplayer:
    """Replays tables into gold for one run of a window, with one Spark session, one table at a time.

    `catalog` loads and writes gold tables, and `rows` reads rows of silver and gold.
    """

    def __init__(
        self, catalog: GoldCatalog, rows: RowStore, run_id: str, window: str, on_progress: Callable[[str], None]
    ) -> None:
        self._catalog = catalog
        self._rows = rows
        self._run_id = run_id
        self._window = window
        self._on_progress = on_progress
        self._deciding = Deciding(rows, window, on_progress)

    def replay(self, work: TableReplay, location: Callable[[], str]) -> ReplayResult:
        """Decide the changes of a table, write them and publish them. Write nothing if gold already has this content.

        `work` is the table and its events. `location` returns a storage location for a new table.
        """
        table = self._load(work, location)
        try:
            work, plan = self._deciding.decide(work, table)
            return self._committed(work, table, plan)
        finally:
            self._deciding.forget()

    def hold(self, work: TableReplay, hold: Hold, location: Callable[[], str]) -> ReplayResult:
        """Stop a table in its present state with this hold, without reading its rows. Commit only the new state."""
        table = self._load(work, location)
        return self._committed(work, table, ReplayPlan(work.history, hold, all_held(work)))

    def _committed(self, work: TableReplay, table: GoldTable, plan: ReplayPlan) -> ReplayResult:
        state, wrote = self._commit(work, table, plan)
        folded = plan.folded
        return ReplayResult(
            gold=work.gold,
            state=state,
            snapshot=table.snapshot_id,
            history=plan.history,
            counted=counted_of(work),
            applied=work.applied,
            verdicts=folded.verdicts,
            rejects=folded.rejects,
            wrote=wrote,
        )

    def _commit(self, work: TableReplay, table: GoldTable, plan: ReplayPlan) -> tuple[GoldState, bool]:
        """Write and publish the plan. Return the new state of gold, and whether there was anything to write.

        If another process compacted gold's files meanwhile, write the same plan again.
        """
        for left in reversed(range(_ATTEMPTS)):
            clashes = self._write(work, table, plan, is_first=left == _ATTEMPTS - 1)
            columns, evolution = () if work.state is None else work.state.columns, None
            if plan.change is not None:
                evolution = plan.change.evolution
                columns = gold_columns(table, plan.history, evolution, work)
            state = new_state(work, plan, columns, clashes)
            if not (clashes is not None or state != work.state or (evolution is not None and evolution.changes)):
                return state, False
            properties = {**to_properties(state), RUN_PROPERTY: f"{self._run_id}/{self._window}"}
            tag = drop_tag(work, plan.history, table.is_empty)
            try:
                table.publish(evolution, properties, self._window, self._on_progress, tag)
                break
            except Compacted:
                if not left:
                    raise
                table.rebase()
        return state, True

    def _load(self, work: TableReplay, location: Callable[[], str]) -> GoldTable:
        """Load the gold table, or create it. Raise Fenced if another writer changed its state since this run read it.

        Raise TableError if there is another table with this name.
        """
        table = self._catalog.load(work.gold)
        if table is None and work.state is None:
            parts = [event.part for event in work.events] + [change.part for change in work.history.changes]
            with_part = any(part is not None for part in parts)
            table = self._catalog.create(work.gold, with_part, location(), work.format_version)
        there = None if table is None else table.state
        is_foreign = table is not None and there is None and not table.is_empty
        if is_foreign or (there is not None and (there.source, there.identity) != (work.source, work.history.identity)):
            raise TableError(
                f"{work.gold} already exists in the catalog, but it is not the gold table of {work.history.name} of "
                f"this source; rename or drop the existing table, then replay again"
            )
        if table is None or there != work.state:
            raise Fenced(f"{work.gold}: another writer committed first; run this window again", table=work.gold)
        return table

    # --- writing -------------------------------------------------------------------------------------------------
    def _write(self, work: TableReplay, table: GoldTable, plan: ReplayPlan, is_first: bool) -> int | None:
        """Add columns, then write deletes and new rows where readers do not see them yet.

        Return the number of gold's clashes (keys that rows of several source tables have) after the change. Return
        None if no row changes and this number stays the same.
        """
        history, change = plan.history, plan.change
        if change is None:
            return None
        evolution, replacement = change.evolution, change.replacement
        if evolution.expands and is_first:
            table.expand(evolution, change.defaults)
            self._on_progress(f"{work.gold}: expanded")
        if is_first and work.partition is not None:
            fields = wanted_fields(work.partition, history, evolution, work.state is None)
            if fields is not None:
                table.part_by(fields)
        final = history.final.columns
        columns = [(name, column.type) for name, column in zip(evolution.physical, final, strict=True)]
        key = [columns[at][0] for at in hidden_key(history, plan.keys)]
        is_changed = replacement.deletes or replacement.rows or change.vectorized or change.left
        if not (work.replaces_all or change.truncations or is_changed):
            hides = bool(key) and work.state is not None and HIDDEN not in work.state.keys
            return self._clashes_before(work, table, key) if hides else None
        rows = self._row_change(table, plan, change, columns)
        apart = bool(work.replaces_all or change.truncations) or not self._replaces(table, rows)
        clashes = 0
        if apart:
            is_empty = table.is_empty or is_emptied(work, history)
            branch = self._write_branch(work, table, change.truncations, rows, is_empty)
            clashes = self._rows.clashes(work.gold, branch, key) if key else 0
        elif key:
            clashes = self._clashes_after(work, table, rows, key)
        self._on_progress(f"{work.gold}: written")
        return clashes

    def _replaces(self, table: GoldTable, change: RowChange | RemoteChange) -> bool:
        return table.replace(change, self._rows.run, self._run_id, self._window)

    def _row_change(
        self, table: GoldTable, plan: ReplayPlan, change: Change, columns: Columns
    ) -> RowChange | RemoteChange:
        """Return the deleted and new rows. Columns have the names that they have in gold now."""
        on = key_columns(plan.history, plan.keys) or list(range(len(columns)))
        drops = change.evolution.drops
        dropped = [(name, kind) for _, name, kind in table.fields() if name in drops and kind is not None]
        nulls = pa.schema([(name, arrow_type(kind)) for name, kind in dropped])
        gone = to_keys(change.replacement.deletes, [columns[at] for at in on])
        rows = to_table(change.replacement.rows, columns, table.has_part())
        if change.left is not None:
            return change.left.change(gone.column_names, rows.column_names, nulls)
        if change.vectorized is not None:
            gone = pa.concat_tables([gone, change.vectorized.keys.rename_columns(gone.column_names)])
            rows = pa.concat_tables([rows, change.vectorized.rows.rename_columns(rows.column_names)])
        return RowChange(gone, with_nulls(rows, nulls))

    def _clashes_after(
        self, work: TableReplay, table: GoldTable, change: RowChange | RemoteChange, key: list[str]
    ) -> int:
        """Return the number of gold's clashes after a change. `key` are the key columns that readers see."""
        before = self._clashes_before(work, table, key)
        if isinstance(change, RemoteChange):
            finder = None if table.is_empty else self._rows.key_finder(work.gold)
            if (more := count_in_tasks(self._rows, change, finder, key)) is not None:
                return before + more
        gone, rows = change.keys, change.coming
        if table.is_empty:
            return count_clashes(rows, key)
        touched = pa.concat_tables([gone.select(key), rows.select(key)]).group_by(key).aggregate([])
        return clashes_after(before, self._rows.of_keys(work.gold, gone.column_names, touched), gone, rows, key)

    def _clashes_before(self, work: TableReplay, table: GoldTable, key: list[str]) -> int:
        """Return the number of gold's clashes. Count them now if readers saw the source table of each row until now."""
        if table.is_empty or work.state is None:
            return 0
        return work.state.clashes if HIDDEN in work.state.keys else self._rows.clashes(work.gold, None, key)

    def _write_branch(
        self,
        work: TableReplay,
        table: GoldTable,
        truncations: Truncations,
        change: RowChange | RemoteChange,
        is_empty: bool,
    ) -> str:
        """Delete and append in separate commits on a branch, and return the name of the branch.

        `is_empty` is True if gold has no row, or if truncations remove all of them.
        """
        branch = table.branch(self._run_id)
        if work.replaces_all:
            self._rows.delete_all(work.gold, branch)
        else:
            for shard, truncated_at in truncations:
                self._rows.delete_below(work.gold, branch, truncated_at, shard)
            if not is_empty and (keys := change.keys).num_rows:
                self._rows.delete_keys(work.gold, branch, keys)
                self._on_progress(f"{work.gold}: deleted")
        if change.comes:
            table.append(change, self._rows.run, self._run_id, self._window)
        return branch
