"""Delete and add rows in one snapshot: write deletion vectors and data files first, then commit them together.

Iceberg's own writer, in the JVM, writes the vectors. Arrow, in this process, finds the positions. A `MERGE` finds them
by a job over the keys of the whole table, which took half of the time of a replay (docs/internals/performance.md).
"""

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any, Protocol

import pyarrow as pa
from pyiceberg.io import FileIO
from pyiceberg.manifest import DataFile as WrittenFile
from pyiceberg.table.metadata import TableMetadata

from retable.formats.reading import Value
from retable.gold.iceberg.change_tasks import WrittenFiles, finding, writing
from retable.gold.iceberg.data_file_writer import write_parts
from retable.gold.iceberg.locate_rows import ends, find_rows
from retable.gold.iceberg.partition_spec import PartitionValues, Reparting, part
from retable.gold.store import RemoteChange, RowChange, RunTasks
from retable.ledger.lake.checksums import read_vector
from retable.ledger.lake.data_files import for_workers
from retable.model.schema import GoldType


@dataclass(frozen=True, slots=True)
class DataFile:
    """A data file of a table, with its partition and the delete files in the JVM that apply to it."""

    path: str
    deletes: tuple[Any, ...]
    spec: Any
    partition: Any


@dataclass(frozen=True, slots=True)
class Vectors:
    """Deletion vectors in the JVM: new ones, and those that they replace."""

    added: list[Any]
    replaced: list[Any]


@dataclass(frozen=True, slots=True)
class Prepared:
    """Files that a run has written and no snapshot refers to yet, and the summary of the future snapshot."""

    vectors: Vectors
    files: list[Any]
    summary: dict[str, str]

    def add_to(self, change: Any) -> None:
        for name, value in self.summary.items():
            change.set(name, value)
        for vector in self.vectors.added:
            change.addDeletes(vector)
        for vector in self.vectors.replaced:
            change.removeDeletes(vector)
        for file in self.files:
            change.addRows(file)
        change.commit()


Found = tuple[list[pa.Array | None], WrittenFiles]
"""The rows to delete of each data file, None if a file lacks a key column, and the files that were written."""

_NULL = "__HIVE_DEFAULT_PARTITION__"
"""Iceberg's builder of files reads this partition value as null; a row may contain the same text."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Jvm(Protocol):
    """Spark's JVM: its gateway, and its classes and their static members by name."""

    @property
    def gateway(self) -> Any: ...

    def java(self, path: str) -> Any: ...


class RowWriter:
    """Write files of one loaded table. `literal` makes an Iceberg literal of the value of a named column."""

    def __init__(
        self, jvm: Jvm, table: Any, metadata: TableMetadata, io: FileIO, literal: Callable[[str, Value], Any]
    ) -> None:
        self._jvm = jvm
        self._table = table
        self._metadata = metadata
        self._io = io
        self._literal = literal

    def _iceberg(self, path: str) -> Any:
        return self._jvm.java(f"org.apache.iceberg.{path}")

    def prepare(
        self, snapshot_id: int | None, change: RowChange | RemoteChange, run: RunTasks[Any], summary: dict[str, str]
    ) -> Prepared | None:
        """Write the files of a snapshot on top of `snapshot_id`; None if the rows to delete cannot be found here.

        Without a snapshot the table has no rows yet. `run` runs tasks.
        """
        edges = change.edges if isinstance(change, RemoteChange) else change.gone
        found = [] if snapshot_id is None or not edges.num_rows else self._files_with(snapshot_id, edges)
        if found is None:
            return None
        paths, ids = [file.path for file in found], self._ids(edges.column_names)
        if isinstance(change, RemoteChange):
            positions, written = self._find_by_tasks(paths, ids, change, run)
        else:
            positions, written = self._find(paths, ids, change)
        if any(rows is None for rows in positions):
            for _, file in written:
                self._io.delete(file.file_path)
            return None
        pairs = [(file, rows) for file, rows in zip(found, positions, strict=True) if rows is not None and len(rows)]
        return Prepared(self._write(pairs), [self._data_file(file, values) for values, file in written], summary)

    def _find(self, paths: list[str], ids: list[int], change: RowChange) -> Found:
        """Find the rows to delete, with a thread for each file, and write the new rows at the same time."""
        with ThreadPoolExecutor(1) as executor, ThreadPoolExecutor(os.cpu_count()) as threads:
            writing = executor.submit(self._written, change.rows)
            found = list(threads.map(lambda path: find_rows(self._io, path, ids, change.gone), paths))
        return found, writing.result()

    def _find_by_tasks(self, paths: list[str], ids: list[int], change: RemoteChange, run: RunTasks[Any]) -> Found:
        io = for_workers(self._io, self._metadata.location)
        find = finding(io, paths, ids, change)
        results = run([*find, *writing(io, self._metadata, change)])
        positions = [rows for result in results[: len(find)] for rows in result]
        return positions, [file for result in results[len(find) :] for file in result]

    def _ids(self, names: list[str]) -> list[int]:
        return [self._metadata.schema().find_field(name).field_id for name in names]

    def data_files(self, change: RowChange | RemoteChange, run: RunTasks[Any]) -> list[Any]:
        """Write the new rows as data files; `run` runs tasks."""
        if isinstance(change, RowChange):
            written = self._written(change.rows)
        else:
            io = for_workers(self._io, self._metadata.location)
            written = [file for files in run(writing(io, self._metadata, change)) for file in files]
        return [self._data_file(file, values) for values, file in written]

    def _written(self, rows: pa.Table) -> WrittenFiles:
        return write_parts(self._io, self._metadata, part(rows, self._metadata))

    def _data_file(self, file: WrittenFile, values: PartitionValues) -> Any:
        found = self._table.io().newInputFile(file.file_path, file.file_size_in_bytes)
        kept = self._iceberg("MetricsConfig.forTable")(self._table)
        metrics = self._iceberg("parquet.ParquetUtil.fileMetrics")(found, kept)
        builder = self._iceberg("DataFiles.builder")(self._table.spec()).withInputFile(found)
        if values:
            partition_values = self._jvm.java("java.util.ArrayList")()
            for value in values:
                partition_values.add(_NULL if value is None else value)
            builder = builder.withPartitionValues(partition_values)
        built = builder.withFormat("PARQUET").withMetrics(metrics).build()
        for at, value in enumerate(values):
            if value == _NULL:
                built.partition().set(at, value)
        return built

    def _files_with(self, snapshot_id: int, keys: pa.Table) -> list[DataFile] | None:
        """The files that may have rows of these keys; None if rows were deleted by other means than vectors."""
        files = list(self._files(snapshot_id, self._between(keys)))
        is_vector = self._iceberg("util.ContentFileUtil.isDV")
        return files if all(is_vector(each) for file in files for each in file.deletes) else None

    def _between(self, keys: pa.Table) -> Any:
        """A filter on the ranges of these keys; it leaves out files that have none of them."""
        predicate, both = (
            self._iceberg("expressions.Expressions.predicate"),
            self._iceberg("expressions.Expressions.and"),
        )
        where = self._iceberg("expressions.Expressions.alwaysTrue")()
        for name, lowest, highest in ends(keys):
            for compared, end in (("GT_EQ", lowest), ("LT_EQ", highest)):
                operation = self._iceberg(f"expressions.Expression.Operation.{compared}")
                where = both(where, predicate(operation, name, self._literal(name, end)))
        return where

    def _files(self, snapshot_id: int, where: Any) -> Iterator[DataFile]:
        tasks = self._table.newScan().useSnapshot(snapshot_id).filter(where).planFiles()
        try:
            each = tasks.iterator()
            while each.hasNext():
                task = each.next()
                file = task.file()
                yield DataFile(str(file.location()), tuple(members(task.deletes())), task.spec(), file.partition())
        finally:
            tasks.close()

    def _write(self, pairs: list[tuple[DataFile, pa.Array]]) -> Vectors:
        if not pairs:
            return Vectors([], [])
        before = self._jvm.java("java.util.HashMap")()
        writer = self._iceberg("deletes.BaseDVFileWriter")(self._outputs(), self._lookup(before))
        for file, rows in pairs:
            former = [self._former(vector) for vector in file.deletes]
            index = self._index(rows)
            known = sum(each.cardinality() for each in former)
            for each in former:
                index.merge(each)
                before.put(file.path, each)
            if index.cardinality() > known:
                writer.delete(file.path, index, file.spec, file.partition)
        writer.close()
        result = writer.result()
        return Vectors(list(members(result.deleteFiles())), list(members(result.rewrittenDeleteFiles())))

    def _outputs(self) -> Any:
        factory = self._iceberg("io.OutputFileFactory.builderFor")(self._table, 0, 0)
        return factory.format(self._iceberg("FileFormat.PUFFIN")).build()

    def _lookup(self, entries: Any) -> Any:
        """A Java function that looks into a map: Python can make one through Scala."""
        scala_map = self._jvm.java("scala.jdk.javaapi.CollectionConverters.asScala")(entries)
        return self._jvm.java("scala.jdk.javaapi.FunctionConverters.asJavaFunction")(scala_map.withDefaultValue(None))

    def _index(self, rows: pa.Array) -> Any:
        """The positions as a bitmap in the JVM, sent as bytes: one call for each position would be slow."""
        numbers = rows.cast(pa.int64()).to_numpy(zero_copy_only=False).astype("<i8").tobytes()
        order = self._jvm.java("java.nio.ByteOrder.LITTLE_ENDIAN")
        buffer = self._jvm.java("java.nio.ByteBuffer.wrap")(numbers).order(order).asLongBuffer()
        array = self._jvm.gateway.new_array(self._jvm.gateway.jvm.long, len(rows))
        buffer.get(array)
        boxed = self._jvm.java("java.util.Arrays.stream")(array).boxed().toList()
        nothing = self._iceberg("io.CloseableIterable.empty")()
        several = self._iceberg("io.CloseableIterable.combine")(boxed, nothing)
        return self._iceberg("deletes.Deletes.toPositionIndex")(several)

    def _former(self, vector: Any) -> Any:
        content = read_vector(
            self._io, str(vector.location()), int(vector.contentOffset()), int(vector.contentSizeInBytes())
        )
        return self._iceberg("deletes.PositionDeleteIndex.deserialize")(content, vector)


def type_of(jvm: Jvm, kind: GoldType) -> Any:
    """The Iceberg type in the JVM for a gold type."""
    return jvm.java("org.apache.iceberg.types.Types.fromPrimitiveString")(str(kind))


def literal(jvm: Jvm, value: Value, kind: GoldType) -> Any:
    """An Iceberg literal of a column's type."""
    java: object = value
    match value, kind.kind:
        case Decimal(), _:
            java = jvm.java("java.math.BigDecimal")(str(value))
        case bytes(), _:
            java = jvm.java("java.nio.ByteBuffer.wrap")(value)
        case int(), "timestamp" | "timestamptz":
            text = (_EPOCH + timedelta(microseconds=value)).isoformat()
            java = text if kind.kind == "timestamptz" else text.removesuffix("+00:00")
    return jvm.java("org.apache.iceberg.expressions.Expressions.lit")(java).to(type_of(jvm, kind))


def repart(jvm: Jvm, table: Any, change: Reparting) -> None:
    """Change the partition spec of a table; it applies to files that are written from now on."""
    of, update = jvm.java("org.apache.iceberg.expressions.Expressions"), table.updateSpec()
    for name in change.gone:
        update.removeField(name)
    for column, field in change.fresh:
        if field.transform == "identity":
            term = of.ref(column)
        else:
            term = getattr(of, field.transform)(*([column] if field.width is None else [column, field.width]))
        update.addField(f"{field.column}_{field.transform}", term)
    update.commit()


def empty(catalog: Any, identifier: Any) -> None:
    """Replace a table by one without rows, in the same folder and with the same columns; read no list of its files."""
    table = catalog.loadTable(identifier)
    builder = catalog.buildTable(identifier, table.schema()).withPartitionSpec(table.spec())
    transaction = builder.withLocation(table.location()).replaceTransaction()
    transaction.newFastAppend().commit()
    transaction.commitTransaction()


def members(java_list: Any) -> Iterator[Any]:
    """Iterate over a JVM list: Python's own loop ends with an exception in the JVM, which costs 40 ms."""
    return (java_list.get(at) for at in range(java_list.size()))
