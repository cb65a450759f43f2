"""`retable upkeep`, as far as it goes without Spark."""

import json
from collections.abc import Callable

import pytest
from typer.testing import Result

from published import publish
from retable.ledger.lake.catalog import Lake
from retable.model.event import TableName

Retable = Callable[..., Result]


@pytest.fixture
def table(lake: Lake) -> str:
    """A table of five small files."""
    name = publish(lake, TableName("shop", None, "orders"), {"id": "int"}, [[1]])
    rows = lake.load(name).scan().to_arrow()
    for _ in range(4):
        lake.load(name).append(rows)
    return name


def test_a_dry_run_says_what_there_is_to_do_and_does_nothing(retable: Retable, lake: Lake, table: str) -> None:
    before = lake.load(table).metadata_location
    result = retable("upkeep", "--dry-run")
    assert result.exit_code == 0
    assert result.stdout.splitlines()[1].split()[:2] == [table, "5"]
    assert "1 of 1 tables need work" in result.stderr
    (told,) = json.loads(retable("upkeep", table, "--dry-run", "--json").stdout)
    assert told["todo"] == {"partitions": 1, "files": 5, "snapshots": 0}
    assert (told["size"]["files"], told["size"]["rows"]) == (5, 5)
    assert lake.load(table).metadata_location == before


def test_a_lake_without_tables_starts_no_spark(retable: Retable, lake: Lake) -> None:
    assert retable("upkeep").stderr == "the lake has no tables yet\n"


def test_a_table_that_is_not_there_names_the_nearest(retable: Retable, table: str) -> None:
    result = retable("upkeep", "gold_shop.order")
    assert result.exit_code == 1
    assert f"did you mean '{table}'?" in result.stderr


def test_a_source_without_shadow_says_how_one_is_made(retable: Retable, table: str) -> None:
    for command in (("diff", "dump"), ("promote", "dump", "--reason", "x")):
        result = retable("shadow", *command)
        assert result.exit_code == 1
        assert "`retable shadow build dump" in result.stderr
    assert retable("shadow", "drop", "dump", "--reason", "x").stderr == "dump has no shadow\n"
