"""Fold one gold table again from change events, part by part: histories, keys and rows by the pure core alone.

Gold's rows, its high-water marks, and what a run decided before are not used. The state of gold is used for one thing:
if it is held, the fold stops there too.
"""

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import pyarrow as pa

from retable.errors import MessageError, NotKept, TableError
from retable.fold.exactness import cast_hold
from retable.fold.fold import Bounds, Folded, Key, Values
from retable.fold.images import TableReader
from retable.fold.key_changes import fold_key_changes, key_changes_of
from retable.formats.image_text import read_image
from retable.gold.state import GoldState, RetentionFloor
from retable.model.event import TableName
from retable.model.row_event import Half, Pair, RowEvent
from retable.model.schema import GoldType
from retable.model.sequence import Sequence
from retable.replay.batch.silver_rows import table_name, to_event
from retable.replay.inputs.plan import Tables
from retable.replay.inputs.rules import SourceRules
from retable.replay.table.rounds import A_BUG, Widenings
from retable.schema_history.history import Hold, TableHistory
from retable.schema_history.shards.joined import of_shard
from retable.schema_history.statement import Statement
from retable.schema_history.traced import InferredColumn
from retable.verify.compare import part_of
from retable.verify.findings import Finding
from retable.verify.spill import NOWHERE, Spill


@dataclass(frozen=True, slots=True)
class SourceHistory:
    """A source's facts: its statements, each with its window, and the windows that gold should have, by number.

    `known` are the tables that exist without a statement. If bronze lost messages, `floor` is up to where messages of
    the table may be gone, and `remembered` are the undeclared columns that gold has.
    """

    rules: SourceRules
    statements: Mapping[Statement, str]
    ordinals: Mapping[str, int]
    replayed: frozenset[str]
    known: dict[TableName, Sequence | None]
    floor: RetentionFloor | None = None
    remembered: tuple[InferredColumn, ...] = ()


class _Shape(NamedTuple):
    """Rows with the same schema: of one name, between the same two statements, with the same columns."""

    name: TableName
    place: tuple[int, int]
    keys: tuple[str, ...] | None
    columns: tuple[tuple[str, str | None], ...]


class Links:
    """Keys that one update joins, such as a changed key and its old value. They are folded together."""

    def __init__(self) -> None:
        self._next: dict[Key, Key] = {}

    def join(self, one: Key, other: Key) -> None:
        first, second = sorted((self.first(one), self.first(other)), key=repr)
        if first != second:
            self._next[second] = first

    def first(self, key: Key) -> Key:
        """Give the key that represents all keys joined with this one."""
        while (other := self._next.get(key)) is not None:
            # Each lookup halves the path of the next one.
            self._next[key] = self._next.get(other, other)
            key = other
        return key


def names_of(source_history: SourceHistory, state: GoldState) -> set[TableName]:
    """Give all names under which rows of a table may have come."""
    tables = Tables.trace(
        list(source_history.statements),
        source_history.rules,
        [],
        source_history.known | dict.fromkeys(state.undeclared_shards),
    )
    return tables.names_of(state.identity) or state.names


class Rebuild:
    """One table as its source's events give it: `events` of the replayed windows, under all names of the table.

    TableError: the events make no table. NotKept: too many of them are gone.
    """

    def __init__(self, source_history: SourceHistory, state: GoldState, events: Spill) -> None:
        self._source_history = source_history
        self._state = state
        self._events = events
        self._standing = state.hold if state.hold is not None and state.hold.position is not None else None
        bound = {self._standing.position} if self._standing and self._standing.position else set()
        self._positions = sorted({statement.position for statement in source_history.statements} | bound)
        self._mine: dict[tuple[TableName, tuple[int, int]], str | None] = {}
        self.findings: list[Finding] = []
        self.verdicts: Counter[tuple[int, str]] = Counter()
        self.links = Links()
        traced, shapes = self._trace()
        self.history = self._bounded(traced)
        self.keys = source_history.rules.keys(self.history, shapes, (), self.history.hold)
        self._check_whole()
        self.reader = TableReader(
            history=self.history,
            keys=self.keys,
            source_format=source_history.rules.source.format,
            rules=source_history.rules.value_rules(self.history.name),
        )
        self.key_changes = key_changes_of(
            source_history.rules.former_keys(self.history, shapes, self.history.hold), self.reader
        )
        names = source_history.rules.column_names(self.history)
        self.columns: tuple[tuple[str, GoldType], ...] = tuple(
            (names[column.id], column.type) for column in self.history.final.columns
        )
        self.bounds = Bounds(
            self.history.truncated_at, self.history.hold, self.history.skipped, self.history.shard_truncations
        )

    def _check_whole(self) -> None:
        """Without all messages only rows with a key can be folded, and only under one key."""
        rules = self._source_history.rules.settings.rules(self.history.name)
        if self._source_history.floor is None or (self.keys and (rules.keys or not self.history.rekeyed)):
            return
        raise NotKept(
            f"{self.history.name}: bronze no longer has all of its messages (retention.bronze), and without them "
            f"a table without a key, or whose key changed, cannot be folded; verify it with --against ledger"
        )

    # --- tracing -------------------------------------------------------------------------------------------------
    def _trace(self) -> tuple[TableHistory, list[RowEvent]]:
        """Trace until each column of the rows is known. Return the table's history and one row of each shape."""
        shapes = self._shapes()
        by_name: dict[TableName, list[RowEvent]] = {}
        for shape, event in shapes.items():
            by_name.setdefault(shape.name, []).append(event)
        inferred, widenings = list(self._source_history.remembered), Widenings()
        while True:
            known = self._source_history.known | dict.fromkeys(self._state.undeclared_shards)
            tables = Tables.trace(list(self._source_history.statements), self._source_history.rules, inferred, known)
            owned = tables.split(by_name)
            holds = {self._state.identity: self._standing}
            undeclared = widenings.fresh(tables.undeclared(owned, holds), inferred)
            if not undeclared:
                break
            inferred += undeclared
        identity = self._identity(tables)
        for each in tables.history(identity).identities & widenings.endless.keys():
            raise TableError(f"{self._state.table}: {widenings.endless[each]}; {A_BUG}")
        mine = owned.get(identity, [])
        chosen = {_address(event): event.shard for event in mine}
        places = ((shape, _address(event)) for shape, event in shapes.items())
        self._mine = {(shape.name, shape.place): chosen[address] for shape, address in places if address in chosen}
        return tables.history(identity), mine

    def _identity(self, tables: Tables) -> str:
        """The table with this identity, or else the one that has its name at the end."""
        known = {history.identity: history.name for history in tables.histories()}
        if self._state.identity in known:
            return self._state.identity
        named = [identity for identity, name in known.items() if name == self._state.table]
        if not named:
            raise TableError(f"no message and no statement of the source names {self._state.table}")
        self.findings.append(
            Finding(
                "IDENTITY",
                self._state.identity,
                f"according to its source, the table of this name began as {named[-1]}",
            )
        )
        return named[-1]

    def _shapes(self) -> dict[_Shape, RowEvent]:
        """One event of each shape, the first that arrived."""
        found: dict[_Shape, RowEvent] = {}
        for name, event in self._read(self._events.batches()):
            image = read_image(event.after or event.before or "{}") if event.types is None else {}
            columns = tuple((event.types or dict.fromkeys(image)).items())
            found.setdefault(_Shape(name, self._place(event.sequence), event.keys, columns), event)
        return found

    def _place(self, sequence: Sequence) -> tuple[int, int]:
        """The statements between which a row is."""
        return bisect_left(self._positions, sequence), bisect_right(self._positions, sequence)

    def _bounded(self, history: TableHistory) -> TableHistory:
        """The history up to gold's hold. A hold of the source below that is a difference."""
        if history.hold is not None and _is_below(history.hold, self._standing):
            self.findings.append(_hold_finding(history.hold))
        return history if self._standing is None else history.until(self._standing)

    # --- folding -------------------------------------------------------------------------------------------------
    def deal(self, parts: int) -> None:
        """Give each event its part. Keys that one update joins, and the halves of an update, get the same part."""
        halves: dict[Pair, tuple[Half, Key]] = {}
        for _, event in self._mine_of(self._events.batches()):
            for one, other in self._joined(event, halves):
                self.links.join(one, other)
        self._events.deal(lambda batch: [self._part(each, parts) for each in self._read([batch])])

    def _joined(self, event: RowEvent, halves: dict[Pair, tuple[Half, Key]]) -> Iterator[tuple[Key, Key]]:
        """The pairs of keys that an event joins. A half is remembered until its other half comes."""
        if not self.keys or self.bounds.verdict(event) is not None:
            return
        found = self._keys_of(event)
        if len(found) > 1:
            yield found[0], found[1]
        if event.half is not None and found:
            half, other = halves.setdefault(event.pair, (event.half, found[0]))
            if half != event.half:
                del halves[event.pair]
                yield other, found[0]

    def _part(self, row: tuple[TableName, RowEvent], parts: int) -> int:
        event = self._owned(row)
        if event is None:
            return NOWHERE
        if not self.keys or self.bounds.verdict(event) is not None:
            return part_of(event.pair, parts)
        found = self._keys_of(event)
        return part_of(self.links.first(found[0]), parts) if found else 0

    def _keys_of(self, event: RowEvent) -> list[Key]:
        """The keys that an event touches. None if it cannot be read, which its fold reports."""
        try:
            action = self.reader.read(event)
        except (MessageError, TableError):
            return []
        return [key for key in (action.key, action.gone) if key is not None]

    def fold(self, part: int) -> Folded:
        """Fold the events of one part."""
        mine = [event for _, event in self._mine_of(self._events.part(part))]
        if (cast := cast_hold(self.history, self.reader, self.key_changes, mine)) is not None:
            self.findings.append(_hold_finding(cast))
        if (floor := self._source_history.floor) is not None:
            mine = [event for event in mine if not floor.covers(event.part, event.sequence)]
        folded = fold_key_changes(mine, self.key_changes, self.reader, self.bounds)
        self.verdicts.update(folded.verdicts)
        if folded.hold is not None:
            self.findings.append(_hold_finding(folded.hold))
        return folded

    def rows(self, folded: Folded) -> list[Values]:
        """Give the living rows, each with its sequence after its columns."""
        found: list[Values] = []
        for key, winner in folded.winners.items():
            if winner.base is not None and self._source_history.floor is None:
                what = "changes contain only some columns of a row, and no message contains the whole row"
                self.findings.append(Finding("ROW_MISSING", f"key {key!r}", what))
            elif winner.row is not None and winner.base is None:
                found.append((*winner.row, format_sequence(winner.sequence, winner.part)))
        return found

    def _mine_of(self, batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[TableName, RowEvent]]:
        for name, event in self._read(batches):
            mine = self._owned((name, event))
            if mine is not None:
                yield name, mine

    def _owned(self, row: tuple[TableName, RowEvent]) -> RowEvent | None:
        """A row as one of this table, with its shard if the table has shards. None if it is another table's."""
        name, event = row
        place = name, self._place(event.sequence)
        if place not in self._mine:
            return None
        label = self._mine[place]
        return event if label is None else of_shard(event, label)

    def _read(self, batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[TableName, RowEvent]]:
        for batch in batches:
            for record in batch.to_pylist():
                name = table_name(record)
                if name is not None:
                    yield name, to_event(record, self._source_history.ordinals, counted=True)


def _address(event: RowEvent) -> tuple[str, int, int, int, int]:
    return (event.topic, event.partition, event.offset, event.row_index, event.ordinal)


def format_sequence(sequence: Sequence, part: str | None) -> str:
    """Format a row's position in the order of its source."""
    return str(sequence) if part is None else f"{sequence} of {part}"


def _is_below(found: Hold, standing: Hold | None) -> bool:
    """Whether a hold that the events bring is below the hold of gold."""
    if standing is None or standing.position is None or found.position is None:
        return True
    return found.position < standing.position


def _hold_finding(hold: Hold) -> Finding:
    what = f"{hold.code}: {hold.reason}; gold is not held there"
    return Finding("HOLD", "its first row" if hold.position is None else str(hold.position), what)
