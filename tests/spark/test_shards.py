"""Several tables of a source as one of gold, on Iceberg: what the pure core says, read alike by all, and verified."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from lakes import FreshLake
from laws.spark_world import SparkWorld, open_lake_in
from laws.test_shards import ADDED, EMPTIED, KEYED, RENAMED, STORIES, TABLE, apart, ddl, insert, run, world_of
from reading.engines import ENGINES
from retable.model.message import RawMessage
from verify.test_spark import both


def lake(folder: Path, more: str = "") -> SparkWorld:
    rules = f'\n[tables."shop.orders_*"]\nto = "shop.orders"\nshard_in_key = true\n{more}\n'
    return open_lake_in(folder, "canal_json", rules)


def replay(world: SparkWorld, *windows: list[RawMessage]) -> SparkWorld:
    for window in windows:
        world.replay(world.deliver(window))
    return world


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


def test_a_table_that_leaves_and_one_that_swaps_columns_are_written_anew(spark: SparkSession, tmp_path: Path) -> None:
    swapped = STORIES["swapped"]
    leaving = [ddl(20, "rename table orders_1 to old_orders", "orders_1"), insert(21, 0, id="8", v="3", w="4")]
    world = replay(lake(tmp_path / "lake", 'partition = ["bucket(4, id)"]'), swapped[:5], swapped[5:], leaving)
    assert world.gold() == run(world_of(KEYED), [*swapped, *leaving]).gold()
    assert set(world.gold()) == {TABLE, "gold_shop.old_orders"}
    check(world, tmp_path / "spill")
