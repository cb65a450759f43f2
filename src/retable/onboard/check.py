"""Checks a source without writing: which gold tables a run would make, and what would hold tables or reject rows."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from retable.decode.context import context_of
from retable.decode.imported import imported_keys, known_keys
from retable.errors import MessageError
from retable.formats.registry import decode_message
from retable.gold.names import gold_table
from retable.gold.read import gold_states
from retable.gold.state import GoldState
from retable.ledger.lake.catalog import Lake
from retable.ledger.quarantine import message_place
from retable.model.event import ChangeEvent, TableName
from retable.onboard.hours import Hours, find_hours
from retable.onboard.sampling import Sampled, SamplePlace, sample
from retable.onboard.trial import Tried, try_out
from retable.replay.inputs.imports import Imports, read_schema_imports
from retable.schema_history.shards.joined import HIDDEN
from retable.settings.load import Settings
from retable.settings.sources import FilesSource, Source

_ROWID = ("rowid",)
"""The key that is used if no key of an Oracle table is declared. A row that moves gets another rowid."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SampledTable:
    """What a sample of messages shows about one table of a source. `check` makes it.

    - `name`: the table's name after the last sampled message. `former`: earlier names. `gold`: the gold table's name.
    - `taken`: whether the settings select the table. `events`: the number of sampled row changes.
    - `dropped`: whether the source has dropped the table by the end of the sample.
    - `keys`: the key columns. `key`: their origin: `settings`, `import`, `statements`, `messages`, or `nothing`.
    - `open_types`: columns of unknown type, which would become text.
    - `state`: the state of the gold table; None if it does not exist yet. `hold`: why the gold table is held now.
    - `clash`: the name of another table that would get the same gold name.
    - `stops`: why a run would hold the table at one of the sampled messages.
    - `refused`: the rows that would be rejected: for each error code, the number of rows and one reason.
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
    former: tuple[TableName, ...] = ()
    stops: str | None = None
    refused: Mapping[str, tuple[int, str]] = field(default_factory=dict)
    dropped: bool = False

    @property
    def needs_attention(self) -> bool:
        """Whether the settings select the table, and it is held or would be held, or a row would be rejected."""
        return self.taken and bool(self.clash or self.hold or self.stops or self.refused)


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """The result of `check`: what a sample of messages shows about a source.

    - `places`: the source's objects or Kafka partitions. `messages`, `statements`: the number of sampled messages, and
      of the DDL statements in them.
    - `refused`: for each error code, the number of messages that cannot be decoded, and one reason.
    - `silent`: imported tables without a sampled message.
    - `declared`: tables that only the statements of a snapshot (the connector's first read) declare.
    - `hours`: how object names show their hour; set only if they do and the setting `hour` is missing.
    - `is_whole`: whether the sample has all messages of the source.
    """

    places: tuple[SamplePlace, ...]
    messages: int
    refused: Mapping[str, tuple[int, str]]
    statements: int
    tables: tuple[SampledTable, ...]
    silent: tuple[TableName, ...]
    declared: tuple[TableName, ...] = ()
    hours: Hours | None = None
    is_whole: bool = False

    @property
    def needs_attention(self) -> bool:
        """Whether a run with the present settings would hold a table, or quarantine a message or a row."""
        return bool(self.refused) or any(table.needs_attention for table in self.tables)


def check(lake: Lake, source: Source) -> Checked:
    """Decode a sample of the source's messages, and return which tables it shows and what a run would refuse.

    The sample is from every Kafka partition, or from some of the source's objects. Nothing is written.
    """
    found = sample(source)
    imports = read_schema_imports(lake, source.name)
    events, messages, refused = _decode(lake, source, found)
    is_whole = not found.cut
    states = {s.identity: s for s in gold_states(lake).values() if s.source == source.name}
    # If gold exists, the source may have fewer messages now than gold was made from.
    found_tables = try_out(lake, source, events, is_whole and not states)
    tried = [each for each in found_tables if each.rows or each.history.final.columns]
    left_out = _left_out(source, events)
    names = [part.name for each in tried if not each.is_left_out for _, part in each.history.parts()]
    clashes = _clashes(lake.settings, names)
    tables = [
        *(
            t
            for each in tried
            if _is_listed(each, imports, states)
            for t in _tables(lake, each, imports, states, clashes)
        ),
        *(_untaken(lake.settings, name, count) for name, count in left_out.items()),
    ]
    shown = {name for each in tried if each.rows for name in (each.history.name, *each.history.names)} | left_out.keys()
    silent = tuple(sorted({each.table.table for each in imports.each} - shown, key=str))
    declared = [each.history.name for each in tried if each.is_left_out and each.history.identity not in states]
    is_by_arrival = isinstance(source, FilesSource) and source.hour is None
    return Checked(
        places=found.places,
        messages=messages,
        refused=refused,
        statements=sum(event.kind == "schema" for event in events),
        tables=tuple(sorted(tables, key=lambda table: str(table.name))),
        silent=silent,
        declared=tuple(sorted(declared, key=str)),
        hours=find_hours([place.name for place in found.places]) if is_by_arrival else None,
        is_whole=is_whole,
    )


def _decode(lake: Lake, source: Source, found: Sampled) -> tuple[list[ChangeEvent], int, dict[str, tuple[int, str]]]:
    """Return the decoded events, the number of messages, and, by error code, the messages that do not decode."""
    context = context_of(source, known_keys(lake.settings, imported_keys(lake, source.name)))
    events: list[ChangeEvent] = []
    refused: dict[str, tuple[int, str]] = {}
    messages = 0
    for message in found.messages:
        messages += 1
        try:
            events += [event for event in decode_message(message, context) if event.kind in ("row", "schema")]
        except MessageError as error:
            code = str(error.facts.get("problem", error.code))
            where = f"{message_place(message.topic, message.partition, message.offset)}: {error.message}"
            refused[code] = (refused.get(code, (0, ""))[0] + 1, refused.get(code, (0, where))[1])
    return events, messages, refused


def _left_out(source: Source, events: Iterable[ChangeEvent]) -> dict[TableName, int]:
    """Return the number of rows of each table that `include` and `exclude` do not select."""
    found: dict[TableName, int] = {}
    for event in events:
        name = event.table_name
        if event.kind == "row" and name is not None and not source.takes(name):
            found[name] = found.get(name, 0) + 1
    return found


def _is_listed(tried: Tried, imports: Imports, states: Mapping[str, GoldState]) -> bool:
    """Return whether to list a table. A table that only an imported dump declares is not listed."""
    if tried.rows or tried.history.identity in states:
        return True
    return not tried.is_left_out and not tried.history.dropped and imports.newest(tried.history.name) is None


def _untaken(settings: Settings, name: TableName, events: int) -> SampledTable:
    gold = gold_table(settings.lake, settings.target(name) or name)
    return SampledTable(
        name=name,
        gold=gold,
        taken=False,
        events=events,
        keys=(),
        key="nothing",
        open_types=(),
        state=None,
        hold=None,
        clash=None,
    )


def _tables(
    lake: Lake, tried: Tried, imports: Imports, states: Mapping[str, GoldState], clashes: Mapping[TableName, str]
) -> Iterator[SampledTable]:
    """Yield the source tables of one gold table. There are several only if the setting `to` joins them."""
    state = states.get(tried.history.identity)
    keys = () if tried.keys == _ROWID else tuple(key for key in tried.keys if key != HIDDEN)
    for label, history in tried.history.parts():
        former = tuple(dict.fromkeys(span.name for span in history.spans if span.name != history.name))
        yield SampledTable(
            name=history.name,
            gold=gold_table(lake.settings.lake, tried.history.shown),
            taken=True,
            events=sum(event.shard == label for event in tried.rows),
            keys=keys,
            key=_origin(lake.settings, tried, imports) if keys else "nothing",
            open_types=tried.open,
            state=None if state is None else state.state,
            hold=None if state is None or state.hold is None else state.hold.reason,
            clash=clashes.get(history.name),
            former=former,
            stops=tried.stops if state is None or state.hold is None else None,
            refused=tried.refused.get(label, {}),
            dropped=history.dropped,
        )


def _origin(settings: Settings, tried: Tried, imports: Imports) -> str:
    """Return where a table's key comes from: the settings, an import, statements or messages."""
    history = tried.history
    if settings.rules(history.name).keys:
        return "settings"
    imported = imports.newest(history.name)
    if imported is not None and imported.table.keys == tried.keys:
        return "import"
    return "statements" if history.final.keys else "messages"


def _clashes(settings: Settings, names: list[TableName]) -> dict[TableName, str]:
    """Return the tables that would get the gold name of another table although no setting `to` joins them.

    The value names the other table.
    """
    taken: dict[str, tuple[TableName, TableName | None]] = {}
    found: dict[TableName, str] = {}
    for name in sorted(names, key=str):
        target = settings.target(name)
        other, with_it = taken.setdefault(gold_table(settings.lake, target or name).lower(), (name, target))
        if other != name and (target is None or target != with_it):
            found[name] = str(other)
    return found
