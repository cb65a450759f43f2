"""Replay one window for all of its tables: build their schema histories, find each table's rows, replay each table."""

from collections.abc import Callable, Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cache
from queue import SimpleQueue
from typing import Literal

from retable.errors import KeyUnknown, NotFound, NotReady
from retable.fold.fold import REMEDY_REBUILD
from retable.gold.damage import damaged_hold, is_of_lists
from retable.gold.state import GoldState
from retable.gold.store import SessionSlot
from retable.ledger.rows import TableRow
from retable.model.row_event import RowEvent
from retable.replay.batch.row_batch import RowBatch, events_of_all
from retable.replay.inputs.plan import gold_names
from retable.replay.inputs.recorded_state import RecordedState
from retable.replay.inputs.rules import named_now
from retable.replay.inputs.scope import ReplayScope, ScopeReader
from retable.replay.inputs.table_locator import LocatedTable, TableLocator
from retable.replay.references.cascades import Cascades
from retable.replay.references.suspects import Suspect
from retable.replay.replayed import Replayed
from retable.replay.table.hold_rules import MOVED, moved_hold
from retable.replay.table.horizon import check_whole, remembered, retention_floor
from retable.replay.table.replayer import TableReplayer
from retable.replay.table.rounds import undecided
from retable.replay.table.table_replay import Mode, ReplayResult, TableReplay, given_up, left_unread
from retable.schema_history.history import Hold, TableHistory
from retable.schema_history.shards.joined import is_sharded, waits_no_more
from retable.settings.load import Settings
from retable.settings.sources import SourceSettings

THREADS = 4


class Run:
    """Replays one window of one source, or rebuilds one table, once. It does not record the result (`RunRecord`)."""

    def __init__(
        self,
        slots: Callable[[int], list[SessionSlot]],
        recorded: RecordedState,
        settings: Settings,
        source: SourceSettings,
        run_id: str,
        location: Callable[[], str],
        on_progress: Callable[[str], None],
    ) -> None:
        self._slots = slots
        first = slots(1)[0]
        self._recorded = recorded
        self._settings = settings
        self._source = source
        self._run_id = run_id
        self._location = location
        self._on_progress = on_progress
        self._rows = first.rows
        self._catalog = first.catalog
        self._locator = TableLocator(first.catalog, recorded.tables, self._is_fed, source.name, on_progress)
        system = source.source_system or recorded.imports.dialect
        self._scope_reader = ScopeReader(first.rows, self._locator, recorded, settings, source, system)
        self._blocked: dict[str, Hold] = {}

    # --- entry points -----------------------------------------------------------------------------------------------
    def replay(self, name: str) -> Replayed:
        """Replay a decoded window. Raise NotReady if the window is not decoded yet."""
        if name not in self._recorded.decoded:
            raise NotReady(f"window {name} is not decoded; run `retable decode {self._source.name} --window {name}`")
        applied = {name: self._recorded.content_of(name)}
        if self._recorded.records(applied):
            scope = self._scope_reader.window(name, sketched=True)
            if self._is_finished(scope, applied):
                return Replayed(name, applied[name], scope.tables, scope.statements, [])
        scope = self._scope_reader.window(name)
        gone, names = self._leave(scope), {i: gold for i, (gold, _) in scope.tables.gold_names().items()}
        self._blocked = self._locator.rename(names, scope.found)
        works = [work for each in sorted(scope.found) if (work := self._work(scope, each, applied)) is not None]
        results = [*self._replay_all(name, works), *gone]
        suspects = self._suspects(scope, name, works, results)
        return Replayed(name, applied[name], scope.tables, scope.statements, results, suspects)

    def rebuild(self, gold: str, resumes: bool = False) -> Replayed:
        """Build a table again from all of silver up to the last replayed window, and publish it in one step.

        If `resumes` is True, only lift the table's hold: gold keeps its rows, and gets the changes that waited.
        """
        tables = self._scope_reader.tables()
        identity, name = self._scope_reader.find(tables, gold)
        state = self._locator.find(identity, gold).state
        scope = self._scope_reader.table(tables, identity, name, gold, remembered(state) if resumes else ())
        if not scope.tables.has(identity):
            raise NotFound(f"drop {gold}: no source table feeds it now, and its rows are in other tables", table=gold)
        history = scope.tables.history(identity)
        dropped = self._scope_reader.moved.dropped(history)
        if state is not None and state.is_unread:
            scope.found[identity] = LocatedTable(gold)
            names = {gold, *gold_names(self._settings, history)}
            there, everywhere = scope.rows_by_window(identity), is_sharded(identity)
            dropped = self._recorded.missing(names, there, history.truncated_at, everywhere=everywhere)
        if not resumes:
            check_whole(gold, state, history, dropped)
        content = self._recorded.replayed_content()
        applied = {name: content[name] for name in scope.visible if name in content}
        scope.found.setdefault(identity, self._locator.find(identity, gold))
        work = self._work(scope, identity, applied, "resume" if resumes else "rebuild")
        if work is None:
            raise NotFound(f"silver has neither rows nor columns of {gold}", table=gold)
        window = max(self._recorded.replayed)
        results = self._replay_all(window, [work])
        if results[0].state.hold is None:
            results += self._leave(scope)
        suspects = self._suspects(scope, window, [work], results)
        return Replayed(window, None, scope.tables, scope.statements, results, suspects)

    # --- tables ----------------------------------------------------------------------------------------------------
    def _work(
        self, scope: ReplayScope, identity: str, silver: Mapping[str, str], mode: Mode = "replay"
    ) -> TableReplay | None:
        """Return what to replay for one table; None if it has no content, or if gold and the ledger are up to date."""
        events, history = scope.owned.get(identity, []), scope.tables.history(identity)
        gold, state = scope.found[identity].gold, scope.found[identity].state
        if self._is_nothing(scope, identity) or (mode == "replay" and self._is_done(scope, identity, silver)):
            return None
        damaged = scope.found[identity].hold if mode == "replay" else None
        whole = self._whole_mode(history, state) if mode == "replay" and damaged is None else None
        batches, coming = tuple(scope.batches.get(identity, ())), scope.rows_by_window(identity).total()
        if whole is not None:
            events, batches = self._all_of(scope, history, gold, silver, coming)
            mode, silver = whole, {**self._recorded.replayed_content(), **silver}
        moved = None if mode == "rebuild" else moved_hold(history, state, self._scope_reader.moved.missing(history))
        endless = next((undecided(scope.endless[each]) for each in history.identities & scope.endless.keys()), None)
        hold = damaged or moved or self._blocked.get(identity) or scope.tables.gold_names()[identity][1] or endless
        keys: tuple[str, ...] = ()
        others = self._recorded.in_gold(state) - silver.keys()
        standing = None if mode == "rebuild" else state
        stopped = None if standing is None or mode == "resume" else standing.hold
        rules = self._settings.rules(history.name)

        def keys_of(history: TableHistory) -> tuple[str, ...]:
            known = () if standing is None or standing.keys_are_set else named_now(standing, history)
            return self._scope_reader.rules.keys(history, events, known, stopped)

        try:
            keys = keys_of(history)
        except KeyUnknown as error:
            hold = Hold(error.code, error.message, None, None, None, REMEDY_REBUILD)
        return TableReplay(
            source=self._source.name,
            gold=gold,
            history=history,
            state=state,
            mode=mode,
            lifts_hold=mode == "resume",
            inferred=tuple(column for column in scope.inferred if column.identity in history.identities),
            typing=self._settings.typing(self._source.name, history.name),
            events=events,
            others=others,
            older=lambda needed: self._scope_reader.older(scope.tables, history, scope.visible[-1], others, needed),
            claims=scope.tables.claims(history),
            windows=self._recorded.windows,
            ordinals=self._recorded.ordinals,
            keys=keys_of,
            former=lambda history, events: self._scope_reader.rules.former_keys(history, events, stopped),
            hashed=self._scope_reader.rules.hashed_by(keys, history, events),
            keys_are_set=bool(rules.keys),
            names=self._scope_reader.rules.column_names,
            source_format=self._source.format,
            rules=self._scope_reader.rules.value_rules(history.name),
            applied=self._identities(history, silver),
            before=self._before(history, gold, self._counted_anew(history, state, silver)),
            whole=cache(lambda: self._scope_reader.whole(scope.tables, history, gold, others | silver.keys(), coming)),
            batches=batches,
            identities=lambda: self._identities(history, self._recorded.replayed_content()),
            horizon=max(self._recorded.ordinals[window] for window in scope.visible),
            format_version=rules.format_version,
            partition=rules.partition,
            clash=hold,
            retired=not self._settings.feeds(self._source, history.name, bool(history.shards)),
            left_out=lambda: self._recorded.left_out(history.names),
            gathered=self._scope_reader.moved.of(history),
        )

    def _whole_mode(self, history: TableHistory, state: GoldState | None) -> Literal["rebuild", "resume"] | None:
        """Return the mode if a run of one window must replay all rows of a table; None if only those of the window."""
        moved = self._scope_reader.moved
        if moved.are_late(history) and retention_floor(state, history) is None and moved.dropped(history) is None:
            return "rebuild"
        return "resume" if state is not None and waits_no_more(state.hold, history) else None

    def _before(
        self, history: TableHistory, gold: str, windows: Collection[str]
    ) -> dict[str, tuple[str | None, Mapping[str, int]]]:
        """Return the identity and the counts of windows in the ledger.

        If a window has no row under the table's present name, use that of a former name which no other table has now.
        """
        others = {row.gold for identity, row in self._recorded.tables.items() if identity != history.identity}
        names = (*sorted(gold_names(self._settings, history) - others - {gold}), gold)
        found = (self._recorded.ledger.find(name, windows) for name in names)
        return {window: (each.identity, each.counts) for rows in found for window, each in rows.items()}

    def _counted_anew(
        self, history: TableHistory, state: GoldState | None, silver: Mapping[str, str]
    ) -> Collection[str]:
        """Return the windows that a run counts again: all of them, if the names of the table's shards changed."""
        return silver if state is None or state.has_shards_of(history) else {*self._recorded.replayed, *silver}

    def _leave(self, scope: ReplayScope) -> list[ReplayResult]:
        """Drop gold tables from the catalog if a late statement says that all of their rows belong to another table."""
        results = []
        for row in self._scope_reader.moved.replaced(scope.found):
            found = self._locator.find(row.identity, row.gold)
            if found.state is not None and not found.state.is_unread:
                self._catalog.drop(found.gold)
                self._on_progress(f"{found.gold}: dropped, its rows belong to another table now")
            results.append(given_up(row))
        return results

    def _suspects(
        self, scope: ReplayScope, window: str, works: list[TableReplay], results: list[ReplayResult]
    ) -> list[Suspect]:
        """Return the suspects of these tables and of the tables that refer to them by foreign keys."""
        anew = {work.history.identity for work in works if work.replaces_all or work.lifts_hold}
        return Cascades(self._rows, self._locator, self._recorded, scope.tables, results, window).inspect(anew)

    def _all_of(
        self, scope: ReplayScope, history: TableHistory, gold: str, silver: Mapping[str, str], coming: int
    ) -> tuple[list[RowEvent], tuple[RowBatch, ...]]:
        """Return all rows of a table: the `coming` ones of this run, and of all replayed windows. Many are batches."""
        replayed, reader = self._recorded.replayed.keys(), self._scope_reader
        if batches := reader.whole(scope.tables, history, gold, replayed | silver.keys(), coming):
            return [event for batch in batches for event in batch.sample], batches
        older = reader.older(scope.tables, history, scope.visible[-1], replayed - silver.keys(), None)
        mine = scope.batches.get(history.identity)
        own = events_of_all(mine, self._recorded.ordinals) if mine else scope.owned.get(history.identity, [])
        return [*own, *(event._replace(counted=True) for event in older)], ()

    def _identities(self, history: TableHistory, silver: Mapping[str, str]) -> dict[str, str]:
        """Return the identities of windows: their content in `silver`, and the settings and imports of the table."""
        settings = self._scope_reader.rules.fingerprint(history.identity, history.name)
        return {window: f"{files}:{settings}" for window, files in silver.items()}

    def _replay_all(self, window: str, works: list[TableReplay]) -> list[ReplayResult]:
        """Replay tables in parallel, one in each slot. With several slots, a failure is raised after all tables end."""
        slots: SimpleQueue[SessionSlot] = SimpleQueue()
        taken = self._slots(min(len(works), THREADS))
        for slot in taken:
            slots.put(slot)

        def replay(work: TableReplay) -> ReplayResult:
            slot = slots.get()
            try:
                result = self._replay_table(slot, window, work)
                if result.state.hold is None and self._is_gone(result.history, result.state):
                    slot.catalog.drop(work.gold)
                    result.snapshot = None
                self._on_progress(f"{work.gold}: done")
                return result
            finally:
                slots.put(slot)

        if len(taken) == 1:
            return list(map(replay, works))
        with ThreadPoolExecutor(THREADS) as pool:
            return list(pool.map(replay, works))

    def _replay_table(self, slot: SessionSlot, window: str, work: TableReplay) -> ReplayResult:
        """Replay one table. If a file of the table is damaged, hold the table.

        If a rebuild cannot read the table's file lists, it empties the table: it is held and empty until it is rebuilt.
        """
        if work.state is not None and work.state.is_unread and not work.replaces_all:
            return left_unread(work, work.state)
        table = TableReplayer(slot.catalog, slot.rows, self._run_id, window, self._on_progress)
        try:
            return table.replay(work, self._location)
        except Exception as failure:
            damage = slot.catalog.find_damage(work.gold, failure)
            if damage is None:
                raise
            held = table.hold(work, damaged_hold(damage), self._location)
            if not (work.replaces_all and is_of_lists(damage)):
                return held
            slot.catalog.empty(work.gold)
            return table.replay(replace(work, state=held.state), self._location)

    def _is_finished(self, scope: ReplayScope, silver: Mapping[str, str]) -> bool:
        """Return whether there is nothing to do for any table, and each gold table has the right name."""
        names = {identity: name for identity, (name, _) in scope.tables.gold_names().items()}
        return all(
            (each.state is None or each.gold == names[i])
            and (self._is_nothing(scope, i) or self._is_done(scope, i, silver))
            for i, each in scope.found.items()
        )

    def _is_fed(self, row: TableRow) -> bool:
        """Return whether the settings still include a recorded table."""
        return self._settings.feeds(self._source, row.name, is_sharded(row.identity))

    def _is_nothing(self, scope: ReplayScope, identity: str) -> bool:
        """Return whether a table needs no gold table, as it has no gold table, no rows, no columns and no hold.

        A table that only a connector's snapshot declares needs none until a row comes: it may not be captured.
        """
        history, row = scope.tables.history(identity), self._recorded.tables.get(identity)
        there = scope.found[identity].state is not None or identity in scope.owned
        leaves = self._source.options.leaves_empty_tables and row is None
        if not there and leaves and scope.tables.is_declared_only(history):
            return True
        empty = (history.dropped and (row is None or row.state == "dropped")) or not history.final.columns
        return not there and empty and history.hold is None

    def _is_done(self, scope: ReplayScope, identity: str, silver: Mapping[str, str]) -> bool:
        """Return whether the state of the gold table has exactly this content of silver, and the ledger counts it."""
        history, gold, state = scope.tables.history(identity), scope.found[identity].gold, scope.found[identity].state
        applied = self._identities(history, silver)
        if state is not None and state.is_set_back:
            return False
        if state is None or self._is_gone(history, state):
            return state is None and self._is_gone(history, state) and self._is_counted(history, gold, applied)
        if self._whole_mode(history, state) is not None:
            return False
        is_moved = moved_hold(history, state, self._scope_reader.moved.missing(history)) is not None
        if (is_moved or not state.has_shards_of(history)) and (state.hold is None or state.hold.code != MOVED):
            return False
        changes = {str(change.position) for change in history.changes if change.status == "applied"}
        if state.hold is None and (history.hold is not None or changes != set(state.changes)):
            return False
        if identity not in scope.owned:
            return self._recorded.records(silver)
        same = all(state.applied.get(window) == identity for window, identity in applied.items())
        return same and self._is_counted(history, gold, applied)

    def _is_counted(self, history: TableHistory, gold: str, applied: Mapping[str, str]) -> bool:
        """Return whether the ledger counts exactly this content. `applied` are identities by window."""
        named = {gold, *gold_names(self._settings, history)}
        counted = {table: self._recorded.ledger.find(table, applied.keys()) for table in named}
        return all(
            any(window in rows and rows[window].identity == what for rows in counted.values())
            for window, what in applied.items()
        )

    def _is_gone(self, history: TableHistory, state: GoldState | None) -> bool:
        """Return whether the source dropped a table for good, and the settings say to drop the gold table, too."""
        gone = history.dropped and history.hold is None and (state is None or state.state == "dropped")
        return gone and self._scope_reader.rules.policies(history.name).drop_table == "drop"
