"""Read silver and gold for a replay without a Spark job: in this process or in tasks."""

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from decimal import Decimal

import pyarrow as pa
from pyiceberg.expressions import AlwaysTrue, And, BooleanExpression, GreaterThanOrEqual, In, Or, Reference
from pyiceberg.expressions.literals import literal

from retable.decode.statements import read_statements
from retable.gold.iceberg.exchange import FileExchange
from retable.gold.iceberg.key_finder import FileFinder
from retable.gold.store import Halves, LateKeys, RowDict, WindowRows
from retable.ledger.lake.catalog import Lake
from retable.ledger.lake.data_files import standing_files, worker_io
from retable.ledger.lake.error_translation import explained
from retable.model.event import TableName
from retable.model.sequence import Sequence
from retable.replay.batch.silver_rows import ROW_COLUMNS, with_all_columns
from retable.replay.files.row_choice import OfKeys, OtherTables
from retable.replay.files.silver_files import SilverFiles
from retable.replay.inputs.silver import of_kind, read_removals, read_times

ROWS_HERE = 100_000
"""A window with at most this number of rows is read at once in this process, and not by tasks."""
ROWS_NEAR = 400_000
"""Tasks that read at most this number of rows run in this process: Spark's workers would start more slowly."""
ROWS_NEAR_LONG = 150_000
"""The same limit for tasks that fold rows one by one."""
_ROWS_A_TASK_HERE = 100_000


def _from(since: Sequence | None) -> BooleanExpression:
    """Return a filter that skips files whose sequences are all lower than `since`."""
    if since is None:
        return AlwaysTrue()
    epoch, hi = Reference("sequence.epoch"), Reference("sequence.hi")
    later = GreaterThanOrEqual(term=epoch, value=literal(since.epoch + 1))
    return Or(later, GreaterThanOrEqual(term=hi, value=literal(Decimal(since.hi))))


@dataclass(slots=True)
class WindowSize:
    """The number of rows that a replay reads. It decides whether tasks run in this process or on Spark's workers.

    `rows` is None if the number is not known. `LakeRows.big_window` sets it to the rows of the window. If
    `LakeRows.big_table` reads all events of a table in several windows, for example to write all its rows again, it
    sets a higher number to theirs. All sessions of a replay share this object.
    """

    rows: int | None = None


class LakeRows:
    """Reads rows of silver and gold from their files: the methods of `RowStore` that do not need Spark.

    `size` is shared by all sessions of a replay; if it is None, a new one is made.
    """

    def __init__(self, lake: Lake, source: str, size: WindowSize | None = None) -> None:
        self._lake = lake
        self._source = source
        self.size = size or WindowSize()

    def statements(self, until: str) -> list[RowDict]:
        return read_statements(self._lake, self._source, until)

    def window_rows(self, window: str, columns: Collection[str]) -> pa.Table:
        files = self._window(window)
        if files is None:
            return with_all_columns(pa.table({}))
        with explained(self._lake.settings.lake):
            return with_all_columns(files.chosen(OtherTables(frozenset()), columns))

    def big_window(self, window: str) -> WindowRows | None:
        files = self._window(window)
        self.size.rows = 0 if files is None else sum(task.file.record_count for task in files.files)
        return None if self.size.rows <= ROWS_HERE else files

    def slots_here(self, are_long: bool) -> int:
        """Return the number of tasks for a window if they run in this process. Return 0 if they run on Spark's workers.

        `are_long` is True if the tasks fold rows one by one, which takes longer.
        """
        rows, most = self.size.rows, ROWS_NEAR_LONG if are_long else ROWS_NEAR
        return 0 if rows is None or rows > most else -(-rows // _ROWS_A_TASK_HERE)

    def _window(self, window: str) -> SilverFiles | None:
        table = self._lake.find(f"silver.{self._source}")
        if table is None:
            return None
        files = standing_files(self._lake, table, {"window": window, "kind": "row"})
        return SilverFiles(worker_io(table), table.metadata, tuple(files))

    def big_table(
        self, windows: Collection[str], names: Collection[TableName], since: Sequence | None = None, rows: int = 0
    ) -> WindowRows:
        if since is None and len(windows) > 1:
            self.size.rows = max(rows, self.size.rows or 0) if rows else None
        return self._of_tables(names, lambda window: window in windows, since)

    def table_rows(
        self, until: str, names: Iterable[TableName], needed: LateKeys | Halves | None = None
    ) -> list[RowDict]:
        tables = frozenset(names)
        since = needed.since if isinstance(needed, LateKeys) else None
        files = self._of_tables(tables, lambda window: window <= until, since)
        with explained(self._lake.settings.lake):
            found: list[RowDict] = files.chosen(OfKeys(tables, needed), ROW_COLUMNS).to_pylist()
        return found

    def _of_tables(
        self, names: Collection[TableName], is_of: Callable[[str], bool], since: Sequence | None
    ) -> SilverFiles:
        """Return the files that may have rows of these tables, in windows for which `is_of` returns True."""
        table = self._lake.load(f"silver.{self._source}")
        called = In(term=Reference("table"), literals={literal(name.table) for name in names})
        with explained(self._lake.settings.lake):
            found = table.scan(row_filter=And(And(of_kind("row"), called), _from(since))).plan_files()
            files = tuple(task for task in found if is_of(task.file.partition[0]))
        return SilverFiles(worker_io(table), table.metadata, files)

    def removals(
        self, names: Collection[TableName], ops: Collection[str], first: str, last: str, of_key: bool
    ) -> list[RowDict]:
        return read_removals(self._lake, self._source, names, ops, first, last, of_key)

    def times(self, names: Collection[TableName], until: str) -> list[RowDict]:
        return read_times(self._lake, self._source, names, until)

    def exchange(self, gold: str) -> FileExchange:
        table = self._lake.load(gold)
        return FileExchange(worker_io(table), f"{table.location()}/exchange")

    def key_finder(self, gold: str) -> FileFinder:
        table = self._lake.load(gold)
        with explained(self._lake.settings.lake):
            return FileFinder(worker_io(table), table.metadata, tuple(table.scan().plan_files()))
