"""What a replay needs of whoever holds rows and tables: Spark and Iceberg in the JVM, or a test's own memory."""

from collections.abc import Callable, Collection, Iterable, Mapping
from collections.abc import Sequence as Seq
from dataclasses import dataclass
from typing import Protocol, TypeVar

import pyarrow as pa

from retable.errors import DamagedFile
from retable.fold.fold import Values
from retable.formats.reading import Value
from retable.gold.evolve import Evolution, Field
from retable.gold.state import GoldState
from retable.model.event import TableName
from retable.model.partitioning import PartitionField
from retable.model.schema import GoldType
from retable.model.sequence import Sequence


@dataclass(frozen=True, slots=True)
class CurrentRow:
    """A row of gold with the sequence and the partition that it came from."""

    values: Values
    sequence: Sequence
    part: str | None


@dataclass(frozen=True, slots=True)
class Halves:
    """Updates of which one half is here, by the `hi` of their sequence: they need the other."""

    his: frozenset[int]


@dataclass(frozen=True, slots=True)
class LateKeys:
    """Keys, by hash, with an event that gold is ahead of: they need every event not below `since`.

    `keys` are the key columns that the hashes are of; an event whose message names others is needed in any case.
    """

    hashes: frozenset[int]
    keys: tuple[str, ...]
    since: Sequence


Columns = list[tuple[str, GoldType]]
RowDict = dict[str, object]
R = TypeVar("R")


class WindowRows(Protocol):
    """The row events of one window where silver has them; it may be sent to a task, and read there."""

    def counts(self) -> Mapping[TableName, int]:
        """How many rows each table has, under the name that messages give it."""

    def pieces(self, count: int) -> "list[WindowRows]":
        """The same in about so many pieces, or in more: a task has the rows of one in memory."""

    def read(self, table: TableName, hashes: tuple[int, int] | None = None, without: Collection[str] = ()) -> pa.Table:
        """The rows of a table, but for some columns.

        That is all of them, or those whose key hash lies between two, both included, or that of the key that they left;
        a row without a key hash lies nowhere.
        """

    def read_others(self, tables: Collection[TableName], without: Collection[str] = ()) -> pa.Table:
        """The rows of all tables but these, and but for some columns."""


class Exchange(Protocol):
    """Rows that a task leaves for another one, by a name that it gives them; it may be sent to a task."""

    def put(self, *parts: pa.Table) -> str:
        """Leave rows, of which each part can be read by itself."""

    def get(self, name: str, part: int = 0) -> pa.Table:
        """The rows of one part, counted from 0."""

    def remove(self, names: Iterable[str]) -> None: ...


class KeyFinder(Protocol):
    """Gold's rows by their keys, without Spark; it may be sent to a task."""

    def matching(self, columns: Columns, on: list[int], keys: Seq[Values]) -> list[CurrentRow]:
        """Gold's rows whose columns `on` equal one of `keys`; NotHere where only Spark finds them."""

    def parts(self, columns: Columns, keys: pa.Table) -> pa.Table:
        """The values in `columns` of gold's rows that equal one of `keys`, each with the `part` that it came from.

        NotHere where only Spark finds them.
        """


class NotHere(Exception):
    """The rows of gold that some keys have can only be found by a job of Spark."""


RunTasks = Callable[[Seq[Callable[[], R]]], list[R]]


@dataclass(frozen=True, slots=True)
class RowChange:
    """Rows of gold that equal a row of `gone` in its columns go, and `rows`, with all columns of the table, come."""

    gone: pa.Table
    rows: pa.Table

    @property
    def comes(self) -> bool:
        """Whether some row comes."""
        return bool(self.rows.num_rows)

    @property
    def keys(self) -> pa.Table:
        """The keys whose rows go."""
        return self.gone

    @property
    def coming(self) -> pa.Table:
        """The keys of the rows that come."""
        return self.rows.select(self.gone.column_names)


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteChange:
    """The same where tasks left the rows in an exchange: `gone` and `rows` are their names there, with their numbers.

    `on` and `columns` are what the columns are called in gold; `nulls` are columns that come without a value. `edges`
    has the lowest and the highest value of each column of the keys, and NULL where one is NULL.
    """

    exchange: Exchange
    gone: Mapping[str, int]
    rows: Mapping[str, int]
    on: tuple[str, ...]
    columns: tuple[str, ...]
    edges: pa.Table
    nulls: pa.Schema

    @property
    def comes(self) -> bool:
        return bool(self.rows)

    @property
    def keys(self) -> pa.Table:
        return self.keys_of(self.gone) if self.gone else self.edges.slice(0, 0)

    @property
    def coming(self) -> pa.Table:
        found = (self.exchange.get(name).rename_columns(list(self.columns)).select(self.on) for name in self.rows)
        return pa.concat_tables([self.edges.slice(0, 0), *found])

    def keys_of(self, names: Iterable[str]) -> pa.Table:
        """Keys whose rows go, as tasks left them under these names."""
        return pa.concat_tables([self.exchange.get(name) for name in names]).rename_columns(list(self.on))

    def rows_of(self, names: Iterable[str]) -> pa.Table:
        """Rows that come, as tasks left them under these names, with all columns of the table."""
        rows = pa.concat_tables([self.exchange.get(name) for name in names]).rename_columns(list(self.columns))
        return with_nulls(rows, self.nulls)


def with_nulls(rows: pa.Table, nulls: pa.Schema) -> pa.Table:
    """Rows with more columns, which are NULL."""
    for field in nulls:
        rows = rows.append_column(field, pa.nulls(rows.num_rows, field.type))
    return rows


class RowStore(Protocol):
    """Rows of silver and gold. `gold` is `namespace.table`; `on` are indices into `columns`."""

    def statements(self, until: str) -> list[RowDict]:
        """The schema events of the windows up to `until`."""

    def window_rows(self, window: str, columns: Collection[str]) -> pa.Table:
        """The row events of one window, and null for others than these columns of theirs."""

    def big_window(self, window: str) -> WindowRows | None:
        """The row events of a window that are too many to be looked at in one process; None: they are not."""

    def big_table(
        self, windows: Collection[str], names: Collection[TableName], since: Sequence | None = None
    ) -> WindowRows:
        """The row events that these names stand for in some windows, where silver has them.

        Events of a lower sequence than `since` may be missing.
        """

    def run(self, tasks: Seq[Callable[[], R]], are_long: bool = False) -> list[R]:
        """Run tasks, side by side in other processes where there is much to do; give what each returns."""

    def slots(self, are_long: bool = False) -> int:
        """Into how many tasks, or a multiple of them, work is parted."""

    def exchange(self, gold: str) -> Exchange:
        """Where tasks that change a gold table leave rows for one another."""

    def key_finder(self, gold: str) -> KeyFinder:
        """What finds the rows of a gold table in tasks."""

    def table_rows(
        self, until: str, names: Iterable[TableName], needed: LateKeys | Halves | None = None
    ) -> list[RowDict]:
        """The row events that these names stand for in the windows up to `until`: all, or what is needed."""

    def removals(
        self, names: Collection[TableName], ops: Collection[str], first: str, last: str, of_key: bool
    ) -> list[RowDict]:
        """The row events of tables in the windows from `first` to `last` that are one of `ops`, with their times.

        `of_key`: of updates only those that change their row's key, or may.
        """

    def times(self, names: Collection[TableName], until: str) -> list[RowDict]:
        """Where the row events of tables stand in the windows up to `until`: sequence, partition and source time."""

    def matching(self, gold: str, columns: Columns, on: list[int], keys: list[Values]) -> list[CurrentRow]:
        """Gold's rows whose columns `on` equal one of `keys` (each a value per `on`), null-safe."""

    def of_keys(self, gold: str, columns: list[str], keys: pa.Table) -> pa.Table:
        """These columns of gold's rows which equal a row of `keys` in the columns that this has, null-safe."""

    def clashes(self, gold: str, branch: str | None, columns: list[str]) -> int:
        """How often more than one row of a branch, or of main, has the same values in these columns."""

    def delete_all(self, gold: str, branch: str) -> None: ...

    def delete_below(self, gold: str, branch: str, truncated_at: Sequence, shard: str | None = None) -> None:
        """Delete the rows of a lower sequence: all such, or those of a shard."""

    def delete_keys(self, gold: str, branch: str, keys: pa.Table) -> None:
        """Delete the rows whose columns of these names equal a row of `keys`, null-safe."""


class GoldMetadata(Protocol):
    """What a gold table says of itself, as it was when it was looked at."""

    @property
    def state(self) -> GoldState | None:
        """None when it is not one of Retable's."""


class GoldTable(GoldMetadata, Protocol):
    """One loaded gold table; what it publishes succeeds only while main is as it was loaded."""

    @property
    def name(self) -> str: ...

    @property
    def is_empty(self) -> bool: ...

    @property
    def snapshot_id(self) -> int:
        """The snapshot that a reader of main sees."""

    def fields(self) -> list[Field]: ...

    def has_part(self) -> bool:
        """Whether rows keep the partition that they came from."""

    def has_defaults(self) -> bool:
        """Whether rows from before a column was added show its default; else it must be written into each."""

    def expand(self, evolution: Evolution, defaults: Mapping[str, Value]) -> None:
        """Add and promote columns; what a killed run left behind goes first."""

    def parting(self) -> set[str]:
        """The columns by which files are parted, or were once."""

    def part_by(self, fields: list[tuple[str, PartitionField]]) -> None:
        """Part files by these transforms of columns from now on."""

    def replace(self, change: RowChange | RemoteChange, run: RunTasks[object], run_id: str, window: str) -> bool:
        """Prepare what `publish` makes visible; `run` runs tasks.

        False where that takes a branch: by the table's format, or by the keys' types.
        """

    def branch(self, run_id: str) -> str:
        """Open this run's branch at main, and remove those of runs that died; gives its name for the row store."""

    def append(self, change: RowChange | RemoteChange, run: RunTasks[object], run_id: str, window: str) -> None:
        """Append the rows that come to this run's branch; `run` runs tasks."""

    def publish(
        self,
        evolution: Evolution | None,
        properties: dict[str, str],
        window: str,
        on_progress: Callable[[str], None],
        tag: str | None = None,
    ) -> None:
        """Make what was written, the columns and the properties visible at once, or nothing of them: Fenced says why.

        Compacted says that main has the same rows in other files: after `rebase` all is to be written again.
        The snapshot that main was at stays under the name `tag`, where one is given.
        """

    def rebase(self) -> None:
        """Stand on main as it is now, its columns as they were expanded; what was written before is forgotten."""


class GoldCatalog(Protocol):
    """The gold tables, by `namespace.table`."""

    def find_metadata(self, name: str) -> GoldMetadata | None:
        """What a table says of itself; None where it is not there."""

    def load(self, name: str) -> GoldTable | None: ...

    def create(self, name: str, with_part: bool, location: str, format_version: int) -> GoldTable:
        """Create an empty table at `location`; one that is there is loaded."""

    def rename(self, name: str, to: str) -> None: ...

    def empty(self, name: str) -> None:
        """Let a table stand without rows, also where its lists of files cannot be read."""

    def drop(self, name: str) -> None:
        """Take a table out of the catalog; its files stay."""

    def names(self, namespace: str) -> list[str]:
        """The tables of a namespace, as `namespace.table`."""

    def find_damage(self, name: str, failure: Exception) -> DamagedFile | None:
        """The file of a table for which its replay failed so; None where it failed for something else."""


@dataclass(frozen=True, slots=True)
class SessionSlot:
    """One Spark session's way to the rows and to the catalog; one thread uses it at a time."""

    rows: RowStore
    catalog: GoldCatalog
