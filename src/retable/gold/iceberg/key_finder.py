"""Find rows of a gold table by their keys with Arrow. Spark tasks use this, because they have no Spark session."""

from collections.abc import Iterator
from collections.abc import Sequence as Seq
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyiceberg.io import FileIO
from pyiceberg.io.pyarrow import schema_to_pyarrow
from pyiceberg.table import FileScanTask
from pyiceberg.table.metadata import TableMetadata

from retable.fold.fold import Values
from retable.gold.iceberg.locate_rows import find_rows, place_of
from retable.gold.rows import arrow_type, sequence_type, to_keys, to_values
from retable.gold.state import SEQUENCE_COLUMN
from retable.gold.store import Columns, CurrentRow, NotHere
from retable.ledger.lake.checksums import deleted_rows, open_parquet
from retable.model.sequence import Sequence


@dataclass(frozen=True, slots=True)
class FileFinder:
    """Implements `retable.gold.store.KeyFinder` with Arrow: finds rows in the data files of one snapshot of a table."""

    io: FileIO
    metadata: TableMetadata
    files: tuple[FileScanTask, ...]

    def matching(self, columns: Columns, on: list[int], keys: Seq[Values]) -> list[CurrentRow]:
        wanted = to_keys(keys, [columns[at] for at in on])
        ids = [self._id(columns[at][0]) for at in on]
        return [row for file in self.files for row in self._matching(file, columns, ids, wanted)]

    def parts(self, columns: Columns, keys: pa.Table) -> pa.Table:
        ids = [self._id(name) for name, _ in columns]
        found = [keys.slice(0, 0).append_column("part", pa.array([], pa.string()))]
        for file in self.files:
            if len(places := self._places(file, ids, keys)):
                found.append(self._parts(file, ids, keys.schema, places))
        return pa.concat_tables(found)

    def of_keys(self, columns: list[str], keys: pa.Table) -> pa.Table:
        kinds = schema_to_pyarrow(self.metadata.schema(), include_field_ids=False)
        found = [pa.schema([kinds.field(name) for name in columns]).empty_table()]
        ids, wanted = [self._id(name) for name in keys.column_names], [self._id(name) for name in columns]
        for file in self.files:
            if len(places := self._places(file, ids, keys)):
                found.append(self._values(file, wanted, found[0].schema, places))
        return pa.concat_tables(found)

    def _id(self, name: str) -> int:
        return self.metadata.schema().find_field(name).field_id

    def _matching(self, file: FileScanTask, columns: Columns, ids: list[int], wanted: pa.Table) -> Iterator[CurrentRow]:
        places = self._places(file, ids, wanted)
        if not len(places):
            return
        rows = self._read(file.file.file_path, columns, places)
        sequences = rows[SEQUENCE_COLUMN].combine_chunks()
        members = [pc.struct_field(sequences, name).to_pylist() for name in ("epoch", "hi", "lo")]
        parts = pc.struct_field(sequences, "part").to_pylist()
        values = to_values(rows.select([name for name, _ in columns]))
        for row, part, epoch, hi, lo in zip(values, parts, *members, strict=True):
            yield CurrentRow(row, Sequence(epoch, int(hi), lo), part)

    def _places(self, file: FileScanTask, ids: list[int], wanted: pa.Table) -> np.ndarray:
        """Return the positions of the rows of a file that have one of these keys and are not deleted."""
        found = find_rows(self.io, file.file.file_path, ids, wanted)
        if found is None:
            raise NotHere(f"only a Spark job finds keys in {file.file.file_path}")
        places = np.asarray(found)
        return places[~np.isin(places, deleted_rows(self.io, file))] if file.delete_files else places

    def _values(self, file: FileScanTask, ids: list[int], kinds: pa.Schema, places: np.ndarray) -> pa.Table:
        with open_parquet(self.io, file.file.file_path) as opened:
            schema = opened.schema_arrow
            there = [place_of(schema, at) for at in ids]
            if None in there:
                raise NotHere(f"{file.file.file_path} is older than a column")
            names = [schema.field(at).name for at in there]
            return _taken(opened, names, places).select(names).rename_columns(kinds.names).cast(kinds)

    def _parts(self, file: FileScanTask, ids: list[int], key: pa.Schema, places: np.ndarray) -> pa.Table:
        """Return the keys and the source partitions of the rows at these positions of a file."""
        with open_parquet(self.io, file.file.file_path) as opened:
            schema = opened.schema_arrow
            *names, sequence = (schema.field(place_of(schema, at)).name for at in (*ids, self._id(SEQUENCE_COLUMN)))
            rows = _taken(opened, [*names, f"{sequence}.part"], places)
        found = rows.select(names).rename_columns(key.names).cast(key)
        parts = pa.nulls(rows.num_rows, pa.string())
        if sequence in rows.column_names:
            parts = pc.struct_field(rows[sequence], "part").cast(pa.string())
        return found.append_column("part", parts)

    def _read(self, path: str, columns: Columns, places: np.ndarray) -> pa.Table:
        """Read the rows at these positions of a file. A column that is newer than the file gets its default."""
        wanted = [(name, arrow_type(kind)) for name, kind in columns]
        wanted.append((SEQUENCE_COLUMN, sequence_type(with_part=True)))
        with open_parquet(self.io, path) as file:
            named = {name: place_of(file.schema_arrow, self._id(name)) for name, _ in wanted}
            there = [file.schema_arrow.field(at).name for at in named.values() if at is not None]
            rows = _taken(file, there, places)
            found = []
            for name, kind in wanted:
                at = named[name]
                found.append(
                    self._default(name, kind, rows.num_rows)
                    if at is None
                    else _as(rows[file.schema_arrow.field(at).name], kind)
                )
        return pa.table(found, names=[name for name, _ in wanted])

    def _default(self, name: str, kind: pa.DataType, count: int) -> pa.Array:
        """Return `count` times the value that a column has in rows from before the column was added."""
        field = self.metadata.schema().find_field(name)
        value = pa.scalar(field.initial_default, schema_to_pyarrow(field.field_type, include_field_ids=False))
        return pa.repeat(value, count).cast(kind)


def _taken(file: pq.ParquetFile, names: list[str], places: np.ndarray) -> pa.Table:
    """Read the rows at these positions of a file. `places` must not be empty."""
    pieces, start = [], 0
    for group in range(file.num_row_groups):
        end = start + file.metadata.row_group(group).num_rows
        mine = places[(places >= start) & (places < end)] - start
        if len(mine):
            pieces.append(file.read_row_group(group, columns=names).take(pa.array(mine)))
        start = end
    return pa.concat_tables(pieces)


def _as(column: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    """Cast a column of a file to its present type. Members that a struct in an old file lacks become null."""
    if not pa.types.is_struct(kind):
        return column.cast(kind)
    there = {field.name for field in column.type}
    members = [
        pc.struct_field(column, field.name).combine_chunks().cast(field.type)
        if field.name in there
        else pa.nulls(len(column), field.type)
        for field in kind
    ]
    return pa.chunked_array([pa.StructArray.from_arrays(members, fields=list(kind))])
