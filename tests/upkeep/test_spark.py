"""Upkeep on a lake that Spark filled: rows stay as they are, files and snapshots become few."""

import os
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from laws.spark_world import SparkWorld, open_lake_in
from laws.test_policies import TABLE, row
from retable.errors import NotFound
from retable.gold.read import find_gold, read_cut
from retable.ledger.cuts import read_cuts
from retable.ledger.lake.catalog import open_lake
from retable.ledger.leases import LENGTH, Lease, leased
from retable.ledger.read import read_upkeep
from retable.ledger.windows.contents import silver_files
from retable.settings.load import load_settings
from retable.upkeep.inspection import TablePlace, choose, places
from retable.upkeep.plan import plan_place
from retable.upkeep.policy import UpkeepRules
from retable.upkeep.report import UpkeepResult
from retable.upkeep.spark import upkeep
from retable.verify.ledger import against_ledger

pytestmark = pytest.mark.slow

HOURS = 5
EAGER = UpkeepRules(keep=timedelta(0), most_manifests=3)
"""No snapshot is too young: the lakes of tests are."""


@pytest.fixture(scope="module")
def world(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> SparkWorld:
    """A table of which every hour brings two rows and deletes one of the hour before; cuts of two windows are kept."""
    folder = tmp_path_factory.mktemp("upkeep") / "lake"
    world = open_lake_in(folder, "canal_json", "")
    settings = folder / "retable.toml"
    text = settings.read_text(encoding="utf-8").replace('warehouse = "lake"\n', 'warehouse = "lake"\nkeep_cuts = 2\n')
    settings.write_text(text, encoding="utf-8")
    world.lake = open_lake(load_settings(settings))
    for hour in range(HOURS):
        messages = [row(10 * hour + 1, "INSERT", id=str(hour), a=(f"{hour}", "int"))]
        if hour:
            messages.append(row(10 * hour + 2, "DELETE", id=str(hour - 1), a=(f"{hour - 1}", "int")))
        messages.append(row(10 * hour + 3, "INSERT", id=str(100 + hour), a=(f"{hour}", "int")))
        world.replay(world.deliver(messages))
    return world


def later() -> datetime:
    return datetime.now(UTC) + timedelta(minutes=1)


def keep_all(
    world: SparkWorld, *names: str, rules: UpkeepRules = EAGER, now: datetime | None = None
) -> dict[str, UpkeepResult]:
    chosen = choose(places(world.lake), names)
    return {
        each.table: each
        for each in upkeep(world.session, world.lake, chosen, "upkeep", lambda: now or later(), rules=rules)
    }


def snapshots(world: SparkWorld) -> set[int]:
    return {snapshot.snapshot_id for snapshot in world.lake.load(TABLE).metadata.snapshots}


def test_a_table_that_a_replay_is_at_is_left_alone(world: SparkWorld) -> None:
    now, before = later(), snapshots(world)
    with leased(
        world.lake,
        Lease(source="shop", target="shop", purpose="replay", holder="a run", until=now + LENGTH, recorded_at=now),
    ):
        kept = keep_all(world, TABLE, now=now)
    assert "the replay a run works on shop" in (kept[TABLE].left or "")
    assert snapshots(world) == before


def test_what_is_asked_for_and_is_not_there_names_the_nearest(world: SparkWorld) -> None:
    with pytest.raises(NotFound, match="did you mean 'gold_shop.t'"):
        choose(places(world.lake), ["gold_shop.tt"])
    assert [each.name for each in choose(places(world.lake), ["bronze.shop"])] == ["bronze.shop"]
    layers = [each.layer for each in choose(places(world.lake), ["shop"])]
    assert layers == ["gold", "bronze", "silver", "statements", "quarantine"]


def test_upkeep_leaves_rows_and_record_as_they_are_and_files_and_snapshots_few(world: SparkWorld) -> None:
    rows, states, ledger = world.gold(), world.states(), world.ledger()
    cuts = [read_cut(world.lake, "shop", name)[TABLE] for name in world.names]
    world.session.sql(f"ALTER TABLE lake.{TABLE} CREATE TAG `month-end` AS OF VERSION {cuts[0]}")
    location = Path(find_gold(world.lake, TABLE)[0].location().removeprefix("file:"))
    left, fresh = location / "data" / "left.parquet", location / "data" / "fresh.parquet"
    for path in (left, fresh):
        path.write_bytes(b"PAR1")
    days = (later() - timedelta(days=4)).timestamp()
    os.utime(left, (days, days))
    # By the rules as they are, nothing expires of a lake that is younger than a day.
    assert (
        plan_place(
            world.lake, TablePlace(TABLE, "gold", "shop"), later(), UpkeepRules(), partial(read_cuts, world.lake)
        )[1].expire
        == ()
    )

    kept = keep_all(world)
    assert [each.left for each in kept.values() if each.left] == []
    gold = kept[TABLE]
    assert (gold.before["files"], gold.after["files"], gold.after["deleted_rows"]) == (HOURS, 1, 0)
    assert (gold.done["files"], gold.done["orphans"]) == (HOURS, 1)
    assert (left.exists(), fresh.exists()) == (False, True)
    assert kept["ops.ledger"].before["files"] > 5
    assert kept["ops.ledger"].after["files"] == 1
    assert (world.gold(), world.states()) == (rows, states)
    assert world.ledger() == ledger
    assert {each.table: each for each in read_upkeep(world.lake)}[TABLE].done["files"] == HOURS

    # Of the cuts only those that are kept can be read, and what is tagged; the newest names the files as they are now.
    there = snapshots(world)
    assert {cuts[0], *cuts[-2:]} <= there
    assert there.isdisjoint(cuts[1:-2])
    table = world.lake.load(TABLE)
    assert [table.scan(snapshot_id=cut).to_arrow().num_rows for cut in (cuts[0], cuts[-2])] == [2, HOURS]
    assert read_cut(world.lake, "shop", world.names[-1])[TABLE] == world.digest()[TABLE]
    assert against_ledger(world.lake, TABLE).findings == ()

    again = keep_all(world, TABLE)
    assert not again[TABLE].done["files"]
    assert not world.replay(world.names[0])
    assert world.gold() == rows


def test_windows_of_silver_are_compacted_once_and_stay_what_gold_has_applied(world: SparkWorld) -> None:
    rows, content = world.gold(), silver_files(world.lake, "shop")
    before = sorted(map(str, world.lake.load("silver.shop").scan().to_arrow().to_pylist()))
    every = UpkeepRules(few_files=1)
    kept = keep_all(world, "silver.shop", rules=every)["silver.shop"]
    assert kept.done["files"] >= len(world.names)
    assert silver_files(world.lake, "shop") == content
    assert sorted(map(str, world.lake.load("silver.shop").scan().to_arrow().to_pylist())) == before
    assert not world.replay(world.names[1])
    assert keep_all(world, "silver.shop", rules=every)["silver.shop"].done["files"] == 0
    assert against_ledger(world.lake, TABLE).findings == ()
    assert world.gold() == rows
