"""The record before and after a run: read for it once, and left by it for people and for the next one."""

from collections import Counter
from collections.abc import Callable
from datetime import datetime
from functools import partial

from retable.gold.gold_metadata import state_of
from retable.ledger.counts import is_left_out
from retable.ledger.cuts import TableSnapshot, read_cuts, record_cut
from retable.ledger.lake.catalog import Lake
from retable.ledger.read import read_ledger, read_tables
from retable.ledger.retained import kept_from
from retable.ledger.rows import LedgerRow, OpsRow, StageReport
from retable.ledger.windows.recording import read_windows
from retable.ledger.write import append_rows
from retable.replay import record
from retable.replay.inputs.baselines import read_whole_baselines
from retable.replay.inputs.decisions import decisions_of
from retable.replay.inputs.imports import read_schema_imports
from retable.replay.inputs.known import lowest_of
from retable.replay.inputs.plan import gold_names
from retable.replay.inputs.recorded_state import RecordedState
from retable.replay.inputs.silver import window_contents
from retable.replay.references.suspects import read_all_suspects, suspect_row
from retable.replay.replayed import Replayed
from retable.schema_history.shards.joined import is_sharded


class RunRecord:
    """The record of one source around one run."""

    def __init__(self, lake: Lake, source: str, run_id: str, now: datetime, on_progress: Callable[[str], None]) -> None:
        self._lake = lake
        self._source = source
        self._run_id = run_id
        self._now = now
        self._on_progress = on_progress
        self._baselines = read_whole_baselines(lake, source)
        windows = [*self._baselines.windows, *read_windows(lake, source)]
        self._windows = {window.ordinal: window for window in windows}
        self._ledger = read_ledger(lake, source)
        self._tables = {row.identity: row for row in read_tables(lake, source)}
        self._cuts = read_cuts(lake, source)

    def recorded(self) -> RecordedState:
        """What was before the run."""
        replayed = [row for row in self._ledger if row.stage == "replay"]
        takes = self._lake.settings.source(self._source).takes_named
        contents = {row.window: row.identity for row in replayed if row.table is None}
        return RecordedState(
            ordinals={window.name: ordinal for ordinal, window in self._windows.items()},
            decoded=frozenset(row.window for row in self._ledger if row.stage == "decode") | self._baselines.names,
            replayed=frozenset(row.window for row in replayed),
            counted={(row.window, row.table): row.identity for row in replayed},
            counts={(row.window, row.table): row.counts for row in replayed},
            kept_from=kept_from(self._lake, "silver", self._source) or "",
            highest={(row.window, row.table): row.highest for row in replayed},
            lowest=lowest_of(replayed),
            left_out=frozenset(row.table for row in self._ledger if row.table and is_left_out(row, takes)),
            tables=self._tables,
            silver=partial(window_contents, self._lake, self._source, contents),
            decisions=decisions_of(self._lake, self._source),
            imports=read_schema_imports(self._lake, self._source),
            baselines=self._baselines,
            suspects=read_all_suspects(self._lake, self._source),
        )

    def record(self, replayed: Replayed, seconds: float) -> StageReport:
        """Leave the record of the run; the ledger comes last, because it says that all the rest is done."""
        source, now, results = self._source, self._now, replayed.results
        read = [result for result in results if not result.state.is_unread]
        for ordinal, window in self._windows.items():
            mine = [o for o in read if ordinal in o.counted or window.name == replayed.window]
            if mine:
                rejects = [(o.history, [r for r in o.rejects if r.event.ordinal == ordinal]) for o in mine]
                record.quarantine_rejects(self._lake, source, window, rejects, now)
        wrote = any(result.wrote for result in results)
        recorded_changes = replayed.tables.recorded
        rows: list[OpsRow] = list(
            record.change_rows(self._lake, source, replayed.statements, results, now, recorded_changes)
        )
        states = [record.table_row(source, o.gold, o.state, now) for o in results]
        rows += [row for row in states if record.facts(row) != record.facts(self._tables.get(row.identity))]
        latest = max([replayed.window, *(row.window for row in self._ledger if row.stage == "replay")])
        rows += [suspect_row(source, suspect, now) for suspect in replayed.suspects]
        append_rows(self._lake, rows)
        snapshots = {o.state.identity: TableSnapshot(o.gold, o.snapshot, o.state.state) for o in read}
        record_cut(self._lake, source, latest, snapshots, now, self._cuts, self._current)
        self._on_progress("recorded but for the ledger")
        counted = self._count(replayed, seconds)
        looked_at = {result.state.identity for result in results}
        held_before = {row.gold for i, row in self._tables.items() if row.state == "held" and i not in looked_at}
        total: Counter[str] = Counter()
        for row in counted:
            total.update(row.counts)
        return StageReport(
            source=source,
            window=replayed.window,
            stage="replay",
            counts=dict(total),
            tables={row.table or "": row.counts for row in counted if row.window == replayed.window},
            wrote=wrote,
            held=tuple(sorted({o.gold for o in results if o.state.hold} | held_before)),
            seconds=round(seconds, 3),
        )

    def _current(self, gold: str) -> TableSnapshot | None:
        """A gold table as it is now; None where it is gone."""
        table = self._lake.find(gold)
        state = None if table is None else state_of(table.metadata)
        if table is None or state is None:
            return None
        return TableSnapshot(gold, table.metadata.current_snapshot_id, state.state)

    def _retired(self) -> set[str]:
        """The gold tables that the settings leave out."""
        source, rows = self._lake.settings.source(self._source), self._tables.values()
        feeds = self._lake.settings.feeds
        return {row.gold for row in rows if not feeds(source, row.name, is_sharded(row.identity))}

    def _count(self, replayed: Replayed, seconds: float) -> list[LedgerRow]:
        """Append what the run counted, table by table, and the sums of the windows."""
        source, now, run_id = self._source, self._now, self._run_id
        counted = [
            row
            for result in replayed.results
            for row in record.ledger_rows(source, self._windows, result, run_id, now, seconds)
        ]
        settings = self._lake.settings
        former = {name for o in replayed.results for name in gold_names(settings, o.history) - {o.gold}}
        former |= {self._tables[i].gold for o in replayed.results for i in o.state.gathered}
        silver, took = replayed.silver, round(seconds, 3)
        whole = LedgerRow(
            source=source,
            window=replayed.window,
            stage="replay",
            table=None,
            counts={},
            lowest={},
            highest={},
            snapshot_id=None,
            identity=silver,
            run_id=run_id,
            seconds=took,
            bytes=0,
            recorded_at=now,
        )
        append_rows(self._lake, [*counted, *record.window_rows(whole, self._ledger, counted, former, self._retired())])
        return counted
