"""Gold on Iceberg whose main branch moved: what lost rows is written anew, what has other files is not."""

from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from laws.spark_world import SparkWorld, open_lake_in
from laws.test_set_back import FIRST, SECOND, TABLE, THIRD, row
from retable.gold.read import read_cut
from retable.ledger.cuts import read_cuts
from retable.settings.load import CATALOG
from retable.upkeep.inspection import TablePlace
from retable.upkeep.plan import plan_place
from retable.upkeep.policy import Plan, UpkeepRules

WHOLE = ('{"id": 1, "v": 3}', '{"id": 2, "v": 2}')


@pytest.fixture(params=[2, 3])
def world(request: pytest.FixtureRequest, tmp_path: Path, spark: SparkSession) -> SparkWorld:
    world = open_lake_in(tmp_path, "canal_json", f'\n[tables."shop.t"]\nformat_version = {request.param}\n')
    for window in (FIRST, SECOND, THIRD):
        world.replay(world.deliver(window))
    assert world.gold()[TABLE].rows == WHOLE
    return world


def call(world: SparkWorld, procedure: str) -> None:
    world.session.sql(f"CALL {CATALOG}.system.{procedure}").collect()


def expire(world: SparkWorld, kept: int) -> None:
    older = "TIMESTAMP '2100-01-01 00:00:00'"
    call(world, f"expire_snapshots(table => '{TABLE}', older_than => {older}, retain_last => {kept})")


def stood(world: SparkWorld) -> list[int]:
    """The snapshots that main stood at, oldest first."""
    return [each.snapshot_id for each in world.lake.load(TABLE).metadata.snapshot_log]


def test_what_was_rolled_back_is_written_anew_by_any_window_and_by_the_next(world: SparkWorld) -> None:
    past = stood(world)
    for window, snapshot in zip(world.names, past, strict=False):
        call(world, f"set_current_snapshot('{TABLE}', {snapshot})")
        assert world.gold()[TABLE].rows != WHOLE
        assert world.replay(window)
        assert world.gold()[TABLE].rows == WHOLE
        assert not any(world.replay(name) for name in world.names)
    call(world, f"set_current_snapshot('{TABLE}', {past[0]})")
    world.replay(world.deliver([row(6, "INSERT", id="9", v="9")]))
    assert world.gold()[TABLE].rows == (*WHOLE, '{"id": 9, "v": 9}')


def test_what_was_rolled_back_and_written_to_by_hand_is_written_anew(world: SparkWorld) -> None:
    call(world, f"rollback_to_snapshot('{TABLE}', {stood(world)[0]})")
    world.session.sql(f"INSERT INTO {CATALOG}.{TABLE} (id, v) VALUES (7, 7)")
    expire(world, kept=2)
    assert world.replay(world.names[1])
    assert world.gold()[TABLE].rows == WHOLE
    counted = {each.window: each.cut for each in world.ledger() if each.stage == "replay" and each.table == TABLE}
    assert counted[world.names[1]] == world.names[-1]
    assert read_cut(world.lake, "shop", world.names[-1])[TABLE] == stood(world)[-1]


def test_compaction_and_expiry_set_nothing_back(world: SparkWorld) -> None:
    call(world, f"rewrite_data_files(table => '{TABLE}', options => map('rewrite-all', 'true'))")
    assert not any(world.replay(name) for name in world.names)
    call(world, f"rewrite_data_files(table => '{TABLE}', options => map('rewrite-all', 'true'))")
    expire(world, kept=1)
    assert len(world.lake.load(TABLE).metadata.snapshots) == 1
    assert not any(world.replay(name) for name in world.names)
    assert world.gold()[TABLE].rows == WHOLE


def test_upkeep_leaves_a_table_alone_that_was_rolled_back(world: SparkWorld) -> None:
    place, later = TablePlace(TABLE, "gold", "shop"), datetime.now(UTC) + timedelta(days=30)
    assert plan_place(world.lake, place, later, UpkeepRules(), partial(read_cuts, world.lake))[1].expire
    call(world, f"rollback_to_snapshot('{TABLE}', {stood(world)[1]})")
    assert plan_place(world.lake, place, later, UpkeepRules(), partial(read_cuts, world.lake))[1] == Plan()
    assert world.replay(world.names[1])
    assert plan_place(world.lake, place, later, UpkeepRules(), partial(read_cuts, world.lake))[1].expire
