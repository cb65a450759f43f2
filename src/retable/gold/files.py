"""Rows of gold as data files, which nothing points at until they are appended.

Through Spark each row would go into the plan of a job and back out of it: that took longer than all else of an append
(docs/performance.md).
"""

import uuid

import pyarrow as pa
from pyiceberg.io import FileIO
from pyiceberg.io.pyarrow import write_file
from pyiceberg.manifest import DataFile
from pyiceberg.table import WriteTask
from pyiceberg.table.metadata import TableMetadata

_BYTES = 512 << 20


def write_rows(io: FileIO, metadata: TableMetadata, rows: pa.Table) -> list[DataFile]:
    """Write rows of a table, with all of its columns, as files of bounded size."""
    schema = metadata.schema()
    ordered = rows.select([field.name for field in schema.fields])
    size = max(1, rows.num_rows * _BYTES // max(rows.nbytes, 1))
    tasks = (
        WriteTask(uuid.uuid4(), number, schema, ordered.slice(start, size).to_batches())
        for number, start in enumerate(range(0, rows.num_rows, size))
    )
    return list(write_file(io, metadata, tasks))
