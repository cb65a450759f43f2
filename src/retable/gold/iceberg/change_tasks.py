"""Spark tasks that change a gold table: they find the rows to delete, and write data files of new rows.

They read keys and rows from an exchange (files in the table's folder), into which earlier tasks put them.
"""

from collections.abc import Iterator, Mapping
from collections.abc import Sequence as Seq
from dataclasses import dataclass

import pyarrow as pa
from pyiceberg.io import FileIO
from pyiceberg.manifest import DataFile
from pyiceberg.table.metadata import TableMetadata

from retable.gold.iceberg.data_file_writer import write_parts
from retable.gold.iceberg.locate_rows import find_rows
from retable.gold.iceberg.partition_spec import PartitionValues, part
from retable.gold.store import RemoteChange

WrittenFiles = list[tuple[PartitionValues, DataFile]]

_ROWS_A_FILE = 250_000
"""One task writes at least this many rows, if there are so many. Fewer rows would make small files."""
_FILES_A_TASK = 4
_KEYS_AT_ONCE = 500_000


@dataclass(frozen=True, slots=True)
class FindTask:
    """A task that finds the rows that `change` deletes, in the data files `paths`.

    `ids` are the Iceberg field ids of the key columns. The result has, for each file, the positions of these rows, from
    0. It has None for a file that lacks a key column.
    """

    io: FileIO
    paths: tuple[str, ...]
    ids: tuple[int, ...]
    change: RemoteChange

    def __call__(self) -> list[pa.Array | None]:
        found = [list[pa.Array | None]() for _ in self.paths]
        for names in _together(self.change.gone, _KEYS_AT_ONCE):
            keys = self.change.keys_of(names)
            for path, positions in zip(self.paths, found, strict=True):
                positions.append(find_rows(self.io, path, [*self.ids], keys))
        return [None if None in positions else pa.concat_arrays(positions) for positions in found]


@dataclass(frozen=True, slots=True)
class WriteTask:
    """A task that writes some new rows of `change` as data files.

    The rows are in the exchange of `change` (files by which tasks pass rows), under the names `names`. The result is
    the written data files, each with its partition values. A later commit adds these files to the table.
    """

    io: FileIO
    metadata: TableMetadata
    names: tuple[str, ...]
    change: RemoteChange

    def __call__(self) -> WrittenFiles:
        return write_parts(self.io, self.metadata, part(self.change.rows_of(self.names), self.metadata))


def finding(io: FileIO, paths: Seq[str], ids: Seq[int], change: RemoteChange) -> list[FindTask]:
    starts = range(0, len(paths), _FILES_A_TASK)
    return [FindTask(io, tuple(paths[at : at + _FILES_A_TASK]), tuple(ids), change) for at in starts]


def writing(io: FileIO, metadata: TableMetadata, change: RemoteChange) -> list[WriteTask]:
    return [WriteTask(io, metadata, names, change) for names in _together(change.rows, _ROWS_A_FILE)]


def _together(rows: Mapping[str, int], at_once: int) -> Iterator[tuple[str, ...]]:
    """Group names in an exchange, with their row counts, so that each group but the last has `at_once` rows or more."""
    names: list[str] = []
    count = 0
    for name, number in rows.items():
        names.append(name)
        count += number
        if count >= at_once:
            yield tuple(names)
            names, count = [], 0
    if names:
        yield tuple(names)
