"""Rows of tables that are made of many small files, of which a process reads each one once: a file never changes.

The record of a day is hundreds of files of some kilobytes, to open one takes longer than to plan a whole scan, and one
run asks for the same ones again and again.
"""

from concurrent.futures import ThreadPoolExecutor
from threading import Lock

import pyarrow as pa
from cachetools import LRUCache
from pyiceberg.expressions import AlwaysTrue, BooleanExpression
from pyiceberg.expressions.visitors import bind
from pyiceberg.io.pyarrow import ArrowScan, expression_to_pyarrow, schema_to_pyarrow
from pyiceberg.table import FileScanTask, Table

SMALL = 256 << 10
"""Bytes of a file up to which it is read whole, and kept."""

_KEPT_BYTES, _EACH_BYTES = 64 << 20, 4 << 10
_READERS = 8

_Place = tuple[str, int]


def _weight(rows: pa.Table) -> int:
    return int(rows.nbytes) + _EACH_BYTES


_kept: LRUCache[_Place, pa.Table] = LRUCache(_KEPT_BYTES, _weight)
_keeping = Lock()


def read_rows(table: Table, condition: BooleanExpression) -> pa.Table:
    """Read what a scan of the table reads, in its order: the rows of the newest commit come first."""
    schema, number = table.schema(), table.metadata.current_schema_id
    tasks = list(table.scan(row_filter=condition).plan_files())

    def read(task: FileScanTask) -> pa.Table:
        is_kept = _is_kept(task)
        wanted = AlwaysTrue() if is_kept else condition
        rows = ArrowScan(table.metadata, table.io, schema, wanted).to_table([task])
        if is_kept and _weight(rows) <= _KEPT_BYTES:
            with _keeping:
                _kept[task.file.file_path, number] = rows
        return rows

    with _keeping:
        found = [_kept.get((task.file.file_path, number)) if _is_kept(task) else None for task in tasks]
    if missing := [task for task, rows in zip(tasks, found, strict=True) if rows is None]:
        with ThreadPoolExecutor(_READERS) as readers:
            others = readers.map(read, missing)
            found = [next(others) if rows is None else rows for rows in found]
    if not found:
        return schema_to_pyarrow(schema, include_field_ids=False).empty_table()
    # Where a file has no row for the condition, its columns are of the larger types of an empty table.
    whole = pa.concat_tables(found, promote_options="permissive")
    if all(task.residual == AlwaysTrue() for task in tasks):
        return whole
    return whole.filter(expression_to_pyarrow(bind(schema, condition, case_sensitive=True)))


def _is_kept(task: FileScanTask) -> bool:
    """Whether a file is small, and nothing says that rows of it are deleted: that may come any time."""
    return task.file.file_size_in_bytes <= SMALL and not task.delete_files
