"""Windows whose rows stay where silver has them: what tasks make of them on Spark is what one process makes of them."""

import hashlib
import json
import pickle
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import msgspec
import pytest
from pyspark.sql import SparkSession

from laws.spark_world import SparkWorld, open_lake_in, replay_as_in_memory
from laws.story import SUPPORTED, Story, tell
from laws.test_policies import TABLE, ddl, row
from laws.test_shards import KEYED, RULES, alter, create, insert, update, world_of
from laws.test_shards import TABLE as WHOLE
from laws.test_shards import ddl as of_orders
from laws.world import World, make_settings
from retable.fold.fold import Values
from retable.gold.rows import to_keys
from retable.gold.store import KeyFinder
from retable.model.message import RawMessage
from retable.replay.batch.row_batch import RemoteRows
from retable.replay.files import lake_rows
from retable.replay.inputs import scope
from retable.replay.spark import SparkRows
from retable.replay.table import rewriting
from retable.replay.table.table_replay import TableReplay
from retable.replay.tasks import apart, folding
from retable.simulate import HELD_KINDS, Delivery

STORIES = (
    (tell(1, "streamx_json", Delivery(2, "any", 3, 0.2, 0.2, True), 40), [0, 1, 2]),
    (tell(3, "canal_json", Delivery(windows=3), 60, (*SUPPORTED, *HELD_KINDS)), [2, 1, 0]),
    (tell(5, "shareplex_json", Delivery(windows=3, repeated=0.3), 60), [0, 1, 2]),
)


@pytest.fixture
def by_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    """All windows are big, and a task has few rows."""
    monkeypatch.setattr(lake_rows, "ROWS_HERE", 0)
    monkeypatch.setattr(lake_rows, "ROWS_NEAR", 0)
    monkeypatch.setattr(lake_rows, "ROWS_NEAR_LONG", 0)
    monkeypatch.setattr(scope, "EVENTS_AT_ONCE", 1)
    monkeypatch.setattr(scope, "ROWS_ONE_BY_ONE", 1)
    monkeypatch.setattr(rewriting, "EVENTS_AT_ONCE", 1)
    monkeypatch.setattr(apart, "FEW_ROWS", 0)
    monkeypatch.setattr(folding, "EVENTS_AT_ONCE", 4)
    monkeypatch.setattr(folding, "EVENTS_IN_TASK", 4)
    monkeypatch.setattr(folding, "ROWS_A_TASK", 8)


@pytest.fixture
def by_tasks_alone(by_tasks: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No row of a big window comes into one process."""
    came: list[int] = []
    real = TableReplay.one_by_one

    def one_by_one(work: TableReplay) -> TableReplay:
        came.extend(batch.source.num_rows for batch in work.batches if isinstance(batch.source, RemoteRows))
        return real(work)

    monkeypatch.setattr(TableReplay, "one_by_one", one_by_one)
    yield
    assert came == []


def left_files(world: SparkWorld) -> list[Path]:
    return [*world.folder.rglob("exchange/*")]


@pytest.mark.parametrize(("story", "order"), STORIES, ids=str)
def test_gold_by_tasks_is_gold_in_memory(
    story: Story, order: list[int], by_tasks: None, spark: SparkSession, tmp_path: Path
) -> None:
    world, pure = replay_as_in_memory(story, order, tmp_path / "lake")
    for gold in world.gold():
        world.release(gold)
        pure.release(gold)
    assert world.gold() == pure.gold()
    for gold in world.gold():
        world.rebuild(gold)
        pure.rebuild(gold)
    assert world.gold() == pure.gold()
    counted = {(row.window, row.table): row.counts for row in world.ledger() if row.stage == "replay" and row.table}
    assert counted == pure.counts_of_gold
    assert left_files(world) == []


def test_tasks_that_run_in_this_process_come_to_the_same(
    by_tasks: None, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lake_rows, "ROWS_NEAR", 1_000)
    monkeypatch.setattr(lake_rows, "ROWS_NEAR_LONG", 1_000)
    story, order = STORIES[0]
    world, pure = replay_as_in_memory(story, order, tmp_path / "lake")
    assert world.gold() == pure.gold()
    assert left_files(world) == []


@pytest.mark.parametrize("partition", ["", 'partition = ["bucket(3, id)"]\n'])
def test_rows_of_every_age_of_a_table_are_found_and_replaced(
    partition: str, by_tasks_alone: None, spark: SparkSession, tmp_path: Path
) -> None:
    tables = f'[tables."shop.t"]\n{partition}'
    world, pure = open_lake_in(tmp_path / "lake", "canal_json", tables), World(make_settings("canal_json"))
    create = ddl(1, "create table t (id int primary key, a varchar(9), m decimal(9,2), d date)")
    wider = ddl(59, "alter table t modify m decimal(12,2)")
    more = ddl(60, "alter table t add column n int default 7, add column s varchar(9) default 'x'")

    def change(place: int, op: str, number: int, text: str, **values: object) -> RawMessage:
        dated = {"m": (f"{number}.50", "decimal(9,2)"), "d": ("2026-03-01", "date")}
        return row(place, op, id=(str(number), "int"), a=(text, "varchar"), **dated, **values)

    late = {"n": ("8", "int"), "s": ("y", "varchar")}
    windows = [
        [create, *(change(10 + at, "INSERT", at, "first") for at in range(20))],
        [*(change(40 + at, "UPDATE", at, "second") for at in range(8)), change(50, "DELETE", 19, "second")],
        [wider],
        # One value does not fit, so the key's rows are compared one by one with those that gold has of them.
        [more, *(change(70 + at, "UPDATE", at, "third", **late) for at in range(5)), wrong(80, 3), wrong(81, 12)],
        [*(change(90 + at, "UPDATE", 4 + at, "fourth", **late) for at in range(6)), wrong(97, 4), wrong(98, 19)],
    ]
    for window in windows:
        world.replay(world.deliver(window))
        pure.replay(pure.deliver(window))
        assert world.gold() == pure.gold()
        assert_found_as_spark_finds(world, [(number,) for number in range(25)])
    assert left_files(world) == []


def assert_found_as_spark_finds(world: SparkWorld, keys: list[Values]) -> None:
    """A task finds just the rows that Spark does: none that was deleted, and columns that are younger than a file."""
    rows = SparkRows(world.session, world.lake, "shop")
    columns = [(column.gold, column.type) for column in world.states()[TABLE].columns]
    finder: KeyFinder = pickle.loads(pickle.dumps(rows.key_finder(TABLE)))
    found = finder.matching(columns, [0], keys)
    assert sorted(found, key=str) == sorted(rows.matching(TABLE, columns, [0], keys), key=str)
    parts = finder.parts(columns[:1], to_keys(keys, columns[:1]))
    assert sorted(zip(*parts.to_pydict().values(), strict=True)) == sorted((r.values[0], r.part) for r in found)
    assert found


def wrong(place: int, number: int) -> RawMessage:
    return row(place, "UPDATE", id=(str(number), "int"), a=("bad", "varchar"), m=("bad", "decimal(9,2)"))


@pytest.mark.parametrize("version", [2, 3])
def test_rows_of_several_partitions_are_folded_by_tasks(
    version: int, by_tasks_alone: None, spark: SparkSession, tmp_path: Path
) -> None:
    """Vectorized, but for a key of which another partition speaks than the one that gold has it from."""
    tables = f'[tables."shop.t"]\nformat_version = {version}\n'
    world, pure = open_lake_in(tmp_path / "lake", "canal_json", tables), World(make_settings("canal_json"))

    def change(place: int, op: str, number: int, partition: int) -> RawMessage:
        typed = {"id": (f"{number}.5", "decimal(9,2)"), "a": (f"at {place}", "varchar(9)")}
        return msgspec.structs.replace(row(place, op, **typed), partition=partition)

    windows = [
        [change(10 + at, "INSERT", at, at % 3) for at in range(12)],
        [*(change(30 + at, "UPDATE", at, at % 3) for at in range(6)), change(40, "DELETE", 11, 2)],
        [change(50, "UPDATE", 7, 1), change(51, "UPDATE", 8, 0), change(52, "INSERT", 11, 2)],
    ]
    for window in windows:
        world.replay(world.deliver(window))
        pure.replay(pure.deliver(window))
        assert world.gold() == pure.gold()
        assert_found_as_spark_finds(world, [(Decimal(f"{number}.50"),) for number in range(12)])
    hold = world.gold()[TABLE].hold
    assert hold is not None
    assert hold.code == "ORDER_UNDEFINED"


@pytest.mark.parametrize("rules", [RULES, KEYED], ids=["hidden", "shown"])
def test_rows_of_several_tables_that_go_into_one_are_folded_by_tasks(
    rules: dict[str, object], by_tasks_alone: None, spark: SparkSession, tmp_path: Path
) -> None:
    """One of them gets a column, one is emptied, and one has late rows."""
    shown = "".join(f"{name} = {json.dumps(value)}\n" for name, value in rules.items())
    world = open_lake_in(tmp_path / "lake", "canal_json", f'[tables."shop.orders_*"]\n{shown}')
    pure = world_of(rules)
    created = [create(1 + shard, shard) for shard in range(3)]
    loaded = [insert(10 + 3 * at + shard, shard, id=str(at), v="1") for at in range(4) for shard in range(3)]
    emptied, added = of_orders(30, "truncate table orders_0", "orders_0"), alter(31, 1, "add column w int default 7")
    changed = [update(40 + at, at % 3, id=str(at), old_id=str(at), v="2") for at in range(4)]
    late = [update(25 + shard, shard, id="0", v="9") for shard in (1, 2)]
    windows = [created + loaded, [emptied, added, *changed, insert(50, 1, id="8", v="3", w="4")], late]
    for window in windows:
        world.replay(world.deliver(window))
        pure.replay(pure.deliver(window))
        assert world.gold() == pure.gold()
    assert world.gold()[WHOLE].hold is None
    assert world.states()[WHOLE].clashes == pure.states()[WHOLE].clashes == (0 if "shard_in_key" in rules else 4)
    world.rebuild(WHOLE)
    assert world.gold() == pure.gold()
    assert left_files(world) == []


def test_a_truncation_in_a_big_window_empties_gold_before_its_rows_come(
    by_tasks_alone: None, spark: SparkSession, tmp_path: Path
) -> None:
    world, pure = open_lake_in(tmp_path / "lake", "canal_json", ""), World(make_settings("canal_json"))
    create, empty = ddl(1, "create table t (id int primary key, a varchar(9))"), "truncate table t"

    def rows(first: int, *numbers: int) -> list[RawMessage]:
        return [
            row(first + at, "INSERT", id=str(number), a=(f"{first}", "varchar")) for at, number in enumerate(numbers)
        ]

    late = world.deliver(rows(70, 3, 4)), pure.deliver(rows(70, 3, 4))
    windows = [
        [create, *rows(10, *range(12))],
        [ddl(30, empty), *rows(31, 2, 3, 20, 21)],
        [*rows(40, 5, 6), ddl(50, empty), *rows(51, 5, 22)],
        # Behind the rows of a later window, which holds the table.
        [*rows(80, 30, 31), ddl(60, empty), *rows(61, 3, 40)],
    ]
    for number, window in enumerate(windows):
        if number == 3:
            world.replay(late[0])
            pure.replay(late[1])
        world.replay(world.deliver(window))
        pure.replay(pure.deliver(window))
        assert world.gold() == pure.gold()
    assert left_files(world) == []


def test_rows_of_a_table_without_a_key_are_counted_by_tasks_alone(
    by_tasks_alone: None, spark: SparkSession, tmp_path: Path
) -> None:
    world, pure = open_lake_in(tmp_path / "lake", "canal_json", ""), World(make_settings("canal_json"))
    create = ddl(1, "create table t (id int, m decimal(9,2), f double, a varchar(9))")
    nothing = {"m": (None, "decimal(9,2)"), "a": (None, "varchar(9)")}

    def change(place: int, op: str, number: int, real: str, **values: object) -> RawMessage:
        typed = {"id": (str(number % 4), "int"), "f": (real, "double"), "a": ("x", "varchar(9)")}
        return row(place, op, keys=(), **{**typed, "m": (f"{number % 3}.5", "decimal(9,2)"), **values})

    windows = [
        [create, *(change(10 + at, "INSERT", at, "0.0") for at in range(20))],
        [change(40 + at, "INSERT", at, "-0.0", **nothing) for at in range(8)],
        [
            *(change(50 + at, "DELETE", at, "0.0", **nothing) for at in range(3)),
            change(60, "DELETE", 4, "-0.0", m=("1.50", "decimal(9,2)")),
            change(61, "INSERT", 5, "0", m=("2.500", "decimal(9,2)")),
            change(62, "INSERT", 7, "1e3"),
        ],
    ]
    for window in windows:
        world.replay(world.deliver(window))
        pure.replay(pure.deliver(window))
        assert world.gold() == pure.gold()
    assert left_files(world) == []


def test_a_window_that_tasks_replayed_is_not_written_again(by_tasks: None, spark: SparkSession, tmp_path: Path) -> None:
    world = open_lake_in(tmp_path / "lake", "canal_json", "")
    create = ddl(1, "create table t (id int primary key, a varchar(9))")
    rows = [row(10 + at, "INSERT", id=str(at), a=("x", "varchar")) for at in range(9)]
    name = world.deliver([create, *rows])
    assert world.replay(name)
    assert not world.replay(name)


def test_a_file_of_silver_that_a_task_finds_damaged_is_decoded_anew(
    by_tasks: None, spark: SparkSession, tmp_path: Path
) -> None:
    world = open_lake_in(tmp_path / "lake", "canal_json", "")
    create = ddl(1, "create table t (id int primary key, a varchar(99))")
    texts = [hashlib.sha256(str(number).encode()).hexdigest() for number in range(200)]
    name = world.deliver([create, *(row(10 + at, "INSERT", id=str(at), a=(texts[at], "varchar")) for at in range(200))])
    silver = world.lake.load("silver.shop").scan(row_filter="kind = 'row'").plan_files()
    (path,) = (Path(task.file.file_path.removeprefix("file://")) for task in silver)
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    told: list[str] = []
    world.replay(name, told.append)
    assert [each for each in told if "damaged" in each] == [
        f"{name}: a file of silver is damaged, the window is decoded again"
    ]
    assert {json.loads(each)["a"] for each in world.gold()[TABLE].rows} == {*texts}


@pytest.mark.parametrize(
    ("statement", "keys"),
    [("drop primary key, add primary key (c, d)", ("c", "d")), ("modify v decimal(4,2)", ("id",))],
    ids=["key", "type"],
)
def test_a_table_takes_another_key_or_a_narrower_type_by_tasks_alone(
    statement: str, keys: tuple[str, ...], by_tasks_alone: None, spark: SparkSession, tmp_path: Path
) -> None:
    world, pure = open_lake_in(tmp_path / "lake", "canal_json", ""), World(make_settings("canal_json"))

    def change(place: int, op: str, ident: int, v: str, keys: tuple[str, ...] = ("id",)) -> RawMessage:
        values = {"id": (str(ident), "bigint"), "c": (f"c{ident}", "varchar"), "d": ("2026-03-01", "date")}
        return row(place, op, keys=keys, **values, v=(v, "int"))

    create = ddl(1, "create table t (id bigint primary key, c varchar(9), d date, v int)")
    windows = [
        [create, *(change(10 + at, "INSERT", at, str(at)) for at in range(20))],
        [
            *(change(40 + at, "UPDATE", at, "7") for at in range(4)),
            ddl(50, f"alter table t {statement}"),
            *(change(60 + at, "UPDATE", at, "8", keys) for at in range(2, 6)),
            *(change(70 + at, "DELETE", at, "7", keys) for at in range(2)),
        ],
        [change(80, "INSERT", 90, "1", keys), change(81, "DELETE", 2, "8", keys)],
    ]
    for window in windows:
        world.replay(world.deliver(window))
        pure.replay(pure.deliver(window))
    assert world.gold() == pure.gold()
    for each in (world, pure):
        each.rebuild(TABLE)
    assert world.gold() == pure.gold()
    assert (world.gold()[TABLE].hold, len(world.gold()[TABLE].rows)) == (None, 18)
    assert left_files(world) == []
