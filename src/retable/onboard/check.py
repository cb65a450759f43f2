"""What a source would become: its tables, what tells their keys and types, and what stands in the way."""

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field

from retable.config import Settings
from retable.decode.context import context_of
from retable.decode.imported import imported_keys, known_keys
from retable.decode.registry import decode_message, source_format
from retable.errors import MessageError
from retable.gold.imports import Imports, read_schema_imports
from retable.gold.names import gold_table
from retable.gold.read import gold_states
from retable.gold.rules import Rules
from retable.gold.state import GoldState
from retable.ledger.catalog import Lake
from retable.model.event import ChangeEvent, TableName
from retable.onboard.hours import Hours, find_hours
from retable.onboard.sampling import Place, Sampled, sample
from retable.source_settings import FilesSource, Source

_ROWID = ("rowid",)


@dataclass(frozen=True, slots=True)
class FoundTable:
    """One table of a source as far as a few of its messages show it.

    `key` names what tells it: the settings, a dump, messages, or nothing; `open_types` are columns of which nothing
    tells a type, so that they would be text. `state` is that of gold, None where there is none yet.
    """

    name: TableName
    gold: str
    taken: bool
    events: int
    keys: tuple[str, ...]
    key: str
    open_types: tuple[str, ...]
    state: str | None
    hold: str | None
    clash: str | None


@dataclass(frozen=True, slots=True)
class Checked:
    """What a look at a source found; `refused` counts messages that do not decode by code, with one reason each.

    `hours` is how names of objects tell their hour, where the settings do not read it.
    """

    places: tuple[Place, ...]
    messages: int
    refused: Mapping[str, tuple[int, str]]
    statements: int
    tables: tuple[FoundTable, ...]
    silent: tuple[TableName, ...]
    hours: Hours | None = None

    @property
    def needs_attention(self) -> bool:
        """Whether a run as things are would hold a table, or quarantine a message."""
        return bool(self.refused) or any(t.taken and (t.clash or t.hold) for t in self.tables)


@dataclass(slots=True)
class _Seen:
    """The events of one table: how many, which keys they name, which columns they bring with which wire types."""

    count: int = 0
    keys: set[tuple[str, ...]] = field(default_factory=set)
    columns: dict[str, str | None] = field(default_factory=dict)


def check(lake: Lake, source: Source) -> Checked:
    """Look at a source: connect, list, decode some messages of each place. Nothing is written."""
    source_format(source)
    found = sample(source)
    imports = read_schema_imports(lake, source.name)
    seen, counts, refused = _decode(lake, source, found)
    names = {**seen, **{each.table.table: _Seen() for each in imports.each if each.table.table not in seen}}
    states = {str(s.table): s for s in gold_states(lake).values() if s.source == source.name}
    rules = Rules(lake.settings, source, source.source_system or imports.dialect or "mysql", (), imports)
    clashes = _clashes(lake.settings, [name for name in names if source.takes(name)])
    tables = [_table(rules, name, mine, imports, states, clashes.get(name)) for name, mine in seen.items()]
    silent = tuple(sorted((name for name in names if name not in seen), key=str))
    ordered = tuple(sorted(tables, key=lambda table: str(table.name)))
    told = isinstance(source, FilesSource) and source.hour is None
    hours = find_hours([place.name for place in found.places]) if told else None
    return Checked(found.places, counts["messages"], refused, counts["statements"], ordered, silent, hours)


def _decode(
    lake: Lake, source: Source, found: Sampled
) -> tuple[dict[TableName, _Seen], Counter[str], dict[str, tuple[int, str]]]:
    context = context_of(source, known_keys(lake.settings, imported_keys(lake, source.name)))
    seen: dict[TableName, _Seen] = defaultdict(_Seen)
    counts: Counter[str] = Counter()
    refused: dict[str, tuple[int, str]] = {}
    for message in found.messages:
        counts["messages"] += 1
        try:
            events = decode_message(message, context)
        except MessageError as error:
            code = str(error.facts.get("problem", error.code))
            where = f"{message.topic}/{message.partition}@{message.offset}: {error.message}"
            refused[code] = (refused.get(code, (0, ""))[0] + 1, refused.get(code, (0, where))[1])
            continue
        for event in events:
            counts["statements"] += event.kind == "schema"
            if event.kind == "row" and event.table_name is not None:
                _see(seen[event.table_name], event)
    return dict(seen), counts, refused


def _see(mine: _Seen, event: ChangeEvent) -> None:
    mine.count += 1
    if event.keys and event.keys != _ROWID:
        mine.keys.add(event.keys)
    mine.columns |= event.column_types or {}


def _table(
    rules: Rules, name: TableName, mine: _Seen, imports: Imports, states: Mapping[str, GoldState], clash: str | None
) -> FoundTable:
    told, imported = rules.settings.rules(name), imports.newest(name)
    shown = rules.settings.target(name) or name
    state = states.get(str(shown))
    keys, origin = told.keys, "settings"
    if not keys and imported is not None:
        keys, origin = imported.table.keys, "import"
    if not keys and mine.keys:
        keys, origin = min(mine.keys), "messages" if len(mine.keys) == 1 else "messages, and they differ"
    declared = {column.name.lower() for column in imported.table.columns} if imported else set()
    open_types = tuple(
        column
        for column, wire in mine.columns.items()
        if column not in told.types and column.lower() not in declared and _is_open(rules, name, column, wire)
    )
    return FoundTable(
        name,
        gold_table(rules.settings.lake, shown),
        rules.source.takes(name),
        mine.count,
        keys,
        origin if keys else "nothing",
        open_types,
        None if state is None else state.state,
        None if state is None or state.hold is None else state.hold.reason,
        clash,
    )


def _is_open(rules: Rules, name: TableName, column: str, wire: str | None) -> bool:
    """Whether a column would be text because nothing tells its type."""
    source_type, kind = rules.seen(name, column, wire)
    return source_type is None and kind.kind == "string" and (wire is None or not wire.strip())


def _clashes(settings: Settings, names: list[TableName]) -> dict[TableName, str]:
    """Tables that would have one gold name though nothing says that they go into one, each with another one."""
    taken: dict[str, tuple[TableName, TableName | None]] = {}
    found: dict[TableName, str] = {}
    for name in sorted(names, key=str):
        target = settings.target(name)
        other, with_it = taken.setdefault(gold_table(settings.lake, target or name).lower(), (name, target))
        if other != name and (target is None or target != with_it):
            found[name] = str(other)
    return found
