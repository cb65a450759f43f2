"""Rows that go and rows that come as one change of a table: deletion vectors and data files, written beside it.

Iceberg's own writer, in the JVM, makes the vectors; which rows they name is found by Arrow in this process. A `MERGE`
found them by a job over the keys of the whole table: that took half of the time of a replay (docs/performance.md).
"""

import os
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyiceberg.io import load_file_io
from pyiceberg.table.metadata import TableMetadataUtil

from retable.decode.values import Value
from retable.gold.files import write_rows
from retable.gold.key_rows import can_find, ends, find_rows


@dataclass(frozen=True, slots=True)
class DataFile:
    """A data file of a table, with the files in the JVM that delete rows of it."""

    path: str
    deletes: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Vectors:
    """Deletion vectors in the JVM: those that come, and those that they replace."""

    added: list[Any]
    replaced: list[Any]


@dataclass(frozen=True, slots=True)
class Prepared:
    """Files that nothing points at yet: what a run has written, and what its snapshot says of it."""

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


class RowWriter:
    """Writes files of one loaded table. `literal` makes a value of a named column one of the JVM."""

    def __init__(self, gateway: Any, table: Any, io: Mapping[str, Any], literal: Callable[[str, Value], Any]) -> None:
        self._gateway = gateway
        self._jvm = gateway.jvm
        self._api = gateway.jvm.org.apache.iceberg
        self._table = table
        self._literal = literal
        metadata = str(self._api.TableMetadataParser.toJson(table.operations().current()))
        self._metadata = TableMetadataUtil.parse_raw(metadata)
        self._io = load_file_io(dict(io), self._metadata.location)

    def prepare(
        self, snapshot_id: int, keys: pa.Table | None, rows: pa.Table, summary: dict[str, str]
    ) -> Prepared | None:
        """Write what a snapshot on top of this one needs; None where the rows of `keys` cannot be found here."""
        vectors = Vectors([], []) if keys is None else self._vectors(snapshot_id, keys)
        return None if vectors is None else Prepared(vectors, self.data_files(rows), summary)

    def data_files(self, rows: pa.Table) -> list[Any]:
        """Write rows, with all columns of the table, as data files."""
        files = []
        for file in write_rows(self._io, self._metadata, rows) if rows.num_rows else ():
            found = self._table.io().newInputFile(file.file_path, file.file_size_in_bytes)
            metrics = self._api.parquet.ParquetUtil.fileMetrics(found, self._api.MetricsConfig.forTable(self._table))
            builder = self._api.DataFiles.builder(self._table.spec()).withInputFile(found)
            files.append(builder.withFormat("PARQUET").withMetrics(metrics).build())
        return files

    def _vectors(self, snapshot_id: int, keys: pa.Table) -> Vectors | None:
        """Find the rows that equal a row of `keys` in its columns, and write vectors that delete them.

        None: by floats, by NULL in a key of several columns, in a file without a key's column, and where rows were
        deleted in another way than by vectors.
        """
        if not can_find(keys):
            return None
        ids = [self._metadata.schema().find_field(name).field_id for name in keys.column_names]
        files = list(self._files(snapshot_id, self._between(keys)))
        if any(not self._api.util.ContentFileUtil.isDV(each) for file in files for each in file.deletes):
            return None
        with ThreadPoolExecutor(os.cpu_count()) as threads:
            found = list(threads.map(lambda file: find_rows(self._io, file.path, ids, keys), files))
        pairs = [(file, rows) for file, rows in zip(files, found, strict=True) if rows is not None]
        return self._write([pair for pair in pairs if len(pair[1])]) if len(pairs) == len(files) else None

    def _between(self, keys: pa.Table) -> Any:
        """What is true for all of these keys, by their ranges: files that hold none of them are left out by it."""
        expressions = self._api.expressions.Expressions
        operation, both = self._api.expressions.Expression.Operation, getattr(expressions, "and")
        where = expressions.alwaysTrue()
        for name, lowest, highest in ends(keys):
            for compared, end in ((operation.GT_EQ, lowest), (operation.LT_EQ, highest)):
                where = both(where, expressions.predicate(compared, name, self._literal(name, end)))
        return where

    def _files(self, snapshot_id: int, where: Any) -> Iterator[DataFile]:
        tasks = self._table.newScan().useSnapshot(snapshot_id).filter(where).planFiles()
        try:
            each = tasks.iterator()
            while each.hasNext():
                task = each.next()
                yield DataFile(str(task.file().location()), tuple(task.deletes()))
        finally:
            tasks.close()

    def _write(self, pairs: list[tuple[DataFile, pa.Array]]) -> Vectors:
        before = self._jvm.java.util.HashMap()
        writer = self._api.deletes.BaseDVFileWriter(self._outputs(), self._lookup(before))
        for file, rows in pairs:
            former = [self._former(vector) for vector in file.deletes]
            index = self._index(rows)
            known = sum(each.cardinality() for each in former)
            for each in former:
                index.merge(each)
                before.put(file.path, each)
            if index.cardinality() > known:
                writer.delete(file.path, index, self._table.spec(), None)
        writer.close()
        result = writer.result()
        return Vectors(list(result.deleteFiles()), list(result.rewrittenDeleteFiles()))

    def _outputs(self) -> Any:
        factory = self._api.io.OutputFileFactory.builderFor(self._table, 0, 0)
        return factory.format(self._api.FileFormat.PUFFIN).build()

    def _lookup(self, entries: Any) -> Any:
        """A function of Java that looks into a map: Scala has one that Python can make."""
        scala = self._jvm.scala.jdk.javaapi
        return scala.FunctionConverters.asJavaFunction(
            scala.CollectionConverters.asScala(entries).withDefaultValue(None)
        )

    def _index(self, rows: pa.Array) -> Any:
        """Rows as the JVM's set of positions, sent as bytes: one call for each would take its time."""
        java = self._jvm.java
        numbers = rows.cast(pa.int64()).to_numpy(zero_copy_only=False).astype("<i8").tobytes()
        buffer = java.nio.ByteBuffer.wrap(numbers).order(java.nio.ByteOrder.LITTLE_ENDIAN).asLongBuffer()
        array = self._gateway.new_array(self._jvm.long, len(rows))
        buffer.get(array)
        boxed = java.util.Arrays.stream(array).boxed().toList()
        several = self._api.io.CloseableIterable
        return self._api.deletes.Deletes.toPositionIndex(several.combine(boxed, several.empty()))

    def _former(self, vector: Any) -> Any:
        with self._io.new_input(str(vector.location())).open() as stream:
            stream.seek(int(vector.contentOffset()))
            content = stream.read(int(vector.contentSizeInBytes()))
        return self._api.deletes.PositionDeleteIndex.deserialize(content, vector)
