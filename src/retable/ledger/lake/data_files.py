"""Read and write data files of a system table (bronze, silver, …) in Python on Spark's workers, and commit the files.

Spark's own reader and writer would move each row into the JVM and back. That costs several times as much as decoding
(docs/internals/performance.md).
"""

import hashlib
import json
import re
import uuid
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

import pyarrow as pa
from pyiceberg.expressions import AlwaysTrue, And, BooleanExpression, EqualTo, Reference
from pyiceberg.expressions.literals import literal
from pyiceberg.io import FileIO, load_file_io
from pyiceberg.io.pyarrow import ArrowScan, schema_to_pyarrow
from pyiceberg.manifest import DataFile
from pyiceberg.partitioning import PartitionFieldValue, PartitionKey
from pyiceberg.schema import Schema
from pyiceberg.table import FileScanTask, Table, WriteTask
from pyiceberg.table.metadata import TableMetadata

from retable.errors import DamagedFile
from retable.ledger.lake.catalog import Lake
from retable.ledger.lake.checksums import open_parquet, write_file
from retable.ledger.lake.damage import check_rows
from retable.ledger.lake.error_translation import explained

_BATCH_BYTES, _BATCH_ROWS = 16 << 20, 10_000
_FOR_FILES = ("s3.", "client.", "py-io-impl")
FORMER_LOCATION = "retable.former-location"
"""The property with the folder in which a table was before its lake was first moved or copied. It is JSON, so that a
rewrite of addresses does not change it."""

_SAME = re.compile(r"/same-([0-9a-f]{16})-[^/]*\Z")


@dataclass(frozen=True, slots=True)
class FileReader:
    """Reads some columns of the data files of one system table. It can be pickled and sent to another machine.

    `columns` are the names of the top-level columns to read.
    """

    io: FileIO
    metadata: TableMetadata
    columns: tuple[str, ...]

    def read(self, task: FileScanTask) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a data file in batches of limited size. A file with deleted rows is read as a whole.

        Raise DamagedFile if the file cannot be read.
        """
        if task.delete_files:
            schema = self.metadata.schema().select(*self.columns)
            yield from ArrowScan(self.metadata, self.io, schema, AlwaysTrue()).to_record_batches([task])
            return
        with open_parquet(self.io, task.file.file_path) as file:
            groups = [file.metadata.row_group(at) for at in range(file.metadata.num_row_groups)]
            row_bytes = max((group.total_byte_size // max(group.num_rows, 1) for group in groups), default=1)
            size = min(_BATCH_ROWS, max(1, _BATCH_BYTES // max(row_bytes, 1)))
            rows = 0
            for batch in file.iter_batches(batch_size=size, columns=list(self.columns)):
                rows += batch.num_rows
                yield batch
        check_rows(task.file.file_path, rows, task.file.record_count)


def _whole(rows: pa.Table, schema: Schema) -> pa.Table:
    for column in schema_to_pyarrow(schema, include_field_ids=False):
        if column.name not in rows.column_names:
            rows = rows.append_column(column, pa.nulls(rows.num_rows, column.type))
    return rows


@dataclass(frozen=True, slots=True)
class PartitionWriter:
    """Writes data files of one system table. It can be pickled and sent to another machine."""

    io: FileIO
    metadata: TableMetadata

    def write(self, rows: pa.Table, values: Mapping[str, str | None], same_as: str | None = None) -> DataFile:
        """Write rows of one partition to a new data file, and return the file. No snapshot references it yet.

        `values` are the partition values by column. Columns that the rows lack are null. `same_as` is for a file that
        replaces other files and has the same rows, as in a compaction. It is the digest of the replaced files, and
        becomes a part of the file name. `digest_files` finds it there, and so returns the same digest as before.
        """
        schema, spec = self.metadata.schema(), self.metadata.spec()
        fields = [PartitionFieldValue(field=field, value=values[field.name]) for field in spec.fields]
        key = PartitionKey(field_values=fields, partition_spec=spec, schema=schema)
        task = _Task(
            write_uuid=uuid.uuid4(),
            task_id=0,
            schema=schema,
            record_batches=_whole(rows, schema).to_batches(),
            partition_key=key,
            same_as=same_as,
        )
        (file,) = write_file(self.io, self.metadata, iter([task]))
        return file


@dataclass(frozen=True)
class _Task(WriteTask):
    """A write task whose file name contains `same_as`, the digest of the files that the new file replaces."""

    same_as: str | None = None

    def generate_data_file_filename(self, extension: str) -> str:
        name = super().generate_data_file_filename(extension)
        return name if self.same_as is None else f"same-{self.same_as}-{name}"


def stands_for_others(path: str) -> bool:
    """Return whether a data file replaced other files with the same rows. `path` then has the digest of those files."""
    return _SAME.search(path) is not None


def digest_files(table: Table, paths: Iterable[str]) -> str:
    """Return a digest that shows whether the content of some data files of a table has changed. No file is read.

    A data file never changes, so the digest is made from the paths of the files. If files are replaced by files with
    the same rows, the digest stays the same: the names of the new files contain the digest of the replaced files.

    The digest also stays the same if the lake is moved. A property of the table has the folder in which the table was
    before the first move, and the paths are digested as if the files were still in that folder.
    """
    here, recorded = table.location(), table.properties.get(FORMER_LOCATION)
    former = here if recorded is None else str(json.loads(recorded)[0])
    names = sorted(f"{former}{name.removeprefix(here)}" if name.startswith(f"{here}/") else name for name in paths)
    kept = {found[1] if (found := _SAME.search(name)) else None for name in names}
    if len(kept) == 1 and (same := kept.pop()) is not None:
        return same
    return hashlib.sha256("\n".join(names).encode()).hexdigest()[:16]


def worker_io(table: Table) -> FileIO:
    """Return a FileIO for Spark's workers that opens the files of a table. It has no access to the catalog."""
    return for_workers(table.io, table.location())


def for_workers(io: FileIO, location: str) -> FileIO:
    """Return a FileIO for Spark's workers, made from a FileIO of this process. It has no access to the catalog.

    `location` is the address of the table. It decides the kind of the FileIO, for example by its scheme `s3:`.
    """
    kept = {name: value for name, value in io.properties.items() if name.startswith(_FOR_FILES)}
    return load_file_io(kept, location)


def standing_files(lake: Lake, table: Table, values: Mapping[str, str]) -> list[FileScanTask]:
    """Return the current data files of a table whose partition columns have these `values`, given by column."""
    with explained(lake.settings.lake):
        return list(table.scan(row_filter=_having(values)).plan_files())


def is_whole(lake: Lake, table: Table, values: Mapping[str, str]) -> bool:
    """Return whether all data files of a partition exist and can be read completely. This reads the files.

    `values` are the partition values by column.
    """
    reader = FileReader(worker_io(table), table.metadata, tuple(field.name for field in table.schema().fields))
    try:
        with explained(lake.settings.lake):
            for task in standing_files(lake, table, values):
                deque(reader.read(task), maxlen=0)
    except DamagedFile:
        return False
    return True


def replace_files(
    lake: Lake, table: Table, values: Mapping[str, str], files: Sequence[DataFile], properties: dict[str, str]
) -> None:
    """Replace the data files of a partition by `files` in one commit.

    `values` are the partition values by column. `properties` are set in the summary of the snapshot. Raise
    ConflictError if another run changed the partition meanwhile. If the commit fails, the new files stay, because the
    commit may have succeeded without a reply. Upkeep (compaction and cleaning) removes unreferenced files later.
    """
    with (
        explained(lake.settings.lake),
        table.transaction() as transaction,
        transaction.update_snapshot(snapshot_properties=properties).overwrite() as change,
    ):
        change.delete_by_predicate(_having(values))
        for standing in standing_files(lake, table, values):
            change.delete_data_file(standing.file)
        for file in files:
            change.append_data_file(file)


def remove_files(io: FileIO, files: Iterable[DataFile]) -> None:
    """Remove data files that were never committed to a table. Errors are ignored."""
    for file in files:
        with suppress(OSError):
            io.delete(file.file_path)


def _having(values: Mapping[str, str]) -> BooleanExpression:
    condition: BooleanExpression = AlwaysTrue()
    for column, value in values.items():
        condition = And(condition, EqualTo(term=Reference(column), value=literal(value)))
    return condition
