"""Silver and gold in memory: what Spark and Iceberg do for a replay, small enough to check by eye."""

import math
import pickle
import uuid
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from collections.abc import Sequence as Seq
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import pyarrow as pa
import pyarrow.compute as pc

from retable.decode.silver import hash_keys
from retable.errors import Fenced
from retable.fold.fold import Values
from retable.formats.reading import Value
from retable.gold.evolve import Evolution, Field
from retable.gold.rows import to_column, to_keys, to_values
from retable.gold.state import PREFIX, RUN_PROPERTY, SEQUENCE_COLUMN, GoldState, from_properties
from retable.gold.store import (
    Columns,
    CurrentRow,
    Halves,
    LateKeys,
    R,
    RemoteChange,
    RowChange,
    RowDict,
    RunTasks,
    WindowRows,
)
from retable.ledger.lake.tables import SILVER
from retable.model.event import ChangeEvent, TableName
from retable.model.partitioning import PartitionField
from retable.model.sequence import Sequence
from retable.replay.batch.row_batch import by_table
from retable.replay.batch.silver_rows import HALVES, ROW_COLUMNS, table_name
from retable.schema_history.shards.parts import shard_of

Row = tuple[dict[int, Value], Sequence, str | None]


@dataclass(slots=True)
class Table:
    """A gold table: rows by field id, so that a rename changes none, and one that lacks a field shows its default."""

    with_part: bool
    format_version: int
    fields: list[Field] = field(default_factory=lambda: [(1, SEQUENCE_COLUMN, None)])
    defaults: dict[int, Value] = field(default_factory=dict)
    rows: list[Row] = field(default_factory=list)
    branches: dict[str, list[Row]] = field(default_factory=dict)
    properties: dict[str, str] = field(default_factory=dict)
    tags: dict[str, list[Row]] = field(default_factory=dict)
    snapshot: int = 0
    head: int = 0
    parting: set[int] = field(default_factory=set)
    past: dict[int, list[Row]] = field(default_factory=lambda: {0: []})
    last_id: int = 10

    def value(self, row: Row, field_id: int) -> Value:
        return row[0].get(field_id, self.defaults.get(field_id))

    def go_back(self, snapshot: int) -> None:
        """Roll main back, as a person does it."""
        self.snapshot, self.rows = snapshot, self.past[snapshot]

    def id_of(self, name: str) -> int:
        return next(field_id for field_id, each, _ in self.fields if each == name)


class LoadedTable:
    """A table as one run loaded it."""

    def __init__(self, name: str, table: Table) -> None:
        self._name = name
        self._table = table
        self._base = table.snapshot
        self._decided_on = list(table.fields)
        self._said = dict(table.properties)
        self._branch: str | None = None

    @property
    def name(self) -> str:
        return self._name

    @property
    def is_empty(self) -> bool:
        return not self._table.rows

    @property
    def state(self) -> GoldState | None:
        state = from_properties(self._table.properties)
        return state and replace(state, is_set_back=self._table.snapshot < self._table.head)

    @property
    def snapshot_id(self) -> int:
        return self._table.snapshot

    def fields(self) -> list[Field]:
        return list(self._table.fields)

    def has_part(self) -> bool:
        return self._table.with_part

    def has_defaults(self) -> bool:
        return self._table.format_version > 2

    def expand(self, evolution: Evolution, defaults: Mapping[str, Value]) -> None:
        table = self._table
        promoted = dict(evolution.promotions)
        kept = [each for each in table.fields if each[1] not in evolution.leftovers]
        table.fields = [(number, name, promoted.get(name, kind)) for number, name, kind in kept]
        for name, column in evolution.adds:
            table.last_id += 1
            table.fields.append((table.last_id, name, column.type))
            table.defaults[table.last_id] = defaults.get(column.id)
            assert self.has_defaults() or defaults.get(column.id) is None, "format v2 knows no default"
        self._decided_on = list(table.fields)

    def parting(self) -> set[str]:
        return {name for number, name, _ in self._table.fields if number in self._table.parting}

    def part_by(self, fields: list[tuple[str, PartitionField]]) -> None:
        self._table.parting |= {self._table.id_of(name) for name, _ in fields}

    def replace(self, change: RowChange | RemoteChange, run: RunTasks[Any], run_id: str, window: str) -> bool:
        if not self.has_defaults():
            return False
        here = _here(change)
        self.branch(run_id)
        delete_keys(self._table, run_id, here.gone)
        if here.comes:
            self.append(here, run, run_id, window)
        return True

    def branch(self, run_id: str) -> str:
        self._table.branches = {run_id: list(self._table.rows)}
        self._branch = run_id
        return run_id

    def append(self, change: RowChange | RemoteChange, run: RunTasks[Any], run_id: str, window: str) -> None:
        rows = _here(change).rows
        table, branch = self._table, self._branch
        assert branch is not None, "rows are written to a branch"
        names = [name for name in rows.column_names if name != SEQUENCE_COLUMN]
        ids = [table.id_of(name) for name in names]
        assert set(ids) == {number for number, _, kind in table.fields if kind is not None}, "a row has every column"
        for values, at in zip(to_values(rows.select(names)), rows.column(SEQUENCE_COLUMN).to_pylist(), strict=True):
            sequence = Sequence(at["epoch"], int(at["hi"]), at["lo"])
            cells: dict[int, Value] = dict(zip(ids, values, strict=True))  # type: ignore[arg-type]  # rows of gold hold values
            table.branches[branch].append((cells, sequence, at.get("part")))

    def publish(
        self,
        evolution: Evolution | None,
        properties: dict[str, str],
        window: str,
        on_progress: Callable[[str], None],
        tag: str | None = None,
    ) -> None:
        table, branch = self._table, self._branch
        on_progress(f"{self._name}: before publishing")
        if (table.snapshot, table.fields, table.properties) != (self._base, self._decided_on, self._said):
            raise Fenced(f"{self._name}: another writer committed first; run this window again", table=self._name)
        assert RUN_PROPERTY in properties, "a commit says whose it is"
        if tag is not None:
            table.tags[tag] = table.rows
        if branch is not None:
            table.rows = table.branches.pop(branch)
        if evolution is not None and evolution.contracts:
            present = {name: (number, kind) for number, name, kind in table.fields if name not in evolution.drops}
            order = evolution.order or tuple(present)
            assert set(order) == set(present), "an order names every column"
            renamed = dict(evolution.renames)
            table.fields = [(present[name][0], renamed.get(name, name), present[name][1]) for name in order]
            assert len({name for _, name, _ in table.fields}) == len(table.fields), "two columns have one name"
        if branch is not None or (evolution is not None and evolution.changes):
            table.snapshot = max(table.past) + 1
            table.past[table.snapshot] = table.rows
        if branch is not None:
            table.head = table.snapshot
        foreign = {key: value for key, value in table.properties.items() if not key.startswith(PREFIX)}
        table.properties = {**foreign, **properties}
        on_progress(f"{self._name}: published")


def _here(change: RowChange | RemoteChange) -> RowChange:
    if isinstance(change, RowChange):
        return change
    return RowChange(change.keys, change.rows_of(change.rows) if change.rows else pa.table({}))


class MemoryCatalog:
    """The gold tables."""

    def __init__(self) -> None:
        self.tables: dict[str, Table] = {}

    def load(self, name: str) -> LoadedTable | None:
        table = self.tables.get(name)
        return None if table is None else LoadedTable(name, table)

    find_metadata = load

    def find_damage(self, name: str, failure: Exception) -> None:
        """Nothing in memory is ever damaged."""

    def create(self, name: str, with_part: bool, location: str, format_version: int) -> LoadedTable:
        return LoadedTable(name, self.tables.setdefault(name, Table(with_part, format_version)))

    def rename(self, name: str, to: str) -> None:
        assert to not in self.tables, f"{to} is there"
        self.tables[to] = self.tables.pop(name)

    def drop(self, name: str) -> None:
        del self.tables[name]

    def names(self, namespace: str) -> list[str]:
        return [name for name in self.tables if name.split(".")[0] == namespace]


@dataclass(frozen=True, slots=True)
class MemoryWindow:
    """The row events of a window, which tasks read."""

    rows: pa.Table

    def counts(self) -> Mapping[TableName, int]:
        return {name: mine.num_rows for name, mine in by_table(self.rows)}

    def pieces(self, count: int) -> list[WindowRows]:
        there = self.rows.num_rows
        return [MemoryWindow(self.rows.take([*range(at, there, count)])) for at in range(min(count, there))]

    def read(self, table: TableName, hashes: tuple[int, int] | None = None, without: Collection[str] = ()) -> pa.Table:
        rows = dict(by_table(self.rows)).get(table, self.rows.slice(0, 0)).drop_columns([*without])
        if hashes is None:
            return rows
        near = [_between(rows[name], hashes) for name in _HASHES]
        return rows.filter(pc.or_kleene(*near))

    def read_others(self, tables: Collection[TableName], without: Collection[str] = ()) -> pa.Table:
        found = [mine for name, mine in by_table(self.rows) if name not in tables]
        return pa.concat_tables([self.rows.slice(0, 0), *found]).drop_columns([*without])


_HASHES = ("key_hash", "old_key_hash")


def _between(hashes: pa.ChunkedArray, ends: tuple[int, int]) -> pa.ChunkedArray:
    return pc.and_(pc.greater_equal(hashes, ends[0]), pc.less_equal(hashes, ends[1]))


@dataclass(frozen=True, slots=True)
class MemoryExchange:
    """Rows that tasks leave, wherever they run."""

    left: ClassVar[dict[str, tuple[pa.Table, ...]]] = {}

    def put(self, parts: Iterable[pa.Table]) -> str:
        name = str(uuid.uuid4())
        self.left[name] = tuple(parts)
        return name

    def get(self, name: str, part: int = 0, columns: Seq[int] | None = None) -> pa.Table:
        found = self.left[name][part]
        return found if columns is None else found.select([*columns])

    def remove(self, names: Iterable[str]) -> None:
        for name in names:
            del self.left[name]


@dataclass(frozen=True, slots=True)
class MemoryFinder:
    """Gold's rows of one table, as a task has them."""

    table: Table

    def matching(self, columns: Columns, on: list[int], keys: Seq[Values]) -> list[CurrentRow]:
        found = find_rows(self.table, columns, on, keys)
        # What is not a number is another one in another process.
        values = to_values(to_keys([row.values for row in found], columns))
        return [replace(row, values=mine) for row, mine in zip(found, values, strict=True)]

    def parts(self, columns: Columns, keys: pa.Table) -> pa.Table:
        found = find_rows(self.table, columns, [*range(len(columns))], to_values(keys))
        rows = to_keys([row.values for row in found], columns).rename_columns(keys.column_names)
        return rows.append_column("part", pa.array([row.part for row in found], pa.string()))

    def of_keys(self, columns: list[str], keys: pa.Table) -> pa.Table:
        return of_keys(self.table, columns, keys)


def of_keys(table: Table, columns: list[str], keys: pa.Table) -> pa.Table:
    wanted = {_comparable(key) for key in to_values(keys)}
    on = [table.id_of(name) for name in keys.column_names]
    rows = [row for row in table.rows if _comparable(tuple(table.value(row, number) for number in on)) in wanted]
    found = [(table.id_of(name), kind) for name in columns for _, each, kind in table.fields if each == name]
    return pa.table(
        [to_column([table.value(row, number) for row in rows], kind) for number, kind in found if kind is not None],
        names=columns,
    )


class MemoryRows:
    """Silver by window, and the rows of gold. Windows of more than `big` rows are for tasks."""

    big: int = 1_000_000

    def __init__(self, catalog: MemoryCatalog) -> None:
        self.silver: dict[str, list[RowDict]] = {}
        self._catalog = catalog

    # --- tasks ---------------------------------------------------------------------------------------------------
    def big_window(self, window: str) -> WindowRows | None:
        rows = sum(record["kind"] == "row" for record in self.silver[window])
        return MemoryWindow(self.window_rows(window, ROW_COLUMNS)) if rows > self.big else None

    def big_table(
        self, windows: Collection[str], names: Collection[TableName], since: Sequence | None = None, rows: int = 0
    ) -> WindowRows:
        parts = [self.window_rows(name, ROW_COLUMNS) for name in windows if name in self.silver]
        found = [mine for name, mine in by_table(pa.concat_tables(parts)) if name in names] if parts else []
        return MemoryWindow(pa.concat_tables([_ROWS.empty_table(), *found]))

    def run(self, tasks: Seq[Callable[[], R]], are_long: bool = False) -> list[R]:
        """Tasks and results are sent, as to other processes."""
        sent: list[Callable[[], R]] = pickle.loads(pickle.dumps(tasks))
        return [pickle.loads(pickle.dumps(task())) for task in sent]

    def slots(self, are_long: bool = False) -> int:
        return 2

    def exchange(self, gold: str) -> MemoryExchange:
        return MemoryExchange()

    def key_finder(self, gold: str) -> MemoryFinder:
        return MemoryFinder(self._catalog.tables[gold])

    # --- silver --------------------------------------------------------------------------------------------------
    def statements(self, until: str) -> list[RowDict]:
        return [dict(record) for record in self._records(until) if record["kind"] == "schema"]

    def window_rows(self, window: str, columns: Collection[str]) -> pa.Table:
        rows = [
            {name: value for name, value in record.items() if name in columns}
            for record in self.silver[window]
            if record["kind"] == "row"
        ]
        return pa.Table.from_pylist(rows, _ROWS)

    def removals(
        self, names: Collection[TableName], ops: Collection[str], first: str, last: str, of_key: bool
    ) -> list[RowDict]:
        found = [r for window, rows in self.silver.items() if first <= window <= last for r in rows]
        found = [r for r in found if r["kind"] == "row" and r["op"] in ops and table_name(r) in names]
        moved = (r for r in found if r["op"] == "DELETE" or r["old_key_hash"] is not None or r["image"] in HALVES)
        return list(moved) if of_key else found

    def times(self, names: Collection[TableName], until: str) -> list[RowDict]:
        found = [r for window, rows in self.silver.items() if window <= until for r in rows]
        return [r for r in found if r["kind"] == "row" and table_name(r) in names]

    def table_rows(
        self, until: str, names: Iterable[TableName], needed: LateKeys | Halves | None = None
    ) -> list[RowDict]:
        wanted = {(name.database, name.schema, name.table) for name in names}
        return [
            dict(record)
            for record in self._records(until)
            if record["kind"] == "row"
            and (record["database"], record["schema"], record["table"]) in wanted
            and _is_needed(record, needed)
        ]

    def _records(self, until: str) -> list[RowDict]:
        """What was written last comes first: no store promises an order."""
        return [record for window, records in self.silver.items() if window <= until for record in records][::-1]

    # --- gold ----------------------------------------------------------------------------------------------------
    def matching(self, gold: str, columns: Columns, on: list[int], keys: list[Values]) -> list[CurrentRow]:
        return find_rows(self._catalog.tables[gold], columns, on, keys)

    def of_keys(self, gold: str, columns: list[str], keys: pa.Table) -> pa.Table:
        return of_keys(self._catalog.tables[gold], columns, keys)

    def clashes(self, gold: str, branch: str | None, columns: list[str]) -> int:
        table = self._catalog.tables[gold]
        ids = [table.id_of(name) for name in columns]
        rows = table.rows if branch is None else table.branches[branch]
        counts = Counter(_comparable(tuple(table.value(row, number) for number in ids)) for row in rows)
        return sum(count > 1 for count in counts.values())

    def delete_all(self, gold: str, branch: str) -> None:
        self._catalog.tables[gold].branches[branch] = []

    def delete_below(self, gold: str, branch: str, truncated_at: Sequence, shard: str | None = None) -> None:
        branches = self._catalog.tables[gold].branches
        branches[branch] = [
            row
            for row in branches[branch]
            if row[1] >= truncated_at or (shard is not None and shard_of(row[2]) != shard)
        ]

    def delete_keys(self, gold: str, branch: str, keys: pa.Table) -> None:
        delete_keys(self._catalog.tables[gold], branch, keys)


def find_rows(table: Table, columns: Columns, on: list[int], keys: Iterable[Values]) -> list[CurrentRow]:
    ids = [table.id_of(name) for name, _ in columns]
    wanted = {_comparable(key) for key in keys}
    rows = [(tuple(table.value(row, number) for number in ids), row[1], row[2]) for row in table.rows]
    return [
        CurrentRow(values, sequence, part)
        for values, sequence, part in rows
        if _comparable(tuple(values[index] for index in on)) in wanted
    ]


def delete_keys(table: Table, branch: str, keys: pa.Table) -> None:
    ids = [table.id_of(name) for name in keys.column_names]
    gone = {_comparable(key) for key in to_values(keys)}
    table.branches[branch] = [
        row
        for row in table.branches[branch]
        if _comparable(tuple(table.value(row, number) for number in ids)) not in gone
    ]


def to_record(window: str, event: ChangeEvent) -> RowDict:
    """A change event as a row of silver, as Spark reads it."""
    ((key_hash, old_key_hash),) = hash_keys([event])
    sequence = event.sequence and dict(zip(("epoch", "hi", "lo"), event.sequence, strict=True))
    address = event.address
    return {
        **{name: getattr(event, name) for name in _MEMBERS},
        "window": window,
        "keys": None if event.keys is None else list(event.keys),
        "column_types": None if event.column_types is None else list(event.column_types.items()),
        "sequence": sequence,
        "topic": address.topic,
        "partition": address.partition,
        "offset": address.offset,
        "row_index": address.row_index,
        "key_hash": key_hash,
        "old_key_hash": old_key_hash,
    }


_ROWS = pa.schema([SILVER.columns.field(name) for name in ROW_COLUMNS])
_MEMBERS = (
    *("kind", "source_format", "source_system", "database", "schema", "table"),
    *("op", "op_raw", "image", "partial_after", "before", "after"),
    *("part", "event_time_ms", "ddl_text", "tx_id"),
)


def _is_needed(record: RowDict, needed: LateKeys | Halves | None) -> bool:
    sequence = record["sequence"]
    assert isinstance(sequence, dict)
    match needed:
        case None:
            return True
        case Halves(his):
            return record["image"] in HALVES and sequence["hi"] in his
        case LateKeys(hashes, keys, since):
            if (sequence["epoch"], sequence["hi"]) < (since.epoch, since.hi):
                return False
            return record["keys"] != list(keys) or not hashes.isdisjoint((record["key_hash"], record["old_key_hash"]))


def _comparable(key: Values) -> Values:
    return tuple("NaN" if isinstance(value, float) and math.isnan(value) else value for value in key)
