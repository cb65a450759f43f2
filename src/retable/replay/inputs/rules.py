"""The rules of the settings, the dialect and schema dumps for the tables of a source: types, names, keys."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial

from retable.ddl.registry import PARSERS, describe, gold_type, keeps_values, parse_statement
from retable.errors import InvalidSetting, KeyUnknown, NameClash
from retable.fold.fold import Bounds
from retable.fold.images import key_columns
from retable.fold.key_changes import FormerKey
from retable.formats.reading import ValueRules
from retable.formats.registry import find_format
from retable.gold.names import gold_column
from retable.gold.state import GoldState
from retable.ledger.baselines import NO_BASELINES, Baselines
from retable.model.event import TableName
from retable.model.policies import Policies
from retable.model.row_event import RowEvent
from retable.model.schema import ColumnSpec, GoldType
from retable.model.schema_change import SchemaChange, Unsupported
from retable.model.source_types import SourceType
from retable.replay.inputs.baselines import start_statements
from retable.replay.inputs.imports import NO_IMPORTS, Imports
from retable.schema_history.columns import SchemaRules
from retable.schema_history.decisions import Decision
from retable.schema_history.history import Column, Epoch, Hold, TableHistory
from retable.schema_history.policies import source_ids
from retable.schema_history.shards.parts import SHARD_ID
from retable.schema_history.statement import Statement
from retable.settings.load import Settings
from retable.settings.sources import SourceSettings
from retable.values.baseline_encoding import baseline_type, is_baseline


@dataclass(frozen=True, slots=True)
class SourceRules:
    """The rules of the settings, the dialect and schema dumps of one source for types, names and keys."""

    settings: Settings
    source: SourceSettings
    system: str
    decisions: tuple[Decision, ...] = ()
    imports: Imports = NO_IMPORTS
    baselines: Baselines = NO_BASELINES

    def fingerprint(self, identity: str, name: TableName) -> str:
        """Digest what decides how a table is decoded and typed: the settings and the imports of its schema."""
        digests = (self.settings.fingerprint(self.source.name, name), self.imports.fingerprint(identity, name))
        return "+".join(filter(None, digests))

    def are_typed_otherwise(self, state: GoldState) -> bool:
        """Whether undeclared columns have their types by former settings, and silver still has all their images."""
        now = self.settings.typing(self.source.name, state.table)
        return bool(state.inferred) and state.typing not in ("", now) and state.missing is None

    def started_by(self, window: str) -> set[Statement]:
        """The starts of tables of which this window is a piece of a baseline: the piece may have no rows."""
        mine = Baselines(tuple(row for row in self.baselines.rows if row.window == window))
        return set(start_statements(mine, self.source.takes))

    def dialect(self) -> SchemaRules:
        return SchemaRules(self._declared, partial(keeps_values, self.system), describe, self.policies, self._read)

    def value_rules(self, table: TableName) -> ValueRules:
        """How to read the values of a table, for what the messages leave open."""
        source, rules = self.source, self.settings.rules(table)
        return ValueRules(
            time_zone=source.time_zone,
            timestamp_zone=source.timestamp_zone,
            zero_date=rules.zero_date,
            binary_encoding=source.binary_encoding,
            system=self.system,
            far_date=rules.far_date,
            options=source.options,
        )

    def policies(self, table: TableName) -> Policies:
        """The settings' policies for schema changes of a table."""
        return self.settings.rules(table).policies

    def _read(self, text: str, table: TableName) -> tuple[SchemaChange, ...]:
        if self.system not in PARSERS:
            return (Unsupported(table, f"statements of {self.system!r} are not supported"),)
        return parse_statement(self.system, text, table.database, table.schema, table.table)

    def _declared(self, table: TableName, spec: ColumnSpec) -> GoldType | None:
        return self._ruled(table, spec.name, gold_type(self.system, spec.source_type))

    def _ruled(self, table: TableName, name: str, declared: GoldType | None) -> GoldType | None:
        rules = self.settings.rules(table)
        settled = rules.types.get(name)
        kind = settled.plain if isinstance(settled, SourceType) else settled or declared
        dated = kind is not None and kind.kind in ("date", "timestamp", "timestamptz")
        return GoldType("string") if dated and "string" in (rules.zero_date, rules.far_date) else kind

    def seen(self, table: TableName, name: str, wire: str | None) -> tuple[str | None, GoldType]:
        """The source type, if messages or settings name one, and the gold type of an undeclared column.

        Text if nothing names a type. InvalidSetting if settings name a source type and the database is not known.
        """
        if wire is not None and is_baseline(wire):
            return None, self._ruled(table, name, baseline_type(wire)) or GoldType("string")
        settled = self.settings.rules(table).types.get(name)
        if wire is None and isinstance(settled, SourceType):
            if self.source.source_system is None and self.imports.dialect is None:
                raise InvalidSetting(
                    f"types of {table} give {name} the type {settled}, which each database writes differently; set "
                    f"sources.{self.source.name}.source_system, for example to postgresql or mysql"
                )
            return settled.text, settled.plain
        default = None if wire is None else find_format(self.source.format).default_type(wire)
        kind = gold_type(self.system, default, has_lengths=False) if isinstance(default, str) else default
        return wire if isinstance(default, str) else None, self._ruled(table, name, kind) or GoldType("string")

    def column_names(self, history: TableHistory) -> dict[str, str]:
        """Gold names of the final columns by identity; NameClash if two columns get the same name."""
        names = {column.id: self._column_name(column) for column in history.final.columns}
        taken: dict[str, str] = {}
        for column in history.final.columns:
            other = taken.setdefault(names[column.id].lower(), column.name)
            if other != column.name:
                raise NameClash(f"columns {other!r} and {column.name!r} both become {names[column.id]!r}")
        return names

    def _column_name(self, column: Column) -> str:
        retained, case = column.retained, self.settings.lake.case
        if column.id == SHARD_ID:
            return column.name
        if retained is None or not retained.number:
            return gold_column(column.name, case)
        return gold_column(f"{gold_column(retained.name, case)}__until_{retained.number}", case)

    def keys(
        self, history: TableHistory, events: Iterable[RowEvent], known: tuple[str, ...], hold: Hold | None
    ) -> tuple[str, ...]:
        """The key columns: of the settings, else of the statements, else of the messages below a hold; () = none.

        Raise KeyUnknown if messages of one table name different keys, or another key than the statements.
        """
        rules = self.settings.rules(history.name)
        last = tuple(column.name for column in history.final.columns if column.id == SHARD_ID)
        if rules.keys:
            return (*rules.keys, *last)
        since = max(history.rekeyed, default=history.truncated_at)
        counts = Bounds(since, history.hold or hold, frozenset(), history.shard_truncations)
        named = {self._final_names(history, e) for e in events if e.keys and counts.verdict(e) is None}
        if history.final.keys:
            declared = {name.lower() for name in history.final.keys} - {*last}
            if other := next((names for names in named if {name.lower() for name in names} != declared), None):
                raise KeyUnknown(
                    f"messages of {history.name} name the key {other}, and its statements name the key "
                    f"{history.final.keys}; set keys for it"
                )
            return history.final.keys
        known = tuple(name for name in known if name not in last)
        named |= {known} if known else set()
        if len(named) > 1:
            one, other = sorted(named)[:2]
            raise KeyUnknown(f"messages of {history.name} name the key {one} and the key {other}; set keys for it")
        return (*named.pop(), *last) if named else ()

    def former_keys(
        self, history: TableHistory, events: Iterable[RowEvent], hold: Hold | None
    ) -> tuple[FormerKey, ...]:
        """The former keys of the table: from the statements, else from messages; none if settings name a key."""
        if not history.rekeyed or self.settings.rules(history.name).keys:
            return ()
        events, start = list(events), history.truncated_at
        found = []
        for end in history.rekeyed:
            epoch = [epoch for epoch in history.epochs if epoch.start is None or epoch.start < end][-1]
            counts = Bounds(start, history.hold or hold)
            mine = [event for event in events if event.sequence <= end and counts.verdict(event) is None]
            former = {tuple(map(_identity_in(epoch), epoch.keys))} if epoch.keys else _named(history, mine)
            if len(former) > 1:
                raise KeyUnknown(f"messages of {history.name} name {len(former)} keys before {end}; set keys for it")
            places = {column.id: column for column in epoch.columns}
            key = next(iter(former), ())
            if unknown := [identity for identity in key if identity not in places]:
                raise KeyUnknown(f"the key of {history.name} before {end} has an unknown column: {unknown[0]}")
            found.append(FormerKey(end, tuple(places[identity] for identity in key)))
            start = end
        return tuple(found)

    def hashed_by(self, keys: tuple[str, ...], history: TableHistory, events: Iterable[RowEvent]) -> bool:
        """Whether these keys are those of silver's key hashes, which are made of the keys as messages write them.

        If a message names no key, its event has the key that the settings named when it was decoded.
        """
        if not keys:
            return False
        if history.shards:
            return self._hashed_alike(keys, history, events)
        key = {column.id for name in keys if (column := history.final.column(name)) is not None}
        columns = [column for epoch in history.epochs for column in epoch.columns if column.id in key]
        written = {(column.id, column.source_type) for column in columns}
        named = {event.keys for event in events}
        same = {tuple(name.lower() for name in self._final_names(history, event)) for event in events}
        return len(named) == 1 and same == {tuple(key.lower() for key in keys)} and len(written) == len(key)

    def _hashed_alike(self, keys: tuple[str, ...], history: TableHistory, events: Iterable[RowEvent]) -> bool:
        """The same for shards, which must write their keys alike: with the same names and types."""
        key = [at for at in key_columns(history, keys) if history.final.columns[at].id != SHARD_ID]
        written = set()
        for shard in history.shards:
            ids = {shard.columns[at].id: at for at in key}
            columns = [column for epoch in shard.history.epochs for column in epoch.columns if column.id in ids]
            written |= {(ids[column.id], column.name.lower(), column.source_type) for column in columns}
        named = {tuple(name.lower() for name in event.keys or ()) for event in events}
        return len(named) == 1 and len(written) == len(key) == len(next(iter(named)))

    @staticmethod
    def _final_names(history: TableHistory, event: RowEvent) -> tuple[str, ...]:
        epoch = history.of(event.shard).epoch_of(event.sequence)
        ids = [column.id if (column := epoch.column(name)) else None for name in event.keys or ()]
        final = names_by_identity(history, event.shard)
        return tuple(final.get(i or "", name) for i, name in zip(ids, event.keys or (), strict=True))


def _named(history: TableHistory, events: Iterable[RowEvent]) -> set[tuple[str, ...]]:
    """The keys that messages name, by the identities of their columns."""
    return {tuple(map(_identity_in(history.epoch_of(event.sequence)), event.keys)) for event in events if event.keys}


def _identity_in(epoch: Epoch) -> Callable[[str], str]:
    def identify(name: str) -> str:
        column = epoch.column(name)
        return name if column is None else column.id

    return identify


def names_by_identity(history: TableHistory, shard: str | None = None) -> dict[str, str]:
    """The final names of columns by identity; a column that replaces another one also has that one's identity.

    For a `shard`, use the identities of its own columns.
    """
    final = history.final.columns
    own = final if shard is None else history.shard(shard).columns
    names = {mine.id: column.name for mine, column in zip(own, final, strict=True)}
    for mine, column in zip(own, final, strict=True):
        names |= dict.fromkeys(source_ids(mine), column.name)
    return names


def named_now(state: GoldState, history: TableHistory) -> tuple[str, ...]:
    """Gold's key columns under their present names; none if one of them is gone, or if the key was changed."""
    if any(str(position) not in state.changes for position in history.key_changes):
        return ()
    identities = {column.name: column.id for column in state.columns}
    names = names_by_identity(history)
    now = [names.get(identities.get(key, "")) for key in state.keys]
    return tuple(name for name in now if name is not None) if None not in now else ()
