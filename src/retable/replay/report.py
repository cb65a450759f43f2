"""Read the recorded state of a source before a replay run, and record the result of the run after it."""

from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import replace
from datetime import datetime
from functools import partial

from retable.gold.gold_metadata import state_of
from retable.ledger.counts import is_left_out, open_ledger
from retable.ledger.cuts import TableSnapshot, read_cuts, record_cut
from retable.ledger.lake.catalog import Lake
from retable.ledger.read import read_ledger, read_stages, read_tables
from retable.ledger.retained import kept_from
from retable.ledger.rows import LedgerRow, OpsRow, StageReport
from retable.ledger.windows.contents import window_contents
from retable.ledger.windows.recording import read_ordinals
from retable.ledger.write import append_rows
from retable.model.event import TableName
from retable.replay import record
from retable.replay.inputs.baselines import read_whole_baselines
from retable.replay.inputs.decisions import decisions_of
from retable.replay.inputs.imports import read_schema_imports
from retable.replay.inputs.known import (
    FirstRows,
    begins_with,
    first_rows,
    is_undeclared,
    joined,
    recorded_first,
)
from retable.replay.inputs.plan import gold_names
from retable.replay.inputs.recorded_state import RecordedState
from retable.replay.references.suspects import read_all_suspects, suspect_row
from retable.replay.replayed import Replayed
from retable.replay.table.table_replay import ReplayResult
from retable.schema_history.shards.joined import is_sharded

_AT_ONCE = 200
"""The number of windows whose ledger rows are read at once."""


class RunRecord:
    """Reads the recorded state of one source for a replay run, and records the result of the run.

    `now` is the time of recording, and `on_progress` gets lines for the log.
    """

    def __init__(self, lake: Lake, source: str, run_id: str, now: datetime, on_progress: Callable[[str], None]) -> None:
        self._lake = lake
        self._source = source
        self._run_id = run_id
        self._now = now
        self._on_progress = on_progress
        self._baselines = read_whole_baselines(lake, source)
        self._ordinals = {**self._baselines.ordinals, **read_ordinals(lake, source)}
        self._stages = read_stages(lake, source)
        self._ledger = open_ledger(lake, source)
        self._tables = {row.identity: row for row in read_tables(lake, source)}
        self._cuts = read_cuts(lake, source)

    def recorded(self) -> RecordedState:
        """Return what is recorded of the source (windows, tables, decisions, …) before the run."""
        replayed = self._stages["replay"]
        return RecordedState(
            ordinals=self._ordinals,
            decoded=frozenset(self._stages["decode"]) | self._baselines.names,
            replayed=replayed,
            ledger=self._ledger,
            kept_from=kept_from(self._lake, "silver", self._source) or "",
            left_out=self._left_out,
            tables=self._tables,
            silver=partial(window_contents, self._lake, self._source, replayed),
            decisions=decisions_of(self._lake, self._source),
            imports=read_schema_imports(self._lake, self._source),
            baselines=self._baselines,
            suspects=read_all_suspects(self._lake, self._source),
        )

    def _left_out(self, names: Collection[TableName]) -> bool:
        """Return whether some window was decoded without one of these tables, but the settings include it now."""
        called, takes = {str(name) for name in names}, self._lake.settings.source(self._source).takes_named
        rows = read_ledger(self._lake, self._source, stage="decode", tables=called)
        return any(is_left_out(row, takes) for row in rows)

    def record(self, replayed: Replayed, seconds: float) -> StageReport:
        """Record the result of a run, and return its report. `seconds` is how long the run took.

        The ledger is written last, because its rows mean that everything else is recorded.
        """
        source, now, results = self._source, self._now, replayed.results
        read = [result for result in results if not result.state.is_unread]
        names = {ordinal: window for window, ordinal in self._ordinals.items()}
        for ordinal in sorted({self._ordinals[replayed.window]}.union(*(o.counted for o in read))):
            mine = [o for o in read if ordinal in o.counted or names[ordinal] == replayed.window]
            if mine:
                rejects = [(o.history, [r for r in o.rejects if r.event.ordinal == ordinal]) for o in mine]
                record.quarantine_rejects(self._lake, source, names[ordinal], rejects, now)
        counted = {
            result.state.identity: record.ledger_rows(source, names, result, self._run_id, now, seconds)
            for result in results
        }
        wrote = any(result.wrote for result in results)
        recorded_changes = replayed.tables.recorded
        changes = record.change_rows(self._lake, source, replayed.statements, results, now, recorded_changes)
        rows: list[OpsRow] = [*changes]
        self._ledger.of_tables([o.gold for o in results if not self._has_first(o)])
        states = [
            record.table_row(source, o.gold, o.state, self._first(o, counted[o.state.identity]), now) for o in results
        ]
        rows += [row for row in states if record.facts(row) != record.facts(self._tables.get(row.identity))]
        latest = max([replayed.window, *self._stages["replay"]])
        rows += [suspect_row(source, suspect, now) for suspect in replayed.suspects]
        append_rows(self._lake, rows)
        snapshots = {o.state.identity: TableSnapshot(o.gold, o.snapshot, o.state.state) for o in read}
        cut = record_cut(self._lake, source, latest, snapshots, now, self._cuts, self._current)
        self._on_progress("recorded, except in the ledger")
        rows_counted = [replace(row, cut=cut) for rows in counted.values() for row in rows]
        self._count(replayed, rows_counted, seconds)
        self._fill_first_rows()
        looked_at = {result.state.identity for result in results}
        held_before = {row.gold for i, row in self._tables.items() if row.state == "held" and i not in looked_at}
        total: Counter[str] = Counter()
        for row in rows_counted:
            total.update(row.counts)
        return StageReport(
            source=source,
            window=replayed.window,
            stage="replay",
            counts=dict(total),
            tables={row.table or "": row.counts for row in rows_counted if row.window == replayed.window},
            wrote=wrote,
            held=tuple(sorted({o.gold for o in results if o.state.hold} | held_before)),
            seconds=round(seconds, 3),
            kept_columns=tuple(
                f"{row.table}: {row.reason}" for row in changes if row.status == "applied" and row.reason
            ),
        )

    def _current(self, gold: str) -> TableSnapshot | None:
        """Return the present snapshot of a gold table; None if the catalog does not have the table."""
        table = self._lake.find(gold)
        state = None if table is None else state_of(table.metadata)
        if table is None or state is None:
            return None
        return TableSnapshot(gold, table.metadata.current_snapshot_id, state.state)

    def _retired(self) -> set[str]:
        """Return the recorded gold tables that the settings leave out now."""
        source, rows = self._lake.settings.source(self._source), self._tables.values()
        feeds = self._lake.settings.feeds
        return {row.gold for row in rows if not feeds(source, row.name, is_sharded(row.identity))}

    def _has_first(self, result: ReplayResult) -> bool:
        row = self._tables.get(result.state.identity)
        return row is not None and row.lowest is not None

    def _first(self, result: ReplayResult, counted: Collection[LedgerRow]) -> FirstRows:
        """Return the start of a table's rows, including the rows that this run `counted`."""
        row, gold = self._tables.get(result.state.identity), result.gold
        now = {each.window: each.lowest for each in counted}
        first = None if row is None else recorded_first(row)
        if first is not None:
            before = self._ledger.find(gold, now.keys())
            if not any(begins_with(first, window, each.lowest) for window, each in before.items()):
                return joined(first, first_rows(now))
        ever = self._ledger.of_table(gold).items()
        return first_rows({**{window: each.lowest for window, each in ever}, **now})

    def _fill_first_rows(self) -> None:
        """Record the start of rows for tables that lack it, because a recovery does not record it."""
        if any(is_undeclared(row) and row.lowest is None for row in self._tables.values()):
            record.fill_first_rows(self._lake, self._source, self._ledger, self._now)

    def _count(self, replayed: Replayed, counted: list[LedgerRow], seconds: float) -> None:
        """Append to the ledger the counts of each table of the run, and the sums of each window."""
        source, settings = self._source, self._lake.settings
        former = {name for o in replayed.results for name in gold_names(settings, o.history) - {o.gold}}
        former |= {self._tables[i].gold for o in replayed.results for i in o.state.gathered}
        whole = LedgerRow(
            source=source,
            window=replayed.window,
            stage="replay",
            table=None,
            counts={},
            lowest={},
            highest={},
            snapshot_id=None,
            identity=replayed.silver,
            run_id=self._run_id,
            seconds=round(seconds, 3),
            bytes=0,
            recorded_at=self._now,
        )
        rows, windows = list(counted), sorted({replayed.window, *(row.window for row in counted)})
        for at in range(0, len(windows), _AT_ONCE):
            some = windows[at : at + _AT_ONCE]
            if len(some) == 1:
                known = read_ledger(self._lake, source, some[0], stage="replay")
            else:
                known = read_ledger(self._lake, source, at_least={"window": some[0]}, until=some[-1], stage="replay")
            mine = [row for row in counted if some[0] <= row.window <= some[-1]]
            rows += record.window_rows(whole, some, known, mine, former, self._retired())
        append_rows(self._lake, rows)
