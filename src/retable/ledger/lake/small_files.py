"""Rows of tables that are made of many small files, of which a process reads each one once: a file never changes.

The record of a day is hundreds of files of some kilobytes, to open one takes longer than to plan a whole scan, and one
run asks for the same ones again and again.
"""

from collections.abc import Sequence
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


def read_rows(table: Table, condition: BooleanExpression, columns: Sequence[str] | None = None) -> pa.Table:
    """Read what a scan of the table reads, in its order: the rows of the newest commit come first.

    `columns`: only these, of which large files are read no others.
    """
    schema, number = table.schema(), table.metadata.current_schema_id
    chosen = schema if columns is None else schema.select(*columns)
    tasks = list(table.scan(row_filter=condition).plan_files())
    matches = expression_to_pyarrow(bind(schema, condition, case_sensitive=True))

    def read(task: FileScanTask) -> pa.Table:
        if not _is_kept(task):
            return ArrowScan(table.metadata, table.io, chosen, condition).to_table([task])
        rows = ArrowScan(table.metadata, table.io, schema, AlwaysTrue()).to_table([task])
        if _weight(rows) <= _KEPT_BYTES:
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
        return schema_to_pyarrow(chosen, include_field_ids=False).empty_table()
    names = [field.name for field in chosen.fields]

    def asked(task: FileScanTask, rows: pa.Table) -> pa.Table:
        if not _is_kept(task):
            return rows
        return (rows if task.residual == AlwaysTrue() else rows.filter(matches)).select(names)

    whole = [asked(task, rows) for task, rows in zip(tasks, found, strict=True) if rows is not None]
    # Where a file has no row for the condition, its columns are of the larger types of an empty table.
    return pa.concat_tables(whole, promote_options="permissive")


def _is_kept(task: FileScanTask) -> bool:
    """Whether a file is small, and nothing says that rows of it are deleted: that may come any time."""
    return task.file.file_size_in_bytes <= SMALL and not task.delete_files
