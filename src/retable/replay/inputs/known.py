"""Find the tables of gold that no statement created, each with the position of its first row."""

from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from retable.ledger.counts import LedgerRows
from retable.ledger.rows import TableRow
from retable.model.event import TableName
from retable.model.sequence import Sequence, parse_sequence


class FirstRows(NamedTuple):
    """The first window with rows of a table, and the lowest sequence of its rows in each source partition.

    `lowest` has the sequences (positions in the source's log) as text, by partition. If `window` is None, the table has
    no rows yet.
    """

    window: str | None
    lowest: Mapping[str, str]


NO_ROWS = FirstRows(None, {})


def first_rows(lowest: Mapping[str, Mapping[str, str]]) -> FirstRows:
    """Return the start of a table's rows. `lowest` has the lowest sequences of its rows, by window and partition."""
    found: dict[str, str] = {}
    windows = [window for window, parts in lowest.items() if parts]
    for window in windows:
        for part, text in lowest[window].items():
            found[part] = min(text, found.get(part, text), key=parse_sequence)
    return FirstRows(min(windows, default=None), found)


def find_first_rows(ledger: LedgerRows, tables: Collection[str]) -> dict[str, FirstRows]:
    """Return the start of the rows of each gold table, by gold name, from the ledger. `tables` are gold names."""
    return {
        table: first_rows({window: counted.lowest for window, counted in rows.items()})
        for table, rows in ledger.of_tables(tables).items()
    }


def joined(one: FirstRows, other: FirstRows) -> FirstRows:
    """Return the earlier of two starts: the earlier window, and the lower sequence of each partition."""
    windows = [each.window for each in (one, other) if each.window is not None]
    parts = {**other.lowest, **one.lowest}
    both = {part: min(text, other.lowest.get(part, text), key=parse_sequence) for part, text in parts.items()}
    return FirstRows(min(windows, default=None), both)


def begins_with(first: FirstRows, window: str, lowest: Mapping[str, str]) -> bool:
    """Return whether the start of a table's rows may change if the window `window` gets other rows.

    `first` is the present start. `lowest` are the present lowest sequences in the window, by partition.
    """
    return first.window == window or any(first.lowest.get(part) == text for part, text in lowest.items())


def recorded_first(row: TableRow) -> FirstRows | None:
    """Return the start of a table's rows that `row`, a row of ops.tables, contains.

    Return None if an older version of Retable wrote the row, without the start.
    """
    return None if row.lowest is None else FirstRows(row.first_window, row.lowest)


def known_tables(rows: Iterable[TableRow], ledger: LedgerRows, kept_from: str) -> dict[TableName, Sequence | None]:
    """Return the gold tables that no statement created, by source name, each with the position of its first row.

    The position is None if it cannot be known: the first rows came from several partitions, whose positions do not
    compare, or retention may have dropped some of them. Then the table counts as existing from the beginning, and no
    statement that arrives later can give its name to another table.

    `rows` are those of ops.tables. If a row lacks the start of the table's rows, the ledger is read. `kept_from` is the
    oldest window that silver has in full.
    """
    mine = [row for row in rows if is_undeclared(row)]
    lacking = {row.gold for row in mine if row.lowest is None}
    found = find_first_rows(ledger, lacking) if lacking else {}
    firsts = {row.name: recorded_first(row) or found.get(row.gold, NO_ROWS) for row in mine}
    return {name: _first(first, kept_from) for name, first in firsts.items()}


def is_undeclared(row: TableRow) -> bool:
    """Return whether a recorded table is in gold although no statement created it."""
    return row.identity == f"{row.name}@base" and row.state != "dropped"


def _first(first: FirstRows, kept_from: str) -> Sequence | None:
    if len(first.lowest) != 1 or first.window is None or first.window < kept_from:
        return None
    return min(map(parse_sequence, first.lowest.values()))
