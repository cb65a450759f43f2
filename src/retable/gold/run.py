"""One window through all of its tables: statements to histories, rows to their owners, one replay for each table."""

from collections.abc import Callable, Mapping, Set
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from queue import SimpleQueue
from typing import Literal, cast

from retable.config import Settings
from retable.decode.values import ValueRules
from retable.errors import KeyUnknown, NotFound, NotReady
from retable.gold.bulk import Bulk, bulk_of, by_table, to_events
from retable.gold.horizon import check_whole, remembered
from retable.gold.past import NO_FILES, Past
from retable.gold.places import Found, Places
from retable.gold.plan import Rules, Tables, gold_names, named_now
from retable.gold.silver import by_name, system_of, taken, to_event, to_statement
from retable.gold.state import GoldState
from retable.gold.store import Halves, Lane, Late, Record
from retable.gold.table import TableReplay
from retable.gold.work import Outcome, Work
from retable.model.event import TableName
from retable.replay.fold import REMEDY_REBUILD, RowEvent
from retable.replay.history import Hold, TableHistory
from retable.replay.timeline import Statement
from retable.replay.traced import ImplicitColumn
from retable.source_settings import SourceSettings

THREADS = 4
Way = Literal["replay", "rebuild", "resume"]
Named = dict[TableName, list[RowEvent]]
Owned = dict[str, list[RowEvent]]
Told = tuple[ImplicitColumn, ...] | None


@dataclass(frozen=True, slots=True)
class Replayed:
    """What came of a run, for every table that it looked at.

    `silver` is the content of the window in silver; a rebuild, which replays one table of all, has none.
    """

    window: str
    silver: str | None
    tables: Tables
    statements: Mapping[Statement, str]
    outcomes: list[Outcome]


class Run:
    """Replays one window of one source, or rebuilds one table, once. Nothing here reads or writes the record."""

    def __init__(
        self,
        lanes: Callable[[int], list[Lane]],
        past: Past,
        settings: Settings,
        source: SourceSettings,
        run_id: str,
        location: Callable[[], str],
        step: Callable[[str], None],
    ) -> None:
        self._lanes = lanes
        self._rows, catalog = (first := lanes(1)[0]).rows, first.catalog
        self._past = past
        self._settings = settings
        self._source = source
        self._run_id = run_id
        self._location = location
        self._step = step
        self._system = source.source_system or past.imports.dialect
        self._rules = Rules(settings, source, self._system or "mysql", past.rulings, past.imports, past.baselines)
        self._places = Places(catalog, past.tables, source.name, step)
        self._blocked: dict[str, Hold] = {}
        self._bulks: dict[TableName, Bulk] = {}

    # --- entrances -----------------------------------------------------------------------------------------------
    def replay(self, name: str) -> Replayed:
        """Replay a decoded window."""
        if name not in self._past.decoded:
            raise NotReady(f"window {name} is not decoded; run `retable decode {self._source.name} --window {name}`")
        visible = self._past.visible(name)
        seen: list[str] = []
        events = self._window_events(name)
        while visible != seen:
            seen = visible
            statements = self._statements(visible)
            pending = {s for s, where in statements.items() if where == name or where not in self._past.replayed}
            pending |= self._rules.started_by(name)
            tables, owned, implicit, found = self._trace([*statements], events, pending, None, visible[-1], {name})
            if mixed := self._divided(tables, owned, events):
                events |= {table: self._bulks.pop(table).events(self._past.ordinals) for table in mixed}
                seen = []
                continue
            # A run that died before its record may have brought gold to a later window than the record tells.
            visible = self._past.visible(max(name, self._past.windows.get(self._places.horizon, name)))
        applied = {name: self._past.silver(name).get(name, NO_FILES)}
        self._blocked = self._places.rename({i: name for i, (name, _) in tables.gold_names().items()}, found)
        works = [self._work(tables, identity, found, owned, implicit, applied, visible) for identity in sorted(found)]
        outcomes = self._replay_all(name, [work for work in works if work is not None])
        return Replayed(name, applied[name], tables, statements, outcomes)

    def rebuild(self, gold: str, resumes: bool = False) -> Replayed:
        """Build a table anew from all of silver up to the last replayed window, and swap it in.

        One that `resumes` keeps its rows: its hold is lifted, and it catches up with what came since.
        """
        row = next((row for row in self._past.tables.values() if row.gold == gold), None)
        if row is None:
            raise NotFound(f"the source {self._source.name} has no table {gold}", table=gold)
        replayed = self._past.replayed
        visible = self._past.visible(window := max(replayed))
        statements = self._statements(visible)
        names = Tables.trace(list(statements), self._rules, [], self._known()).names_of(row.identity)
        names = names or {TableName(row.database, row.schema, row.table)}
        records = self._rows.table_rows(visible[-1], names)
        events = self._events([record for record in records if record["window"] in replayed])
        state = self._places.find(row.identity, gold).state
        told = remembered(state) if resumes else ()
        tables, owned, implicit, found = self._trace(list(statements), events, set(), told, visible[-1], replayed)
        check_whole(gold, None if resumes else state, tables.history(row.identity))
        content = self._past.replayed_content()
        applied = {name: content[name] for name in visible if name in replayed}
        found.setdefault(row.identity, self._places.find(row.identity, gold))
        way: Way = "resume" if resumes else "rebuild"
        work = self._work(tables, row.identity, found, owned, implicit, applied, visible, way)
        if work is None:
            raise NotFound(f"{gold} has neither rows nor columns in silver", table=gold)
        return Replayed(window, None, tables, statements, self._replay_all(window, [work]))

    # --- what there is -------------------------------------------------------------------------------------------
    def _known(self) -> list[TableName]:
        """The tables that gold has though no statement made them."""
        names = {identity: TableName(r.database, r.schema, r.table) for identity, r in self._past.tables.items()}
        return [name for identity, name in names.items() if identity == f"{name}@base"]

    def _statements(self, visible: list[str]) -> dict[Statement, str]:
        found: dict[Statement, str] = {}
        setting = self._system
        records = sorted(self._rows.statements(visible[-1]), key=self._arrival)
        self._rules = replace(self._rules, system=system_of(records, setting))
        for record in records:
            statement = to_statement(record, setting, self._rules.system)
            found.setdefault(taken(statement, self._source.takes), str(record["window"]))
        return found

    def _arrival(self, record: Record) -> tuple[int, int]:
        return self._past.ordinals[str(record["window"])], cast(int, record["offset"])

    def _events(self, records: list[Record]) -> Named:
        return {
            name: [to_event(r, self._past.ordinals, counted=True) for r in found]
            for name, found in by_name(records).items()
        }

    def _window_events(self, window: str) -> Named:
        """The rows of a window as events; of a bulk only its ends."""
        events: Named = {}
        for table, rows in by_table(self._rows.window_rows(window)):
            bulk = bulk_of(rows, self._past.ordinals)
            if bulk is not None:
                self._bulks[table] = bulk
            events[table] = to_events(rows, self._past.ordinals) if bulk is None else bulk.ends
        return events

    def _divided(self, tables: Tables, owned: Owned, events: Named) -> list[TableName]:
        """The bulks that are not all one table's, or in which a statement stands, or beside which it has other rows."""
        return [name for name in self._bulks if tables.is_divided(name, events[name], owned)]

    def _trace(
        self, statements: list[Statement], events: Named, pending: set[Statement], told: Told, until: str, own: Set[str]
    ) -> tuple[Tables, Owned, list[ImplicitColumn], dict[str, Found]]:
        """Trace until every column that rows bring is known: told, remembered by gold, or seen just now.

        What gold remembers by other settings is looked for anew, in all its rows: of `own` windows, and of others.
        """
        implicit, stored = list(told or ()), told is None
        found: dict[str, Found] = {}
        older: Owned = {}
        while True:
            tables = Tables.trace(statements, self._rules, implicit, self._known())
            owned = tables.split(events)
            names = tables.gold_names()
            touched = set(owned) | tables.touched_by(pending, self._past.tables)
            touched |= {i for i, row in self._past.tables.items() if i in names and names[i][0] != row.gold}
            fresh = touched - set(found)
            for identity in fresh:
                former = gold_names(self._settings, tables.history(identity))
                found[identity] = self._places.find(identity, names[identity][0], former)
            states = {i: each.state for i, each in found.items() if stored and each.state is not None}
            more: list[ImplicitColumn] = []
            for identity in fresh & states.keys():
                if self._rules.are_typed_otherwise(states[identity]):
                    older[identity] = self._older(tables, tables.history(identity), until, own, None)
                else:
                    more += states[identity].implicit
            rows = {i: [*owned.get(i, []), *older.get(i, [])] for i in owned.keys() | older.keys()}
            holds = {identity: state.hold for identity, state in states.items()}
            strange = [column for column in tables.strange(rows, holds) if column not in implicit]
            if not strange and not more:
                return tables, owned, implicit, found
            implicit += more + [column for column in strange if column not in more]

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
        way: Way = "replay",
    ) -> Work | None:
        """What to do for one table; None where gold and the record say it already, or there is nothing to say."""
        events = owned.get(identity, [])
        gold, state = found[identity].gold, found[identity].state
        history = tables.history(identity)
        empty = history.dropped or not history.final.columns
        if state is None and not events and empty and history.hold is None:
            return None
        name = history.name
        applied = self._identities(history, silver)
        recorded = self._past.records(silver)
        if way == "replay" and self._is_gone(history, state):
            if state is None and self._is_counted(history, gold, applied):
                return None
        elif way == "replay" and state is not None and self._is_done(state, history, events, gold, applied, recorded):
            return None
        hold = self._blocked.get(identity) or tables.gold_names()[identity][1]
        keys: tuple[str, ...] = ()
        standing = None if way == "rebuild" else state
        stopped = None if standing is None or way == "resume" else standing.hold

        def keys_of(history: TableHistory) -> tuple[str, ...]:
            known = () if standing is None else named_now(standing, history)
            return self._rules.keys(history, events, known, stopped)

        try:
            keys = keys_of(history)
        except KeyUnknown as error:
            hold = Hold(error.code, error.message, None, None, None, REMEDY_REBUILD)
        rules = self._settings.rules(name)
        return Work(
            source=self._source.name,
            gold=gold,
            history=history,
            state=state,
            implicit=tuple(column for column in implicit if column.identity == identity),
            typing=self._settings.typing(self._source.name, name),
            events=events,
            older=lambda needed: self._older(tables, history, visible[-1], set(silver), needed),
            windows=self._past.windows,
            keys=keys_of,
            former=lambda history, told: self._rules.former_keys(history, told, stopped),
            hashed=self._rules.hashed_by(keys, history, events),
            names=self._rules.column_names,
            source_format=self._source.format,
            rules=ValueRules(
                self._source.time_zone,
                self._source.timestamp_zone,
                rules.zero_date,
                self._source.binary_encoding,
                self._source.decimal_mode,
                self._source.time_mode,
                self._rules.system,
            ),
            applied=applied,
            bulk=next((bulk for bulk in self._bulks.values() if bulk.ends == events), None),
            identities=lambda: self._identities(history, self._past.replayed_content()),
            horizon=max(self._past.ordinals[window] for window in visible),
            format_version=rules.format_version,
            clash=hold,
            rebuilds=way == "rebuild",
            resumes=way == "resume",
        )

    def _identities(self, history: TableHistory, silver: Mapping[str, str]) -> dict[str, str]:
        """What a window of this content of silver is applied as, under the settings and imports of a table."""
        settings = self._rules.fingerprint(history.identity, history.name)
        return {window: f"{files}:{settings}" for window, files in silver.items()}

    def _replay_all(self, window: str, works: list[Work]) -> list[Outcome]:
        """Replay tables side by side, one a lane; with several lanes all end before the first failure is told."""
        lanes: SimpleQueue[Lane] = SimpleQueue()
        taken = self._lanes(min(len(works), THREADS))
        for lane in taken:
            lanes.put(lane)

        def replay(work: Work) -> Outcome:
            lane = lanes.get()
            try:
                outcome = TableReplay(lane.catalog, lane.rows, self._run_id, window, self._step).replay(
                    work, self._location
                )
                if outcome.state.hold is None and self._is_gone(outcome.history, outcome.state):
                    lane.catalog.drop(work.gold)
                    outcome.snapshot = None
                self._step(f"{work.gold}: done")
                return outcome
            finally:
                lanes.put(lane)

        if len(taken) == 1:
            return list(map(replay, works))
        with ThreadPoolExecutor(THREADS) as pool:
            return list(pool.map(replay, works))

    def _is_done(
        self,
        state: GoldState,
        history: TableHistory,
        events: list[RowEvent],
        gold: str,
        applied: Mapping[str, str],
        recorded: bool,
    ) -> bool:
        """Whether gold says that it holds all this, and the ledger counts just this."""
        told = {str(change.position) for change in history.changes if change.status == "applied"}
        if state.hold is None and (history.hold is not None or told != set(state.changes)):
            return False
        if not events:
            return recorded
        same = all(state.applied.get(window) == identity for window, identity in applied.items())
        return same and self._is_counted(history, gold, applied)

    def _is_counted(self, history: TableHistory, gold: str, applied: Mapping[str, str]) -> bool:
        """Whether the ledger counts just this."""
        named = {gold, *gold_names(self._settings, history)}
        counted = {(window, what) for (window, table), what in self._past.counted.items() if table in named}
        return set(applied.items()) <= counted

    def _is_gone(self, history: TableHistory, state: GoldState | None) -> bool:
        """Whether the source dropped a table, nothing came behind, and the settings want gold's dropped too."""
        gone = history.dropped and history.hold is None and (state is None or state.state == "dropped")
        return gone and self._rules.policies(history.name).drop_table == "drop"

    def _older(
        self, tables: Tables, history: TableHistory, until: str, own: Set[str], needed: Late | Halves | None
    ) -> list[RowEvent]:
        """The table's events in the other windows; what those windows call by its name may be another table."""
        found = self._rows.table_rows(until, {span.name for span in history.spans}, needed)
        known = self._past.ordinals.keys() - own
        records = by_name(record for record in found if record["window"] in known)
        events = {n: [to_event(r, self._past.ordinals, counted=False) for r in mine] for n, mine in records.items()}
        return tables.split(events).get(history.identity, [])
