"""Rows that a foreign key took without an event, in a lake: the record, the gate, and what a person says of them."""

import json
from datetime import timedelta
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from typer.testing import CliRunner

from laws.spark_world import SparkWorld, open_lake_in
from laws.test_cascades import CHILD, GONE, at, child, parent, rows, tables
from laws.world import FIRST
from retable.cli.app import app
from retable.freshness.catalog import ask
from retable.model.message import RawMessage
from retable.replay.references.open_suspects import open_suspects


@pytest.fixture
def world(tmp_path: Path, spark: SparkSession) -> SparkWorld:
    world = open_lake_in(tmp_path, "canal_json", "")
    for window in ([*tables(), *rows()], [GONE]):
        world.replay(world.deliver(window))
    return world


def suspects(world: SparkWorld) -> dict[str, int]:
    told = open_suspects(world.lake, world.source).values()
    return {each[0].table: sum(row.rows for row in each) for each in told}


def command(world: SparkWorld, *words: str) -> str:
    done = CliRunner().invoke(app, ["--settings", str(world.folder / "retable.toml"), *words])
    assert done.exit_code in (0, 2), done.output
    return done.output


def is_blocked(world: SparkWorld, table: str = CHILD) -> bool:
    cause = ask(world.lake, [table], FIRST + timedelta(hours=2), "drained").cause
    return cause is not None and cause.code == "SUSPECT"


def test_a_suspect_table_says_so_and_later_messages_settle_it(world: SparkWorld) -> None:
    assert suspects(world) == {CHILD: 2}
    assert (is_blocked(world), is_blocked(world, "gold_shop.p")) == (True, False)
    assert "2 rows refer to rows that the source deleted or changed" in command(world, "status")
    assert f"{CHILD} is suspect" in command(world, "status", "--check")
    why = command(world, "why", CHILD, "--through", "2026-03-01T02:00:00Z", "--grade", "drained")
    assert "FOREIGN KEY (p_id) REFERENCES shop.p (id) ON DELETE CASCADE" in why
    states = {each["name"]: each["state"] for each in json.loads(command(world, "tables", "--json"))}
    assert states == {CHILD: "suspect", "gold_shop.p": "live"}
    gone = [child(30, "DELETE", id="10", p_id="1"), child(31, "DELETE", id="11", p_id="1")]
    world.replay(world.deliver(gone))
    assert (suspects(world), is_blocked(world)) == ({}, False)


def test_a_person_accepts_suspect_rows_with_a_reason(world: SparkWorld) -> None:
    told = command(world, "accept-rows", CHILD, "--reason", "deleted with the checks off")
    assert f"accepted: 2 suspect rows of {CHILD} are right" in told
    assert (suspects(world), is_blocked(world)) == ({}, False)
    assert "no rows" in command(world, "accept-rows", CHILD, "--reason", "again")
    world.rebuild(CHILD)
    for name in world.names:
        world.replay(name)
    assert suspects(world) == {}
    world.replay(world.deliver([parent(40, "DELETE", id="2", code="b")]))
    assert suspects(world) == {CHILD: 1}


def test_a_resync_settles_it(world: SparkWorld) -> None:
    command(world, "resync", CHILD, "--at", "0:50", "--partition", "canal.shop/0", "--reason", "a cascade")
    assert suspects(world) == {}


@pytest.mark.parametrize(("seconds", "many"), [(30, 2), (5, None)])
def test_where_partitions_do_not_compare_silver_tells_the_times(
    tmp_path: Path, spark: SparkSession, seconds: int, many: int | None
) -> None:
    world = open_lake_in(tmp_path, "canal_json", "")
    mine: list[RawMessage] = [at(each, 1, 20) for each in [tables()[1], *rows()[2:]]]
    theirs = [at(each, 0, 1) for each in [tables()[0], *rows()[:2]]]
    for window in ([*theirs, *mine], [at(GONE, 0, seconds)]):
        world.replay(world.deliver(window))
    assert suspects(world).get(CHILD) == many
