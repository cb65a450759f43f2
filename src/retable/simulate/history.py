"""The history of the shop: the loaded tables, and every entry of its log since."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from retable.simulate.columns import Column, Row
from retable.simulate.database import Tables, copied
from retable.simulate.truth import Truth


@dataclass(frozen=True, slots=True, kw_only=True)
class RowChange:
    """One row of one binlog event; rows of one `event` were changed by one statement.

    `columns` and `keys` are the table's at that time. `row_id` is the hidden row id in a table without a key, else
    None. `position` is the position in the binlog, unique and rising; `time_ms` is the source's clock, epoch
    milliseconds.
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
    """The effect of a DDL statement. `kind` is Canal's word for it; producers file it under the name `table`."""

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
    """One DDL statement; `text` is as it was typed, without the database's name if that was in use."""

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
    """The beginning or the end of a transaction that was committed."""

    position: int
    time_ms: int
    transaction: int
    ends: bool

    @property
    def touched(self) -> frozenset[str]:
        return frozenset()

    def apply(self, tables: Tables) -> None:
        """Rows count one by one: gold has no transactions."""


Entry = RowChange | StatementRun | TransactionMark


@dataclass(frozen=True, slots=True)
class History:
    """All that happened in the database `database`: `loaded` is the state before the log, `entries` the log.

    `loaded_at_ms` and `ended_at_ms` are its begin and end by the source's clock. `kinds` counts the actions by name.
    """

    database: str
    loaded_at_ms: int
    ended_at_ms: int
    loaded: Tables
    entries: tuple[Entry, ...]
    kinds: Counter[str]

    def truth(self) -> Truth:
        """The database at the end."""
        return self.truth_up_to(self.entries[-1].position if self.entries else 0)

    def truth_up_to(self, position: int) -> Truth:
        """The database after all entries up to and including this position; 0 is only the full load."""
        replay = _Replay(self.loaded)
        for entry in self.entries:
            if entry.position > position:
                break
            replay.apply(entry)
        return Truth(replay.tables, replay.dropped)

    def truths(self) -> Iterator[tuple[int, Truth]]:
        """The database after the full load (position 0) and after every entry, each as a separate value."""
        replay = _Replay(self.loaded)
        frozen = copied(self.loaded)
        yield 0, Truth(frozen, frozenset())
        for entry in self.entries:
            replay.apply(entry)
            changed = {name: replay.tables[name].copy() for name in entry.touched & replay.tables.keys()}
            frozen = {name: changed.get(name) or frozen[name] for name in replay.tables}
            yield entry.position, Truth(frozen, replay.dropped)

    def holds(self) -> dict[int, str]:
        """The statements that Retable is documented to hold on: position, and the name of the table at that time.

        Gold then shows that table as `truth_up_to(position - 1)` has it.
        """
        return {
            entry.position: entry.statement.table
            for entry in self.entries
            if isinstance(entry, StatementRun) and entry.statement.holds
        }


def loaded_rows(history: History) -> Iterator[RowChange]:
    """The rows that existed before the log, each as an insert at position 0, at the history's begin."""
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
