"""Several tables of a source as one of gold, on Iceberg: what the pure core says, read alike by all, and verified."""

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession
from typer.testing import CliRunner, Result

from lakes import FreshLake
from laws.spark_world import SparkWorld, open_lake_in
from laws.test_shards import (
    ADDED,
    EMPTIED,
    FIRST,
    KEYED,
    RENAMED,
    STORIES,
    TABLE,
    alter,
    apart,
    create,
    ddl,
    delete,
    in_partition,
    insert,
    run,
    settle,
    world_of,
)
from laws.world import NOW
from reading.engines import ENGINES
from retable.cli.app import app
from retable.cli.run.baseline import find_table, part_of, target_of
from retable.errors import InvalidSetting
from retable.gold.read import is_retired
from retable.ledger.lake.catalog import open_lake
from retable.ledger.write import append_rows
from retable.model.message import RawMessage
from retable.model.sequence import Sequence
from retable.onboard.baseline.copies import CsvForm, open_copy
from retable.onboard.baseline.pieces import land_baseline
from retable.replay.inputs.decisions import decision_row
from retable.replay.release import Way, count_waiting, plan_release
from retable.replay.spark import rebuild, replay_piece
from retable.settings.load import load_settings
from retable.verify.outlook import inspect_source
from verify.test_spark import both


def lake(folder: Path, more: str = "") -> SparkWorld:
    shown = "" if "shard_in_key" in more else "shard_in_key = true"
    rules = f'\n[tables."shop.orders_*"]\nto = "shop.orders"\n{shown}\n{more}\n'
    return open_lake_in(folder, "canal_json", rules)


def replay(world: SparkWorld, *windows: list[RawMessage]) -> SparkWorld:
    for window in windows:
        world.replay(world.deliver(window))
    return world


def release(world: SparkWorld, way: Way) -> None:
    state, waiting = world.states()[TABLE], count_waiting(world.lake, "shop", TABLE)
    assert state.hold is not None
    decision = plan_release(TABLE, state, state.hold, way, None, waiting, lambda: "mysql").decision
    append_rows(world.lake, [decision_row("shop", decision, NOW)] if decision is not None else [])
    rebuild(world.session, world.lake, world.source, TABLE, "run", NOW, resumes=True)


def check(world: SparkWorld, folder: Path) -> None:
    """Nothing is found in it, and every reader sees the same."""
    bronze, ledger = both(world, TABLE, folder)
    assert (bronze.findings, bronze.is_equal, ledger.findings) == ((), True, ())
    place = FreshLake(world.session, world.lake, world.lake.settings)
    seen = {name: sorted(read(place, TABLE, None).to_pylist(), key=str) for name, read in ENGINES.items()}
    assert seen["duckdb"] == seen["pyiceberg"] == seen["spark"]


@pytest.mark.parametrize("version", [2, 3])
def test_tables_come_to_what_the_pure_core_says(spark: SparkSession, tmp_path: Path, version: int) -> None:
    for name, story in {"added": ADDED, "renamed": RENAMED, "emptied": EMPTIED, "apart": apart(ADDED)}.items():
        world = replay(lake(tmp_path / name, f"format_version = {version}"), story[:6], story[6:])
        assert world.gold() == run(world_of(KEYED), story).gold(), name
        check(world, tmp_path / "spill")
        assert not any(world.replay(window) for window in world.names), name


@pytest.mark.parametrize("version", [2, 3])
def test_a_key_of_two_tables_is_two_rows_and_status_counts_it(
    spark: SparkSession, tmp_path: Path, version: int
) -> None:
    world = lake(tmp_path / "lake", f"shard_in_key = false\nformat_version = {version}")
    first = [*FIRST, insert(5, 0, id="2", v="21"), insert(6, 1, id="1", v="11")]
    replay(world, first, [insert(7, 1, id="3", v="30")], [insert(8, 0, id="3", v="31")])
    assert rows(world) == [(1, 10), (1, 11), (2, 20), (2, 21), (3, 30), (3, 31)]
    check(world, tmp_path / "spill")
    assert f"{TABLE}: 3 of its keys have rows in several of the tables" in call(world, "status").stderr
    replay(world, [delete(9, 0, id="3", v="31"), ddl(10, "truncate table orders_1", "orders_1")])
    assert rows(world) == [(1, 10), (2, 21)]
    assert world.states()[TABLE].clashes == 0
    assert "of its keys" not in call(world, "status").stderr


def rows(world: SparkWorld) -> list[tuple[int, int]]:
    return sorted((row["id"], row["v"]) for row in map(json.loads, world.gold()[TABLE].rows))


def call(world: SparkWorld, *words: str) -> Result:
    return CliRunner().invoke(app, words, env={"RETABLE_SETTINGS": str(world.folder / "retable.toml")})


def test_a_table_that_leaves_and_one_that_swaps_columns_are_written_anew(spark: SparkSession, tmp_path: Path) -> None:
    swapped = STORIES["swapped"]
    leaving = [ddl(20, "rename table orders_1 to old_orders", "orders_1"), insert(21, 0, id="8", v="3", w="4")]
    world = replay(lake(tmp_path / "lake", 'partition = ["bucket(4, id)"]'), swapped[:5], swapped[5:], leaving)
    assert {name: state.hold and state.hold.code for name, state in world.states().items()} == {
        TABLE: "MOVED",
        "gold_shop.old_orders": "MOVED",
    }
    for table in (TABLE, "gold_shop.old_orders"):
        rebuild(world.session, world.lake, world.source, table, "run", NOW)
    right = run(world_of(KEYED), swapped, leaving)
    settle(right)
    assert world.gold() == right.gold()
    check(world, tmp_path / "spill")


def test_holds_of_two_partitions_stop_all_of_it_and_gold_is_right_up_to_them(
    spark: SparkSession, tmp_path: Path
) -> None:
    first = [*in_partition(0, create(1, 0), insert(3, 0, id="1", v="10")), *in_partition(1, create(1, 1))]
    odd = [
        *in_partition(0, alter(10, 0, "modify v varchar(20)"), insert(11, 0, id="3", v="30")),
        *in_partition(1, alter(5, 1, "frobnicate"), insert(6, 1, id="4", v="40")),
    ]
    world = replay(lake(tmp_path / "lake"), first, odd)
    hold = world.states()[TABLE].hold
    assert hold is not None
    assert (hold.position, hold.place is None) == (None, False)
    check(world, tmp_path / "spill")
    for there in ({1, 3}, {1, 3, 4}):
        release(world, "skip")
        assert {row["id"] for row in map(json.loads, world.gold()[TABLE].rows)} == there
        check(world, tmp_path / "spill")
    assert world.states()[TABLE].hold is None


def test_other_settings_make_tables_stale_and_a_rebuild_brings_rows_there_and_back(
    spark: SparkSession, tmp_path: Path
) -> None:
    world = replay(lake(tmp_path / "lake"), ADDED[:5], ADDED[5:7])
    settings = tmp_path / "lake" / "retable.toml"
    together = settings.read_text(encoding="utf-8")
    apart_again = together.partition("\n[tables")[0]
    for text, window in ((apart_again, ADDED[7:8]), (together, ADDED[8:])):
        settings.write_text(text, encoding="utf-8")
        world.lake = open_lake(load_settings(settings))
        moved = set(inspect_source(world.lake, world.source, NOW).moved)
        assert moved == ({"gold_shop.orders_0", "gold_shop.orders_1"} if text is apart_again else {TABLE})
        told = call(world, "plan").stderr
        assert f"`retable rebuild {' '.join(sorted(moved))} --reason ...` moves the rows to where they go now" in told
        assert all(f"{table} is stale" in call(world, "status").stderr for table in moved)
        assert call(world, "status", "--check").exit_code == 2
        if text is together:
            replay(world, window)
            assert {world.states()[table].hold.code for table in moved} == {"MOVED"}
        done = call(world, "rebuild", *sorted(moved), "--reason", "they belong together", "--yes")
        assert done.exit_code == 0, done.stderr
        if text is apart_again:
            replay(world, window)
        outlook = inspect_source(world.lake, world.source, NOW)
        assert (outlook.moved, outlook.stale, outlook.held) == ({}, (), {})
        for gold, state in world.states().items():
            if not is_retired(world.lake, state):
                bronze, ledger = both(world, gold, tmp_path / "spill")
                assert (bronze.findings, bronze.is_equal, ledger.findings) == ((), True, ()), gold
    assert world.gold()[TABLE] == run(world_of(KEYED), ADDED).gold()[TABLE]


def test_one_of_them_starts_anew_from_a_copy(spark: SparkSession, tmp_path: Path) -> None:
    world = replay(lake(tmp_path / "lake"), ADDED)
    with pytest.raises(InvalidSetting, match=r"name one of these: gold_shop.orders_0, gold_shop.orders_1"):
        find_table(world.lake, TABLE)
    known = find_table(world.lake, "gold_shop.orders_0")
    target = target_of(world.lake, known, Sequence(0, 60, 0), part_of(world.lake, known, None))
    assert (known.gold, target.keys) == (TABLE, ("id",))
    pq.write_table(pa.table({"id": [1, 99], "v": [2, 3], "w": [4, 5]}), tmp_path / "copy.parquet")
    copy = open_copy(str(tmp_path / "copy.parquet"), CsvForm())
    for piece in land_baseline(world.lake, target, copy, NOW, lambda _: None):
        replay_piece(world.session, world.lake, world.source, piece.window, "run", NOW)
    found = {(row["source_table"], row["id"]): row["w"] for row in map(json.loads, world.gold()[TABLE].rows)}
    assert found == {
        ("shop.orders_0", 1): 4,
        ("shop.orders_0", 99): 5,
        ("shop.orders_1", 2): 7,
        ("shop.orders_1", 6): 7,
        ("shop.orders_1", 7): 8,
    }
    check(world, tmp_path / "spill")
