"""Tasks run in the driver's process where the window is not very big and its rows are plain, else on executors."""

from typing import Any, cast

import msgspec
import pytest

from laws.memory import MemoryRows
from laws.test_bulk import in_tasks
from laws.test_replays_found import CREATE, ddl, insert, row, update
from laws.world import World, make_settings
from retable.gold.store import GoldTable
from retable.model.message import RawMessage
from retable.model.sequence import LOWEST
from retable.replay.batch import row_batch
from retable.replay.files.lake_rows import LakeRows, WindowSize
from retable.replay.spark import SparkRows
from retable.replay.table.deciding import Deciding
from retable.replay.table.table_replay import TableReplay
from retable.replay.tasks.fold_task import FoldTask

FIRST = [ddl(1, CREATE), *(insert(2 + n, id=str(n), v="1") for n in range(4))]
PLAIN = [update(10 + n, id=str(n), v="2") for n in range(4)]


class Executors:
    """What Spark is asked to run."""

    def __init__(self) -> None:
        self.asked: list[int] = []
        self.sparkContext = self
        self.defaultParallelism = 2

    def parallelize(self, tasks: list[object], slices: int) -> "Executors":
        self.asked.append(slices)
        return self

    def map(self, _: object) -> "Executors":
        return self

    def collect(self) -> list[str]:
        return ["executor"]


@pytest.mark.parametrize(
    ("rows", "tasks", "are_long", "where"),
    [
        (400_000, 1, False, "driver"),
        (400_001, 1, False, "executor"),
        (None, 1, False, "executor"),
        (400_000, 17, False, "executor"),
        (150_001, 1, True, "executor"),
        (150_000, 1, True, "driver"),
    ],
)
def test_tasks_run_where_they_are_done_soonest(rows: int | None, tasks: int, are_long: bool, where: str) -> None:
    spark = Executors()
    found = SparkRows(cast(Any, spark), cast(Any, None), "shop", WindowSize(rows))
    assert set(found.run([lambda: "driver"] * tasks, are_long)) == {where}
    assert spark.asked == ([] if where == "driver" else [tasks])


def test_all_rows_of_a_table_are_not_counted_as_the_few_of_its_window(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LakeRows, "_of_tables", lambda *_: None)
    rows = LakeRows(cast(Any, None), "shop", WindowSize(1))
    for windows, since, count, slots in (
        ({"a"}, None, 0, 1),
        ({"a", "b"}, LOWEST, 0, 1),
        ({"a", "b"}, None, 150_000, 2),
        # Another table of the same replay has fewer rows.
        ({"a", "b"}, None, 10, 2),
        ({"a", "b"}, None, 0, 0),
    ):
        rows.big_table(windows, [], since, count)
        assert rows.slots_here(are_long=False) == slots


@pytest.mark.parametrize(
    ("windows", "are_long"),
    [
        ([FIRST, PLAIN], False),
        # Two rows of a key, of which one comes late.
        ([FIRST, [update(30, id="1", v="3")], PLAIN], True),
        # One row has another column, so not all are of one kind.
        ([FIRST, [*PLAIN, update(30, id="1", v="3", z="a")]], True),
    ],
    ids=["plain", "late", "of several kinds"],
)
def test_rows_that_are_folded_one_by_one_take_long(
    windows: list[list[RawMessage]], are_long: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[bool] = []
    real = MemoryRows.run

    def run(rows: MemoryRows, tasks: Any, are_long: bool = False) -> Any:
        told.extend(are_long for task in tasks if isinstance(task, FoldTask))
        return real(rows, tasks, are_long)

    in_tasks(monkeypatch, 1)
    monkeypatch.setattr(MemoryRows, "run", run)
    world = World(make_settings("canal_json"))
    for window in windows:
        told.clear()
        world.replay(world.deliver(window))
    assert set(told) == {are_long}


def test_many_rows_of_small_tables_are_read_when_it_is_their_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    names = ("a", "b", "c")
    columns = {"id": "int", "v": "int"}
    made = [ddl(1 + at, f"create table {name} (id int primary key, v int)", name) for at, name in enumerate(names)]
    rows = [
        row(10 + 3 * at + n, "INSERT", columns, table=name, id=str(n), v="1")
        for at, name in enumerate(names)
        for n in (1, 2)
    ]
    turns: list[tuple[str, str]] = []
    read, decide = row_batch.read_stretches, Deciding.decide

    def reading(stretches: Any, *more: Any, **options: Any) -> Any:
        turns.append(("read", stretches[0].table.table))
        return read(stretches, *more, **options)

    def deciding(self: Deciding, work: TableReplay, table: GoldTable) -> Any:
        turns.append(("decide", work.history.name.table))
        return decide(self, work, table)

    in_tasks(monkeypatch, 100, which="wait")
    monkeypatch.setattr(row_batch, "read_stretches", reading)
    monkeypatch.setattr(Deciding, "decide", deciding)
    world = World(make_settings("canal_json"))
    world.replay(world.deliver([*made, *rows]))
    assert turns == [(what, name) for name in names for what in ("decide", "read")]
    assert {name: len(gold.rows) for name, gold in world.gold().items()} == {f"gold_shop.{name}": 2 for name in names}


@pytest.mark.parametrize(
    ("rows", "are_for_tasks"),
    [
        (PLAIN, False),
        ([PLAIN[0], ddl(11, "alter table t add column w int"), update(12, id="2", v="2", w="3")], True),
        ([PLAIN[0], msgspec.structs.replace(PLAIN[1], partition=1)], False),
    ],
    ids=["plain", "a column between them", "two partitions"],
)
def test_mixed_rows_of_a_small_window_are_vectorized_by_tasks(
    rows: list[RawMessage], are_for_tasks: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    tasks: list[object] = []
    real = MemoryRows.run

    def run(store: MemoryRows, mine: Any, are_long: bool = False) -> Any:
        tasks.extend(task for task in mine if isinstance(task, FoldTask) and task.plain is not None)
        return real(store, mine, are_long)

    world = World(make_settings("canal_json"))
    world.replay(world.deliver(FIRST))
    in_tasks(monkeypatch, 1, which="mixed")
    monkeypatch.setattr(MemoryRows, "run", run)
    world.replay(world.deliver(rows))
    assert bool(tasks) == are_for_tasks
