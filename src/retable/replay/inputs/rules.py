"""Decide the types, names and keys of a source's tables, from settings, the SQL dialect and imported schema dumps."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial

from retable.ddl.registry import PARSERS, describe, gold_type, keeps_values, parse_statement
from retable.errors import InvalidSetting, KeyUnknown, NameClash
from retable.fold.bounds import Bounds
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
    """Decides the types, names and keys of the tables of one source, from its settings and schema dumps.

    `system` is the database whose SQL dialect the source uses. `decisions` are those of people about its statements,
    `imports` its schema dumps, and `baselines` its full copies of tables.
    """

    settings: Settings
    source: SourceSettings
    system: str
    decisions: tuple[Decision, ...] = ()
    imports: Imports = NO_IMPORTS
    baselines: Baselines = NO_BASELINES

    def fingerprint(self, identity: str, name: TableName) -> str:
        """Return a digest of what decides how the rows of a table are decoded and typed.

        This is the settings of the table, and the imported schema dumps of the table.
        """
        digests = (self.settings.fingerprint(self.source.name, name), self.imports.fingerprint(identity, name))
        return "+".join(filter(None, digests))

    def are_typed_otherwise(self, state: GoldState) -> bool:
        """Return whether the undeclared columns of a gold table have types of former settings, and must get new types.

        If silver no longer has all rows of the table, the result is False, because the types can then not be changed.
        """
        now = self.settings.typing(self.source.name, state.table)
        return bool(state.inferred) and state.typing not in ("", now) and state.missing is None

    def started_by(self, window: str) -> set[Statement]:
        """Return one statement for each baseline (full copy) of which `window` has a piece.

        The statement starts the table again, empty. The piece may have no rows, as of an empty table. Even then the run
        needs the statement, so that gold becomes empty.
        """
        mine = Baselines(tuple(row for row in self.baselines.rows if row.window == window))
        return set(start_statements(mine, self.source.takes))

    def dialect(self) -> SchemaRules:
        return SchemaRules(self._declared, partial(keeps_values, self.system), describe, self.policies, self._read)

    def value_rules(self, table: TableName) -> ValueRules:
        """Return the settings that say how to read the values of a table, if its messages do not say it."""
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
        """Return the settings that decide what schema changes of a table do."""
        return self.settings.rules(table).policies

    def _read(self, text: str, table: TableName) -> tuple[SchemaChange, ...]:
        if self.system not in PARSERS:
            return (Unsupported(table, f"statements of the database {self.system!r} are not supported"),)
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
        """Return the source type and the gold type of an undeclared column.

        `name` is the column, which no statement declares, and `wire` its type in the messages, or None. The source type
        is None if neither messages nor settings name one. If there is no type at all, the gold type is text. Raise
        InvalidSetting if the settings name a source type, but the database of the source is not known.
        """
        if wire is not None and is_baseline(wire):
            return None, self._ruled(table, name, baseline_type(wire)) or GoldType("string")
        settled = self.settings.rules(table).types.get(name)
        if wire is None and isinstance(settled, SourceType):
            if self.source.source_system is None and self.imports.dialect is None:
                raise InvalidSetting(
                    f"the setting `types` of {table} gives the column {name} the type {settled}, but the database of "
                    f"the source is not known, and each database writes values of this type differently; set "
                    f"sources.{self.source.name}.source_system, for example to postgresql or mysql"
                )
            return settled.text, settled.plain
        default = None if wire is None else find_format(self.source.format).default_type(wire)
        kind = gold_type(self.system, default, has_lengths=False) if isinstance(default, str) else default
        return wire if isinstance(default, str) else None, self._ruled(table, name, kind) or GoldType("string")

    def column_names(self, history: TableHistory) -> dict[str, str]:
        """Return the gold names of the columns that a table has at the end of its history, by column identity.

        Raise NameClash if two columns get the same gold name.
        """
        names = {column.id: self._column_name(column) for column in history.final.columns}
        taken: dict[str, str] = {}
        for column in history.final.columns:
            other = taken.setdefault(names[column.id].lower(), column.name)
            if other != column.name:
                raise NameClash(f"columns {other!r} and {column.name!r} both get the gold name {names[column.id]!r}")
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
        """Return the names of the key columns of a table. The result is empty if the table has no key.

        The key comes from the settings, else from the statements, else from messages. `events` are rows of the table;
        those that do not count, for example because of `hold`, are ignored. `known` are the key columns of the gold
        table, under their present names. Raise KeyUnknown if messages name different keys, or another key than the
        statements or gold.
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
                    f"messages of {history.name} name the key {other}, but its statements name the key "
                    f"{history.final.keys}; set `keys` for this table in the settings"
                )
            return history.final.keys
        known = tuple(name for name in known if name not in last)
        named |= {known} if known else set()
        if len(named) > 1:
            one, other = sorted(named)[:2]
            raise KeyUnknown(
                f"messages of {history.name}, or its messages and its gold table, have different keys: {one} and "
                f"{other}; set `keys` for this table in the settings"
            )
        return (*named.pop(), *last) if named else ()

    def former_keys(
        self, history: TableHistory, events: Iterable[RowEvent], hold: Hold | None
    ) -> tuple[FormerKey, ...]:
        """Return the keys that a table had before each change of its key, from its statements, else from its messages.

        The result is empty if the key did not change, or if the settings name a key. `events` are rows of the table;
        those that do not count, for example because of `hold`, are ignored. Raise KeyUnknown if messages name several
        keys for the same former key, or if a former key has an unknown column.
        """
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
                raise KeyUnknown(
                    f"messages of {history.name} name {len(former)} different keys before the change of the key at "
                    f"{end}; set `keys` for this table in the settings"
                )
            places = {column.id: column for column in epoch.columns}
            key = next(iter(former), ())
            if unknown := [identity for identity in key if identity not in places]:
                raise KeyUnknown(
                    f"messages or statements of {history.name} name {unknown[0]} as a column of the key before the "
                    f"change of the key at {end}, but the table had no such column then; set `keys` for this table in "
                    f"the settings"
                )
            found.append(FormerKey(end, tuple(places[identity] for identity in key)))
            start = end
        return tuple(found)

    def hashed_by(self, keys: tuple[str, ...], history: TableHistory, events: Iterable[RowEvent]) -> bool:
        """Return whether the key hashes in silver are enough to find all events of a key of the table.

        A key hash is of the key as the message writes it. So the result is True only if all `events` name exactly the
        columns `keys` as their key, and these columns never changed their type. `events` are rows of the table, or a
        sample with all kinds of rows. If a message names no key, its event has the key that the settings named when the
        message was decoded.
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
        """Return the same as `hashed_by` for a table with shards.

        All shards must write their keys with the same column names and types.
        """
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
    """Return the keys that messages name. A key is the identities of its columns."""
    return {tuple(map(_identity_in(history.epoch_of(event.sequence)), event.keys)) for event in events if event.keys}


def _identity_in(epoch: Epoch) -> Callable[[str], str]:
    def identify(name: str) -> str:
        column = epoch.column(name)
        return name if column is None else column.id

    return identify


def names_by_identity(history: TableHistory, shard: str | None = None) -> dict[str, str]:
    """Return the names that columns have at the end of a table's history, by column identity.

    If a column replaced another column, the identity of the replaced column is also in the result, with the name of the
    new column. If `shard` (the label of a source table of the gold table) is given, the identities are those of this
    source table.
    """
    final = history.final.columns
    own = final if shard is None else history.shard(shard).columns
    names = {mine.id: column.name for mine, column in zip(own, final, strict=True)}
    for mine, column in zip(own, final, strict=True):
        names |= dict.fromkeys(source_ids(mine), column.name)
    return names


def named_now(state: GoldState, history: TableHistory) -> tuple[str, ...]:
    """Return the key columns of a gold table, under the names that the columns have in `history`.

    The result is empty if one of these columns is gone, or if a statement that gold does not include changed the key.
    """
    if any(str(position) not in state.changes for position in history.key_changes):
        return ()
    identities = {column.name: column.id for column in state.columns}
    names = names_by_identity(history)
    now = [names.get(identities.get(key, "")) for key in state.keys]
    return tuple(name for name in now if name is not None) if None not in now else ()
