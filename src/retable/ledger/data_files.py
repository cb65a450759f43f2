"""Rows of a system table as data files: written where they are made, then committed together.

Spark's own writer would take each row back into the JVM, sort it there and write it: that costs several times what
decoding does (docs/performance.md).
"""

import uuid
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

import pyarrow as pa
from pyiceberg.expressions import AlwaysTrue, And, BooleanExpression, EqualTo, Reference
from pyiceberg.expressions.literals import literal
from pyiceberg.io import FileIO
from pyiceberg.io.pyarrow import write_file
from pyiceberg.manifest import DataFile
from pyiceberg.partitioning import PartitionFieldValue, PartitionKey
from pyiceberg.table import Table, WriteTask
from pyiceberg.table.metadata import TableMetadata

from retable.ledger.catalog import Lake
from retable.ledger.faults import explained


@dataclass(frozen=True, slots=True)
class PartitionWriter:
    """Writes data files of one system table, on whatever machine it is pickled to."""

    io: FileIO
    metadata: TableMetadata

    def write(self, rows: pa.Table, values: Mapping[str, str]) -> DataFile:
        """Write rows of the partition that has these values as one file, which nothing points at yet."""
        schema, spec = self.metadata.schema(), self.metadata.spec()
        fields = [PartitionFieldValue(field=field, value=values[field.name]) for field in spec.fields]
        key = PartitionKey(field_values=fields, partition_spec=spec, schema=schema)
        task = WriteTask(
            write_uuid=uuid.uuid4(), task_id=0, schema=schema, record_batches=rows.to_batches(), partition_key=key
        )
        (file,) = write_file(self.io, self.metadata, iter([task]))
        return file


def standing_files(lake: Lake, table: Table, values: Mapping[str, str]) -> list[DataFile]:
    """The data files that hold the rows with these values in the table's partition columns."""
    with explained(lake.settings.lake):
        return [task.file for task in table.scan(row_filter=_having(values)).plan_files()]


def replace_files(
    lake: Lake, table: Table, values: Mapping[str, str], files: Sequence[DataFile], properties: dict[str, str]
) -> None:
    """Put these files in place of a partition, in one commit; ConflictError where another run changed it meanwhile.

    Files of a commit that failed stay where they are, for upkeep to find: a reply that was lost is no failure.
    """
    with (
        explained(lake.settings.lake),
        table.transaction() as transaction,
        transaction.update_snapshot(snapshot_properties=properties).overwrite() as change,
    ):
        change.delete_by_predicate(_having(values))
        for file in standing_files(lake, table, values):
            change.delete_data_file(file)
        for file in files:
            change.append_data_file(file)


def remove_files(io: FileIO, files: Iterable[DataFile]) -> None:
    """Remove files that no table ever pointed at."""
    for file in files:
        with suppress(OSError):
            io.delete(file.file_path)


def _having(values: Mapping[str, str]) -> BooleanExpression:
    condition: BooleanExpression = AlwaysTrue()
    for column, value in values.items():
        condition = And(condition, EqualTo(term=Reference(column), value=literal(value)))
    return condition
