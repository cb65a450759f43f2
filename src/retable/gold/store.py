"""The interfaces that a replay needs for rows and tables: Spark and Iceberg implement them, or a test in memory."""

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
    """A row of gold with its sequence and the partition that it came from."""

    values: Values
    sequence: Sequence
    part: str | None


@dataclass(frozen=True, slots=True)
class Halves:
    """Updates of which only one half is here, by the `hi` of their sequence: the other half is needed."""

    his: frozenset[int]


@dataclass(frozen=True, slots=True)
class LateKeys:
    """Keys, by hash, with an event older than gold: they need every event not below `since`.

    `keys` are the key columns of the hashes; an event whose message names other columns is needed in any case.
    """

    hashes: frozenset[int]
    keys: tuple[str, ...]
    since: Sequence


Columns = list[tuple[str, GoldType]]
RowDict = dict[str, object]
R = TypeVar("R")


class WindowRows(Protocol):
    """The row events of one window in silver's files; it can be sent to a task and read there."""

    def counts(self) -> Mapping[TableName, int]:
        """The number of rows of each table, by the name that messages give it."""

    def pieces(self, count: int) -> "list[WindowRows]":
        """Split it into about `count` pieces, or more: a task has the rows of one piece in memory."""

    def read(self, table: TableName, hashes: tuple[int, int] | None = None, without: Collection[str] = ()) -> pa.Table:
        """Read the rows of a table, without the columns in `without`.

        With `hashes`, read only the rows whose key hash, or whose old key hash, is between the two, both included; a
        row without a key hash is not read.
        """

    def read_others(self, tables: Collection[TableName], without: Collection[str] = ()) -> pa.Table:
        """Read the rows of all tables but these, without the columns in `without`."""


class Exchange(Protocol):
    """Rows that a task leaves for another task under a name; the exchange can be sent to a task."""

    def put(self, *parts: pa.Table) -> str:
        """Leave rows and give their name; each part can be read separately."""

    def get(self, name: str, part: int = 0) -> pa.Table:
        """The rows of one part, counted from 0."""

    def remove(self, names: Iterable[str]) -> None: ...


class KeyFinder(Protocol):
    """Find gold's rows by their keys, without Spark; it can be sent to a task."""

    def matching(self, columns: Columns, on: list[int], keys: Seq[Values]) -> list[CurrentRow]:
        """Gold's rows whose columns `on` equal one of `keys`; NotHere if only Spark can find them."""

    def parts(self, columns: Columns, keys: pa.Table) -> pa.Table:
        """The values in `columns` of gold's rows that equal one of `keys`, each with the `part` that it came from.

        Raise NotHere if only Spark can find them.
        """


class NotHere(Exception):
    """Only a Spark job can find the gold rows of some keys."""


RunTasks = Callable[[Seq[Callable[[], R]]], list[R]]


@dataclass(frozen=True, slots=True)
class RowChange:
    """Delete the gold rows that equal a row of `gone` in its columns, and add `rows`, which have all columns."""

    gone: pa.Table
    rows: pa.Table

    @property
    def comes(self) -> bool:
        """Whether there are new rows."""
        return bool(self.rows.num_rows)

    @property
    def keys(self) -> pa.Table:
        """The keys whose rows are deleted."""
        return self.gone

    @property
    def coming(self) -> pa.Table:
        """The keys of the new rows."""
        return self.rows.select(self.gone.column_names)


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteChange:
    """A change whose rows tasks left in an exchange: `gone` and `rows` are their names there, with row counts.

    `on` and `columns` are gold's names of the columns; `nulls` are new columns without a value. `edges` has the lowest
    and the highest value of each key column, and NULL if a key is NULL.
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
        """The keys whose rows are deleted, as tasks left them under these names."""
        return pa.concat_tables([self.exchange.get(name) for name in names]).rename_columns(list(self.on))

    def rows_of(self, names: Iterable[str]) -> pa.Table:
        """The new rows, as tasks left them under these names, with all columns of the table."""
        rows = pa.concat_tables([self.exchange.get(name) for name in names]).rename_columns(list(self.columns))
        return with_nulls(rows, self.nulls)


def with_nulls(rows: pa.Table, nulls: pa.Schema) -> pa.Table:
    """Add columns that are NULL to rows."""
    for field in nulls:
        rows = rows.append_column(field, pa.nulls(rows.num_rows, field.type))
    return rows


class RowStore(Protocol):
    """Rows of silver and gold. `gold` is `namespace.table`; `on` are indices into `columns`."""

    def statements(self, until: str) -> list[RowDict]:
        """The schema events of the windows up to `until`."""

    def window_rows(self, window: str, columns: Collection[str]) -> pa.Table:
        """The row events of one window; other columns than these are null."""

    def big_window(self, window: str) -> WindowRows | None:
        """The row events of a window that is too big for one process; None: it is not too big."""

    def big_table(
        self, windows: Collection[str], names: Collection[TableName], since: Sequence | None = None
    ) -> WindowRows:
        """The row events of these table names in some windows, in silver's files.

        Events of a lower sequence than `since` may be missing.
        """

    def run(self, tasks: Seq[Callable[[], R]], are_long: bool = False) -> list[R]:
        """Run tasks, in parallel in other processes if there is much to do; give the results."""

    def slots(self, are_long: bool = False) -> int:
        """The number of tasks into which rows are divided; they may also be divided into a multiple of it."""

    def exchange(self, gold: str) -> Exchange:
        """The exchange in which tasks that change a gold table leave rows for other tasks."""

    def key_finder(self, gold: str) -> KeyFinder:
        """The finder of a gold table's rows, for use in tasks."""

    def table_rows(
        self, until: str, names: Iterable[TableName], needed: LateKeys | Halves | None = None
    ) -> list[RowDict]:
        """The row events of these table names in the windows up to `until`: all, or those that are `needed`."""

    def removals(
        self, names: Collection[TableName], ops: Collection[str], first: str, last: str, of_key: bool
    ) -> list[RowDict]:
        """The row events of tables in the windows from `first` to `last` that are one of `ops`, with their times.

        `of_key`: of updates, only those that change their row's key, or may change it.
        """

    def times(self, names: Collection[TableName], until: str) -> list[RowDict]:
        """The positions of tables' row events in the windows up to `until`: sequence, partition and source time."""

    def matching(self, gold: str, columns: Columns, on: list[int], keys: list[Values]) -> list[CurrentRow]:
        """Gold's rows whose columns `on` equal one of `keys` (each a value per `on`), null-safe."""

    def of_keys(self, gold: str, columns: list[str], keys: pa.Table) -> pa.Table:
        """These columns of gold's rows that equal a row of `keys` in the columns of `keys`, null-safe."""

    def clashes(self, gold: str, branch: str | None, columns: list[str]) -> int:
        """Count the values of these columns that more than one row of a branch, or of main, has."""

    def delete_all(self, gold: str, branch: str) -> None: ...

    def delete_below(self, gold: str, branch: str, truncated_at: Sequence, shard: str | None = None) -> None:
        """Delete the rows of a lower sequence: all of them, or those of a shard."""

    def delete_keys(self, gold: str, branch: str, keys: pa.Table) -> None:
        """Delete the rows that equal a row of `keys` in its columns, null-safe."""


class GoldMetadata(Protocol):
    """The metadata of a gold table at the time when it was loaded."""

    @property
    def state(self) -> GoldState | None:
        """The state; None if it is not one of Retable's tables."""


class GoldTable(GoldMetadata, Protocol):
    """A loaded gold table; publishing succeeds only while main is as it was loaded."""

    @property
    def name(self) -> str: ...

    @property
    def is_empty(self) -> bool: ...

    @property
    def snapshot_id(self) -> int:
        """The snapshot that a reader of main sees."""

    def fields(self) -> list[Field]: ...

    def has_part(self) -> bool:
        """Whether rows store the partition that they came from."""

    def has_defaults(self) -> bool:
        """Whether rows from before a column was added show its default; if not, it must be written into each row."""

    def expand(self, evolution: Evolution, defaults: Mapping[str, Value]) -> None:
        """Drop what a killed run left, then add and promote columns."""

    def parting(self) -> set[str]:
        """The columns by which files are or were partitioned."""

    def part_by(self, fields: list[tuple[str, PartitionField]]) -> None:
        """Partition new files by these transforms of columns."""

    def replace(self, change: RowChange | RemoteChange, run: RunTasks[object], run_id: str, window: str) -> bool:
        """Prepare a change that `publish` makes visible; `run` runs tasks.

        Give False if a branch is needed, because of the table's format or the types of the keys.
        """

    def branch(self, run_id: str) -> str:
        """Create this run's branch at main, and remove the branches of dead runs; give its name for the row store."""

    def append(self, change: RowChange | RemoteChange, run: RunTasks[object], run_id: str, window: str) -> None:
        """Append the new rows to this run's branch; `run` runs tasks."""

    def publish(
        self,
        evolution: Evolution | None,
        properties: dict[str, str],
        window: str,
        on_progress: Callable[[str], None],
        tag: str | None = None,
    ) -> None:
        """Make what was written, the columns and the properties visible together, or make nothing visible: Fenced.

        Compacted says that main has the same rows in other files: after `rebase`, write all again. If `tag` is given,
        the snapshot that main was at stays under that name.
        """

    def rebase(self) -> None:
        """Use the present main as the base, with its columns as they were expanded; forget what was written before."""


class GoldCatalog(Protocol):
    """The gold tables, by `namespace.table`."""

    def find_metadata(self, name: str) -> GoldMetadata | None:
        """The metadata of a table; None if there is no such table."""

    def load(self, name: str) -> GoldTable | None: ...

    def create(self, name: str, with_part: bool, location: str, format_version: int) -> GoldTable:
        """Create an empty table at `location`; load the table if it exists."""

    def rename(self, name: str, to: str) -> None: ...

    def empty(self, name: str) -> None:
        """Leave a table without rows, also if its file lists cannot be read."""

    def drop(self, name: str) -> None:
        """Remove a table from the catalog; its files stay."""

    def names(self, namespace: str) -> list[str]:
        """The tables of a namespace, as `namespace.table`."""

    def find_damage(self, name: str, failure: Exception) -> DamagedFile | None:
        """The damaged file of a table that made its replay fail; None if the failure has another cause."""


@dataclass(frozen=True, slots=True)
class SessionSlot:
    """The rows and the catalog of one Spark session; one thread uses it at a time."""

    rows: RowStore
    catalog: GoldCatalog
