"""Gold whose files are parted: the same rows, each in its own partition, once."""

import json
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from formats.events import canal
from lakes import FreshLake
from laws.spark_world import SparkWorld, open_lake_in
from laws.world import NOW
from reading.engines import ENGINES
from retable.ledger.lake.catalog import open_lake
from retable.model.message import RawMessage
from retable.replay.spark import rebuild
from retable.settings.load import CATALOG, load_settings

TABLE = "gold_shop.t"
NULL = "__HIVE_DEFAULT_PARTITION__"
"""How Hive spells the partition of null, and a text like any other."""
TYPES = {"id": "bigint", "at": "datetime", "day": "date", "price": "decimal(9,2)", "name": "varchar(40)", "ok": "bool"}
CREATE = (
    "create table t (id bigint primary key, at datetime, day date, price decimal(9,2), name varchar(40), ok boolean)"
)
TERMS = (
    ("hours(at)", "months(day)", "bucket(7, name)", "truncate(50, price)", "bucket(3, at)", "ok"),
    ("days(at)", "years(day)", "truncate(3, name)", "bucket(5, price)", "truncate(10, id)"),
    ("months(at)", "bucket(4, id)", "day", "name", "price", "bucket(2, day)"),
    ("years(at)", "days(day)", "id"),
)


def ddl(offset: int, sql: str) -> RawMessage:
    return canal(offset, isDdl=True, type="ALTER", data=None, pkNames=None, sql=sql)


def row(offset: int, kind: str, types: dict[str, str] = TYPES, **values: str | None) -> RawMessage:
    return canal(offset, type=kind, data=[values], old=None, mysqlType=types, sqlType=None)


def full(offset: int, kind: str, ident: int, at: str | None, name: str | None, price: str | None) -> RawMessage:
    day = None if at is None else at[:10]
    return row(offset, kind, id=str(ident), at=at, day=day, price=price, name=name, ok=None if at is None else "1")


FIRST = [
    ddl(1, CREATE),
    full(2, "INSERT", 1, "2026-02-28 23:59:59", "alpha", "1.00"),
    full(3, "INSERT", 2, "1969-12-31 23:59:59", "ålbum", "-0.01"),
    full(4, "INSERT", 3, None, None, None),
    full(5, "INSERT", -4, "0001-01-01 00:00:00", "", "-123.45"),
    full(6, "INSERT", 15, "9999-12-31 23:59:59", "\U0001f40d snakes", "9999999.99"),
]
SECOND = [
    full(12, "UPDATE", 1, "2026-03-01 00:00:00", "beta", "51.00"),
    full(13, "DELETE", 2, "1969-12-31 23:59:59", "ålbum", "-0.01"),
    full(14, "UPDATE", 3, "2026-03-01 00:30:00", "gamma", "50.00"),
    full(15, "INSERT", 6, "2026-03-01 00:00:00", "beta", None),
]
LATE = [full(10, "UPDATE", 1, "2026-02-27 00:00:00", "late", "1.50"), full(11, "INSERT", 7, None, NULL, "0.00")]


def settings(version: int, partition: list[str]) -> str:
    return f'\n[tables."shop.t"]\nformat_version = {version}\npartition = {json.dumps(partition)}\n'


def lake(folder: Path, version: int, partition: list[str]) -> SparkWorld:
    return open_lake_in(folder, "canal_json", settings(version, partition))


def corrected(world: SparkWorld, old: str, new: str) -> SparkWorld:
    """The same lake under settings that read otherwise."""
    file = world.folder / "retable.toml"
    text = file.read_text(encoding="utf-8")
    assert old in text
    file.write_text(text.replace(old, new), encoding="utf-8")
    world.lake = open_lake(load_settings(file))
    return world


def replay(world: SparkWorld, *windows: list[RawMessage]) -> None:
    for window in windows:
        world.replay(world.deliver(window))


def fields(world: SparkWorld) -> list[tuple[str, str]]:
    metadata = world.lake.load(TABLE).metadata
    return [(metadata.schema().find_column_name(f.source_id), str(f.transform)) for f in metadata.spec().fields]


def codes(world: SparkWorld) -> str | None:
    hold = world.states()[TABLE].hold
    return None if hold is None else hold.code


def go_on(world: SparkWorld) -> None:
    rebuild(world.session, world.lake, world.source, TABLE, "release", NOW, resumes=True)


@pytest.mark.parametrize("terms", TERMS)
def test_rows_are_in_the_partitions_that_spark_would_give_them_and_move_once(
    spark: SparkSession, tmp_path: Path, terms: tuple[str, ...]
) -> None:
    whole = open_lake_in(tmp_path / "whole", "canal_json", "")
    replay(whole, FIRST, SECOND, LATE)
    world = lake(tmp_path / "parted", 2 + TERMS.index(terms) % 2, [*terms])
    replay(world, FIRST, SECOND, LATE)
    assert world.gold() == whole.gold()
    for field, term in zip(world.lake.load(TABLE).metadata.spec().fields, terms, strict=True):
        own = f"{CATALOG}.system.{term}" if "(" in term else term
        query = f"SELECT _partition.`{field.name}` AS told, {own} AS own FROM {CATALOG}.{TABLE}"
        told = [(each.told, each.own) for each in world.session.sql(query).collect()]
        assert len(told) == 6
        assert [a for a, _ in told] == [b for _, b in told], term
    assert not any(world.replay(name) for name in world.names)


def test_a_text_by_which_hive_spells_null_is_a_partition_of_its_own(spark: SparkSession, tmp_path: Path) -> None:
    world = lake(tmp_path, 3, ["id", "name"])
    replay(world, FIRST, SECOND, LATE)
    place = FreshLake(world.session, world.lake, world.lake.settings)
    for read in ENGINES.values():
        names = {row["id"]: row["name"] for row in read(place, TABLE, None).to_pylist()}
        assert (names[7], names[-4], names[6]) == (NULL, "", "beta")
    replay(world, [full(20, "UPDATE", 7, None, None, "1.00")])
    for read in ENGINES.values():
        assert {row["id"]: row["name"] for row in read(place, TABLE, None).to_pylist()}[7] is None


@pytest.mark.parametrize("version", [2, 3])
def test_a_row_is_found_by_its_partition(spark: SparkSession, tmp_path: Path, version: int) -> None:
    world = lake(tmp_path, version, ["days(at)", "bucket(4, name)"])
    replay(world, FIRST, SECOND, LATE)
    table = world.lake.load(TABLE)
    for wanted, ident in (("2026-03-01T00:30:00", 3), ("0001-01-01T00:00:00", -4), ("9999-12-31T23:59:59", 15)):
        assert table.scan(row_filter=f"at = '{wanted}'").to_arrow()["id"].to_pylist() == [ident]
        found = world.session.sql(f"SELECT id FROM {CATALOG}.{TABLE} WHERE at = TIMESTAMP_NTZ '{wanted}'").collect()
        assert [each.id for each in found] == [ident]
    assert table.scan(row_filter="name = 'gamma'").to_arrow()["id"].to_pylist() == [3]
    place = FreshLake(world.session, world.lake, world.lake.settings)
    seen = {name: sorted(read(place, TABLE, None).to_pylist(), key=str) for name, read in ENGINES.items()}
    assert len(seen["duckdb"]) == 6
    assert seen["duckdb"] == seen["pyiceberg"] == seen["spark"]


@pytest.mark.parametrize("version", [2, 3])
def test_a_column_that_parts_the_table_is_renamed_and_stays(spark: SparkSession, tmp_path: Path, version: int) -> None:
    world = lake(tmp_path, version, ["bucket(4, name)"])
    replay(world, FIRST)
    world = corrected(world, "bucket(4, name)", "bucket(4, title)")
    renamed = {name: kind for name, kind in TYPES.items() if name != "name"} | {"title": "varchar(40)"}
    moved = row(31, "UPDATE", renamed, id="1", at=None, day=None, price="7.12", title="x", ok="0")
    replay(world, [ddl(30, "alter table t change name title varchar(40)"), moved])
    assert fields(world) == [("title", "bucket[4]")]
    assert len(world.gold()[TABLE].rows) == 5
    replay(world, [ddl(40, "alter table t drop column title")])
    assert codes(world) == "PARTITION_UNFIT"
    world = corrected(world, "bucket(4, title)", "truncate(10, id)")
    go_on(world)
    hold = world.states()[TABLE].hold
    assert hold is not None
    assert "drop the gold table" in hold.reason
    assert fields(world) == [("title", "bucket[4]")]
    world.session.sql(f"DROP TABLE {CATALOG}.{TABLE}")
    world.rebuild(TABLE)
    assert codes(world) is None
    assert fields(world) == [("id", "truncate[10]")]
    assert len(world.gold()[TABLE].rows) == 5


@pytest.mark.parametrize("version", [2, 3])
def test_a_table_is_parted_otherwise_from_the_next_change_on(spark: SparkSession, tmp_path: Path, version: int) -> None:
    world = open_lake_in(tmp_path, "canal_json", settings(version, []))
    replay(world, FIRST)
    assert fields(world) == []
    world = corrected(world, "partition = []", 'partition = ["days(at)", "bucket(2, born)"]')
    replay(world, SECOND)
    assert codes(world) == "PARTITION_UNFIT"
    world = corrected(world, ', "bucket(2, born)"', "")
    go_on(world)
    assert (codes(world), fields(world)) == (None, [("at", "day")])
    world = corrected(world, "days(at)", "bucket(2, name)")
    replay(world, LATE)
    assert fields(world) == [("name", "bucket[2]")]
    before = world.gold()
    assert len(before[TABLE].rows) == 6
    for procedure in ("rewrite_data_files", "rewrite_manifests", "rewrite_position_delete_files"):
        world.session.sql(f"CALL {CATALOG}.system.{procedure}(table => '{TABLE}')")
    assert world.gold() == before
    assert world.session.table(f"{CATALOG}.{TABLE}").count() == 6
    replay(world, [ddl(50, "truncate table t"), full(51, "INSERT", 1, None, "x", None)])
    assert len(world.gold()[TABLE].rows) == 1
    world.rebuild(TABLE)
    assert len(world.gold()[TABLE].rows) == 1
