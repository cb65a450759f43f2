"""Policies and decisions on Spark and Iceberg: what they do to fields, tags and the catalog."""

import json
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from laws.spark_world import SparkWorld, open_lake_in
from laws.test_policies import CHANGE, DROP, FIRST, LATER, TABLE, WORD, ddl, row
from laws.world import NOW
from retable.gold.read import find_gold
from retable.ledger.read import read_schema_changes
from retable.ledger.write import append_rows
from retable.model.message import RawMessage
from retable.replay.inputs.decisions import decision_row
from retable.replay.spark import rebuild
from retable.schema_history.decisions import Decision


def rows_of(world: SparkWorld) -> list[dict[str, object]]:
    return sorted(map(json.loads, world.gold()[TABLE].rows), key=lambda each: str(each["id"]))


def fields_of(world: SparkWorld) -> dict[str, int]:
    table, _ = find_gold(world.lake, TABLE)
    return {field.name: field.field_id for field in table.schema().fields}


def replay(world: SparkWorld, *windows: list[RawMessage]) -> None:
    for window in windows:
        world.replay(world.deliver(window))


@pytest.mark.parametrize("version", [2, 3])
def test_a_lossy_change_gives_the_new_column_a_field_and_the_old_one_keeps_its_own(
    spark: SparkSession, tmp_path: Path, version: int
) -> None:
    world = open_lake_in(tmp_path / "lake", "canal_json", f'[tables."shop.t"]\nformat_version = {version}\n')
    replay(world, [*FIRST, ddl(5, "alter table t add c int default 7")])
    before = fields_of(world)
    change = ddl(15, "alter table t change a points int, modify c tinyint")
    replay(world, [change, row(16, "UPDATE", id="1", points="9", b=("x", WORD), c=("8", "tinyint"))])
    after = fields_of(world)
    kept = {"a__until_1": before["a"], "c__until_1": before["c"]}
    assert {name: after[name] for name in kept} == kept
    reasons = [row.reason for row in read_schema_changes(world.lake, world.source.name)]
    assert reasons == [None, None, "gold keeps the former columns a__until_1, c__until_1"]
    assert {after["points"], after["c"]}.isdisjoint(before.values())
    shown = [(each["points"], each["c"], each["a__until_1"], each["c__until_1"]) for each in rows_of(world)]
    assert shown == [(9, 8, None, None), (7, 7, "6.60", 7), (None, 7, None, 7)]
    rebuilt = world.gold()
    rebuild(world.session, world.lake, world.source, TABLE, "again", NOW)
    assert world.gold() == rebuilt
    assert not any(world.replay(name) for name in world.names)


def test_what_a_table_held_when_it_was_dropped_stays_under_a_tag(spark: SparkSession, tmp_path: Path) -> None:
    world = open_lake_in(tmp_path / "lake", "canal_json", "")
    again = [ddl(30, "create table t (id int primary key)"), row(31, "INSERT", id="1")]
    replay(world, [*FIRST], [DROP, *again])
    table, _ = find_gold(world.lake, TABLE)
    (tag,) = [name for name in table.refs() if name.startswith("retable_dropped_")]
    assert [each["id"] for each in rows_of(world)] == [1]
    assert table.scan(snapshot_id=table.refs()[tag].snapshot_id).to_arrow().num_rows == 3


def test_a_dropped_table_leaves_the_catalog_where_the_settings_say_so(spark: SparkSession, tmp_path: Path) -> None:
    world = open_lake_in(tmp_path / "lake", "canal_json", '[tables."shop.t"]\non = { drop_table = "drop" }\n')
    replay(world, [*FIRST], [DROP])
    assert world.lake.find(TABLE) is None
    assert not any(world.replay(name) for name in world.names)


def test_a_decision_lets_a_held_table_catch_up(spark: SparkSession, tmp_path: Path) -> None:
    world = open_lake_in(tmp_path / "lake", "canal_json", '[tables."shop.t"]\non = { type_change = "hold" }\n')
    replay(world, [*FIRST], [CHANGE, *LATER])
    state = world.states()[TABLE]
    assert state.hold is not None
    assert state.hold.position is not None
    place = (state.identity, state.hold.position, state.hold.part)
    decision = Decision(*place, "replace", "alter table t drop a, add points int after id")
    append_rows(world.lake, [decision_row("shop", decision, NOW)])
    report = rebuild(world.session, world.lake, world.source, TABLE, "release", NOW, resumes=True)
    assert report.held == ()
    assert [each["points"] for each in rows_of(world)] == [9, None, None, 8]
    settled = world.gold()
    assert not any(world.replay(name) for name in world.names)
    rebuild(world.session, world.lake, world.source, TABLE, "again", NOW)
    assert world.gold() == settled
