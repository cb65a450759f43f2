"""Deletion vectors that a replay writes: what Spark and Iceberg make of them."""

import json
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from laws.spark_world import SparkWorld, open_lake_in
from laws.test_policies import TABLE, ddl, row
from retable.gold.read import find_gold
from retable.model.message import RawMessage
from retable.upkeep.inspection import TablePlace, facts_of

CREATE = ddl(1, "create table t (id int, part varchar(9), a varchar(9), primary key (id, part))")


def insert(position: int, number: int, text: str) -> RawMessage:
    return row(position, "INSERT", keys=("id", "part"), id=str(number), part=("x", "varchar"), a=(text, "varchar"))


def update(position: int, number: int, text: str) -> RawMessage:
    return row(position, "UPDATE", keys=("id", "part"), id=str(number), part=("x", "varchar"), a=(text, "varchar"))


def delete(position: int, number: int) -> RawMessage:
    return row(position, "DELETE", keys=("id", "part"), id=str(number), part=("x", "varchar"), a=("", "varchar"))


def shown(world: SparkWorld) -> dict[int, str]:
    rows = map(json.loads, world.gold()[TABLE].rows)
    return {each["id"]: each["a"] for each in rows}


@pytest.mark.parametrize("version", [2, 3])
def test_rows_that_change_again_and_again_are_each_there_once(
    spark: SparkSession, tmp_path: Path, version: int
) -> None:
    world = open_lake_in(tmp_path / "lake", "canal_json", f'[tables."shop.t"]\nformat_version = {version}\n')
    windows = [
        [CREATE, *(insert(10 + at, at, "0") for at in range(20))],
        [*(update(40 + at, at, "1") for at in range(10)), delete(60, 19)],
        [*(update(70 + at, at, "2") for at in range(5)), insert(80, 19, "back"), insert(81, 30, "new")],
        [*(delete(90 + at, at) for at in range(3)), update(95, 30, "newer")],
    ]
    for window in windows:
        world.replay(world.deliver(window))
    wanted = {3: "2", 4: "2", **dict.fromkeys(range(5, 10), "1"), **dict.fromkeys(range(10, 19), "0")}
    assert shown(world) == {**wanted, 19: "back", 30: "newer"}
    table, _ = find_gold(world.lake, TABLE)
    assert [ref for ref in table.refs() if ref != "main"] == []
    if version == 3:
        files = world.session.table("lake.gold_shop.t.delete_files").collect()
        assert len({file.referenced_data_file for file in files}) == len(files) > 1, "one vector says all of a file"
        assert len(table.snapshots()) == 2 + len(windows), "made, created, and one for each window"


def test_a_vector_deletes_rows_of_the_file_that_its_manifest_names(spark: SparkSession, tmp_path: Path) -> None:
    world = open_lake_in(tmp_path / "lake", "canal_json", "")
    world.replay(world.deliver([CREATE, *(insert(10 + at, at, "0") for at in range(20))]))
    world.replay(world.deliver([*(insert(40 + at, at, "1") for at in range(20, 30))]))
    world.replay(world.deliver([*(update(60 + at, at, "2") for at in range(3)), delete(70, 21)]))
    table, _ = find_gold(world.lake, TABLE)
    told = world.session.table("lake.gold_shop.t.delete_files").collect()
    wanted = {file.referenced_data_file: file.record_count for file in told}
    planned = list(table.scan().plan_files())
    assert {task.file.file_path: [each.record_count for each in task.delete_files] for task in planned} == {
        task.file.file_path: [wanted[task.file.file_path]] if task.file.file_path in wanted else [] for task in planned
    }
    assert sorted(wanted.values()) == [1, 3]
    assert len(planned) == 3
    facts = facts_of(world.lake, TablePlace(TABLE, "gold", "shop"), table)
    assert {file.path: file.deleted for file in facts.files if file.deleted} == wanted

    rows = shown(world)
    (path,) = {Path(file.file_path.removeprefix("file:")) for file in told}
    content = path.read_bytes()
    path.write_bytes(content.replace(b".parquet", b".parquer"))
    assert path.read_bytes() != content
    assert shown(world) == rows
    world.replay(world.deliver([update(80, 0, "3"), delete(81, 5)]))
    assert shown(world) == {number: text for number, text in rows.items() if number != 5} | {0: "3"}


def test_keys_that_gold_never_had_write_no_vector(spark: SparkSession, tmp_path: Path) -> None:
    world = open_lake_in(tmp_path / "lake", "canal_json", "")
    world.replay(world.deliver([CREATE, insert(10, 1, "a"), insert(11, 9, "a")]))
    world.replay(world.deliver([insert(12, 5, "b"), insert(13, 6, "b")]))
    table, _ = find_gold(world.lake, TABLE)
    assert not any(task.delete_files for task in table.scan().plan_files())
