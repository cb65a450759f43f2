"""The tables that gold has though no statement made them, each with its first row."""

from collections.abc import Iterable, Mapping

from retable.ledger.rows import LedgerRow, TableRow
from retable.model.event import TableName
from retable.model.sequence import Sequence, parse_sequence

Lowest = Mapping[tuple[str, str | None], Mapping[str, str]]
"""The lowest sequence of the rows that were replayed, by window and gold name, and by partition."""


def lowest_of(ledger: Iterable[LedgerRow]) -> Lowest:
    """What the ledger says of the lowest rows of each window and table."""
    return {(row.window, row.table): row.lowest for row in ledger if row.stage == "replay" and row.table is not None}


def known_tables(rows: Iterable[TableRow], lowest: Lowest, kept_from: str) -> dict[TableName, Sequence | None]:
    """The tables by the name that they came under, with the position of their first row.

    None where nothing orders the first rows, or retention dropped some of the table: then it was there from the
    beginning, and no statement that comes late can give its name to another.
    """
    mine = (row for row in rows if row.identity == f"{row.name}@base" and row.state != "dropped")
    return {row.name: _first(row.gold, lowest, kept_from) for row in mine}


def _first(gold: str, lowest: Lowest, kept_from: str) -> Sequence | None:
    mine = {window: parts for (window, table), parts in lowest.items() if table == gold and parts}
    found = {part: text for parts in mine.values() for part, text in parts.items()}
    if len(found) != 1 or any(window < kept_from for window in mine):
        return None
    return min(parse_sequence(text) for parts in mine.values() for text in parts.values())
