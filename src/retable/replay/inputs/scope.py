"""Read what a run replays: statements, the rows of each table, and the present state of the gold tables."""

from collections import Counter
from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass, field, replace
from functools import partial
from typing import cast

from retable.ddl.registry import DEFAULT
from retable.errors import NotFound
from retable.gold.damage import rows_by_name
from retable.gold.store import Halves, LateKeys, RowDict, RowStore
from retable.ledger.rows import TableRow
from retable.model.event import TableName
from retable.model.row_event import RowEvent
from retable.model.sequence import Sequence
from retable.replay.batch.profile import ROWS_ONE_BY_ONE, is_for_tasks, profiled
from retable.replay.batch.row_batch import RowBatch, read_batches
from retable.replay.batch.silver_rows import ROW_COLUMNS, SKETCH_COLUMNS, by_name, to_event
from retable.replay.events.shares import EVENTS_AT_ONCE
from retable.replay.inputs.known import known_tables
from retable.replay.inputs.moved_rows import MovedRows
from retable.replay.inputs.plan import Tables, gold_names
from retable.replay.inputs.recorded_state import RecordedState
from retable.replay.inputs.rules import SourceRules
from retable.replay.inputs.silver import system_of, taken, to_statement
from retable.replay.inputs.table_locator import LocatedTable, TableLocator
from retable.replay.table.rounds import Widenings
from retable.schema_history.history import TableHistory
from retable.schema_history.shards.joined import is_sharded, waits_no_more
from retable.schema_history.statement import Statement
from retable.schema_history.traced import InferredColumn
from retable.settings.load import Settings
from retable.settings.sources import SourceSettings

ROWS_OF_SMALL_TABLES = 1_000_000
"""The largest number of rows of small tables that are read together. If there are more, the rows of each table are read
when its replay begins."""

RowsByName = dict[TableName, list[RowEvent]]
Batches = dict[TableName, list[RowBatch]]
BigTable = tuple[RowBatch, ...]
Owned = dict[str, list[RowEvent]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayScope:
    """What a run replays: statements, the tables that they define, and the rows of these tables.

    `statements` are those of the windows `visible`, each with its window. `inferred` are undeclared columns (only rows
    show them). The other fields are by table identity. `owned` are rows; a table in `batches` has all rows there, and
    only a sample in `owned`. `found` are gold tables. `endless` are reasons to hold tables: their rows give an
    undeclared column new types again and again.
    """

    statements: dict[Statement, str]
    visible: list[str]
    tables: Tables
    owned: Owned
    inferred: list[InferredColumn]
    found: dict[str, LocatedTable]
    endless: Mapping[str, str] = field(default_factory=dict)
    batches: dict[str, list[RowBatch]] = field(default_factory=dict)

    def rows_by_window(self, identity: str) -> Counter[int]:
        """Return the number of rows of a table in each window, by window ordinal."""
        found = sum((batch.rows_by_window() for batch in self.batches.get(identity, ())), Counter[int]())
        return found or Counter(event.ordinal for event in self.owned.get(identity, []))


class ScopeReader:
    """Reads what one run replays: rows and statements in silver, and gold's present state. It writes nothing."""

    def __init__(
        self,
        rows: RowStore,
        locator: TableLocator,
        recorded: RecordedState,
        settings: Settings,
        source: SourceSettings,
        system: str | None,
    ) -> None:
        self._rows = rows
        self._locator = locator
        self._recorded = recorded
        self._settings = settings
        self._source = source
        self._system = system
        self._holders: dict[str, str | None] = {}
        self.moved = MovedRows(recorded, locator)
        self.rules = SourceRules(
            settings, source, system or DEFAULT, recorded.decisions, recorded.imports, recorded.baselines
        )

    # --- entrances -----------------------------------------------------------------------------------------------
    def window(self, name: str, sketched: bool = False) -> ReplayScope:
        """Return the tables that the window `name` changes, with their rows and statements.

        If `sketched` is True, only the positions of the rows are read: they suffice to see what was already replayed.
        If a later window is already replayed into gold, its statements are also returned.
        """
        batches = self._batches(name, sketched)
        visible = self._recorded.visible(name)
        before = self._recorded.ledger.in_window(name)
        counted = {i for i, row in self._taken().items() if row.gold in before and before[row.gold].counts.get("rows")}
        while True:
            statements = self._statements(visible)
            pending = {s for s, where in statements.items() if where == name or where not in self._recorded.replayed}
            pending |= self.rules.started_by(name)
            trace = partial(self._trace, statements, visible, pending, None, {name}, counted)
            seen, batches = self._parted(batches, trace, sketched)
            # A run that died before it was recorded may have brought gold to a later window than the record shows.
            visible = self._recorded.visible(max(name, self._recorded.windows.get(self._locator.horizon, name)))
            if visible == seen.visible:
                return replace(seen, batches=seen.tables.split_batches(batches))

    def table(
        self, tables: Tables, identity: str, name: TableName, gold: str, remembered: tuple[InferredColumn, ...]
    ) -> ReplayScope:
        """Read the rows of one table in all replayed windows. `remembered` are its known undeclared columns.

        `name` is its name at the source, and `gold` its gold name. The rows of a big table stay in silver's files.
        """
        replayed, names = self._recorded.replayed, tables.names_of(identity) or {name}
        visible = self._recorded.visible(max(replayed))
        trace = partial(self._trace, self._statements(visible), visible, set(), remembered, replayed.keys(), set())
        if (count := self._count(gold)) > ROWS_ONE_BY_ONE:
            rows = self._rows.big_table(replayed.keys(), names, rows=count)
            batches = profiled(self._rows, rows, dict.fromkeys(names, ()), self._recorded.ordinals)
            seen, batches = self._parted(batches, trace)
            return replace(seen, batches=seen.tables.split_batches(batches))
        records = self._rows.table_rows(visible[-1], names)
        return trace(self._events([record for record in records if record["window"] in replayed], counted=True))

    def whole(self, tables: Tables, history: TableHistory, gold: str, windows: Set[str], coming: int = 0) -> BigTable:
        """Return all rows of a big table in these windows. They stay in silver's files. Return () if it is not big.

        `coming` is the number of rows of this run, which the ledger may not have counted yet.
        """
        if (count := self._count(gold) + coming) <= ROWS_ONE_BY_ONE:
            return ()
        rows = self._rows.big_table(windows, history.names, rows=count)
        found = profiled(self._rows, rows, dict.fromkeys(history.names, ()), self._recorded.ordinals)
        parted = {table: tables.cut(self._rows, table, mine, self._recorded.ordinals) for table, mine in found.items()}
        return tuple(tables.split_batches(parted).get(history.identity, ()))

    def find(self, tables: Tables, gold: str) -> tuple[str, TableName]:
        """Return the identity and the source name of a gold table, which need not exist yet. Raise NotFound if none."""
        row = rows_by_name(self._recorded.tables.values()).get(gold)
        if row is not None:
            return row.identity, row.name
        for identity, (name, _) in tables.gold_names().items():
            if name == gold:
                return identity, tables.history(identity).name
        raise NotFound(
            f"the source {self._source.name} has no gold table {gold}; `retable tables` lists all tables", table=gold
        )

    def tables(self) -> Tables:
        """Return the tables as the statements up to the last replayed window define them: only declared columns."""
        statements = self._statements(self._recorded.visible(max(self._recorded.replayed)))
        return Tables.trace([*statements], self.rules, [], self._known(), self._holder)

    def older(
        self, tables: Tables, history: TableHistory, until: str, windows: Set[str], needed: LateKeys | Halves | None
    ) -> list[RowEvent]:
        """Return the events of a table in those of `windows` that are not after the window `until`.

        `needed` selects events of late keys or halves of updates; None means all events. If another table had one of
        the table's names in these windows, its events are left out.
        """
        found = self._rows.table_rows(until, history.names, needed)
        events = self._events([record for record in found if record["window"] in windows], counted=False)
        return tables.split(events).get(history.identity, [])

    def _older_or_sample(
        self, tables: Tables, identity: str, gold: str, until: str, windows: Set[str]
    ) -> list[RowEvent]:
        """Return the events of a table that `older` returns or, if they are many, a sample of each kind of them."""
        history = tables.history(identity)
        batches = self.whole(tables, history, gold, {window for window in windows if window <= until})
        sample = [event for batch in batches for event in batch.sample]
        return sample or self.older(tables, history, until, windows, None)

    def _parted(
        self, batches: Batches, trace: Callable[[RowsByName], ReplayScope], sketched: bool = False
    ) -> tuple[ReplayScope, Batches]:
        """Trace tables by samples, and split batches until no statement is between the rows of a batch."""
        while True:
            seen = trace({table: [e for batch in mine for e in batch.sample] for table, mine in batches.items()})
            parted = {
                table: seen.tables.cut(self._rows, table, mine, self._recorded.ordinals, sketched)
                for table, mine in batches.items()
            }
            if all(len(mine) == len(batches[table]) for table, mine in parted.items()):
                return seen, batches
            batches = parted

    def _batches(self, name: str, sketched: bool) -> Batches:
        """Return the batches of a window by table.

        The rows of big tables stay in silver's files. If the other tables have many rows together, their rows stay too.
        """
        ordinals = self._recorded.ordinals
        if (window := self._rows.big_window(name)) is None:
            rows = self._rows.window_rows(name, SKETCH_COLUMNS if sketched else ROW_COLUMNS)
            return self._with_tasks(name, read_batches(rows, ordinals, sketched))
        counts = window.counts()
        big = dict.fromkeys(self._big_among(counts), ())
        if sum(count for table, count in counts.items() if table not in big) > ROWS_OF_SMALL_TABLES:
            found = profiled(self._rows, window, dict.fromkeys(counts, ()), ordinals, sketched)
            return {table: mine if table in big else [mine[0].waiting()] for table, mine in found.items()}
        found = profiled(self._rows, window, big, ordinals, sketched) if big else {}
        return found | self._with_tasks(name, read_batches(window.read_others(big), ordinals, sketched))

    def _with_tasks(self, name: str, read: Mapping[TableName, RowBatch]) -> Batches:
        """Return the batches of a window. Tasks profile some batches (`is_for_tasks`), and can then fold them."""
        targets = {self._goes_to(table) for table, batch in read.items() if is_for_tasks(batch)}
        apart = [table for table in read if self._goes_to(table) in targets]
        window = self._rows.big_table({name}, apart) if apart else None
        found = profiled(self._rows, window, dict.fromkeys(apart, ()), self._recorded.ordinals) if window else {}
        return {table: [batch] for table, batch in read.items()} | found

    def _big_among(self, counts: Mapping[TableName, int]) -> list[TableName]:
        """Return the tables with many rows. Tables that go into the same gold table are counted together."""
        together: Counter[TableName] = Counter()
        for name, count in counts.items():
            together[self._goes_to(name)] += count
        return [name for name in counts if together[self._goes_to(name)] > EVENTS_AT_ONCE]

    def _goes_to(self, name: TableName) -> TableName:
        """Return the table into which the rows of a source table go.

        This is the table that the settings name for several source tables, or else the source table itself.
        """
        return self._settings.target(name) or name

    def _count(self, gold: str) -> int:
        """Return how many rows of a gold table the ledger counted in all windows."""
        return sum(each.counts.get("rows", 0) for each in self._recorded.ledger.of_table(gold).values())

    # --- what there is -------------------------------------------------------------------------------------------
    def _taken(self) -> dict[str, TableRow]:
        """Return the recorded tables that the settings still feed, by identity. Other tables stay as they are."""
        tables = self._recorded.tables.items()
        return {i: row for i, row in tables if self._settings.feeds(self._source, row.name, is_sharded(i))}

    def _holder(self, gold: str) -> str | None:
        """Return the identity of the recorded table that has a gold name."""
        if gold not in self._holders:
            known = (identity for identity, row in self._recorded.tables.items() if row.gold == gold)
            there = (each for each in known if self._locator.find(each, gold).state is not None)
            self._holders[gold] = next(there, None)
        return self._holders[gold]

    def _known(self) -> dict[TableName, Sequence | None]:
        """Return the tables of gold that no statement created."""
        own = known_tables(self._recorded.tables.values(), self._recorded.ledger, self._recorded.kept_from)
        return {**own, **dict.fromkeys(self.moved.undeclared)}

    def _left(self, tables: Tables) -> set[str]:
        """Return the identities of tables with shards whose shards changed.

        A source table no longer goes into the table, has another name now, or has other columns there.
        """
        wholes = [each for each in tables.histories() if each.shards and each.identity in self._recorded.tables]
        golds = {each.identity: self._recorded.tables[each.identity].gold for each in wholes}
        states = ((each, self._locator.find(each.identity, golds[each.identity]).state) for each in wholes)
        return {each.identity for each, state in states if state is not None and not state.has_shards_of(each)}

    def _statements(self, visible: list[str]) -> dict[Statement, str]:
        found: dict[Statement, str] = {}
        records = sorted(self._rows.statements(visible[-1]), key=self._arrival)
        self.rules = replace(self.rules, system=system_of(records, self._system))
        for record in records:
            statement = to_statement(record, self._system, self.rules.system)
            found.setdefault(taken(statement, self._source.takes), str(record["window"]))
        return found

    def _arrival(self, record: RowDict) -> tuple[int, int]:
        return self._recorded.ordinals[str(record["window"])], cast(int, record["offset"])

    def _events(self, records: list[RowDict], counted: bool) -> RowsByName:
        return {
            name: [to_event(record, self._recorded.ordinals, counted) for record in mine]
            for name, mine in by_name(records).items()
        }

    def _trace(
        self,
        statements: dict[Statement, str],
        visible: list[str],
        pending: set[Statement],
        remembered: tuple[InferredColumn, ...] | None,
        own: Set[str],
        counted: Set[str],
        events: RowsByName,
    ) -> ReplayScope:
        """Trace the statements again until every column of the rows is known.

        Undeclared columns come from `remembered` or, if it is None, from gold. Others are found in the rows. If gold's
        columns have types by other settings, or are below a hold that may end by itself, the columns are found again in
        all rows: those of the windows `own`, which are in `events`, and those of other windows. `pending` are
        statements that are not replayed yet. `counted` are the tables that had rows in the window before, and may have
        none now.
        """
        inferred, stored, widenings = list(remembered or ()), remembered is None, Widenings()
        found: dict[str, LocatedTable] = {}
        older: Owned = {}
        known = self._known()
        while True:
            tables = Tables.trace([*statements], self.rules, inferred, known, self._holder)
            owned = tables.split(events)
            self.moved.see(tables.histories(), None if remembered is not None else {each.position for each in pending})
            names = tables.gold_names()
            touched = set(owned) | tables.touched_by(pending, self._recorded.tables)
            touched |= counted & names.keys()
            touched |= {i for i, row in self._recorded.tables.items() if i in names and names[i][0] != row.gold}
            touched |= self._left(tables)
            touched |= {each.identity for each in tables.histories() if self.moved.missing(each)}
            fresh = touched - set(found)
            for identity in fresh:
                history = tables.history(identity)
                former = gold_names(self._settings, history)
                found[identity] = self._locator.find(identity, names[identity][0], former, lives=not history.dropped)
            states = {i: each.state for i, each in found.items() if stored and each.state is not None}
            anew = {i for i, state in states.items() if waits_no_more(state.hold, tables.history(i))}
            more: list[InferredColumn] = []
            late = {i for i in fresh if self.moved.are_late(tables.history(i))}
            for identity in fresh & states.keys() | late:
                state = states.get(identity)
                if state is None or identity in late | anew or self.rules.are_typed_otherwise(state):
                    others = self._recorded.ordinals.keys() - own
                    older[identity] = self._older_or_sample(tables, identity, found[identity].gold, visible[-1], others)
                else:
                    more += state.inferred
            rows = {i: [*owned.get(i, []), *older.get(i, [])] for i in owned.keys() | older.keys()}
            holds = {identity: None if identity in anew else state.hold for identity, state in states.items()}
            undeclared = widenings.fresh(tables.undeclared(rows, holds), inferred)
            if not undeclared and not more:
                return ReplayScope(
                    statements=statements,
                    visible=visible,
                    tables=tables,
                    owned=owned,
                    inferred=inferred,
                    found=found,
                    endless=widenings.endless,
                )
            inferred += more + [column for column in undeclared if column not in more]
