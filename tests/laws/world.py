"""One source from its messages to gold, in memory: decoding, histories, fold and replacement are the product's own."""

from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from unittest.mock import patch

import pyarrow as pa

from laws.memory import LoadedTable, MemoryCatalog, MemoryRows, Table, to_record
from retable.decode.context import context_of
from retable.decode.imported import known_keys
from retable.formats.registry import decode_message
from retable.gold.render import json_rows
from retable.gold.rows import to_column
from retable.gold.state import GoldState, from_properties
from retable.gold.store import SessionSlot
from retable.ledger.baselines import NO_BASELINES, Baselines
from retable.ledger.counts import CountedRows, LedgerRows
from retable.ledger.rows import TableRow
from retable.model.message import RawMessage
from retable.model.window import window_name
from retable.replay.inputs.imports import Import, Imports
from retable.replay.inputs.known import find_first_rows
from retable.replay.inputs.recorded_state import RecordedState
from retable.replay.record import ledger_rows, table_row
from retable.replay.references.suspects import Suspect
from retable.replay.replayed import Replayed
from retable.replay.run import Run
from retable.schema_history.decisions import Decision, DecisionKind
from retable.schema_history.history import Hold
from retable.settings.load import Settings
from retable.settings.sources import SourceSettings

NOW = datetime(2026, 4, 1, tzinfo=UTC)
FIRST = datetime(2026, 3, 1, tzinfo=UTC)
HOUR = timedelta(hours=1)


class Crash(Exception):
    """The run died here."""


@dataclass(frozen=True, slots=True)
class Gold:
    """A gold table as a reader sees it, rows as `retable rows` prints them."""

    columns: tuple[str, ...]
    rows: tuple[str, ...]
    state: str
    hold: Hold | None


def make_settings(source_format: str, tables: Mapping[str, object] | None = None, **options: object) -> Settings:
    """Settings of one source called `shop`; nothing is read from or written to their folders."""
    source = {"kind": "files", "format": source_format, "path": "landing", "layout": "kafka_dump", **options}
    settings = {
        "lake": {"catalog": "sqlite:///catalog.db", "warehouse": "lake"},
        "sources": {"shop": source},
        "tables": dict(tables or {}),
    }
    return Settings.model_validate(settings, context={"folder": Path("/nowhere")})


@dataclass(slots=True)
class World:
    """The source `shop`. Windows are delivered in order, then replayed in any order, any number of times."""

    settings: Settings
    catalog: MemoryCatalog = field(default_factory=MemoryCatalog)
    names: list[str] = field(default_factory=list)
    replayed: set[str] = field(default_factory=set)
    counted: dict[tuple[str, str | None], str | None] = field(default_factory=dict)
    counts: dict[tuple[str, str], dict[str, int]] = field(default_factory=dict)
    counts_of_gold: dict[tuple[str, str | None], dict[str, int]] = field(default_factory=dict)
    kept_from: str = ""
    highest_of_gold: dict[tuple[str, str | None], dict[str, str]] = field(default_factory=dict)
    lowest_of_gold: dict[tuple[str, str | None], dict[str, str]] = field(default_factory=dict)
    left_out: set[str] = field(default_factory=set)
    decodings: Counter[str] = field(default_factory=Counter)
    tables: dict[str, TableRow] = field(default_factory=dict)
    decisions: list[Decision] = field(default_factory=list)
    imports: list[Import] = field(default_factory=list)
    baselines: Baselines = NO_BASELINES
    suspects: dict[tuple[str, tuple[str, ...], str], Suspect] = field(default_factory=dict)
    """What was ever suspect, by table, columns and window."""
    rejected: dict[tuple[str, int, int], str] = field(default_factory=dict)
    """The code of each row that did not fit, by its gold table, window and place in the queue."""
    rows: MemoryRows = field(init=False)

    def __post_init__(self) -> None:
        self.rows = MemoryRows(self.catalog)

    @property
    def source(self) -> SourceSettings:
        return self.settings.source("shop")

    def deliver(self, messages: list[RawMessage]) -> str:
        """Land and decode the next window; gives its name."""
        name = window_name(FIRST + len(self.names) * HOUR)
        self.names.append(name)
        self._decode(name, messages)
        return name

    def redecode(self, name: str, messages: list[RawMessage]) -> None:
        """Decode a window anew: silver then has what these messages come to."""
        self._decode(name, messages)

    def _decode(self, name: str, messages: list[RawMessage]) -> None:
        self.decodings[name] += 1
        imported = {each.table.table: each.table.keys for each in self.imports}
        context = context_of(self.source, known_keys(self.settings, imported))
        self.rows.silver[name] = [
            to_record(name, event) for message in messages for event in decode_message(message, context)
        ]

    def replay(self, name: str, step: Callable[[str], None] = lambda _: None) -> bool:
        """Replay a window; says whether gold changed. What a look at where its rows stand takes for done, is done."""
        run = self._run(name, step).replay(name)
        if not run.results:
            with patch.object(Run, "_is_finished", lambda *_: False):
                assert not self._run(name, step).replay(name).results
        return self._record(run)

    def rebuild(self, gold: str, step: Callable[[str], None] = lambda _: None) -> bool:
        return self._record(self._run(f"rebuild of {gold}", step).rebuild(gold))

    def release(self, gold: str, kind: DecisionKind | None = None, statement: str | None = None) -> None:
        """Decide about what holds a table, unless it is only tried again, and let it go on."""
        state = self.states()[gold]
        if kind is not None:
            assert state.hold is not None
            assert state.hold.place is not None
            said = state.hold.statement if kind == "skip" else statement
            self.decisions.append(Decision(state.identity, state.hold.place, state.hold.part, kind, said))
        self._record(self._run(f"release of {gold}", lambda _: None).rebuild(gold, resumes=True))

    def gold(self) -> dict[str, Gold]:
        """Every gold table by name, but for those that are dropped."""
        found = {name: (table, from_properties(table.properties)) for name, table in self.catalog.tables.items()}
        return {
            name: _read(table, state)
            for name, (table, state) in found.items()
            if state is not None and state.state != "dropped"
        }

    def states(self) -> dict[str, GoldState]:
        found = {name: LoadedTable(name, table).state for name, table in self.catalog.tables.items()}
        return {name: state for name, state in found.items() if state is not None}

    def digest(self) -> dict[str, tuple[int, tuple[str, ...]]]:
        """The snapshot and the rows with their sequences of every table: what a replay of nothing new leaves alone."""
        return {
            name: (table.snapshot, tuple(sorted(str(row) for row in table.rows)))
            for name, table in self.catalog.tables.items()
        }

    # --- running -------------------------------------------------------------------------------------------------
    def _run(self, run_id: str, step: Callable[[str], None]) -> Run:
        past = RecordedState(
            ordinals={**self.baselines.ordinals, **{name: number for number, name in enumerate(self.names)}},
            decoded=frozenset(self.names) | self.baselines.names,
            replayed={name: self.counted.get((name, None)) for name in self.replayed},
            ledger=LedgerRows(self.read_counted),
            tables=dict(self.tables),
            kept_from=self.kept_from,
            left_out=lambda names: any(str(name) in self.left_out for name in names),
            silver=lambda _: {
                name: f"digest {self.decodings[name]} of {name}" for name, rows in self.rows.silver.items() if rows
            },
            decisions=tuple(self.decisions),
            imports=Imports(tuple(self.imports)),
            baselines=self.baselines,
            suspects=tuple(self.suspects.values()),
        )
        # One lane: whatever a test draws, the steps come in one order.
        lane = SessionSlot(self.rows, self.catalog)
        return Run(lambda _: [lane], past, self.settings, self.source, run_id, lambda: "", step)

    def read_counted(self, window: str | None, tables: Collection[str] | None) -> dict[tuple[str, str], CountedRows]:
        """What the ledger counted, of one window or of some tables."""
        return {
            (name, table): CountedRows(
                identity,
                self.counts_of_gold.get((name, table), {}),
                self.lowest_of_gold.get((name, table), {}),
                self.highest_of_gold.get((name, table), {}),
            )
            for (name, table), identity in self.counted.items()
            if table is not None and window in (None, name) and (tables is None or table in tables)
        }

    def _record(self, run: Replayed) -> bool:
        windows = {**dict(enumerate(self.names)), **{each.ordinal: each.name for each in self.baselines.windows}}
        for result in run.results:
            identity = result.state.identity
            for each in result.rejects:
                self.rejected[result.gold, each.event.ordinal, each.event.offset] = each.code
            for counted in ledger_rows("shop", windows, result, "run", NOW, 0.0):
                assert counted.table is not None
                self.counted[counted.window, counted.table] = counted.identity
                self.counts[counted.window, identity] = counted.counts
                self.counts_of_gold[counted.window, counted.table] = counted.counts
                self.highest_of_gold[counted.window, counted.table] = counted.highest
                self.lowest_of_gold[counted.window, counted.table] = counted.lowest
            first = find_first_rows(LedgerRows(self.read_counted), [result.gold])[result.gold]
            self.tables[identity] = table_row("shop", result.gold, result.state, first, NOW)
        self.suspects |= {(*each.place, each.window): each for each in run.suspects}
        self.counted[run.window, None] = run.silver
        self.replayed.add(run.window)
        return any(result.wrote for result in run.results)


def _read(table: Table, state: GoldState) -> Gold:
    own = [column for column in state.columns if not column.gold.startswith("_retable_")]
    columns = [(column.field_id, column.gold, column.type) for column in own]
    arrays = [to_column([table.value(row, number) for row in table.rows], kind) for number, _, kind in columns]
    names = tuple(name for _, name, _ in columns)
    lines = json_rows(pa.Table.from_arrays(arrays, names=list(names))) if columns else []
    return Gold(names, tuple(sorted(lines)), state.state, shown_hold(state.hold))


def shown_hold(hold: Hold | None) -> Hold | None:
    """A hold without its words, which may name what came first."""
    return hold and replace(hold, reason="", remedy="")
