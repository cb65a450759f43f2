"""Decide, from the statements, which gold tables a source has, which rows go to each of them, and their names."""

import hashlib
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import cached_property, partial

from retable.ddl.registry import find_dialect
from retable.fold.bounds import Bounds
from retable.fold.images import undeclared_columns
from retable.gold.names import gold_table
from retable.gold.store import RowStore
from retable.model.event import TableName
from retable.model.row_event import RowEvent
from retable.model.schema_change import SchemaChange, StartTable
from retable.model.sequence import Sequence
from retable.replay.batch.profile import profiled
from retable.replay.batch.row_batch import RemoteRows, RowBatch, cut_at
from retable.replay.inputs.baselines import start_statements
from retable.replay.inputs.rules import SourceRules
from retable.schema_history.history import ChangeStatus, Claim, Hold, NameSpan, TableHistory
from retable.schema_history.references import ForeignKeyReference, trace_references
from retable.schema_history.shards.joined import is_sharded, join, of_shard, of_shards
from retable.schema_history.shards.parts import source_part
from retable.schema_history.statement import Statement
from retable.schema_history.timeline import Timeline
from retable.schema_history.trace import trace
from retable.schema_history.traced import InferredColumn
from retable.settings.load import Settings

REMEDY_CLASH = (
    "rename one of the two source tables, move it to another database, or exclude it in the settings, then: "
    "retable rebuild TABLE --reason ..."
)


class Tables:
    """The gold tables of a source, as its statements up to some window define them. Finds the table of each row."""

    def __init__(
        self,
        timeline: Timeline,
        rules: SourceRules,
        holder: Callable[[str], str | None],
        statements: Iterable[Statement] = (),
    ) -> None:
        self.rules = rules
        self._holder = holder
        self._timeline = timeline
        self._statements = statements
        self._histories = self._gather()

    def _gather(self) -> dict[str, TableHistory]:
        """Return the tables of gold by identity: source tables, and tables with shards."""
        shards: dict[TableName, list[TableHistory]] = defaultdict(list)
        found = {}
        for history in self._timeline.histories():
            target = self.rules.settings.target(history.name)
            if target is None:
                found[history.identity] = history
            else:
                shards[target].append(history)
        for target, mine in shards.items():
            whole = join(target, mine, self.rules.settings.rules(target).shard_in_key)
            found[whole.identity] = whole
        return found

    def _spans(self, name: TableName) -> list[tuple[NameSpan, TableHistory, str | None]]:
        """Return the spans in which a name meant a table of gold, each with the history of the table.

        If the table has shards, the label of the shard is given too.
        """
        return [
            (span, history, label)
            for history in self._histories.values()
            for label, each in history.parts()
            for span in each.spans
            if span.name == name
        ]

    @classmethod
    def trace(
        cls,
        statements: list[Statement],
        rules: SourceRules,
        inferred: Iterable[InferredColumn],
        known: Mapping[TableName, Sequence | None],
        holder: Callable[[str], str | None] = lambda _: None,
    ) -> "Tables":
        """Build the histories of a source's tables from its statements, and return the tables.

        `inferred` are the undeclared columns (only rows show them). `known` has gold tables by source name, with the
        position of their first row. If no statement created or changed such a table, it starts at this position. If the
        position is None, it existed from the beginning. `holder` returns the identity of the existing gold table that
        has a gold name, or None. It is used so that a new table does not get the name of an existing one.
        """
        inferred = list(inferred)
        takes = rules.source.takes
        starts = start_statements(rules.baselines, takes)
        statements = [*statements, *rules.imports.statements(takes), *starts]
        timeline = trace(statements, rules.dialect(), inferred, decisions=rules.decisions)
        traced = {history.identity for history in timeline.histories()}
        undeclared = {name: first for name, first in known.items() if f"{name}@base" not in traced}
        if undeclared:
            timeline = trace(statements, rules.dialect(), inferred, undeclared, rules.decisions)
        decisions = rules.decisions
        for _ in rules.decisions:
            # A decision may give a table the name by which the next decision calls it.
            found = of_shards(decisions, timeline.histories())
            if found == decisions:
                break
            decisions = found
            timeline = trace(statements, rules.dialect(), inferred, undeclared, decisions)
        return cls(timeline, rules, holder, statements)

    def has(self, identity: str) -> bool:
        """Return whether there is a gold table with this identity (an ID that a rename does not change).

        The result is False for a shard, that is, one of several source tables that go into one gold table.
        """
        return identity in self._histories

    def history(self, identity: str) -> TableHistory:
        return self._histories[identity]

    def histories(self) -> list[TableHistory]:
        return list(self._histories.values())

    def names_of(self, identity: str) -> set[TableName]:
        """Return every name that a table had at the source. The result is empty if the identity is not known."""
        history = self._histories.get(identity)
        return set() if history is None else history.names

    def references(self) -> list[ForeignKeyReference]:
        """Return the foreign keys by which the source database deletes or changes rows without an event in its log.

        The result is empty if the database logs all changes.
        """
        return trace_references(self._statements) if find_dialect(self.rules.system).cascades_silently else []

    def is_declared_only(self, history: TableHistory) -> bool:
        """Return whether a table is known only from the statements that a connector writes for its full copy.

        The connector may write such statements also for tables whose rows it does not capture.
        """
        firsts = [each.changes[0] for _, each in history.parts() if each.changes]
        places = [(each.position, source_part(each.part), each.statement) for each in firsts]
        return bool(places) and self._declared.issuperset(places)

    @cached_property
    def _declared(self) -> set[tuple[Sequence, str | None, str]]:
        return {(each.position, each.part, each.text) for each in self._statements if each.declares}

    @property
    def recorded(self) -> list[tuple[Statement, ChangeStatus, str | None]]:
        return list(self._timeline.recorded)

    def split(self, rows: dict[TableName, list[RowEvent]]) -> dict[str, list[RowEvent]]:
        """Group row events, given by table name, by the identity of the gold table to which they go.

        If no table has the name at the position of an event, a new table without declared columns is added.
        """
        owned: dict[str, list[RowEvent]] = defaultdict(list)
        for name, events in rows.items():
            spans = self._spans(name)
            for event in events:
                found = next((each for each in reversed(spans) if each[0].covers(event.sequence)), None)
                if found is None:
                    self._timeline.owner(name, event.sequence)
                    self._histories = self._gather()
                    spans = self._spans(name)
                    found = next(each for each in reversed(spans) if each[0].covers(event.sequence))
                _, history, label = found
                owned[history.identity].append(event if label is None else of_shard(event, label))
        return dict(owned)

    def split_batches(self, batches: Mapping[TableName, list[RowBatch]]) -> dict[str, list[RowBatch]]:
        """Return batches by the identity of their table. No statement may be between the rows of a batch."""
        found: dict[str, list[RowBatch]] = defaultdict(list)
        for name, mine in batches.items():
            for batch in mine:
                ((identity, sample),) = self.split({name: batch.sample}).items()
                found[identity].append(batch.of(sample[0].shard))
        return dict(found)

    def claims(self, history: TableHistory) -> dict[TableName, list[Claim]]:
        """Return, for each name that a table had, which rows under this name belong to it.

        A claim says for a range of sequences (span) whether the rows belong to this table. The first claim whose span
        covers the sequence of a row decides.
        """
        found = {name: reversed(self._spans(name)) for name in history.names}
        return {
            name: [Claim(span, owner.identity == history.identity, label) for span, owner, label in spans]
            for name, spans in found.items()
        }

    def dividing(self, name: TableName, first: Sequence, last: Sequence) -> set[Sequence]:
        """Return the positions, from `first` to `last`, at which rows under the table name `name` must be split.

        These are the positions of statements after which the name means another table, or the table has other columns
        or starts again.
        """
        spans = self._spans(name)
        places = {at for span, _, _ in spans for at in (span.start, span.end) if at is not None}
        for _, history, label in spans:
            own = history.of(label)
            places |= {change.position for change in own.changes} | {at for at, _ in own.truncations}
            places |= {epoch.start for epoch in own.epochs if epoch.start is not None} | {*own.rekeyed}
        return {at for at in places if first <= at <= last and first < last}

    def cut(
        self,
        store: RowStore,
        table: TableName,
        batches: list[RowBatch],
        ordinals: Mapping[str, int],
        sketched: bool = False,
    ) -> list[RowBatch]:
        """Return the batches of a table, split at the statements between their rows.

        `store` runs the tasks that read rows in silver's files. `ordinals` are the numbers of windows by name. If
        `sketched`, only the positions of the rows are known, and a batch's sample is its first and its last row.
        """
        places = [self.dividing(table, batch.first.sequence, batch.last.sequence) for batch in batches]
        if isinstance(remote := batches[0].source, RemoteRows) and any(places):
            stretch = remote.stretches[0]
            positions = tuple(sorted({*stretch.positions}.union(*places)))
            parts = profiled(store, stretch.window, {table: positions}, ordinals, sketched)[table]
            return [part.waiting() for part in parts] if remote.waits else parts
        found = []
        for batch, mine in zip(batches, places, strict=True):
            found += cut_at(batch, mine, ordinals, sketched) if mine else [batch]
        return found

    def undeclared(self, owned: dict[str, list[RowEvent]], holds: Mapping[str, Hold | None]) -> list[InferredColumn]:
        """Return the columns that rows have and that no statement declares.

        `owned` are the rows and `holds` the present holds of gold tables, by table identity. Rows that wait because of
        a hold are ignored.
        """
        found: list[InferredColumn] = []
        for identity, events in owned.items():
            history = self._histories[identity]
            for hold in (history.hold, holds.get(identity)):
                events = [event for event in events if Bounds(None, hold).verdict(event) is None]
            for label, each in history.parts():
                mine = [event for event in events if event.shard == label]
                found += undeclared_columns(mine, each, partial(self.rules.seen, each.name))
        return found

    def gold_names(self) -> dict[str, tuple[str, Hold | None]]:
        """Return the gold name of each table, by identity, with a hold if another table has the same name.

        If two tables get the same name, the second one gets a name with a hash at its end, and is held. If one of them
        is dropped, it is the second one, and it is not held.

        A table also gets a name with a hash, but no hold, if its name belongs to an old gold table that gets no more
        rows. There are two such cases. The source table of the old gold table is now a shard (one of several source
        tables of another gold table). Or the old gold table had shards, and is no longer defined.
        """
        names: dict[str, tuple[str, Hold | None]] = {}
        elsewhere = {each for history in self._histories.values() if history.shards for each in history.identities}
        taken: dict[str, TableHistory] = {}
        for history in sorted(self._histories.values(), key=lambda history: history.dropped):
            name = gold_table(self.rules.settings.lake, history.shown)
            other = taken.setdefault(name.lower(), history)
            apart = f"{name}__{hashlib.sha256(history.identity.encode()).hexdigest()[:8]}"
            if other is history:
                left = self._holder(name)
                gone = left is not None and is_sharded(left) and left not in self._histories
                names[history.identity] = (apart if left in elsewhere or gone else name, None)
                continue
            reason = f"the source tables {other.name} and {history.name} both get the gold name {name}"
            hold = None if history.dropped else Hold("NAME_CLASH", reason, None, None, None, REMEDY_CLASH)
            names[history.identity] = (apart, hold)
        return names

    def touched_by(self, statements: Collection[Statement], known: Collection[str]) -> set[str]:
        """Return the identities of the tables that these statements affect.

        `known` are the identities of the tables that gold has. A statement that only starts a table again, empty, for
        example before a full copy, affects the table only if it is in `known`.
        """
        places = {(statement.position, statement.part) for statement in statements}

        def changes_it(history: TableHistory) -> bool:
            return any((change.position, source_part(change.part)) in places for change in history.changes)

        starts = {(each.position, each.table) for each in statements if any(map(_is_start, each.changes))}
        return {
            history.identity
            for history in self._histories.values()
            if changes_it(history) or (history.identity in known and _starts(history) & starts)
        }


def _is_start(change: SchemaChange) -> bool:
    return isinstance(change, StartTable)


def _starts(history: TableHistory) -> set[tuple[Sequence, TableName | None]]:
    """Return the positions at which a table may start again, each with every name that the table had."""
    return {(at, span.name) for _, each in history.parts() for at, _ in each.truncations for span in each.spans}


def gold_names(settings: Settings, history: TableHistory) -> set[str]:
    """Return the gold names that a table may have had: one for each source name of the table or of its shards.

    Shards are the source tables that go into one gold table.
    """
    return {gold_table(settings.lake, name) for name in {history.name, *history.names}}
