"""Read tables that have many small files, such as the ops tables, and cache these files in the memory of the process.

A day adds hundreds of files of some kilobytes to the ops tables. Opening one file takes longer than planning a whole
scan, and a run reads the same files many times. A cached file is never outdated, because data files do not change.
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Lock

import pyarrow as pa
import pyarrow.compute as pc
from cachetools import LRUCache
from pyiceberg.expressions import AlwaysTrue, BooleanExpression
from pyiceberg.expressions.visitors import bind
from pyiceberg.io.pyarrow import (
    ArrowScan,
    _pyarrow_schema_ensure_small_types,
    expression_to_pyarrow,
    schema_to_pyarrow,
)
from pyiceberg.manifest import ManifestEntry
from pyiceberg.table import FileScanTask, ManifestGroupPlanner, Table

from retable.ledger.lake.checksums import open_parquet
from retable.ledger.lake.damage import check_rows
from retable.ledger.lake.tables import COMMITTED

SMALL = 256 << 10
"""A file of at most so many bytes is read whole and cached, if it has at most `_SMALL_ROWS` rows."""

_SMALL_ROWS = 4096

_KEPT_BYTES, _EACH_BYTES = 64 << 20, 4 << 10
_READERS = 8

_Place = tuple[str, int]
_Column = tuple[str, object, pa.DataType]


def _weight(rows: pa.Table) -> int:
    return int(rows.nbytes) + _EACH_BYTES


_kept: LRUCache[_Place, pa.Table] = LRUCache(_KEPT_BYTES, _weight)
_keeping = Lock()


def planned(table: Table, condition: BooleanExpression) -> list[tuple[FileScanTask, int]]:
    """Return the data files that may have rows for a condition, oldest first, each with the number of its commit.

    This number is Iceberg's sequence number of the commit that added the file.
    """
    snapshot, numbers = table.current_snapshot(), dict[str, int]()
    if snapshot is None:
        return []

    def note(entry: ManifestEntry) -> bool:
        numbers[entry.data_file.file_path] = entry.sequence_number or 0
        return True

    planner = ManifestGroupPlanner(table.metadata, table.io, condition)
    tasks = planner.plan_files(snapshot.manifests(table.io), note)
    found = [(task, numbers[task.file.file_path]) for task in tasks]
    return sorted(found, key=lambda each: (each[1], each[0].file.file_path))


def read_rows(table: Table, condition: BooleanExpression, columns: Sequence[str] | None = None) -> pa.Table:
    """Read the rows of a table that satisfy a condition, in the order of their commits: the newest row is the last.

    The column `committed` has the number of the commit that added the row. If it is null or missing, the number of the
    commit that added the file is used. Rows of one commit are stored in reverse order, so each file is read from its
    end. `columns` are the columns to return. If it is None, all are returned.
    """
    schema, number = table.schema(), table.metadata.current_schema_id
    asked = [field.name for field in schema.fields] if columns is None else [*columns]
    is_numbered = COMMITTED in schema.column_names
    chosen = schema.select(*dict.fromkeys((*asked, *([COMMITTED] if is_numbered else []))))
    plan, wanted = planned(table, condition), _columns_of(schema_to_pyarrow(schema))
    matches = expression_to_pyarrow(bind(schema, condition, case_sensitive=True))

    def read(task: FileScanTask) -> pa.Table:
        if not _is_kept(task):
            return ArrowScan(table.metadata, table.io, chosen, condition).to_table([task])
        rows = _read_small(table, task, wanted)
        if _weight(rows) <= _KEPT_BYTES:
            with _keeping:
                _kept[task.file.file_path, number] = rows
        return rows

    with _keeping:
        found = [_kept.get((task.file.file_path, number)) if _is_kept(task) else None for task, _ in plan]
    if missing := [task for (task, _), rows in zip(plan, found, strict=True) if rows is None]:
        with ThreadPoolExecutor(_READERS) as readers:
            others = readers.map(read, missing)
            found = [next(others) if rows is None else rows for rows in found]
    names, whole = [field.name for field in chosen.fields], list[pa.Table]()
    for (task, commit), rows in zip(plan, found, strict=True):
        assert rows is not None
        mine = rows
        if _is_kept(task):
            mine = (rows if task.residual == AlwaysTrue() else rows.filter(matches)).select(names)
        whole.append(numbered(mine, commit)[::-1] if is_numbered else mine[::-1])
    if not whole:
        return schema_to_pyarrow(chosen, include_field_ids=False).empty_table().select(asked)
    # A file without a row for the condition gives an empty table, whose columns have Arrow's larger types.
    rows = pa.concat_tables(whole, promote_options="permissive")
    return (rows.sort_by(COMMITTED) if is_numbered else rows).select(asked)


def _read_small(table: Table, task: FileScanTask, wanted: list[_Column]) -> pa.Table:
    """Read a whole file. If it has exactly the table's columns, read it directly, in a third of a scan's time."""
    path = task.file.file_path
    with open_parquet(table.io, path) as file:
        if _columns_of(file.schema_arrow) == wanted:
            rows = file.read()
            check_rows(path, rows.num_rows, task.file.record_count)
            return rows
    return ArrowScan(table.metadata, table.io, table.schema(), AlwaysTrue()).to_table([task])


def _columns_of(schema: pa.Schema) -> list[_Column]:
    """Return name, field ID and type of each column. Arrow's large types become the normal types."""
    plain = _pyarrow_schema_ensure_small_types(schema)
    return [(field.name, field.metadata, field.type) for field in plain]


def numbered(rows: pa.Table, commit: int) -> pa.Table:
    """Return the rows of a file with a complete column `committed`: the number of the commit that added each row.

    `commit` is the number of the commit that added the file. It is used where the column is null or missing.
    """
    if COMMITTED not in rows.column_names:
        return rows.append_column(COMMITTED, pa.array([commit] * rows.num_rows, pa.int64()))
    at = rows.column_names.index(COMMITTED)
    return rows.set_column(at, COMMITTED, pc.fill_null(rows[COMMITTED].cast(pa.int64()), commit))


def _is_kept(task: FileScanTask) -> bool:
    """Return whether a file may be cached: it is small and has no deleted rows."""
    is_small = task.file.file_size_in_bytes <= SMALL and task.file.record_count <= _SMALL_ROWS
    return is_small and not task.delete_files
