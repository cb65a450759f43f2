"""Retention on a lake that Spark filled: what goes, what stays, what gold still does, and what is refused."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from laws.spark_world import SparkWorld, open_lake_in
from laws.test_policies import TABLE, ddl, row
from laws.world import FIRST, HOUR, NOW
from retable.decode.spark import decode
from retable.errors import NotKept
from retable.gold.read import find_gold
from retable.land.spark import land_window
from retable.ledger.read import read_upkeep
from retable.ledger.retained import kept_from
from retable.ledger.write import append_rows
from retable.model.window import window_name
from retable.replay.inputs.decisions import decision_row
from retable.replay.release import count_waiting, plan_release
from retable.replay.spark import rebuild, replay
from retable.shadow.plan import check_ask
from retable.upkeep.inspection import choose, places
from retable.upkeep.outlook import inspect_retention
from retable.upkeep.report import UpkeepResult
from retable.upkeep.spark import upkeep
from retable.verify.bronze import against_bronze
from retable.verify.ledger import against_ledger
from retable.verify.outlook import inspect_source
from retable.verify.rows import Share

pytestmark = pytest.mark.slow

BAG = "gold_shop.n"


@pytest.fixture(scope="module")
def world(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> SparkWorld:
    """A table with a key and one without in three windows, of which the last one is not replayed."""
    more = 'retention = { bronze = "1d", silver = "1d", quarantine = "1d" }\n'
    world = open_lake_in(tmp_path_factory.mktemp("retention") / "lake", "canal_json", more)
    first = [
        ddl(1, "create table t (id int primary key, a int)"),
        ddl(2, "create table n (a int)", "n"),
        row(3, "INSERT", id="1", a="1"),
        row(4, "INSERT", id="2", a="1"),
        row(5, "INSERT", "n", (), a="1"),
        row(6, "INSERT", "n", (), a="1"),
    ]
    second = [row(11, "DELETE", id="1", a="1"), row(12, "UPDATE", id="2", a="2")]
    third = [row(7, "UPDATE", id="1", a="7"), row(21, "DELETE", "n", (), a="1"), row(22, "INSERT", id="3", a="3")]
    for messages in (first, second):
        world.replay(world.deliver(messages))
    world.deliver(third)
    return world


def keep(world: SparkWorld) -> dict[str, UpkeepResult]:
    chosen, now = choose(places(world.lake), ["shop", "ops"]), datetime.now(UTC) + timedelta(minutes=1)
    return {each.table: each for each in upkeep(world.session, world.lake, chosen, "upkeep", lambda: now)}


def rows_of(world: SparkWorld, table: str = TABLE) -> list[dict[str, int]]:
    return sorted(map(json.loads, world.gold()[table].rows), key=str)


def kinds(world: SparkWorld) -> list[tuple[str, str, str]]:
    found = world.lake.load("silver.shop").scan().to_arrow().select(["window", "kind", "table"]).to_pylist()
    return sorted((each["window"], each["kind"], each["table"]) for each in found)


def told_of_bronze(world: SparkWorld, table: str, folder: Path) -> str:
    """How much of a table could be verified; nothing of it is wrong."""
    folder.mkdir()
    report = against_bronze(world.lake, table, folder, Share())
    assert report.is_equal, report
    return report.notes[-1].partition(":")[0]


def test_old_windows_go_and_what_is_needed_stays(world: SparkWorld) -> None:
    first, second, third = world.names
    before, ledger = world.gold(), world.ledger()
    retained = inspect_retention(world.lake, world.source, NOW)
    assert retained.cuts["silver"].kept_from == third
    assert f"{third} is not replayed" in (retained.cuts["silver"].because or "")
    kept = keep(world)
    assert [each.left for each in kept.values() if each.left] == []
    assert [kept_from(world.lake, layer, "shop") for layer in ("bronze", "silver", "quarantine")] == [third] * 3
    assert (kept["bronze.shop"].done["windows"], kept["bronze.shop"].done["rows"]) == (2, 8)
    assert (kept["silver.shop"].done["windows"], kept["silver.shop"].done["rows"]) == (2, 4)
    assert f"silver keeps old rows of {BAG}: the table has no key" in " ".join(kept["silver.shop"].notes)
    assert [each for each in kinds(world) if each[0] == first] == [
        (first, "row", "n"),
        (first, "row", "n"),
        (first, "schema", "n"),
        (first, "schema", "t"),
    ]
    assert [each for each in kinds(world) if each[0] == second] == []
    assert (world.gold(), world.ledger()) == (before, ledger)
    assert {each.table: each.done["rows"] for each in read_upkeep(world.lake)}["silver.shop"] == 4
    again = keep(world)
    assert not any(again[name].done["windows"] for name in ("bronze.shop", "silver.shop", "quarantine.shop"))


def test_what_needs_dropped_windows_is_refused_and_what_does_not_goes_on(world: SparkWorld, tmp_path: Path) -> None:
    first, _, third = world.names
    spark, lake, source = world.session, world.lake, world.source
    with pytest.raises(NotKept, match=f"{first} of shop is before the horizon {third}"):
        replay(spark, lake, source, first, "run", NOW)
    with pytest.raises(NotKept, match="cannot be decoded or replayed again"):
        decode(spark, lake, source, first, "run", NOW)
    assert not land_window(spark, lake, source, first, "run", NOW).wrote
    with pytest.raises(NotKept, match=f"{TABLE}: the table cannot be built again from silver"):
        rebuild(spark, lake, source, TABLE, "run", NOW)
    before = rows_of(world, BAG)
    rebuild(spark, lake, source, BAG, "run", NOW)
    assert rows_of(world, BAG) == before
    assert told_of_bronze(world, TABLE, tmp_path / "t") == "0 of 1 rows of gold were compared"
    with pytest.raises(NotKept, match="it has no key or its key changed"):
        told_of_bronze(world, BAG, tmp_path / "n")
    with pytest.raises(NotKept, match="is before the horizon"):
        check_ask(lake, "shop", [TABLE], first, third)
    report = against_ledger(lake, TABLE)
    assert (report.findings, len(report.notes)) == ((), 3)
    outlook = inspect_source(lake, source, NOW)
    assert (outlook.stale, outlook.kept_from["silver"], list(outlook.waiting)) == ((), third, [third])


def test_a_late_row_behind_the_horizon_holds_its_table_until_somebody_leaves_it_out(
    world: SparkWorld, tmp_path: Path
) -> None:
    third = world.names[-1]
    world.replay(third)
    _, state = find_gold(world.lake, TABLE)
    assert state.hold is not None
    assert (state.hold.code, rows_of(world)) == ("BEHIND_HORIZON", [{"id": 2, "a": 2}])
    assert rows_of(world, BAG) == [{"a": 1}]
    waiting = count_waiting(world.lake, "shop", TABLE)
    decision = plan_release(TABLE, state, state.hold, "skip", None, waiting, lambda: "mysql").decision
    assert decision is not None
    append_rows(world.lake, [decision_row("shop", decision, NOW)])
    rebuild(world.session, world.lake, world.source, TABLE, "run", NOW, resumes=True)
    assert rows_of(world) == [{"id": 2, "a": 2}, {"id": 3, "a": 3}]
    assert find_gold(world.lake, TABLE)[1].hold is None
    assert against_ledger(world.lake, TABLE).findings == ()
    kept = keep(world)
    assert kept["silver.shop"].done["windows"] == 1
    assert kept_from(world.lake, "silver", "shop") > third
    assert rows_of(world) == [{"id": 2, "a": 2}, {"id": 3, "a": 3}]
    world.replay(world.deliver([row(31, "UPDATE", id="3", a="4"), row(32, "DELETE", "n", (), a="1")]))
    assert (rows_of(world), rows_of(world, BAG)) == ([{"id": 2, "a": 2}, {"id": 3, "a": 4}], [])
    assert against_ledger(world.lake, TABLE).findings == ()
    assert told_of_bronze(world, TABLE, tmp_path / "t") == "1 of 2 rows of gold were compared"
    with pytest.raises(NotKept, match=f"{TABLE}: a shadow of the table cannot be built"):
        check_ask(world.lake, "shop", [TABLE], world.names[-1], window_name(FIRST + 4 * HOUR))
