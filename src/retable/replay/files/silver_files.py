"""Read row events from the data files of silver without Spark, in the driver or in a task."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import chain, groupby

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg.expressions import AlwaysTrue
from pyiceberg.io import FileIO
from pyiceberg.io.pyarrow import ArrowScan
from pyiceberg.table import FileScanTask
from pyiceberg.table.metadata import TableMetadata

from retable.gold.store import WindowRows
from retable.ledger.lake.checksums import open_parquet
from retable.ledger.lake.damage import check_rows
from retable.ledger.lake.tables import SILVER
from retable.model.event import TableName
from retable.replay.batch.row_kinds import Flags
from retable.replay.batch.silver_rows import ROW_COLUMNS
from retable.replay.files.row_choice import NAME, OfTable, OtherTables, RowChoice, group_ends

_FILES_AT_ONCE = 4
"""The number of files that are read at once. In memory, a file takes 64 MB or, if upkeep wrote it, up to 256 MB."""


@dataclass(frozen=True, slots=True)
class SilverFiles:
    """Row events in some files of silver. It implements `WindowRows`, and can be sent to a task."""

    io: FileIO
    metadata: TableMetadata
    files: tuple[FileScanTask, ...]

    def counts(self) -> Mapping[TableName, int]:
        counted = chain.from_iterable(map(self._counts, self.files))
        found: Counter[TableName] = Counter()
        for (database, schema, table), count in counted:
            if database is not None and table:
                found[TableName(database, schema, table)] += count
        return found

    def pieces(self, count: int) -> list[WindowRows]:
        count = max(count, -(-len(self.files) // _FILES_AT_ONCE))
        return [replace(self, files=self.files[at::count]) for at in range(min(count, len(self.files)))]

    def read(self, table: TableName, hashes: tuple[int, int] | None = None, without: Collection[str] = ()) -> pa.Table:
        return self.chosen(OfTable(table, hashes), [name for name in ROW_COLUMNS if name not in without])

    def read_others(self, tables: Collection[TableName], without: Collection[str] = ()) -> pa.Table:
        return self.chosen(OtherTables(frozenset(tables)), [name for name in ROW_COLUMNS if name not in without])

    def chosen(self, choice: RowChoice, columns: Collection[str]) -> pa.Table:
        """Return the rows of the files that `choice` chooses, with these columns."""
        # Do not use the threads of pyiceberg: its scan of a file with deletes waits for a free one of them.
        with ThreadPoolExecutor(_FILES_AT_ONCE) as threads:
            found = threads.map(lambda task: self._chosen(task, choice, columns), self.files)
            return pa.concat_tables([_typed(pa.table({}), columns), *found])

    def _counts(self, task: FileScanTask) -> list[tuple[tuple[str | None, ...], int]]:
        """Return the numbers of rows in a file by table name. A name may occur several times.

        Row groups whose statistics show that they have only one table name are not read.
        """
        if task.delete_files:
            return _counted(self._without_deleted(task, NAME))
        found, mixed = [], []
        with self._open(task) as file:
            for at in range(file.num_row_groups):
                ends = group_ends(group := file.metadata.row_group(at), NAME)
                if len(ends) == len(NAME) and all(each.is_all(each.lowest) for each in ends.values()):
                    found.append((tuple(ends[name].lowest for name in NAME), group.num_rows))
                else:
                    mixed.append(at)
            return found + _counted(_read(file, task, mixed, NAME))

    def _chosen(self, task: FileScanTask, choice: RowChoice, columns: Collection[str]) -> pa.Table:
        if task.delete_files:
            rows = self._without_deleted(task, [*dict.fromkeys([*columns, *choice.looks_at])])
            return rows.filter(pa.array(choice.takes(rows))).select(columns)
        with self._open(task) as file:
            ends = [group_ends(file.metadata.row_group(at), choice.looks_at) for at in range(file.num_row_groups)]
            wanted = [at for at, mine in enumerate(ends) if choice.may_take(mine)]
            flags = _taken(file, task, [at for at in wanted if not choice.takes_all(ends[at])], choice)
            wanted = [at for at in wanted if at not in flags or flags[at].any()]
            found = [_typed(pa.table({}), columns)]
            for is_whole, run in groupby(wanted, lambda at: at not in flags or bool(flags[at].all())):
                # If only some rows of a row group are chosen, only one row group is in memory at a time.
                for groups in [[*run]] if is_whole else [[at] for at in run]:
                    rows = _read(file, task, groups, columns)
                    found.append(rows if is_whole else rows.filter(pa.array(flags[groups[0]])))
            return pa.concat_tables(found)

    @contextmanager
    def _open(self, task: FileScanTask) -> Iterator[pq.ParquetFile]:
        with open_parquet(self.io, task.file.file_path) as file:
            check_rows(task.file.file_path, file.metadata.num_rows, task.file.record_count)
            yield file

    def _without_deleted(self, task: FileScanTask, names: Collection[str]) -> pa.Table:
        schema = self.metadata.schema().select(*names)
        return _typed(ArrowScan(self.metadata, self.io, schema, AlwaysTrue()).to_table([task]), names)


def _counted(names: pa.Table) -> list[tuple[tuple[str | None, ...], int]]:
    records = names.group_by([*NAME]).aggregate([([], "count_all")]).to_pylist()
    return [(tuple(record[part] for part in NAME), record["count_all"]) for record in records]


def _taken(file: pq.ParquetFile, task: FileScanTask, groups: list[int], choice: RowChoice) -> dict[int, Flags]:
    """Return, by row group, a flag for each row: whether `choice` chooses it."""
    if not groups:
        return {}
    flags = choice.takes(_read(file, task, groups, choice.looks_at))
    ends = np.cumsum([file.metadata.row_group(at).num_rows for at in groups])
    return dict(zip(groups, np.split(flags, ends[:-1]), strict=True))


def _read(file: pq.ParquetFile, task: FileScanTask, groups: list[int], names: Collection[str]) -> pa.Table:
    rows = _typed(file.read_row_groups(groups, columns=[*names], use_threads=False), names)
    check_rows(task.file.file_path, rows.num_rows, sum(file.metadata.row_group(at).num_rows for at in groups))
    return rows


def _typed(rows: pa.Table, names: Iterable[str]) -> pa.Table:
    """Return these columns with the types of silver. A column that the file does not have yet is null."""
    kinds = {name: SILVER.columns.field(name).type for name in names}
    there = {*rows.column_names}
    found = [rows[name].cast(kind) if name in there else pa.nulls(len(rows), kind) for name, kind in kinds.items()]
    return pa.table(found, names=[*kinds])
