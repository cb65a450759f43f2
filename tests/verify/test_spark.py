"""Verification of what Spark and Iceberg really leave: nothing is found in it, and what somebody else does to it is."""

from collections.abc import Mapping
from pathlib import Path

from pyspark.sql import SparkSession

from laws.spark_world import SparkWorld, open_world
from laws.story import SUPPORTED, Story
from retable.gold.state import GoldState
from retable.simulate import HELD_KINDS, Delivery
from retable.verify.bronze import against_bronze
from retable.verify.findings import Verification
from retable.verify.ledger import against_ledger
from retable.verify.rows import Share
from verify.pure import first_story


def _has_a_hold(states: Mapping[str, GoldState]) -> bool:
    return any(state.hold is not None and state.hold.position is not None for state in states.values())


def both(world: SparkWorld, name: str, folder: Path) -> tuple[Verification, Verification]:
    folder.mkdir(exist_ok=True)
    return against_bronze(world.lake, name, folder, Share()), against_ledger(world.lake, name)


def test_what_spark_leaves_is_right_until_somebody_else_writes_to_it(spark: SparkSession, tmp_path: Path) -> None:
    story = first_story(_has_a_hold, "canal_json", Delivery(windows=3), (*SUPPORTED, *HELD_KINDS))
    world = deliver_all(story, open_world(story, tmp_path / "lake"))
    for name in (*world.names[1:], *world.names[:1], *world.names):
        world.replay(name)
    states = world.states()
    assert any(state.hold is not None for state in states.values())
    held = next(name for name, state in states.items() if state.hold is not None)
    world.rebuild(held)
    for name in states:
        assert [(report.findings, report.is_equal) for report in both(world, name, tmp_path / "spill")] == [
            ((), True),
            ((), True),
        ], name
    name = max((name for name in states if states[name].keys), key=lambda name: len(world.gold()[name].rows))
    key = states[name].keys[0].lower()
    rows = len(world.gold()[name].rows)
    assert rows > 1
    namespace, _, table = name.partition(".")
    full = f"lake.`{namespace}`.`{table}`"
    least = world.session.sql(f"SELECT min(`{key}`) FROM {full}").first()
    assert least is not None
    world.session.table(full).where(f"`{key}` = (SELECT min(`{key}`) FROM {full})").writeTo(full).append()
    against, ledger = both(world, name, tmp_path / "spill")
    assert against.findings == ()
    assert against.rows is not None
    assert (against.rows.only_left, against.rows.only_right, against.rows.different) == (1, 0, 0)
    assert [finding.code for finding in ledger.findings] == ["FOREIGN_COMMIT"]
    assert "engine-name spark" in ledger.findings[0].what
    world.session.sql(f"DELETE FROM {full} WHERE true")
    against, ledger = both(world, name, tmp_path / "spill")
    assert against.rows is not None
    assert (against.rows.only_left, against.rows.only_right, against.rows.different) == (0, rows, 0)
    assert [finding.what.partition(" at ")[0] for finding in ledger.findings] == ["append", "delete"]


def deliver_all(story: Story, world: SparkWorld) -> SparkWorld:
    for number in range(len(story.windows)):
        story.deliver(world, number)
    return world
