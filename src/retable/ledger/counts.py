"""The counts in `ops.ledger`, and checks of their sums: each input of a stage must be in exactly one count.

The name of a count may have a reason after a colon, such as `ignored:heartbeat` or `notes:DDL`. The number of ignored
messages is the sum of all counts whose names start with `ignored:`.
"""

from collections.abc import Callable, Collection, Mapping
from datetime import datetime
from functools import partial
from typing import NamedTuple

import pyarrow.compute as pc

from retable.errors import Unbalanced
from retable.ledger.lake.catalog import Lake
from retable.ledger.read import OF_TABLES, read_ledger, scan
from retable.ledger.rows import OPS_TABLES, LedgerRow

_FEW = 4
"""If at most this many windows are asked for, each is read separately. Otherwise all windows of the table are read."""


class CountedRows(NamedTuple):
    """What `ops.ledger` records about the replay of one window into one gold table.

    `identity` is the digest of the window's content in silver when it was replayed. `counts` has the number of rows by
    outcome. `lowest` and `highest` are the first and the last sequence (position in the source's log) of the rows, as
    text, by Kafka partition.
    """

    identity: str | None
    counts: Mapping[str, int]
    lowest: Mapping[str, str]
    highest: Mapping[str, str]


class LedgerRows:
    """A cache of the ledger rows about replays of gold tables. Rows are read when they are first needed.

    `read` is the function that reads them, by window and gold name. Its arguments are a window and the gold names. If
    an argument is None, it reads all windows or all tables.
    """

    def __init__(
        self, read: Callable[[str | None, Collection[str] | None], Mapping[tuple[str, str], CountedRows]]
    ) -> None:
        self._read = read
        self._of_window: dict[str, Mapping[tuple[str, str], CountedRows]] = {}
        self._of_table: dict[str, Mapping[str, CountedRows]] = {}

    def in_window(self, window: str) -> dict[str, CountedRows]:
        """Return the counts of each gold table in one window, by gold name (`CountedRows`)."""
        if window not in self._of_window:
            self._of_window[window] = self._read(window, None)
        return {table: counted for (_, table), counted in self._of_window[window].items()}

    def of_table(self, table: str) -> Mapping[str, CountedRows]:
        """Return the counts of one gold table in each window, by window. `table` is the gold name."""
        return self.of_tables([table])[table]

    def applied(self, table: str) -> dict[str, str | None]:
        """Return, by window, the digest of the silver content that was replayed into a gold table.

        `table` is the gold name. The digest is None if the ledger row of the window has no digest.
        """
        return {window: counted.identity for window, counted in self.of_table(table).items()}

    def of_tables(self, tables: Collection[str]) -> dict[str, Mapping[str, CountedRows]]:
        """Return the counts of some gold tables, by gold name and then by window."""
        if missing := set(tables) - self._of_table.keys():
            found: dict[str, dict[str, CountedRows]] = {table: {} for table in missing}
            for (window, table), counted in self._read(None, missing).items():
                found[table][window] = counted
            self._of_table |= found
        return {table: self._of_table[table] for table in tables}

    def find(self, table: str, windows: Collection[str]) -> dict[str, CountedRows]:
        """Return the counts of one gold table in these windows, by window. Leave out windows without a ledger row."""
        if len(windows) <= _FEW:
            rows = ((window, self.in_window(window).get(table)) for window in windows)
            return {window: counted for window, counted in rows if counted is not None}
        mine = self.of_table(table)
        return {window: mine[window] for window in windows if window in mine}


def open_ledger(lake: Lake, source: str) -> LedgerRows:
    """Return the ledger rows about the gold tables of a source. Nothing is read before it is needed."""
    return LedgerRows(partial(_read_counted, lake, source))


def check_messages(counts: Mapping[str, int]) -> None:
    """Raise Unbalanced unless each landed message was decoded, ignored for a reason, quarantined or erased."""
    _check(counts, "landed", ("decoded", "ignored", "quarantined", "erased"))


def check_events(counts: Mapping[str, int]) -> None:
    """Raise Unbalanced unless each event of the decoded messages is a row or a note, such as DDL or a heartbeat."""
    _check(counts, "events", ("rows", "notes"))


def check_rows(counts: Mapping[str, int]) -> None:
    """Raise Unbalanced unless each row was applied, or has a reason why not, such as `superseded` or `held`."""
    parts = ("applied", "superseded", "duplicate", "voided", "held", "pending", "rejected", "excluded")
    _check(counts, "rows", parts)


def is_left_out(row: LedgerRow, takes: Callable[[str], bool]) -> bool:
    """Return whether a ledger row shows that a decode excluded rows of a table that the settings include now.

    `takes` returns whether the settings include a table.
    """
    return row.stage == "decode" and row.table is not None and bool(row.counts.get("excluded")) and takes(row.table)


def read_left_out(
    lake: Lake, source: str, at_least: Mapping[str, str | datetime] | None, takes: Callable[[str], bool]
) -> list[LedgerRow]:
    """Return the ledger rows of decodes that excluded rows of a table which the settings include now.

    `at_least` has the lowest values of columns, such as `window`. `takes` returns whether the settings include a table.
    All rows about decodes are scanned with few columns. Only the rows of such tables are read with all columns.
    """
    table = lake.find(OPS_TABLES[LedgerRow])
    if table is None:
        return []
    rows = scan(lake, table, at_least, OF_TABLES, ["window", "table", "counts"], source=source, stage="decode")
    excluded = pc.fill_null(pc.map_lookup(rows["counts"], "excluded", "first"), 0).to_pylist() if rows.num_rows else []
    windows, names = rows["window"].to_pylist(), rows["table"].to_pylist()
    newest = {(window, name): count for window, name, count in zip(windows, names, excluded, strict=True)}
    tables = {name for (_, name), count in newest.items() if count and takes(name)}
    if not tables:
        return []
    found = read_ledger(lake, source, at_least=at_least, stage="decode", tables=tables)
    return [row for row in found if is_left_out(row, takes)]


def _check(counts: Mapping[str, int], whole: str, parts: tuple[str, ...]) -> None:
    sums = {part: sum(count for name, count in counts.items() if name.partition(":")[0] == part) for part in parts}
    if counts.get(whole, 0) != sum(sums.values()) or min(counts.values(), default=0) < 0:
        shown = " + ".join(f"{part} {count}" for part, count in sums.items())
        raise Unbalanced(
            f"the ledger does not balance: the count {whole} is {counts.get(whole, 0)}, but must equal {shown}; "
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
