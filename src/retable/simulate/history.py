"""The history of the simulated shop: the tables before the log begins (the full load), and every entry of the log."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from retable.simulate.columns import Column, Row
from retable.simulate.database import Tables, copied
from retable.simulate.truth import Truth


@dataclass(frozen=True, slots=True, kw_only=True)
class RowChange:
    """An entry of the log: the change of one row. `before` is None for an insert, `after` is None for a delete.

    `columns` and `keys` are the table's columns and primary key at that time. `row_id` is the hidden row id in a table
    without a key, else None. `position` is the position in the binlog, unique and rising. `time_ms` is the time by the
    source's clock, in epoch milliseconds. `transaction` is the number of the transaction, and `event` is the number of
    the statement in it: if one statement changes several rows, all of them have the same `event`.
    """

    position: int
    time_ms: int
    transaction: int
    event: int
    table: str
    columns: tuple[Column, ...]
    keys: tuple[str, ...]
    row_id: int | None
    before: Row | None
    after: Row | None

    @property
    def touched(self) -> frozenset[str]:
        return frozenset({self.table})

    def apply(self, tables: Tables) -> None:
        table = tables[self.table]
        if self.before is not None:
            del table.rows[table.key_of(self.before, self.row_id)]
        if self.after is not None:
            key = table.key_of(self.after, self.row_id)
            if key in table.rows:
                raise ValueError(f"duplicate key {key} in {self.table}")
            table.rows[key] = self.after


class Statement(Protocol):
    """The effect of a DDL statement on the tables of the shop.

    `kind` is Canal's name for this kind of statement. Messages name `table` as the statement's table. `touched` has all
    tables that the statement changes. `holds` says whether Retable is documented to hold the table at the statement.
    """

    @property
    def kind(self) -> str: ...

    @property
    def table(self) -> str: ...

    @property
    def touched(self) -> frozenset[str]: ...

    @property
    def holds(self) -> bool: ...

    def apply(self, tables: Tables) -> None: ...


@dataclass(frozen=True, slots=True)
class StatementRun:
    """An entry of the log: one executed DDL statement. Table names in its SQL `text` may lack the database's name."""

    position: int
    time_ms: int
    text: str
    statement: Statement

    @property
    def touched(self) -> frozenset[str]:
        return self.statement.touched

    def apply(self, tables: Tables) -> None:
        self.statement.apply(tables)


@dataclass(frozen=True, slots=True)
class TransactionMark:
    """An entry of the log: the beginning of a committed transaction, or its end if `ends` is true."""

    position: int
    time_ms: int
    transaction: int
    ends: bool

    @property
    def touched(self) -> frozenset[str]:
        return frozenset()

    def apply(self, tables: Tables) -> None:
        """Change nothing: the rows of a transaction are applied one by one, because gold has no transactions."""


Entry = RowChange | StatementRun | TransactionMark


@dataclass(frozen=True, slots=True)
class History:
    """All that happened in the shop's database. `simulate` makes it.

    `loaded` has the tables before the log begins (the full load), and `entries` is the log. `loaded_at_ms` and
    `ended_at_ms` are the begin and the end of the log by the source's clock, in epoch milliseconds. `kinds` has the
    number of actions of each kind.
    """

    database: str
    loaded_at_ms: int
    ended_at_ms: int
    loaded: Tables
    entries: tuple[Entry, ...]
    kinds: Counter[str]

    def truth(self) -> Truth:
        """Return the contents of the database after all entries of the log."""
        return self.truth_up_to(self.entries[-1].position if self.entries else 0)

    def truth_up_to(self, position: int) -> Truth:
        """Return the contents of the database after all entries up to this position, including the entry at it.

        The position 0 means only the full load.
        """
        replay = _Replay(self.loaded)
        for entry in self.entries:
            if entry.position > position:
                break
            replay.apply(entry)
        return Truth(replay.tables, replay.dropped)

    def truths(self) -> Iterator[tuple[int, Truth]]:
        """Yield pairs of a position and the contents after it: first the full load (position 0), then each entry."""
        replay = _Replay(self.loaded)
        frozen = copied(self.loaded)
        yield 0, Truth(frozen, frozenset())
        for entry in self.entries:
            replay.apply(entry)
            changed = {name: replay.tables[name].copy() for name in entry.touched & replay.tables.keys()}
            frozen = {name: changed.get(name) or frozen[name] for name in replay.tables}
            yield entry.position, Truth(frozen, replay.dropped)

    def holds(self) -> dict[int, str]:
        """Return the positions of statements at which Retable is documented to hold a table, with the table's name.

        Gold then shows the table as in `truth_up_to(position - 1)`.
        """
        return {
            entry.position: entry.statement.table
            for entry in self.entries
            if isinstance(entry, StatementRun) and entry.statement.holds
        }


def loaded_rows(history: History) -> Iterator[RowChange]:
    """Yield the rows that existed before the log. Each is an insert at position 0 and at the time `loaded_at_ms`."""
    for name, table in history.loaded.items():
        for key, row in table.rows.items():
            row_id = key if isinstance(key, int) else None
            yield RowChange(
                position=0,
                time_ms=history.loaded_at_ms,
                transaction=0,
                event=0,
                table=name,
                columns=table.columns,
                keys=table.keys,
                row_id=row_id,
                before=None,
                after=row,
            )


class _Replay:
    """Applies entries one after the other, and remembers which tables were dropped and not created again.

    A renamed table is not dropped: it continues under its new name.
    """

    def __init__(self, loaded: Tables) -> None:
        self.tables = copied(loaded)
        self._dropped: set[str] = set()

    def apply(self, entry: Entry) -> None:
        before = len(self.tables)
        entry.apply(self.tables)
        if len(self.tables) < before:
            self._dropped |= entry.touched
        elif len(self.tables) > before:
            self._dropped -= entry.touched

    @property
    def dropped(self) -> frozenset[str]:
        return frozenset(self._dropped - self.tables.keys())
