"""The interfaces by which a replay uses silver and gold. Spark and Iceberg implement them; tests do it in memory."""

from collections.abc import Callable, Collection, Iterable, Mapping
from collections.abc import Sequence as Seq
from dataclasses import dataclass
from typing import Protocol, TypeVar

import pyarrow as pa

from retable.errors import DamagedFile
from retable.fold.fold import Values
from retable.formats.reading import Value
from retable.gold.evolve import Evolution, Field
from retable.gold.rows import with_nulls
from retable.gold.state import GoldState
from retable.model.event import TableName
from retable.model.partitioning import PartitionField
from retable.model.schema import GoldType
from retable.model.sequence import Sequence


@dataclass(frozen=True, slots=True)
class CurrentRow:
    """A row of gold, with the sequence (source position) of its last change and that change's source partition."""

    values: Values
    sequence: Sequence
    part: str | None


@dataclass(frozen=True, slots=True)
class Halves:
    """A request for both messages of some updates. `his` are the numbers `hi` in their sequences (`epoch.hi.lo`)."""

    his: frozenset[int]


@dataclass(frozen=True, slots=True)
class LateKeys:
    """A request for all events of some keys from the sequence `since` on. These keys have an event older than gold.

    `hashes` are the hashes of these keys, made from the key columns `keys`. An event whose message names other key
    columns is always returned, because its hash cannot be compared.
    """

    hashes: frozenset[int]
    keys: tuple[str, ...]
    since: Sequence


Columns = list[tuple[str, GoldType]]
RowDict = dict[str, object]
R = TypeVar("R")


class WindowRows(Protocol):
    """Row events that are in files of silver. The object can be sent to a Spark task, which reads the rows there."""

    def counts(self) -> Mapping[TableName, int]:
        """Return the number of rows by source table, as the messages name the tables."""

    def pieces(self, count: int) -> "list[WindowRows]":
        """Split the events into about `count` parts, or into more parts if one would be too big for a task's memory."""

    def read(self, table: TableName, hashes: tuple[int, int] | None = None, without: Collection[str] = ()) -> pa.Table:
        """Read the rows of a source table, without the columns in `without`.

        `hashes` is the first and the last of a range of key hashes. If it is given, read only the rows whose key hash
        is in the range, or whose hash of the key before the change is in the range.
        """

    def read_others(self, tables: Collection[TableName], without: Collection[str] = ()) -> pa.Table:
        """Read the rows of all source tables except `tables`, without the columns in `without`."""


class Exchange(Protocol):
    """A store by which one Spark task passes rows to another task. The object can be sent to a task."""

    def put(self, parts: Iterable[pa.Table]) -> str:
        """Store one or more tables of rows (parts), and return a new name. Each part can be read separately."""

    def get(self, name: str, part: int = 0, columns: Seq[int] | None = None) -> pa.Table:
        """Return the table number `part` that `put` stored under this name; of `columns` (indices) if given."""

    def remove(self, names: Iterable[str]) -> None: ...


class KeyFinder(Protocol):
    """Finds gold's rows by their keys, without Spark. The object can be sent to a task."""

    def matching(self, columns: Columns, on: list[int], keys: Seq[Values]) -> list[CurrentRow]:
        """Return `columns` of gold's rows whose values at the indices `on` (of `columns`) equal one of `keys`.

        Raise NotHere if only Spark can find these rows.
        """

    def parts(self, columns: Columns, keys: pa.Table) -> pa.Table:
        """Return the keys that gold has, out of `keys`, each with the source partition (`part`) of its row.

        `columns` are the key columns. Raise NotHere if only Spark can find these rows.
        """

    def of_keys(self, columns: list[str], keys: pa.Table) -> pa.Table:
        """Return what `RowStore.of_keys` returns. Raise NotHere if only Spark can find these rows."""


class NotHere(Exception):
    """Raised by a KeyFinder: only a Spark job can find the gold rows of some keys."""


RunTasks = Callable[[Seq[Callable[[], R]]], list[R]]


@dataclass(frozen=True, slots=True)
class RowChange:
    """A change of a gold table: delete the rows whose keys are in `gone`, and add `rows`, which have all columns."""

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
    """A change of a gold table like RowChange, but its rows are in an exchange, because Spark tasks made them.

    `gone` (keys to delete) and `rows` (new rows) map each name in the exchange to the number of its rows. `on` are the
    names of the key columns in gold, and `columns` those of all columns of `rows`. `nulls` are the columns that the run
    drops at its end: until then, new rows have NULL there. `edges` are a few rows with the lowest and the highest value
    of each key column of `gone`. They show which data files may have these keys.
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
        return pa.concat_tables([self.edges.slice(0, 0), *map(self.coming_of, self.rows)])

    def coming_of(self, name: str) -> pa.Table:
        """Return the keys of the new rows that are in the exchange under this name."""
        return self.exchange.get(name, 0, [*map(self.columns.index, self.on)]).rename_columns([*self.on])

    def keys_of(self, names: Iterable[str]) -> pa.Table:
        """Return the keys to delete that are in the exchange under these names."""
        return pa.concat_tables([self.exchange.get(name) for name in names]).rename_columns(list(self.on))

    def rows_of(self, names: Iterable[str]) -> pa.Table:
        """Return the new rows that are in the exchange under these names, with all columns of the table."""
        rows = pa.concat_tables([self.exchange.get(name) for name in names]).rename_columns(list(self.columns))
        return with_nulls(rows, self.nulls)


class RowStore(Protocol):
    """Reads rows of silver, and reads and deletes rows of gold.

    In its methods, `gold` is a gold table as `namespace.table`, and `names` are source tables as messages name them.
    """

    def statements(self, until: str) -> list[RowDict]:
        """Return the schema events (DDL statements) of the windows up to and including the window `until`."""

    def window_rows(self, window: str, columns: Collection[str]) -> pa.Table:
        """Return the row events of one window. Only `columns` are read; all other columns are null."""

    def big_window(self, window: str) -> WindowRows | None:
        """Return the row events of a window if they are too many for one process. Otherwise return None."""

    def big_table(
        self, windows: Collection[str], names: Collection[TableName], since: Sequence | None = None, rows: int = 0
    ) -> WindowRows:
        """Return the events of tables in windows, about `rows` (0: unknown). Those below `since` may be missing."""

    def run(self, tasks: Seq[Callable[[], R]], are_long: bool = False) -> list[R]:
        """Run tasks in this process, or in parallel in others. Return their results. `are_long` marks slow tasks."""

    def slots(self, are_long: bool = False) -> int:
        """Return how many tasks to divide rows into. A caller may use a multiple of it. `are_long` is as in `run`."""

    def exchange(self, gold: str) -> Exchange:
        """Return the exchange by which tasks that change a gold table pass rows to other tasks."""

    def key_finder(self, gold: str) -> KeyFinder:
        """Return an object with which tasks find rows of a gold table."""

    def table_rows(
        self, until: str, names: Iterable[TableName], needed: LateKeys | Halves | None = None
    ) -> list[RowDict]:
        """Return the row events of these tables in the windows up to `until`, or only those that `needed` requests."""

    def removals(
        self, names: Collection[TableName], ops: Collection[str], first: str, last: str, of_key: bool
    ) -> list[RowDict]:
        """Return the row events of these tables in the windows `first` to `last` whose operation is in `ops`.

        The events have their source times. If `of_key` is set, an update is returned only if it changes the key of its
        row, or if it came as two messages and so may change the key.
        """

    def times(self, names: Collection[TableName], until: str) -> list[RowDict]:
        """Return sequence, partition and source time of these tables' row events, in the windows up to `until`."""

    def matching(self, gold: str, columns: Columns, on: list[int], keys: list[Values]) -> list[CurrentRow]:
        """Return `columns` of gold's rows whose values at the indices `on` equal one of `keys`. NULL equals NULL."""

    def of_keys(self, gold: str, columns: list[str], keys: pa.Table) -> pa.Table:
        """Return `columns` of gold's rows that equal a row of `keys` in the columns of `keys`. NULL equals NULL."""

    def clashes(self, gold: str, branch: str | None, columns: list[str]) -> int:
        """Count the values of these columns that several rows of gold have. If `branch` is None, count in main."""

    def delete_all(self, gold: str, branch: str) -> None: ...

    def delete_below(self, gold: str, branch: str, truncated_at: Sequence, shard: str | None = None) -> None:
        """Delete rows with a sequence below `truncated_at`: all, or only those of the source table `shard`."""

    def delete_keys(self, gold: str, branch: str, keys: pa.Table) -> None:
        """Delete the rows that equal a row of `keys` in the columns of `keys`. NULL equals NULL."""


class GoldMetadata(Protocol):
    """The metadata of a gold table at the time when it was loaded."""

    @property
    def state(self) -> GoldState | None:
        """The state of the table, or None if Retable did not create the table."""


class GoldTable(GoldMetadata, Protocol):
    """A loaded gold table. `publish` succeeds only if no other writer changed main since the table was loaded."""

    @property
    def name(self) -> str: ...

    @property
    def is_empty(self) -> bool: ...

    @property
    def snapshot_id(self) -> int:
        """The current snapshot of main."""

    def fields(self) -> list[Field]: ...

    def has_part(self) -> bool:
        """Return whether the rows of the table contain the source partition that they came from."""

    def has_defaults(self) -> bool:
        """Return whether Iceberg shows a new column's default in older rows. If not, rows must be written again."""

    def expand(self, evolution: Evolution, defaults: Mapping[str, Value]) -> None:
        """Do the first steps of `evolution`. `defaults` has default values of new columns by `Column.id`."""

    def parting(self) -> set[str]:
        """Return the names of the columns that the present or a former partition spec uses."""

    def part_by(self, fields: list[tuple[str, PartitionField]]) -> None:
        """Partition new files by these partition fields, each with its column's name in the Iceberg table."""

    def replace(self, change: RowChange | RemoteChange, run: RunTasks[object], run_id: str, window: str) -> bool:
        """Write a change; `publish` makes it visible. `run` runs tasks. `run_id` and `window` go into the snapshot.

        Return False if a branch is needed instead, because of the table's format, or the format of some of its files.
        """

    def branch(self, run_id: str) -> str:
        """Create a branch for this run at main and return its name. Remove the branches of dead runs."""

    def append(self, change: RowChange | RemoteChange, run: RunTasks[object], run_id: str, window: str) -> None:
        """Append the new rows to this run's branch. `run` runs Spark tasks."""

    def publish(
        self,
        evolution: Evolution | None,
        properties: dict[str, str],
        window: str,
        on_progress: Callable[[str], None],
        tag: str | None = None,
    ) -> None:
        """Make the written rows, the columns and the properties visible in one commit.

        The last steps of `evolution` are done here; None means no steps. `properties` are all properties of Retable in
        the table. `window` goes into the summary of the snapshot. `on_progress` gets texts about the progress. `tag` is
        a new tag for main's snapshot before the commit. Raise Fenced, and change nothing, if another writer changed the
        table. Raise Compacted if main has the same rows in other files: call `rebase`, and write all rows again.
        """

    def rebase(self) -> None:
        """Start this run again from the present main. Rows that it wrote before must be written again."""


class GoldCatalog(Protocol):
    """Finds and manages gold tables. A table's name is `namespace.table`."""

    def find_metadata(self, name: str) -> GoldMetadata | None:
        """Return the metadata of a table, or None if there is no such table."""

    def load(self, name: str) -> GoldTable | None: ...

    def create(self, name: str, with_part: bool, location: str, format_version: int) -> GoldTable:
        """Create an empty table at `location`, or load it if it exists. `with_part`: rows get the source partition."""

    def rename(self, name: str, to: str) -> None: ...

    def empty(self, name: str) -> None:
        """Remove all rows of a table. This works also if its manifests cannot be read."""

    def drop(self, name: str) -> None:
        """Remove a table from the catalog. Its files stay."""

    def names(self, namespace: str) -> list[str]:
        """Return the names of the tables in a namespace."""

    def find_damage(self, name: str, failure: Exception) -> DamagedFile | None:
        """Return the error of the damaged file of a table that caused `failure`. Return None for another cause."""


@dataclass(frozen=True, slots=True)
class SessionSlot:
    """The row store and the catalog of one Spark session, for one replay of a table at a time."""

    rows: RowStore
    catalog: GoldCatalog
