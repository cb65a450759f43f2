"""A lake that an older Retable made goes on: the same gold, the same holds, and an identity from its first run on."""

import json
import shutil
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from faults.shop_lake import ShopLake, use_warm_spark

pytestmark = pytest.mark.slow

LAKE = Path(__file__).with_name("lakes") / "before_identities.tar.xz"
HOME = Path("/tmp/retable-older-lake")
"""Where it was made: its tables name their files there."""

HELD = "gold_shop.parcels"


@pytest.fixture
def older(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> Iterator[ShopLake]:
    use_warm_spark(monkeypatch)
    monkeypatch.delenv("RETABLE_SETTINGS", raising=False)
    shutil.rmtree(HOME, ignore_errors=True)
    HOME.mkdir()
    try:
        with tarfile.open(LAKE) as packed:
            packed.extractall(HOME, filter="data")
        yield ShopLake(HOME / "shop")
    finally:
        shutil.rmtree(HOME)


def rows(shop: ShopLake) -> dict[str, list[str]]:
    shown = shop.call("tables", "--json")
    assert shown.exit_code == 0, shown.output
    return {
        table["name"]: sorted(shop.call("rows", table["name"], "--all-columns").stdout.splitlines())
        for table in json.loads(shown.stdout)
    }


def held(shop: ShopLake) -> str:
    return shop.call("hold", "list").stdout


def test_a_lake_of_an_older_retable_goes_on(older: ShopLake) -> None:
    before, holds = rows(older), held(older)
    assert len(before) == 7
    assert "frobnicate" in holds
    older.run("2026-03-01T02:00:00Z")
    assert (rows(older), held(older)) == (before, holds)
    older.run("2026-03-01T03:00:00Z", code=2)
    assert (older.different(), held(older)) == ({}, holds)
    for table in before:
        assert older.call("verify", table).exit_code == 0, table
    record = json.loads((older.warehouse / "retable-lake.json").read_text(encoding="utf-8"))
    assert record["warehouse"] == str(older.warehouse)
    assert record["run"] > 0


def test_a_lake_of_an_older_retable_is_recovered_once_it_has_an_identity(older: ShopLake) -> None:
    older.run("2026-03-01T03:00:00Z", code=2)
    before = rows(older)
    for path in older.warehouse.glob("catalog.db*"):
        path.unlink()
    done = older.call("recover", "--yes")
    assert done.exit_code == 0, done.output
    assert "left out" not in done.stderr
    assert rows(older) == before
    assert "nothing to do" in older.run("2026-03-01T03:00:00Z").stderr


def test_a_lake_of_an_older_retable_that_was_copied_is_refused_at_its_first_run(
    older: ShopLake, tmp_path: Path
) -> None:
    shutil.copytree(older.folder, tmp_path / "copy")
    before = older.files()
    refused = older.call("run", "shop", folder=tmp_path / "copy")
    assert refused.exit_code == 1
    assert "not in the warehouse" in refused.stderr
    assert older.files() == before
