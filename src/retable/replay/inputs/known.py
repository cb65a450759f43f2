"""The tables that gold has though no statement made them, each with its first row."""

from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from retable.ledger.counts import LedgerRows
from retable.ledger.rows import TableRow
from retable.model.event import TableName
from retable.model.sequence import Sequence, parse_sequence


class FirstRows(NamedTuple):
    """Where the rows of a table begin: the first window with any, and the lowest sequence of each partition, as text.

    No window: it had none yet.
    """

    window: str | None
    lowest: Mapping[str, str]


NO_ROWS = FirstRows(None, {})


def first_rows(lowest: Mapping[str, Mapping[str, str]]) -> FirstRows:
    """Where rows begin of which these are the lowest, by window and partition."""
    found: dict[str, str] = {}
    windows = [window for window, parts in lowest.items() if parts]
    for window in windows:
        for part, text in lowest[window].items():
            found[part] = min(text, found.get(part, text), key=parse_sequence)
    return FirstRows(min(windows, default=None), found)


def find_first_rows(ledger: LedgerRows, tables: Collection[str]) -> dict[str, FirstRows]:
    """Where the rows of gold tables begin, as the ledger counted them, by gold name."""
    return {
        table: first_rows({window: counted.lowest for window, counted in rows.items()})
        for table, rows in ledger.of_tables(tables).items()
    }


def joined(one: FirstRows, other: FirstRows) -> FirstRows:
    """Where rows begin of which some begin here, and others there."""
    windows = [each.window for each in (one, other) if each.window is not None]
    parts = {**other.lowest, **one.lowest}
    both = {part: min(text, other.lowest.get(part, text), key=parse_sequence) for part, text in parts.items()}
    return FirstRows(min(windows, default=None), both)


def begins_with(first: FirstRows, window: str, lowest: Mapping[str, str]) -> bool:
    """Whether rows might begin elsewhere if those of a window, of which these were the lowest, were others."""
    return first.window == window or any(first.lowest.get(part) == text for part, text in lowest.items())


def recorded_first(row: TableRow) -> FirstRows | None:
    """What ops.tables says of where a table's rows begin; None where an older Retable wrote it."""
    return None if row.lowest is None else FirstRows(row.first_window, row.lowest)


def known_tables(rows: Iterable[TableRow], ledger: LedgerRows, kept_from: str) -> dict[TableName, Sequence | None]:
    """The tables by the name that they came under, with the position of their first row.

    None where nothing orders the first rows, or retention dropped some of the table: then it was there from the
    beginning, and no statement that comes late can give its name to another. The ledger says where
    the rows of tables begin of which ops.tables does not say it.
    """
    mine = [row for row in rows if is_undeclared(row)]
    lacking = {row.gold for row in mine if row.lowest is None}
    found = find_first_rows(ledger, lacking) if lacking else {}
    firsts = {row.name: recorded_first(row) or found.get(row.gold, NO_ROWS) for row in mine}
    return {name: _first(first, kept_from) for name, first in firsts.items()}


def is_undeclared(row: TableRow) -> bool:
    """Whether no statement made a table that gold has."""
    return row.identity == f"{row.name}@base" and row.state != "dropped"


def _first(first: FirstRows, kept_from: str) -> Sequence | None:
    if len(first.lowest) != 1 or first.window is None or first.window < kept_from:
        return None
    return min(map(parse_sequence, first.lowest.values()))
