"""Find rows that are in another gold table than their own, because the settings or a RENAME sent them there before.

A replay of new windows does not move these rows: their own table is held (`MOVED`) until a person rebuilds it. Only
after a late RENAME, Retable itself rebuilds the table. A RENAME is late if rows that it gives to the table were already
replayed into another table.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable
from functools import cached_property

from retable.gold.state import GoldState, RetentionFloor
from retable.ledger.rows import TableRow
from retable.model.event import TableName
from retable.model.sequence import Sequence
from retable.replay.inputs.recorded_state import RecordedState
from retable.replay.inputs.table_locator import TableLocator
from retable.replay.sent_elsewhere import ledger_digest
from retable.schema_history.history import TableHistory
from retable.schema_history.shards.joined import is_sharded

_LATE = "late"
"""The value for a gold table whose rows a late statement gives to another table. Unlike a digest, it does not change,
so these rows are gathered once."""


class MovedRows:
    """Finds the gold tables of a source that have rows of other tables.

    There are two causes: a statement that came after the rows were replayed (a late statement), or several source
    tables (shards) that go, or went, into one gold table. Call `see` before the other methods.
    """

    def __init__(self, recorded: RecordedState, locator: TableLocator) -> None:
        self._recorded = recorded
        self._locator = locator
        self._digests: dict[str, str] = {}
        self._late: dict[str, set[str]] = {}
        self._there: frozenset[str] = frozenset()

    def see(self, histories: Iterable[TableHistory], positions: Collection[Sequence] | None) -> None:
        """Find the tables with rows that a late statement gives to another table. The other methods use the result.

        `histories` are all tables of the source. A gold table that the statements no longer define is always found. If
        the table still exists and only lost a name, it is found only if the statement that gave the name to another
        table is at one of `positions`. If `positions` is None, all statements are considered.
        """
        histories = list(histories)
        self._there = frozenset(each for history in histories for each in (history.identity, *history.identities))
        self._late = {}
        own = {history.identity: history for history in histories}
        gone: dict[TableName, set[str]] = defaultdict(set)
        ended: dict[TableName, list[tuple[TableRow, Sequence]]] = defaultdict(list)
        for row in self._recorded.tables.values():
            if row.identity not in self._there and not is_sharded(row.identity) and row.state != "dropped":
                gone[row.name].add(row.identity)
            for span in own[row.identity].spans if row.identity in own else ():
                if span.end is not None:
                    ended[span.name].append((row, span.end))
        for history in histories:
            for span in history.spans:
                if span.start is not None:
                    late = set(gone[span.name])
                    if positions is None or span.start in positions:
                        late |= {row.identity for row, end in ended[span.name] if self._has_rows_from(row, end)}
                    if late := late - {history.identity}:
                        self._late.setdefault(history.identity, set()).update(late)

    def _has_rows_from(self, row: TableRow, end: Sequence) -> bool:
        """Return whether a gold table may have rows that came under a name after it lost the name.

        `end` is the position at which a statement took the name away.
        """
        state = self._locator.find(row.identity, row.gold).state
        if state is None or str(end) in state.changes:
            return False
        return any(end <= sequence for sequence in state.high_water.values())

    def replaced(self, identities: Iterable[str]) -> list[TableRow]:
        """Return the gold tables whose rows a late statement gives to the tables with these identities.

        Only gold tables that the statements no longer define are returned. Example: rows of `b` came without a
        statement, so gold has a table `b`. Then a late RENAME of `a` to `b` shows that `b` was the table `a`, so `a`
        replaces it.
        """
        gone = {each for identity in identities for each in self._late.get(identity, ())} - self._there
        return [self._recorded.tables[identity] for identity in sorted(gone)]

    @cached_property
    def _wholes(self) -> dict[str, GoldState]:
        states = {i: self._locator.find(i, row.gold).state for i, row in self._recorded.tables.items() if is_sharded(i)}
        return {identity: state for identity, state in states.items() if state is not None}

    @property
    def undeclared(self) -> set[TableName]:
        """The source tables that no statement created, and that went into a table with shards."""
        return {name for state in self._wholes.values() for name in state.undeclared_shards}

    def of(self, history: TableHistory) -> dict[str, str]:
        """Return the other gold tables that have, or had, rows of this table: a value for each identity.

        The value is `late` if a late statement gave the rows to this table. Otherwise it is a digest of what was
        replayed into the other gold table. If the value changes, the rows must be moved again.
        """
        mine = history.identities
        others = {identity for identity, state in self._wholes.items() if not mine.isdisjoint(state.shards)}
        if history.shards:
            others |= mine & self._recorded.tables.keys()
        late = dict.fromkeys(self._late.get(history.identity, ()), _LATE)
        return late | {identity: self._digest(identity) for identity in others - {history.identity}}

    def missing(self, history: TableHistory) -> list[str]:
        """Return the names of the gold tables that have rows of this table which its own gold table lacks."""
        return sorted(self._recorded.tables[identity].gold for identity in self._missing(history))

    def are_late(self, history: TableHistory) -> bool:
        """Return whether a late statement gives this table rows that its gold table lacks.

        Late means that the rows were replayed into another table before the statement came.
        """
        return any(how == _LATE for how in self._missing(history).values())

    def _missing(self, history: TableHistory) -> dict[str, str]:
        if not (elsewhere := self.of(history)):
            return {}
        row = self._recorded.tables.get(history.identity)
        state = None if row is None else self._locator.find(history.identity, row.gold).state
        gathered = {} if state is None else state.gathered
        return {identity: how for identity, how in elsewhere.items() if gathered.get(identity) != how}

    def dropped(self, history: TableHistory) -> RetentionFloor | None:
        """Return which rows of a table silver no longer has. Only its rows in other gold tables are examined.

        A rebuild cannot move such rows, because it reads them from silver. Return None if silver has all of them, apart
        from rows below a truncation point.
        """
        elsewhere = self.of(history)
        mine = {each.identity: each.truncated_at for _, each in history.parts() if each.identity in elsewhere}
        for identity, truncated_at in (dict.fromkeys(self._late.get(history.identity, ())) | mine).items():
            if identity in elsewhere:
                state = self._locator.find(identity, self._recorded.tables[identity].gold).state
                floor = None if state is None or state.floor is None else state.floor.above(truncated_at)
                if floor is not None:
                    return floor
        return None

    def _digest(self, identity: str) -> str:
        if identity not in self._digests:
            counted = self._recorded.ledger.of_table(self._recorded.tables[identity].gold)
            self._digests[identity] = ledger_digest({window: each.identity for window, each in counted.items()})
        return self._digests[identity]
