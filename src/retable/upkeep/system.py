"""Compact silver and ops tables without a JVM. Keep what readers need besides the rows.

For a window of silver, this is the digest of its files: gold records with it which content was replayed. For ops, it is
the commit number of each row, because the row that was committed last counts.
"""

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import datetime, timedelta
from itertools import chain
from types import MappingProxyType

import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg.expressions import AlwaysFalse, AlwaysTrue, BooleanExpression, EqualTo, IsNull, LessThan, Or, Reference
from pyiceberg.expressions.literals import literal
from pyiceberg.table import FileScanTask, Table

from retable.gold.state import RUN_PROPERTY
from retable.ledger.cuts import Cuts
from retable.ledger.lake.catalog import Lake, widen
from retable.ledger.lake.data_files import FileReader, PartitionWriter, digest_files, standing_files
from retable.ledger.lake.error_translation import explained
from retable.ledger.lake.small_files import numbered, planned
from retable.ledger.lake.tables import COMMITTED, OPS, SAME_STATEMENTS
from retable.ledger.read import rows_of
from retable.ledger.retained import goes_on
from retable.ledger.rows import CutRow
from retable.model.window import window_name
from retable.upkeep.policy import FileFacts, Partition

_BYTES = 256 << 20
"""About how many bytes of a table are in memory at one time."""

_ENDED, _MANY = timedelta(days=7), 1000
"""Leases that ended before `_ENDED`, and other rows that are not needed, are removed only if there are at least `_MANY`
of them, because each removal rewrites files."""

_KEEPING = {SAME_STATEMENTS: "true"}

_SILVER_ORDER = [
    (name, "ascending")
    for name in ("database", "schema", "table", "key_hash", "topic", "partition", "offset", "row_index")
]


def compact_silver(lake: Lake, table: Table, windows: Iterable[str], run_id: str) -> int:
    """Compact these windows of silver, each in a separate commit. Return the number of replaced files."""
    gone = 0
    for window in windows:
        standing = standing_files(lake, table, {"window": window})
        digest = digest_files(table, (task.file.file_path for task in standing))
        by_kind: dict[str, list[FileScanTask]] = {}
        for task in standing:
            by_kind.setdefault(str(task.file.partition[1]), []).append(task)
        made = (
            (rows.sort_by(_SILVER_ORDER), {"window": window, "kind": kind})
            for kind, tasks in by_kind.items()
            for rows in _batches(table, tasks)
        )
        _replace(lake, table, _any("window", [window]), standing, made, run_id, digest)
        gone += len(standing)
        table = lake.load(".".join(table.name()))
    return gone


def compact_ops(lake: Lake, table: Table, groups: Mapping[Partition, Sequence[FileFacts]], run_id: str) -> int:
    """Compact the given files of an ops table, in one commit. Return the number of replaced files.

    `groups` are the files to rewrite, by partition. The rows are sorted by window. The column `committed` keeps the
    number of the commit that first added each row, because readers need the order in which rows were committed.
    """
    chosen = {file.path for files in groups.values() for file in files}
    table = _widened(lake, table)
    by_source, standing = _by_source(lake, table), list[FileScanTask]()
    made: list[tuple[pa.Table, dict[str, str | None]]] = []
    for source, files in by_source.items():
        mine = [(task, commit) for task, commit in files if task.file.file_path in chosen]
        standing += [task for task, _ in mine]
        made += [(_clustered(rows), {"source": source}) for rows in _numbered_batches(table, mine)]
    _replace(lake, table, _any("source", by_source), standing, made, run_id)
    return len(standing)


def rewrite_ops(lake: Lake, name: str, thin: Callable[[pa.Table], pa.Table] | None, run_id: str) -> int:
    """Rewrite an ops table from an older layout to the present layout, in one commit. Return how many rows it dropped.

    `thin` gets all rows of one source, and returns the rows to keep. If it is None, all rows are kept.
    """
    table = _widened(lake, lake.load(name))
    by_source, gone = _by_source(lake, table), 0

    def made() -> Iterator[tuple[pa.Table, dict[str, str | None]]]:
        nonlocal gone
        for source, files in by_source.items():
            for rows in _numbered_batches(table, files, bound=_BYTES if thin is None else sys.maxsize):
                kept = rows if thin is None else thin(rows)
                gone += rows.num_rows - kept.num_rows
                yield _clustered(kept), {"source": source}

    standing = [task for files in by_source.values() for task, _ in files]
    _replace(lake, table, _any("source", by_source), standing, made(), run_id, properties=OPS[name].properties)
    return gone


def prune_cuts(lake: Lake, keep: int, run_id: str) -> int:
    """Drop the consistent cuts before the last `keep` windows from `ops.cuts`. Return how many rows were dropped.

    A cut has rows only for the tables that changed in its window. So the newest older row of a table is kept if the
    table has not changed since. It moves to the first of the last `keep` windows. If fewer than 1,000 rows of a source
    could be dropped, they stay, because each removal rewrites files.
    """

    def needed(rows: pa.Table) -> pa.Table:
        commits = {_place(row): row[COMMITTED] for row in rows.to_pylist()}
        cuts = Cuts(rows_of(CutRow, rows.sort_by(COMMITTED)))
        kept = [{**asdict(row), COMMITTED: commits[_place(asdict(was))]} for was, row in cuts.pruned(keep)]
        return pa.Table.from_pylist(kept[::-1], schema=OPS["ops.cuts"].columns)

    return _prune(lake, "ops.cuts", needed, run_id)


def prune_past(lake: Lake, name: str, now: datetime, run_id: str) -> int:
    """Drop rows of `ops.evidence`, `ops.watermarks` or `ops.upkeep` that are older than the setting `keep_ops`.

    `name` is the table. Return how many rows were dropped: none if fewer than 1,000 rows are so old, or if `keep_ops`
    is not set. Old rows that the next watermark needs stay.
    """
    age = lake.settings.lake.keep_ops
    if age is None:
        return 0
    bound = now - age
    since = {"recorded_at": bound.isoformat()} if name == "ops.upkeep" else {"window": window_name(bound)}
    ((column, least),) = since.items()
    old = LessThan(term=Reference(column), value=literal(least))
    with explained(lake.settings.lake):
        if lake.load(name).scan(row_filter=old, selected_fields=(column,)).count() < _MANY:
            return 0

    def needed(rows: pa.Table) -> pa.Table:
        is_new = pc.greater_equal(rows[column], bound if name == "ops.upkeep" else least)
        return rows.filter(is_new if name == "ops.upkeep" else pc.or_(is_new, goes_on(rows)))

    return _prune(lake, name, needed, run_id)


def _prune(lake: Lake, name: str, needed: Callable[[pa.Table], pa.Table], run_id: str) -> int:
    """Rewrite an ops table with only the `needed` rows of each source. Return the number of dropped rows.

    `needed` gets all rows of a source, and returns the rows to keep. A source with few rows to drop is not rewritten.
    """
    table = _widened(lake, lake.load(name))
    gone, old, made = 0, list[FileScanTask](), list[tuple[pa.Table, dict[str, str | None]]]()
    for source, files in _by_source(lake, table).items():
        (rows,) = _numbered_batches(table, files, bound=sys.maxsize)
        kept = needed(rows)
        if rows.num_rows - kept.num_rows >= _MANY:
            gone += rows.num_rows - kept.num_rows
            old += [task for task, _ in files]
            made.append((kept, {"source": source}))
    if old:
        _replace(lake, table, _any("source", [values["source"] for _, values in made]), old, made, run_id)
    return gone


def _by_source(lake: Lake, table: Table) -> dict[str | None, list[tuple[FileScanTask, int]]]:
    """Return the files of an ops table by source, each with the number of its commit, oldest first."""
    found: dict[str | None, list[tuple[FileScanTask, int]]] = {}
    with explained(lake.settings.lake):
        for task, commit in planned(table, AlwaysTrue()):
            found.setdefault(task.file.partition[0], []).append((task, commit))
    return found


def _widened(lake: Lake, table: Table) -> Table:
    """Add the columns that an ops table of an earlier Retable lacks. Return the table with all columns."""
    return lake.load(".".join(table.name())) if widen(lake, table) else table


def _place(row: Mapping[str, object]) -> tuple[object, ...]:
    return row["window"], row["revision"], row["identity"]


def prune_leases(lake: Lake, now: datetime, run_id: str) -> int:
    """Remove rows of `ops.leases` that ended more than a week ago, if there are at least 1,000. Return their number."""
    table = lake.load("ops.leases")
    ended = LessThan(term=Reference("until"), value=literal((now - _ENDED).isoformat()))
    with explained(lake.settings.lake):
        count = table.scan(row_filter=ended, selected_fields=("until",)).count()
        if count < _MANY:
            return 0
        table.delete(ended, snapshot_properties={RUN_PROPERTY: run_id})
    return int(count)


def _batches(table: Table, tasks: Sequence[FileScanTask]) -> Iterator[pa.Table]:
    """Yield the rows of these files, in the order of the files, in tables of limited size."""
    batches: list[pa.RecordBatch] = []
    size = 0
    for batch in chain.from_iterable(_read(table, task) for task in tasks):
        batches.append(batch)
        size += batch.nbytes
        if size >= _BYTES:
            yield _joined(batches)
            batches, size = [], 0
    if any(batch.num_rows for batch in batches):
        yield _joined(batches)


def _numbered_batches(
    table: Table, files: Sequence[tuple[FileScanTask, int]], bound: int = _BYTES
) -> Iterator[pa.Table]:
    """Yield the rows of these files, newest file first, each with its commit number, in tables of about `bound` bytes.

    `files` has the files with the numbers of their commits, oldest first.
    """
    rows: list[pa.Table] = []
    for task, commit in reversed(files):
        rows.append(numbered(_joined(_read(table, task)), commit))
        if sum(each.nbytes for each in rows) >= bound:
            yield _joined_tables(rows)
            rows = []
    if rows:
        yield _joined_tables(rows)


def _joined_tables(rows: Sequence[pa.Table]) -> pa.Table:
    return pa.concat_tables(rows, promote_options="default")


def _clustered(rows: pa.Table) -> pa.Table:
    """Sort rows of an ops table: first the rows about whole windows, then the rows about tables, each by window.

    A reader usually needs only one of these two kinds. Rows without these columns keep their order.
    """
    if not {"table", "window"} <= {*rows.column_names}:
        return rows
    of_tables = rows.append_column("_of_table", pc.is_valid(rows["table"]))
    return of_tables.sort_by([("_of_table", "ascending"), ("window", "ascending")]).drop_columns("_of_table")


def _joined(batches: Iterable[pa.RecordBatch]) -> pa.Table:
    """Concatenate rows of files. An older file may lack columns that were added later; they are null then."""
    return pa.concat_tables([pa.Table.from_batches([each]) for each in batches], promote_options="default")


def _read(table: Table, task: FileScanTask) -> Iterator[pa.RecordBatch]:
    names = tuple(field.name for field in table.schema().fields)
    return FileReader(table.io, table.metadata, names).read(task)


def _replace(
    lake: Lake,
    table: Table,
    where: BooleanExpression,
    standing: Sequence[FileScanTask],
    made: Iterable[tuple[pa.Table, Mapping[str, str | None]]],
    run_id: str,
    same_as: str | None = None,
    properties: Mapping[str, str] = MappingProxyType({}),
) -> None:
    """Replace the files `standing` by new files, in one commit.

    `where` is a condition that all replaced files satisfy. `made` has the rows of each new file and its partition
    values. `same_as` is the digest of the replaced files, for the names of the new files. `properties` are set on the
    table. Raise ConflictError if one of the files is gone.
    """
    as_set = table.metadata.model_copy(update={"properties": {**table.metadata.properties, **properties}})
    writer = PartitionWriter(table.io, as_set)
    files = [writer.write(rows, values, same_as) for rows, values in made]
    with explained(lake.settings.lake), table.transaction() as transaction:
        if properties:
            transaction.set_properties(dict(properties))
        if not standing:
            return
        with transaction.update_snapshot(snapshot_properties=_KEEPING | {RUN_PROPERTY: run_id}).overwrite() as change:
            # With this predicate, manifests that cannot hold one of the files are not opened.
            change.delete_by_predicate(where)
            for task in standing:
                change.delete_data_file(task.file)
            for file in files:
                change.append_data_file(file)


def _any(column: str, values: Iterable[str | None]) -> BooleanExpression:
    found: BooleanExpression = AlwaysFalse()
    for value in values:
        reference = Reference(column)
        one = IsNull(term=reference) if value is None else EqualTo(term=reference, value=literal(value))
        found = Or(found, one)
    return found
