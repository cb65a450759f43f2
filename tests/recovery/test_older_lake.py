"""A lake that an older Retable made: it can be read, `migrate` brings it over, and it goes on as it was."""

import json
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from faults.shop_lake import ShopLake, use_warm_spark
from retable.ledger.cuts import read_cuts
from retable.ledger.lake import identity
from retable.ledger.lake.catalog import open_lake_to_read
from retable.ledger.read import read_tables
from retable.settings.load import load_settings

pytestmark = pytest.mark.slow

LAKES = Path(__file__).with_name("lakes")
HOME = Path("/tmp/retable-older-lake")
"""Where they were made: their tables name their files there."""

BEFORE_IDENTITIES, LAYOUT_1 = "before_identities", "layout_1"

Unpack = Callable[[str], ShopLake]


@pytest.fixture
def unpack(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> Iterator[Unpack]:
    use_warm_spark(monkeypatch)
    monkeypatch.delenv("RETABLE_SETTINGS", raising=False)
    shutil.rmtree(HOME, ignore_errors=True)
    HOME.mkdir()

    def unpacked(name: str) -> ShopLake:
        with tarfile.open(LAKES / f"{name}.tar.xz") as packed:
            packed.extractall(HOME, filter="data")
        return ShopLake(HOME / "shop")

    try:
        yield unpacked
    finally:
        shutil.rmtree(HOME)


def done(shop: ShopLake, *words: str) -> str:
    result = shop.call(*words)
    assert result.exit_code == 0, result.output
    return result.output


def rows(shop: ShopLake) -> dict[str, list[str]]:
    return {
        table["name"]: sorted(shop.call("rows", table["name"], "--all-columns").stdout.splitlines())
        for table in json.loads(shop.call("tables", "--json").stdout)
    }


def held(shop: ShopLake) -> str:
    return shop.call("hold", "list").stdout


def cuts(shop: ShopLake) -> dict[str, dict[str, tuple[object, ...]]]:
    """The cut behind each window: the snapshot and the state of each table."""
    found = read_cuts(open_lake_to_read(load_settings(shop.folder / "retable.toml")), "shop")
    return {
        window: {row.table: (row.snapshot_id, row.state) for row in found.at(window).values()}
        for window in found.windows
    }


def promises(shop: ShopLake) -> list[object]:
    """How far each source and table is, by grade."""
    return [(each["source"], each["watermark"], each["grade"]) for each in json.loads(done(shop, "status", "--json"))]


def record(shop: ShopLake) -> dict[str, object]:
    facts: dict[str, object] = json.loads((shop.warehouse / identity.RECORD).read_text(encoding="utf-8"))
    return facts


@pytest.mark.parametrize("name", [BEFORE_IDENTITIES, LAYOUT_1])
def test_it_is_read_as_it_is_and_nobody_writes_before_it_is_migrated(unpack: Unpack, name: str) -> None:
    older = unpack(name)
    before = older.files()
    assert len(rows(older)) == 7
    assert "frobnicate" in held(older)
    assert done(older, "status").count("shop") == 1
    for words in (("run", "shop"), ("upkeep",), ("rebuild", "gold_shop.stock", "--reason", "look")):
        refused = older.call(*words)
        assert refused.exit_code == 1
        assert "written by an older Retable (layout 1, this one writes 2)" in refused.stderr
        assert "retable migrate" in refused.stderr
    assert "steps bring the lake from layout 1 to 2" in done(older, "migrate", "--dry-run")
    assert older.files() == before


@pytest.mark.parametrize("name", [BEFORE_IDENTITIES, LAYOUT_1])
def test_it_is_migrated_and_goes_on(unpack: Unpack, name: str) -> None:
    older = unpack(name)
    before, holds, former, promised = rows(older), held(older), cuts(older), promises(older)
    assert "the lake has layout 2" in done(older, "migrate")
    assert "nothing to do" in done(older, "migrate")
    assert (rows(older), held(older), cuts(older), promises(older)) == (before, holds, former, promised)
    assert (record(older)["layout"], record(older)["warehouse"]) == (2, str(older.warehouse))
    lake = open_lake_to_read(load_settings(older.folder / "retable.toml"))
    assert all(row.lowest is not None for row in read_tables(lake, "shop") if row.identity.endswith("@base"))
    assert lake.find("statements.shop") is not None
    older.run("2026-03-01T02:00:00Z")
    assert (rows(older), held(older), cuts(older)) == (before, holds, former)
    older.run("2026-03-01T03:00:00Z", code=2)
    assert (older.different(), held(older)) == ({}, holds)
    for table in before:
        done(older, "verify", table)


def test_an_older_retable_stops_at_its_layout(unpack: Unpack, monkeypatch: pytest.MonkeyPatch) -> None:
    older = unpack(LAYOUT_1)
    done(older, "migrate")
    monkeypatch.setattr(identity, "LAYOUT", 1)
    for words in (("status",), ("run", "shop")):
        refused = older.call(*words)
        assert refused.exit_code == 1
        assert "written by a newer Retable (layout 2, this one supports 1)" in refused.stderr


MIGRATE = """
import os, sys
from pyiceberg.catalog.sql import SqlCatalog

commit, left = SqlCatalog.commit_table, [int(sys.argv[1])]

def counted(*words, **names):
    if not left[0]:
        os._exit(9)
    left[0] -= 1
    return commit(*words, **names)

SqlCatalog.commit_table = counted
from retable.cli.app import app
app(["migrate"])
"""
"""`retable migrate`, in a process that is gone when it has committed so many times."""


@pytest.mark.parametrize(("name", "commits"), [(BEFORE_IDENTITIES, 20), (LAYOUT_1, 6), (LAYOUT_1, 7)])
def test_a_migration_that_is_killed_goes_on(unpack: Unpack, name: str, commits: int) -> None:
    older = unpack(name)
    before, holds, former = rows(older), held(older), cuts(older)
    left: list[int] = []
    while True:
        words = [sys.executable, "-c", MIGRATE, str(commits)]
        ended = subprocess.run(words, cwd=older.folder, capture_output=True, text=True, check=False)
        assert cuts(older) == former
        if "nothing to do" in (todo := done(older, "migrate", "--dry-run")):
            break
        assert ended.returncode == 9, ended.stderr
        assert record(older)["layout"] == 2
        assert "retable migrate" in older.call("run", "shop").stderr
        left.append(len(todo.splitlines()))
    assert left == sorted(left, reverse=True)
    assert (rows(older), held(older), cuts(older)) == (before, holds, former)
    older.run("2026-03-01T03:00:00Z", code=2)
    assert (older.different(), held(older)) == ({}, holds)


def test_a_migrated_lake_is_recovered_and_so_is_one_that_is_half_migrated(unpack: Unpack) -> None:
    older = unpack(LAYOUT_1)
    before = rows(older)
    subprocess.run([sys.executable, "-c", MIGRATE, "6"], cwd=older.folder, capture_output=True, check=False)
    for _ in range(2):
        for path in older.warehouse.glob("catalog.db*"):
            path.unlink()
        assert "left out" not in done(older, "recover", "--yes")
        assert rows(older) == before
        done(older, "migrate")
    assert "done" in older.run("2026-03-01T03:00:00Z", code=2).stderr
    assert older.different() == {}


def test_a_lake_from_before_identities_that_was_copied_is_refused(unpack: Unpack, tmp_path: Path) -> None:
    older = unpack(BEFORE_IDENTITIES)
    shutil.copytree(older.folder, tmp_path / "copy")
    before = older.files()
    refused = older.call("migrate", folder=tmp_path / "copy")
    assert refused.exit_code == 1
    assert "not in the warehouse" in refused.stderr
    assert older.files() == before
