"""Build the rows of one gold table again from change events, to compare them with gold. Without Spark and Iceberg.

Events are folded (reduced to the last row of each key) part by part, so that only one part is in memory.

Gold's rows, its high-water marks, and decisions of earlier runs are not used. The state of gold is used for one thing:
if gold is held at a position, the new fold stops at this position, too.
"""

from array import array
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from retable.errors import MessageError, NotKept, TableError
from retable.fold.bounds import Bounds
from retable.fold.exactness import cast_hold
from retable.fold.fold import Folded, Key, Values
from retable.fold.images import TableReader
from retable.fold.key_changes import fold_key_changes, key_changes_of
from retable.formats.image_text import read_image
from retable.gold.state import GoldState, RetentionFloor
from retable.model.event import TableName
from retable.model.row_event import RowEvent
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
from retable.verify.compare import number_of
from retable.verify.findings import Finding
from retable.verify.spill import NOWHERE, Spill


@dataclass(frozen=True, slots=True)
class SourceHistory:
    """What a rebuild needs from a source.

    `statements` are the DDL statements of the source, each with its window. `ordinals` are window numbers by name.
    `replayed` are the windows that gold should have. `known` are tables that no statement created, each with the
    position of its first row. `floor` and `remembered` are set only if retention dropped messages from bronze. `floor`
    says up to which positions messages of the table may be missing. `remembered` are gold's undeclared columns (columns
    that only rows show), because the rows that showed them may be missing.
    """

    rules: SourceRules
    statements: Mapping[Statement, str]
    ordinals: Mapping[str, int]
    replayed: frozenset[str]
    known: dict[TableName, Sequence | None]
    floor: RetentionFloor | None = None
    remembered: tuple[InferredColumn, ...] = ()


_Numbers = npt.NDArray[np.int64]


class _Shape(NamedTuple):
    """What rows with the same schema have in common: table name, key, columns, and the statements before and after."""

    name: TableName
    place: tuple[int, int]
    keys: tuple[str, ...] | None
    columns: tuple[tuple[str, str | None], ...]


class Links:
    """Groups of keys that must be folded together, because an update connects them: old and new key of a row.

    A key is given by its hash (`number_of`). Keys with the same hash are in one group.
    """

    def __init__(self) -> None:
        self._next: dict[int, int] = {}

    def join(self, one: int, other: int) -> None:
        """Put the groups of two keys together into one group."""
        first, second = sorted((self.first(one), self.first(other)))
        if first != second:
            self._next[second] = first

    def first(self, key: int) -> int:
        """Return the first key of the group that this key is in. It is the same for all keys of a group."""
        while (other := self._next.get(key)) is not None:
            # Each lookup halves the path of the next one.
            self._next[key] = self._next.get(other, other)
            key = other
        return key


def names_of(source_history: SourceHistory, state: GoldState) -> set[TableName]:
    """Return all source table names under which messages may have rows of a gold table."""
    tables = Tables.trace(
        list(source_history.statements),
        source_history.rules,
        [],
        source_history.known | dict.fromkeys(state.undeclared_shards),
    )
    return tables.names_of(state.identity) or state.names


class Rebuild:
    """Builds the rows of one gold table again from change events. First call `deal`, then `fold` for each part.

    `events` is a file with the row events of the replayed windows, under all names of the table. `findings` collects
    errors. Raise TableError if no table can be built from the events. Raise NotKept if retention dropped messages that
    are needed.
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
        """Raise NotKept if bronze lacks messages of the table, and it has no key or its key changed."""
        rules = self._source_history.rules.settings.rules(self.history.name)
        if self._source_history.floor is None or (self.keys and (rules.keys or not self.history.rekeyed)):
            return
        raise NotKept(
            f"{self.history.name}: the table cannot be compared with bronze: bronze no longer has all of its messages "
            f"(setting retention.bronze), and it has no key or its key changed; verify it with --against ledger"
        )

    # --- tracing -------------------------------------------------------------------------------------------------
    def _trace(self) -> tuple[TableHistory, list[RowEvent]]:
        """Build the table's history. Repeat this until it has all undeclared columns of the rows.

        Return the history, and one row event of each shape.
        """
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
        """Return gold's identity of the table. If no table has it, return the identity of the table with its name."""
        known = {history.identity: history.name for history in tables.histories()}
        if self._state.identity in known:
            return self._state.identity
        named = [identity for identity, name in known.items() if name == self._state.table]
        if not named:
            raise TableError(f"no message and no statement of the source names the table {self._state.table}")
        self.findings.append(
            Finding(
                "IDENTITY",
                self._state.identity,
                f"according to the statements, the table {self._state.table} has the identity {named[-1]}",
            )
        )
        return named[-1]

    def _shapes(self) -> dict[_Shape, RowEvent]:
        """Return the first event of each shape."""
        found: dict[_Shape, RowEvent] = {}
        for name, event in self._read(self._events.batches()):
            image = read_image(event.after or event.before or "{}") if event.types is None else {}
            columns = tuple((event.types or dict.fromkeys(image)).items())
            found.setdefault(_Shape(name, self._place(event.sequence), event.keys, columns), event)
        return found

    def _place(self, sequence: Sequence) -> tuple[int, int]:
        """Return two indices into the positions of statements, which say between which statements a row is."""
        return bisect_left(self._positions, sequence), bisect_right(self._positions, sequence)

    def _bounded(self, history: TableHistory) -> TableHistory:
        """Return the history up to gold's hold. If the history has an earlier hold, add a finding."""
        if history.hold is not None and _is_below(history.hold, self._standing):
            self.findings.append(_hold_finding(history.hold))
        return history if self._standing is None else history.until(self._standing)

    # --- folding -------------------------------------------------------------------------------------------------
    def deal(self, parts: int) -> None:
        """Assign each event to one of `parts` parts by its key.

        Keys that an update connects, and those of a transaction whose updates come as two messages, get the same part.
        """
        numbers, pairs = array("q"), array("q")
        # 16 bytes a row: each event is read once here, and which keys belong together is known after the last one.
        for row in self._read(self._events.batches()):
            number, pair = self._numbers(self._owned(row))
            numbers.append(number)
            pairs.append(pair)
        self._join_transactions(np.asarray(numbers), np.asarray(pairs))
        self._events.deal(NOWHERE if number < 0 else self.links.first(number) % parts for number in numbers)

    def _numbers(self, event: RowEvent | None) -> tuple[int, int]:
        """Return the hash by which an event gets its part, and that of its `RowEvent.pair` if it is a half, else -1.

        The first hash is -1 if the event is of another table (None). Join the two keys of an event that changes a key.
        """
        if event is None:
            return -1, -1
        if not self.keys or self.bounds.verdict(event) is not None:
            return number_of(event.pair), -1
        found = [number_of(key) for key in self._keys_of(event)]
        if not found:
            return 0, -1
        self.links.join(found[0], found[-1])
        return found[0], -1 if event.half is None else number_of(event.pair)

    def _join_transactions(self, numbers: _Numbers, pairs: _Numbers) -> None:
        """Join the keys of updates in two messages that have one pair: which ones belong together may not be known."""
        halves = np.flatnonzero(pairs >= 0)
        halves = halves[np.argsort(pairs[halves], kind="stable")]
        mine, of = numbers[halves], pairs[halves]
        for at in np.flatnonzero((of[1:] == of[:-1]) & (mine[1:] != mine[:-1])).tolist():
            self.links.join(int(mine[at]), int(mine[at + 1]))

    def _keys_of(self, event: RowEvent) -> list[Key]:
        """Return the keys of the rows that an event changes. If it cannot be read, return none; `fold` reports this."""
        try:
            action = self.reader.read(event, keys_only=True)
        except (MessageError, TableError):
            return []
        return [key for key in (action.key, action.gone) if key is not None]

    def fold(self, part: int) -> Folded:
        """Fold the events of one part, and return the result. Add a finding if a row should hold (stop) the table."""
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
        """Return the rows of a folded part without deleted rows, each with its sequence (as text) as the last value.

        Add a finding for each row of which the messages have only some columns.
        """
        found: list[Values] = []
        for key, winner in folded.winners.items():
            if winner.base is not None and self._source_history.floor is None:
                what = "the messages contain only some columns of this row, and no message contains the whole row"
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
        """Return the event of a row, with its shard if the table has shards. If it is another table's, return None."""
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
    """Return a row's position as text: its sequence and, unless `part` is None, the Kafka partition `part`."""
    return str(sequence) if part is None else f"{sequence} of {part}"


def _is_below(found: Hold, standing: Hold | None) -> bool:
    """Return whether a hold that was found is below gold's hold (`standing`), or one of them has no position."""
    if standing is None or standing.position is None or found.position is None:
        return True
    return found.position < standing.position


def _hold_finding(hold: Hold) -> Finding:
    what = f"{hold.code}: {hold.reason}; the gold table should be held at this position, but is not"
    return Finding("HOLD", "its first row" if hold.position is None else str(hold.position), what)
