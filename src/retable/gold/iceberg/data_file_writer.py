"""Write rows of gold as data files. A later append adds the files to the table.

Spark is not used for this, because it would put each row into the plan of a job and read it from there. That took
longer than all other work of an append (docs/internals/performance.md).
"""

import uuid
from collections.abc import Iterable

import pyarrow as pa
from pyiceberg.io import FileIO
from pyiceberg.manifest import DataFile
from pyiceberg.table import WriteTask
from pyiceberg.table.metadata import TableMetadata

from retable.gold.iceberg.partition_spec import PartitionRows, PartitionValues
from retable.ledger.lake.checksums import write_file

_BYTES = 512 << 20


def write_parts(
    io: FileIO, metadata: TableMetadata, parts: Iterable[PartitionRows]
) -> list[tuple[PartitionValues, DataFile]]:
    """Write the rows of each Iceberg partition in `parts` as data files of about 512 MiB of Arrow data at most.

    The rows have all columns of the table that `metadata` describes. Return each file with its partition values.
    """
    schema = metadata.schema()
    pieces: list[tuple[PartitionValues, pa.Table]] = []
    for part in parts:
        rows = part.rows.select([field.name for field in schema.fields])
        size = max(1, rows.num_rows * _BYTES // max(rows.nbytes, 1))
        pieces += [(part.values, rows.slice(start, size)) for start in range(0, rows.num_rows, size)]
    tasks = (WriteTask(uuid.uuid4(), at, schema, rows.to_batches()) for at, (_, rows) in enumerate(pieces))
    return [(values, file) for (values, _), file in zip(pieces, write_file(io, metadata, tasks), strict=True)]
