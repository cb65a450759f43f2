"""Write rows of gold as data files, and describe them for the append that adds them to the table.

Spark is not used for this, because it would put each row into the plan of a job and read it from there. That took
longer than all other work of an append (docs/internals/performance.md).
"""

import uuid
from collections.abc import Iterable, Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg.conversions import to_bytes
from pyiceberg.io import FileIO
from pyiceberg.manifest import DataFile
from pyiceberg.schema import Schema
from pyiceberg.table import WriteTask
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.types import NestedField, PrimitiveType, StringType, StructType
from pyiceberg.utils.truncate import truncate_upper_bound_text_string

from retable.gold.iceberg.partition_spec import PartitionRows, PartitionValues
from retable.ledger.lake.checksums import write_file

_BYTES = 512 << 20
_TRUNCATED = 16
"""The length of the bounds of a text, in characters."""
_METRICS = "write.metadata.metrics."
_MEASURED = "100"
"""How many columns of a table have metrics if its properties say nothing."""


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
    measured = _measured(metadata)
    written = []
    for (values, rows), file in zip(pieces, write_file(io, metadata, tasks), strict=True):
        _bound_structs(file, rows, schema)
        if measured is not None:
            _keep_metrics(file, measured)
        written.append((values, file))
    return written


def describe(file: DataFile, values: PartitionValues, metadata: TableMetadata) -> dict[str, object]:
    """Return a written file, with its partition values, as the JSON that Iceberg's `ContentFileParser` reads."""
    return {
        "spec-id": metadata.default_spec_id,
        "content": "data",
        "file-path": file.file_path,
        "file-format": "parquet",
        "partition": list(values),
        "file-size-in-bytes": file.file_size_in_bytes,
        "record-count": file.record_count,
        "column-sizes": _by_id(file.column_sizes),
        "value-counts": _by_id(file.value_counts),
        "null-value-counts": _by_id(file.null_value_counts),
        "nan-value-counts": _by_id(file.nan_value_counts),
        "lower-bounds": _by_id({number: bound.hex().upper() for number, bound in file.lower_bounds.items()}),
        "upper-bounds": _by_id({number: bound.hex().upper() for number, bound in file.upper_bounds.items()}),
        "sort-order-id": 0,
    }


def _by_id(metrics: Mapping[int, object]) -> dict[str, list[Any]]:
    return {"keys": [*metrics], "values": [*metrics.values()]}


def _bound_structs(file: DataFile, rows: pa.Table, schema: Schema) -> None:
    """Add the bounds of the fields of structs, which pyiceberg leaves out.

    With them, a reader's predicate on `_retable_sequence.hi` skips files.
    """
    for column in schema.fields:
        if isinstance(column.field_type, StructType):
            for field in column.field_type.fields:
                ends = pc.min_max(pc.struct_field(rows[column.name], field.name)).as_py()
                if ends["min"] is not None:
                    _bound(file, field, ends["min"], ends["max"])


def _bound(file: DataFile, field: NestedField, lowest: Any, highest: Any) -> None:
    assert isinstance(field.field_type, PrimitiveType)
    if isinstance(field.field_type, StringType):
        lowest, highest = lowest[:_TRUNCATED], truncate_upper_bound_text_string(highest, _TRUNCATED)
    file.lower_bounds[field.field_id] = to_bytes(field.field_type, lowest)
    if highest is not None:
        file.upper_bounds[field.field_id] = to_bytes(field.field_type, highest)


def _measured(metadata: TableMetadata) -> set[int] | None:
    """Return the IDs of the columns that get metrics, or None if all do. pyiceberg does not know Iceberg's limit.

    Iceberg gives metrics to the first columns of a wide table only, columns of structs last, and to each column that
    the table's properties name, so that the manifests stay small.
    """
    said, columns = metadata.properties, metadata.schema().fields
    limit = int(said.get(f"{_METRICS}max-inferred-column-defaults", _MEASURED))
    inside = [
        field for column in columns if isinstance(column.field_type, StructType) for field in column.field_type.fields
    ]
    leaves = [*(column for column in columns if isinstance(column.field_type, PrimitiveType)), *inside]
    if f"{_METRICS}default" in said or len(leaves) <= limit:
        return None
    own = (f for f in leaves if f"{_METRICS}column.{metadata.schema().find_column_name(f.field_id)}" in said)
    return {field.field_id for field in (*leaves[:limit], *own)}


def _keep_metrics(file: DataFile, measured: set[int]) -> None:
    counts = (file.column_sizes, file.value_counts, file.null_value_counts, file.nan_value_counts)
    for metrics in (*counts, file.lower_bounds, file.upper_bounds):
        for number in metrics.keys() - measured:
            del metrics[number]
