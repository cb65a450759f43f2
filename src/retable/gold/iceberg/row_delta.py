"""Delete and add rows in one snapshot: write deletion vectors and data files first, then commit them together.

Arrow, in this process, finds the positions of the rows to delete. A `MERGE` finds them by a job over the keys of the
whole table, which took half of the time of a replay (docs/internals/performance.md). Iceberg, in the JVM, plans the
files and commits. If possible, the description of a file passes between Python and the JVM as JSON. This needs one call
instead of one call for each field.
"""

import json
import os
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import cache, cached_property
from typing import Any, Protocol

import pyarrow as pa
from pyiceberg.io import FileIO
from pyiceberg.manifest import DataFile as WrittenFile
from pyiceberg.table.locations import load_location_provider
from pyiceberg.table.metadata import TableMetadata
from pyroaring import BitMap64

from retable.formats.reading import Value
from retable.gold.iceberg.change_tasks import WrittenFiles, finding, writing
from retable.gold.iceberg.data_file_writer import describe, write_parts
from retable.gold.iceberg.deletion_vectors import Vector, positions_of, write_vectors
from retable.gold.iceberg.locate_rows import ends, find_rows
from retable.gold.iceberg.partition_spec import PartitionValues, Reparting, part
from retable.gold.store import RemoteChange, RowChange, RunTasks
from retable.ledger.lake.checksums import read_positions
from retable.ledger.lake.data_files import for_workers
from retable.model.schema import GoldType


@dataclass(frozen=True, slots=True)
class DataFile:
    """A data file of a table, and its deletion vector if rows of the file were deleted.

    `path` is the data file. `spec` (its partition spec) and `deletes` (the delete file with its deletion vector) are
    Java objects. `place` is the file's partition, as in Iceberg's JSON.
    """

    path: str
    spec: Any
    place: dict[str, Any]
    deletes: Any | None = None
    vector: Vector | None = None


@dataclass(frozen=True, slots=True)
class Vectors:
    """Deletion vectors of one commit, as Java objects: the new vectors, and the older vectors that they replace."""

    added: list[Any]
    replaced: list[Any]


@dataclass(frozen=True, slots=True)
class Prepared:
    """Files that a run has written and that no snapshot refers to yet.

    `vectors` are deletion vectors, `files` are data files of new rows, and `summary` is for the future snapshot.
    """

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
"""For each data file, the positions of the rows to delete, or None if the file lacks a key column; and the files that
were written with new rows."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Jvm(Protocol):
    """Spark's JVM. `java` returns a Java class, or a static member of a class, by its full name."""

    def java(self, path: str) -> Any: ...


class RowWriter:
    """Writes data files and deletion vectors of one loaded table.

    `table` is the Java table. `literal` returns the Iceberg literal of a column's value, given the column's name.
    """

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
        """Write the files of a change, for a new snapshot after the snapshot `snapshot_id`. The caller commits them.

        If `snapshot_id` is None, the table has no rows yet. `run` runs Spark tasks. `summary` is the summary of the new
        snapshot. Return None if only a Spark job can find the rows to delete.
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
        """Write the new rows as data files, and return the files as Java objects. `run` runs Spark tasks."""
        if isinstance(change, RowChange):
            written = self._written(change.rows)
        else:
            io = for_workers(self._io, self._metadata.location)
            written = [file for files in run(writing(io, self._metadata, change)) for file in files]
        return [self._data_file(file, values) for values, file in written]

    def _written(self, rows: pa.Table) -> WrittenFiles:
        return write_parts(self._io, self._metadata, part(rows, self._metadata))

    def _data_file(self, file: WrittenFile, values: PartitionValues) -> Any:
        return self._from_json(describe(file, values, self._metadata), self._table.spec())

    def _files_with(self, snapshot_id: int, keys: pa.Table) -> list[DataFile] | None:
        """Return the files that may have rows of these keys; None if a file has delete files other than one vector."""
        planned = self._table.newScan().useSnapshot(snapshot_id).filter(self._between(keys)).planFiles()
        try:
            tasks = self._iceberg("relocated.com.google.common.collect.Lists.newArrayList")(planned)
            files = [self._data_file_of(task) for task in members(tasks)]
        finally:
            planned.close()
        known = [file for file in files if file is not None]
        return known if len(known) == len(files) else None

    def _data_file_of(self, task: Any) -> DataFile | None:
        """Return the data file of a planned scan task; None if it has delete files other than one deletion vector."""
        to_json = self._iceberg("ContentFileParser.toJson")
        spec, deletes = self._only_spec or task.spec(), [*members(task.deletes())]
        facts = json.loads(to_json(deletes[0] if deletes else task.file(), spec))
        place = {name: facts[name] for name in ("spec-id", "partition") if name in facts}
        if not deletes:
            return DataFile(facts["file-path"], spec, place)
        if len(deletes) > 1 or facts["file-format"] != "puffin":
            return None
        vector = Vector(
            path=facts["file-path"],
            data_file=facts["referenced-data-file"],
            offset=facts["content-offset"],
            size=facts["content-size-in-bytes"],
            count=facts["record-count"],
        )
        return DataFile(vector.data_file, spec, place, deletes[0], vector)

    @cached_property
    def _only_spec(self) -> Any | None:
        """The table's partition spec if it never had another."""
        return self._table.spec() if len(self._metadata.partition_specs) == 1 else None

    def _between(self, keys: pa.Table) -> Any:
        """Return a filter on the value ranges of these keys. It excludes files that have none of the keys."""
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

    def _write(self, pairs: list[tuple[DataFile, pa.Array]]) -> Vectors:
        """Write a deletion vector for each data file, with its rows to delete and the rows of its former vector.

        If all these rows of a file are deleted already, the file keeps its vector.
        """
        changed: list[DataFile] = []
        deleted: dict[str, BitMap64] = {}
        for file, rows in pairs:
            former = self._positions(file.vector) if file.vector is not None else BitMap64()
            positions = former | positions_of(rows)
            if len(positions) > len(former):
                changed.append(file)
                deleted[file.path] = positions
        if not changed:
            return Vectors([], [])
        places = load_location_provider(self._metadata.location, self._metadata.properties)
        size, written = write_vectors(self._io, places.new_data_location(f"{uuid.uuid4()}-deletes.puffin"), deleted)
        added = [self._delete_file(file, vector, size) for file, vector in zip(changed, written, strict=True)]
        return Vectors(added, [file.deletes for file in changed if file.deletes is not None])

    def _positions(self, vector: Vector) -> BitMap64:
        return read_positions(self._io, vector.path, offset=vector.offset, size=vector.size, count=vector.count)

    def _delete_file(self, file: DataFile, vector: Vector, size: int) -> Any:
        """Return a vector as a Java delete file. `size` is the size of its Puffin file in bytes."""
        facts = {
            **file.place,
            "content": "position-deletes",
            "file-path": vector.path,
            "file-format": "puffin",
            "file-size-in-bytes": size,
            "record-count": vector.count,
            "referenced-data-file": file.path,
            "content-offset": vector.offset,
            "content-size-in-bytes": vector.size,
        }
        return self._from_json(facts, file.spec)

    def _from_json(self, facts: dict[str, Any], spec: Any) -> Any:
        node = self._iceberg("util.JsonUtil.mapper")().readTree(json.dumps(facts))
        return self._iceberg("ContentFileParser.fromJson")(node, spec)


@cache
def java_member(jvm: Any, path: str) -> Any:
    """Return a Java package, class or static member by its full name, from py4j's view of a JVM.

    The result is cached, because the JVM looks in all jars for a class with the name of each package.
    """
    outer, _, name = path.rpartition(".")
    return getattr(java_member(jvm, outer) if outer else jvm, name)


def type_of(jvm: Jvm, kind: GoldType) -> Any:
    """Return the Java object of the Iceberg type for a gold type."""
    return jvm.java("org.apache.iceberg.types.Types.fromPrimitiveString")(str(kind))


def literal(jvm: Jvm, value: Value, kind: GoldType) -> Any:
    """Return the Java object of an Iceberg literal with this value and this gold type."""
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
    """Change the partition spec of a Java table. The new spec applies to files that are written from now on."""
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
    """Remove all rows of a table, without reading its manifests: replace it by an empty table in the same folder."""
    table = catalog.loadTable(identifier)
    builder = catalog.buildTable(identifier, table.schema()).withPartitionSpec(table.spec())
    transaction = builder.withLocation(table.location()).replaceTransaction()
    transaction.newFastAppend().commit()
    transaction.commitTransaction()


def members(java_list: Any) -> Iterator[Any]:
    """Iterate over a Java list by index. Python's own loop would end with a Java exception, which costs 40 ms."""
    return (java_list.get(at) for at in range(java_list.size()))
