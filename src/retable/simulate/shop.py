"""The simulated shop's database while it runs: its tables, its clock and its log. `actions` has the shop's actions."""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import islice

from retable.simulate.chance import Chance, pick
from retable.simulate.columns import Row
from retable.simulate.database import RowKey, Table, Tables, copied
from retable.simulate.designs import declared_by_settings_only, designed
from retable.simulate.history import Entry, History, RowChange, Statement, StatementRun, TransactionMark
from retable.simulate.keys import changed_row, numbered_key, row_with_key
from retable.simulate.sql import STYLES, Pen

DATABASE = "shop"
START_MS = 1_772_323_200_000
"""The time at which the log begins, in epoch milliseconds: 2026-03-01 00:00 UTC."""

_FIRST_POSITION = 1000
_SEEDS = 1 << 16
_FEW = 6
_FIRST_ROW_ID = 1 << 20


@dataclass(frozen=True, slots=True)
class Clock:
    """The settings of the shop's clock. It starts at `start_ms`, in epoch milliseconds.

    It advances by `pace_ms` milliseconds on average before each action. It stops at `end_ms`: all later actions happen
    at this time. If `end_ms` is None, the clock never stops.
    """

    start_ms: int = START_MS
    pace_ms: int = 20_000
    end_ms: int | None = None


class Shop:
    """A running database that writes a log. All random choices come from `chance`, so equal choices give equal logs.

    Before the log begins, the tables named in `loaded` exist, with `rows` rows each.
    """

    def __init__(self, chance: Chance, clock: Clock, loaded: Collection[str], rows: int, database: str) -> None:
        self.chance, self.database = chance, database
        self.tables: Tables = {}
        self.kinds: Counter[str] = Counter()
        self.reserved: dict[str, frozenset[str]] = {}
        self._entries: list[Entry] = []
        self._clock, self._now_ms = clock, clock.start_ms
        self._position, self._step, self._transactions = _FIRST_POSITION, 1, 0
        self._row_id = _FIRST_ROW_ID
        self._numbers: Counter[str] = Counter()
        self._gone: dict[str, list[RowKey]] = defaultdict(list)
        for name in loaded:
            self._load(name, rows)
        self._loaded = copied(self.tables)

    def history(self) -> History:
        """Return the history of the database so far."""
        times = (self._clock.start_ms, max(self._now_ms, self._clock.end_ms or 0))
        return History(self.database, *times, self._loaded, tuple(self._entries), Counter(self.kinds))

    # --- choosing --------------------------------------------------------------------------------------------------
    def seed(self) -> int:
        """Return a random number from which the values of a row are made."""
        return self.chance.randrange(0, _SEEDS)

    def pick_table(self, fits: Callable[[Table], bool] = lambda _: True) -> str | None:
        """Return the name of a random table for which `fits` is true, or None if there is no such table."""
        names = [name for name, table in self.tables.items() if fits(table)]
        return pick(self.chance, names) if names else None

    def pick_rows(self, name: str, most: int = 1) -> list[RowKey]:
        """Return the keys of `most` adjacent rows of a table, at a random place. If it has fewer rows, return all."""
        rows = self.tables[name].rows
        at = self.chance.randrange(0, max(1, len(rows) - most + 1))
        return list(islice(rows, at, at + most))

    def pen(self) -> Pen:
        """Return a writer of SQL text in a random style."""
        return Pen(self.database, self.chance.randrange(0, STYLES))

    # --- making rows -----------------------------------------------------------------------------------------------
    def fresh_key(self, name: str) -> RowKey:
        """Return a key that no row of the table has: the next key, or in every fourth case the key of a deleted row."""
        table = self.tables[name]
        if not table.keys:
            return self.next_row_id()
        number = self._numbers[name]
        while number % 4 == 3 and self._gone[name]:
            key = self._gone[name].pop()
            if key not in table.rows:
                self._numbers[name] = number + 1
                return key
        while (key := numbered_key(table, number)) in table.rows:
            number += 1
        self._numbers[name] = number + 1
        return key

    def new_row(self, name: str) -> Row:
        """Return a new row for the table, not yet inserted.

        A table without a key gets only a few different rows, so that equal rows occur.
        """
        table = self.tables[name]
        seed = self.seed()
        return row_with_key(table, self.fresh_key(name), seed) if table.keys else row_with_key(table, 0, seed % _FEW)

    def changed(self, name: str, key: RowKey) -> Row:
        """Return the row that has this key, with new values in other columns. The table does not change."""
        table = self.tables[name]
        return changed_row(table, table.rows[key], self.seed() if table.keys else self.seed() % _FEW)

    def moved(self, name: str, key: RowKey, to: RowKey) -> Row:
        """Return the row that has the key `key`, with the new key `to`. The table does not change."""
        table = self.tables[name]
        held = dict(zip(table.key_places(), to, strict=True)) if isinstance(to, tuple) else {}
        return tuple(held.get(at, value) for at, value in enumerate(table.rows[key]))

    def next_row_id(self) -> int:
        """Return a new hidden row id for a table without a key, as the server makes it."""
        self._row_id += 1
        return self._row_id

    # --- writing the log -------------------------------------------------------------------------------------------
    def tick(self) -> None:
        """Let some time pass before an action."""
        gap = self.chance.randrange(0, 8)
        self._now_ms += self._clock.pace_ms * gap * 2 // 7
        if self._clock.end_ms is not None:
            self._now_ms = min(self._now_ms, self._clock.end_ms)
        self._step = 1 + gap % 3

    @contextmanager
    def transaction(self) -> Iterator["Transaction"]:
        """Commit and log the changes that are made in the `with` block. A transaction without changes is not logged."""
        self._transactions += 1
        transaction = Transaction(self, self._transactions)
        yield transaction
        if transaction.done:
            self._write(TransactionMark(0, 0, transaction.number, ends=False))
            for change in transaction.done:
                self._log_row(change)
            self._write(TransactionMark(0, 0, transaction.number, ends=True))

    def _log_row(self, change: RowChange) -> None:
        self._write(change)
        if change.before is not None and change.after is None:
            self._gone[change.table].append(self.tables[change.table].key_of(change.before, change.row_id))

    def execute(self, statement: Statement, text: str) -> None:
        """Apply and log a DDL statement, outside of a transaction. `text` is its SQL text."""
        statement.apply(self.tables)
        for name in statement.touched:
            self._gone.pop(name, None)
            if name not in self.tables or not self.tables[name].rows:
                self._numbers.pop(name, None)
        self._write(StatementRun(0, 0, text, statement))

    def _write(self, entry: Entry) -> None:
        self._position += self._step
        self._entries.append(replace(entry, position=self._position, time_ms=self._now_ms))

    # --- the full load ---------------------------------------------------------------------------------------------
    def _load(self, name: str, rows: int) -> None:
        self.tables[name] = table = designed(name)
        undeclared = frozenset(
            column.name.lower() for column in table.columns if declared_by_settings_only(column.type)
        )
        self.reserved[name] = undeclared
        for _ in range(rows):
            row = self.new_row(name)
            table.rows[table.key_of(row, None if table.keys else self.next_row_id())] = row


class Transaction:
    """A transaction of the shop: its row changes are committed or rolled back together. `Shop.transaction` makes it.

    Each call of `insert`, `update` or `delete` is one statement and one binlog event.
    """

    def __init__(self, shop: Shop, number: int) -> None:
        self.number = number
        self.done: list[RowChange] = []
        self._shop = shop
        self._events = 0

    def insert(self, name: str, *rows: Row) -> None:
        """Insert rows into the table `name`."""
        self._run(name, [(None, row) for row in rows])

    def update(self, name: str, *changes: tuple[RowKey, Row]) -> None:
        """Replace rows of the table `name`. A change is a pair: the old key of a row, and the new row.

        In a table without a key, the hidden row id stays.
        """
        self._run(name, changes)

    def delete(self, name: str, *keys: RowKey) -> None:
        """Delete the rows with these keys from the table `name`."""
        self._run(name, [(key, None) for key in keys])

    def roll_back(self) -> None:
        """Undo all changes, the last one first."""
        for change in reversed(self.done):
            replace(change, before=change.after, after=change.before).apply(self._shop.tables)
        self.done.clear()

    def _run(self, name: str, changes: Sequence[tuple[RowKey, Row | None]]) -> None:
        table = self._shop.tables[name]
        self._events += 1
        for key, after in changes:
            row_id = None
            if not table.keys:
                row_id = key if isinstance(key, int) else self._shop.next_row_id()
            before = None if key is None else table.rows[key]
            change = RowChange(
                position=0,
                time_ms=0,
                transaction=self.number,
                event=self._events,
                table=name,
                columns=table.columns,
                keys=table.keys,
                row_id=row_id,
                before=before,
                after=after,
            )
            change.apply(self._shop.tables)
            self.done.append(change)
