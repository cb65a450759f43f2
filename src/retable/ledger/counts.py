"""What the ledger counts, and its equations: nothing enters a stage without a count of where it went.

A reason follows its count after a colon: `ignored:heartbeat`, `notes:DDL`; all of them add up to `ignored`, `notes`.
"""

from collections.abc import Callable, Collection, Mapping
from functools import partial
from typing import NamedTuple

import pyarrow.compute as pc

from retable.errors import Unbalanced
from retable.ledger.lake.catalog import Lake
from retable.ledger.read import OF_TABLES, read_ledger, scan
from retable.ledger.rows import OPS_TABLES, LedgerRow

_FEW = 4
"""So many windows are read one by one rather than all windows of a table."""


class CountedRows(NamedTuple):
    """What the ledger says of a table's rows in a window: as what they were applied, how many came to what.

    `lowest` and `highest` are their first and last sequence, by partition.
    """

    identity: str | None
    counts: Mapping[str, int]
    lowest: Mapping[str, str]
    highest: Mapping[str, str]


class LedgerRows:
    """The ledger's rows of the replays of gold tables, each read once.

    `read` gives them by window and gold name: those of one window, or those of all windows of some tables.
    """

    def __init__(
        self, read: Callable[[str | None, Collection[str] | None], Mapping[tuple[str, str], CountedRows]]
    ) -> None:
        self._read = read
        self._of_window: dict[str, Mapping[tuple[str, str], CountedRows]] = {}
        self._of_table: dict[str, Mapping[str, CountedRows]] = {}

    def in_window(self, window: str) -> dict[str, CountedRows]:
        """What was counted in a window, by gold name."""
        if window not in self._of_window:
            self._of_window[window] = self._read(window, None)
        return {table: counted for (_, table), counted in self._of_window[window].items()}

    def of_table(self, table: str) -> Mapping[str, CountedRows]:
        """What was counted of a gold table, by window."""
        return self.of_tables([table])[table]

    def applied(self, table: str) -> dict[str, str | None]:
        """As what the rows of a gold table were applied, by window."""
        return {window: counted.identity for window, counted in self.of_table(table).items()}

    def of_tables(self, tables: Collection[str]) -> dict[str, Mapping[str, CountedRows]]:
        """What was counted of some gold tables, by name and window."""
        if missing := set(tables) - self._of_table.keys():
            found: dict[str, dict[str, CountedRows]] = {table: {} for table in missing}
            for (window, table), counted in self._read(None, missing).items():
                found[table][window] = counted
            self._of_table |= found
        return {table: self._of_table[table] for table in tables}

    def find(self, table: str, windows: Collection[str]) -> dict[str, CountedRows]:
        """What was counted of a gold table in some windows, by window."""
        if len(windows) <= _FEW:
            rows = ((window, self.in_window(window).get(table)) for window in windows)
            return {window: counted for window, counted in rows if counted is not None}
        mine = self.of_table(table)
        return {window: mine[window] for window in windows if window in mine}


def open_ledger(lake: Lake, source: str) -> LedgerRows:
    """Give what the ledger counted of the gold tables of a source, to be read as it is asked for."""
    return LedgerRows(partial(_read_counted, lake, source))


def check_messages(counts: Mapping[str, int]) -> None:
    """Check that every landed message was decoded, ignored for a reason, quarantined or erased."""
    _check(counts, "landed", ("decoded", "ignored", "quarantined", "erased"))


def check_events(counts: Mapping[str, int]) -> None:
    """Check that every event of the decoded messages is a row, or a note (DDL, TRUNCATE, heartbeat and the like)."""
    _check(counts, "events", ("rows", "notes"))


def check_rows(counts: Mapping[str, int]) -> None:
    """Check that every row was applied, or that a count says why it was not."""
    parts = ("applied", "superseded", "duplicate", "voided", "held", "pending", "rejected", "excluded")
    _check(counts, "rows", parts)


def is_left_out(row: LedgerRow, takes: Callable[[str], bool]) -> bool:
    """Whether a window counted rows of a table and stored none, though the settings take it now."""
    return row.stage == "decode" and row.table is not None and bool(row.counts.get("excluded")) and takes(row.table)


def read_left_out(lake: Lake, source: str, since: str, takes: Callable[[str], bool]) -> list[LedgerRow]:
    """Give the rows of windows, from `since` on, that counted rows of a table and stored none though it is taken now.

    All rows of decode are looked at, and few of them are read whole.
    """
    table = lake.find(OPS_TABLES[LedgerRow])
    if table is None:
        return []
    bounds = {"window": since} if since else None
    rows = scan(lake, table, bounds, OF_TABLES, ["window", "table", "counts"], source=source, stage="decode")
    excluded = pc.fill_null(pc.map_lookup(rows["counts"], "excluded", "first"), 0).to_pylist() if rows.num_rows else []
    windows, names = rows["window"].to_pylist(), rows["table"].to_pylist()
    newest = {(window, name): count for window, name, count in zip(windows, names, excluded, strict=True)}
    tables = {name for (_, name), count in newest.items() if count and takes(name)}
    if not tables:
        return []
    found = read_ledger(lake, source, at_least=bounds, stage="decode", tables=tables)
    return [row for row in found if is_left_out(row, takes)]


def _check(counts: Mapping[str, int], whole: str, parts: tuple[str, ...]) -> None:
    sums = {part: sum(count for name, count in counts.items() if name.partition(":")[0] == part) for part in parts}
    if counts.get(whole, 0) != sum(sums.values()) or min(counts.values(), default=0) < 0:
        shown = " + ".join(f"{part} {count}" for part, count in sums.items())
        raise Unbalanced(
            f"the ledger does not balance: {whole} {counts.get(whole, 0)} is not {shown}; "
            f"this is a bug of Retable, please report it with these numbers",
            counts=dict(counts),
        )


def _read_counted(
    lake: Lake, source: str, window: str | None, tables: Collection[str] | None
) -> dict[tuple[str, str], CountedRows]:
    rows = read_ledger(lake, source, window, stage="replay", of_tables=True, tables=tables)
    return {
        (row.window, row.table): CountedRows(row.identity, row.counts, row.lowest, row.highest)
        for row in rows
        if row.table is not None
    }
