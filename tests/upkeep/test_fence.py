"""A compaction between a replay's base and its publishing, with Iceberg and Spark as they are."""

import json
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from laws.spark_world import SparkWorld, open_lake_in
from laws.test_policies import TABLE, row
from retable.errors import Compacted
from retable.gold.state import RUN_PROPERTY
from retable.session import build_session
from retable.upkeep.spark import Iceberg
from retable.verify.ledger import against_ledger

pytestmark = pytest.mark.slow


def test_a_compaction_under_a_replay_costs_it_its_write_and_a_sixth_one_its_run(
    spark: SparkSession, tmp_path: Path
) -> None:
    world = open_lake_in(tmp_path / "lake", "canal_json", "")
    world.replay(world.deliver([row(1, "INSERT", id="1", a=("1", "int")), row(2, "INSERT", id="2", a=("2", "int"))]))
    world.replay(world.deliver([row(11, "INSERT", id="3", a=("3", "int"))]))
    moved: list[str] = []

    def move_once(step: str) -> None:
        if step == f"{TABLE}: before publishing" and not moved:
            moved.append(step)
            move(world)

    name = world.deliver(
        [
            row(21, "UPDATE", id="1", a=("9", "int")),
            row(22, "DELETE", id="2"),
            row(23, "INSERT", id="4", a=("4", "int")),
        ]
    )
    assert world.replay(name, move_once)
    assert moved
    assert values(world) == {1: 9, 3: 3, 4: 4}
    assert against_ledger(world.lake, TABLE).findings == ()
    assert not world.replay(name)

    name = world.deliver([row(31, "UPDATE", id="1", a=("10", "int"))])
    with pytest.raises(Compacted, match="run this window again"):
        world.replay(name, lambda step: move(world) if step == f"{TABLE}: before publishing" else None)
    assert values(world) == {1: 9, 3: 3, 4: 4}
    assert world.replay(name)
    assert values(world) == {1: 10, 3: 3, 4: 4}
    assert against_ledger(world.lake, TABLE).findings == ()


def values(world: SparkWorld) -> dict[int, int]:
    return {each["id"]: each["a"] for each in map(json.loads, world.gold()[TABLE].rows)}


def move(world: SparkWorld) -> None:
    """Write all files of the table anew, as a compaction does that began before the replay."""
    iceberg = Iceberg(build_session(world.lake.settings, "retable tests"))
    action = iceberg._actions.rewriteDataFiles(iceberg._load(TABLE)).snapshotProperty(RUN_PROPERTY, "upkeep")
    assert action.option("rewrite-all", "true").execute().rewrittenDataFilesCount()
