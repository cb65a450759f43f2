"""Upkeep while somebody holds the catalog, after a run that was killed in its replay, and beside a damaged file."""

import os
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing

import psutil
import pytest

from faults.damaging import WAYS, damage_all
from faults.shop_lake import WHOLE, ShopLake
from retable.settings import catalogs

RUN = [sys.executable, "-c", "from retable.cli import main; main()", "run", "shop", "--to", WHOLE]


def test_a_locked_catalog_costs_upkeep_one_wait_and_then_it_is_to_be_tried_again(
    shop: ShopLake, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(catalogs, "BUSY_SECONDS", 2)
    shop.age()
    before = shop.files()
    with closing(sqlite3.connect(shop.catalog)) as other:
        other.execute("BEGIN IMMEDIATE")
        kept = shop.call("upkeep")
    assert kept.exit_code == 3, kept.output
    assert "catalog.db" in kept.stderr
    assert "is skipped" not in kept.output
    assert shop.files().items() >= before.items()
    again = shop.call("upkeep")
    assert again.exit_code == 0, again.output
    shop.run()
    assert shop.different() == {}


def test_a_run_that_was_killed_keeps_upkeep_from_nothing(shop: ShopLake) -> None:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYSPARK_GATEWAY")}
    with subprocess.Popen(RUN, cwd=shop.folder, env=environment, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        while " decode " not in (line := process.stderr.readline()):
            assert line, "it ended before it had decoded a window"
        family = [*psutil.Process(process.pid).children(recursive=True), psutil.Process(process.pid)]
        for each in family:
            each.send_signal(signal.SIGKILL)
        psutil.wait_procs(family, timeout=10)
    shop.age()
    kept = shop.call("upkeep")
    assert kept.exit_code == 0, kept.output
    assert "is skipped" not in kept.output, kept.output
    shop.run()
    assert shop.different() == {}
    assert shop.call("verify", "gold_shop.stock").exit_code == 0


def test_a_table_with_a_damaged_file_is_left_alone_by_upkeep(shop: ShopLake) -> None:
    files = sorted(shop.folder_of("gold_shop.stock").glob("data/**/*.parquet"))
    damage_all(files, WAYS["missing"])
    kept = shop.call("upkeep")
    assert kept.exit_code == 1, kept.output
    assert "gold_shop.stock is skipped" in kept.stderr
    assert any(path.name in kept.stderr for path in files)
    assert kept.stderr.count("is skipped") == 1
