"""One window through all of its tables: statements to histories, rows to their owners, then the cut and the ledger."""

import time
from collections import Counter
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime
from queue import SimpleQueue

from retable.config import SourceSettings
from retable.decode.values import ValueRules
from retable.errors import KeyUnknown, NotFound, NotReady
from retable.gold import record
from retable.gold.iceberg import Catalog
from retable.gold.names import gold_table
from retable.gold.places import Found, Places
from retable.gold.plan import Rules, Tables
from retable.gold.silver import by_name, silver_files, taken, to_event, to_statement
from retable.gold.state import GoldState
from retable.gold.store import Late, Record, RowStore
from retable.gold.table import Outcome, TableReplay, Work
from retable.ledger.catalog import Lake
from retable.ledger.read import read_ledger
from retable.ledger.rows import LedgerRow, Row, StageReport
from retable.ledger.windows import find_window, read_windows
from retable.ledger.write import append_rows
from retable.model.event import TableName
from retable.replay.fold import REMEDY_REBUILD, RowEvent
from retable.replay.history import Hold, TableHistory
from retable.replay.timeline import ImplicitColumn, Statement

EMPTY = "empty"
THREADS = 4
Named = dict[TableName, list[RowEvent]]
Owned = dict[str, list[RowEvent]]


@dataclass(frozen=True, slots=True)
class Lane:
    """One Spark session's way to the rows and to the catalog; one thread uses it at a time."""

    rows: RowStore
    catalog: Catalog


class Run:
    """Replays one window of one source, or rebuilds one table, once."""

    def __init__(
        self,
        lanes: Callable[[int], list[Lane]],
        lake: Lake,
        source: SourceSettings,
        run_id: str,
        now: datetime,
        step: Callable[[str], None],
    ) -> None:
        self._lanes = lanes
        self._rows, self._catalog = (first := lanes(1)[0]).rows, first.catalog
        self._lake = lake
        self._source = source
        self._run_id = run_id
        self._now = now
        self._step = step
        self._began = time.perf_counter()
        self._windows = {window.ordinal: window for window in read_windows(lake, source.name)}
        self._ordinals = {window.name: ordinal for ordinal, window in self._windows.items()}
        self._ledger = read_ledger(lake, source.name)
        self._rules = Rules(lake.settings, source, source.source_system or "mysql")
        self._places = Places(self._catalog, lake, source.name, step)
        self._registry = self._places.recorded
        self._blocked: dict[str, Hold] = {}

    # --- entrances -----------------------------------------------------------------------------------------------
    def replay(self, name: str) -> StageReport:
        """Replay a decoded window; the report says whether gold or the record changed."""
        window = find_window(self._lake, self._source.name, name)
        if name not in self._stage("decode"):
            raise NotReady(f"window {name} is not decoded; run `retable decode {self._source.name} --window {name}`")
        visible = self._visible(window.ordinal)
        statements = self._statements(visible)
        replayed = self._stage("replay")
        pending = {s for s, where in statements.items() if where == name or where not in replayed}
        events = self._events(self._rows.window_rows(name))
        tables, owned, implicit, found = self._trace(list(statements), events, pending)
        applied = {name: silver_files(self._lake, self._source.name, name).get(name, EMPTY)}
        self._blocked = self._places.rename({i: name for i, (name, _) in tables.gold_names().items()}, found)
        works = [self._work(tables, identity, found, owned, implicit, applied, visible) for identity in sorted(found)]
        outcomes = self._replay_all(name, [work for work in works if work is not None])
        return self._record(name, tables, statements, outcomes)

    def rebuild(self, gold: str) -> StageReport:
        """Build a table anew from all of silver up to the last replayed window, and swap it in."""
        row = next((row for row in self._registry.values() if row.gold == gold), None)
        if row is None:
            raise NotFound(f"the source {self._source.name} has no table {gold}", table=gold)
        replayed = self._stage("replay")
        window = self._windows[max(self._ordinals[name] for name in replayed)]
        visible = self._visible(window.ordinal)
        statements = self._statements(visible)
        names = Tables.trace(list(statements), self._rules, [], self._known()).names_of(row.identity)
        names = names or {TableName(row.database, row.schema, row.table)}
        records = self._rows.table_rows(visible[-1], names)
        events = self._events([record for record in records if record["window"] in replayed])
        tables, owned, implicit, found = self._trace(list(statements), events, set(), stored=False)
        files = silver_files(self._lake, self._source.name)
        applied = {name: files.get(name, EMPTY) for name in visible if name in replayed}
        found.setdefault(row.identity, self._places.find(row.identity, gold))
        work = self._work(tables, row.identity, found, owned, implicit, applied, visible, rebuilds=True)
        if work is None:
            raise NotFound(f"{gold} has neither rows nor columns in silver", table=gold)
        return self._record(window.name, tables, statements, self._replay_all(window.name, [work]))

    # --- what there is -------------------------------------------------------------------------------------------
    def _stage(self, stage: str) -> set[str]:
        return {row.window for row in self._ledger if row.stage == stage}

    def _visible(self, ordinal: int) -> list[str]:
        """The decoded windows up to the highest that was ever replayed: what gold may know of."""
        replayed = [self._ordinals[name] for name in self._stage("replay") if name in self._ordinals]
        horizon = max([ordinal, *replayed])
        decoded = self._stage("decode")
        return [w.name for o, w in sorted(self._windows.items()) if o <= horizon and w.name in decoded]

    def _known(self) -> list[TableName]:
        """The tables that gold has though no statement made them."""
        names = {identity: TableName(r.database, r.schema, r.table) for identity, r in self._registry.items()}
        return [name for identity, name in names.items() if identity == f"{name}@base"]

    def _statements(self, visible: list[str]) -> dict[Statement, str]:
        records = self._rows.statements(visible[-1])
        records.sort(key=lambda r: self._ordinals[str(r["window"])], reverse=True)
        system = self._source.source_system
        return {taken(to_statement(r, system), self._source.takes): str(r["window"]) for r in records}

    def _events(self, records: list[Record]) -> Named:
        return {
            name: [to_event(r, self._ordinals, counted=True) for r in found] for name, found in by_name(records).items()
        }

    def _trace(
        self, statements: list[Statement], events: Named, pending: set[Statement], stored: bool = True
    ) -> tuple[Tables, Owned, list[ImplicitColumn], dict[str, Found]]:
        """Trace until every column that rows bring is known: told, remembered by gold, or seen just now."""
        implicit: list[ImplicitColumn] = []
        found: dict[str, Found] = {}
        while True:
            tables = Tables.trace(statements, self._rules, implicit, self._known())
            owned = tables.split(events)
            names = tables.gold_names()
            touched = set(owned) | tables.touched_by({(s.position, s.part) for s in pending})
            touched |= {i for i, row in self._registry.items() if i in names and names[i][0] != row.gold}
            fresh = touched - set(found)
            found |= {identity: self._places.find(identity, names[identity][0]) for identity in fresh}
            remembered = [c for i in fresh if stored and (state := found[i].state) for c in state.implicit]
            holds = {identity: f.state.hold for identity, f in found.items() if stored and f.state is not None}
            strange = [column for column in tables.strange(owned, holds) if column not in implicit]
            if not strange and not remembered:
                return tables, owned, implicit, found
            implicit += remembered + [column for column in strange if column not in remembered]

    # --- work ----------------------------------------------------------------------------------------------------
    def _work(
        self,
        tables: Tables,
        identity: str,
        found: Mapping[str, Found],
        owned: Owned,
        implicit: list[ImplicitColumn],
        silver: Mapping[str, str],
        visible: list[str],
        rebuilds: bool = False,
    ) -> Work | None:
        """What to do for one table; None where gold and the record say it already, or there is nothing to say."""
        history, events = tables.history(identity), owned.get(identity, [])
        gold, state = found[identity].gold, found[identity].state
        empty = history.dropped or not history.final.columns
        if state is None and not events and empty and history.hold is None:
            return None
        name = history.name
        applied = {
            w: f"{files}:{self._lake.settings.fingerprint(self._source.name, name)}" for w, files in silver.items()
        }
        if not rebuilds and state is not None and self._is_done(state, history, events, gold, applied):
            return None
        hold = self._blocked.get(identity) or tables.gold_names()[identity][1]
        keys: tuple[str, ...] = ()
        try:
            keys = self._rules.keys(history, events, () if state is None or rebuilds else _named_now(state, history))
        except KeyUnknown as error:
            hold = Hold(error.code, error.message, None, None, None, REMEDY_REBUILD)
        rules = self._lake.settings.rules(name)
        return Work(
            source=self._source.name,
            gold=gold,
            history=history,
            state=state,
            implicit=tuple(column for column in implicit if column.identity == identity),
            events=events,
            older=lambda late: self._older(tables, history, visible[-1], set(silver), late),
            keys=keys,
            hashed=self._rules.hashed_by(keys, history, events),
            names=self._rules.column_names,
            source_format=self._source.format,
            rules=ValueRules(self._source.time_zone, self._source.timestamp_zone, rules.zero_date),
            applied=applied,
            horizon=max(self._ordinals[window] for window in visible),
            clash=hold,
            rebuilds=rebuilds,
        )

    def _replay_all(self, window: str, works: list[Work]) -> list[tuple[Outcome, list[RowEvent]]]:
        """Replay tables side by side, each thread in a session of its own; all end before the first failure is told."""
        lanes: SimpleQueue[Lane] = SimpleQueue()
        for lane in self._lanes(min(len(works), THREADS)):
            lanes.put(lane)

        def replay(work: Work) -> Outcome:
            lane = lanes.get()
            try:
                outcome = TableReplay(lane.catalog, lane.rows, self._run_id, window, self._step).replay(
                    work, self._location
                )
                self._step(f"{work.gold}: done")
                return outcome
            finally:
                lanes.put(lane)

        with ThreadPoolExecutor(THREADS) as pool:
            return list(zip(pool.map(replay, works), (work.events for work in works), strict=True))

    def _is_done(
        self, state: GoldState, history: TableHistory, events: list[RowEvent], gold: str, applied: Mapping[str, str]
    ) -> bool:
        """Whether gold says that it holds all this, and the ledger has the counts."""
        told = {str(change.position) for change in history.changes if change.status == "applied"}
        if state.hold is None and (history.hold is not None or told != set(state.changes)):
            return False
        named = {gold, *self._gold_names(history)}
        counted = {row.window for row in self._ledger if row.stage == "replay" and row.table in named}
        return not events or all(
            state.applied.get(window) == identity and window in counted for window, identity in applied.items()
        )

    def _gold_names(self, history: TableHistory) -> set[str]:
        """Every gold name that a table ever had."""
        return {gold_table(self._lake.settings.lake, span.name) for span in history.spans}

    def _older(
        self, tables: Tables, history: TableHistory, until: str, own: set[str], late: Late | None
    ) -> list[RowEvent]:
        """The table's events in the other windows; what those windows call by its name may be another table."""
        found = self._rows.table_rows(until, {span.name for span in history.spans}, late)
        records = by_name(record for record in found if record["window"] not in own)
        events = {n: [to_event(r, self._ordinals, counted=False) for r in mine] for n, mine in records.items()}
        return tables.split(events).get(history.identity, [])

    def _location(self) -> str:
        return self._lake.new_location("gold")

    # --- record --------------------------------------------------------------------------------------------------
    def _record(
        self,
        window: str,
        tables: Tables,
        statements: Mapping[Statement, str],
        outcomes: list[tuple[Outcome, list[RowEvent]]],
    ) -> StageReport:
        """Leave the record of the run; the ledger comes last, because it says that all the rest is done."""
        source, now = self._source.name, self._now
        seconds = time.perf_counter() - self._began
        for ordinal in {e.ordinal for _, events in outcomes for e in events} | {self._ordinals[window]}:
            rejects = [(o.history, [r for r in o.rejects if r.event.ordinal == ordinal]) for o, _ in outcomes]
            record.quarantine_rejects(self._lake, source, self._windows[ordinal], rejects, now)
        wrote = any(outcome.wrote for outcome, _ in outcomes)
        rows: list[Row] = list(
            record.change_rows(self._lake, source, statements, [o for o, _ in outcomes], now, tables.recorded)
        )
        states = [record.table_row(source, o.gold, o.state, now) for o, _ in outcomes]
        rows += [row for row in states if record.facts(row) != record.facts(self._registry.get(row.identity))]
        snapshots = {o.state.identity: (o.gold, o.snapshot, o.state.state) for o, _ in outcomes}
        latest = max([window, *(row.window for row in self._ledger if row.stage == "replay")])
        rows += record.cut_rows(self._lake, source, latest, snapshots, wrote, now)
        append_rows(self._lake, rows)
        self._step("recorded but for the ledger")
        counted = [
            row
            for outcome, events in outcomes
            for row in record.ledger_rows(source, self._windows, outcome, events, self._run_id, now, seconds)
        ]
        former = {name for outcome, _ in outcomes for name in self._gold_names(outcome.history) - {outcome.gold}}
        whole = LedgerRow(
            source, window, "replay", None, {}, {}, {}, None, None, self._run_id, round(seconds, 3), 0, now
        )
        append_rows(self._lake, [*counted, *record.window_rows(whole, self._ledger, counted, former)])
        held = sorted({o.gold for o, _ in outcomes if o.state.hold} | self._held_before(snapshots))
        total: Counter[str] = Counter()
        for row in counted:
            total.update(row.counts)
        return StageReport(
            source,
            window,
            "replay",
            dict(total),
            {row.table or "": row.counts for row in counted if row.window == window},
            wrote,
            tuple(held),
            round(seconds, 3),
        )

    def _held_before(self, now: Mapping[str, object]) -> set[str]:
        return {row.gold for i, row in self._registry.items() if row.state == "held" and i not in now}


def _named_now(state: GoldState, history: TableHistory) -> tuple[str, ...]:
    """The key columns that gold knows, under the names that they have now."""
    identities = {column.name: column.id for column in state.columns}
    names = {column.id: column.name for column in history.final.columns}
    return tuple(names.get(identities.get(key, ""), key) for key in state.keys)
