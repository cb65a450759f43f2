"""Lakes side by side, copied from one another: neither ever touches a file of the other, upkeep included."""

import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from faults.shop_lake import ShopLake, use_warm_spark
from retable.cli.look_after import upkeep

pytestmark = pytest.mark.slow

DAYS, STEP = 3, 12
FIRST = 12
"""So many hours are replayed before the lake is copied."""


def through(hour: int) -> str:
    return f"2026-03-{1 + hour // 24:02d}T{hour % 24:02d}:00:00Z"


@pytest.fixture
def shop(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ShopLake:
    """A shop of three days in windows of twelve hours, of which the first is replayed."""
    use_warm_spark(monkeypatch)
    # To upkeep all files and snapshots are old.
    monkeypatch.setattr(upkeep, "now", lambda: datetime.now(UTC) + timedelta(days=5))
    monkeypatch.delenv("RETABLE_SETTINGS", raising=False)
    shop = ShopLake(tmp_path / "shop")
    told = ("--hours", str(24 * DAYS), "--changes", "360", "--format", "canal_json", "--start", through(0))
    assert shop.call("simulate", "shop", *told, folder=tmp_path).exit_code == 0
    settings = shop.folder / "retable.toml"
    text = settings.read_text(encoding="utf-8").replace('every  = "1h"', f'every  = "{STEP}h"')
    assert f'"{STEP}h"' in text
    settings.write_text(
        text.replace('warehouse = "var/lake"', 'warehouse = "var/lake"\nkeep_cuts = 2'), encoding="utf-8"
    )
    for hour in range(STEP, FIRST + 1, STEP):
        shop.run(through(hour))
    return shop


def by_command(shop: ShopLake, other: Path) -> None:
    made = shop.call("copy", str(other / "var" / "lake"))
    assert made.exit_code == 0, made.output
    for name in ("landing", "truth"):
        shutil.copytree(shop.folder / name, other / name)
    shutil.copy2(shop.folder / "retable.toml", other)


def by_files(shop: ShopLake, other: Path) -> None:
    shutil.copytree(shop.folder, other, copy_function=shutil.copy2)
    done = shop.call("recover", "--as", "copy", "--yes", folder=other)
    assert done.exit_code == 0, done.output


@pytest.mark.parametrize("copy", [by_command, by_files])
def test_two_lakes_run_side_by_side_for_days_with_upkeep(shop: ShopLake, tmp_path: Path, copy) -> None:
    other = tmp_path / "other"
    copy(shop, other)
    removed = 0
    for hour in range(FIRST + STEP, 24 * DAYS + 1, STEP):
        for mine, theirs in ((shop.folder, other), (other, shop.folder)):
            before = shop.files(theirs)
            shop.run(through(hour), folder=mine)
            if hour % 24 == 0:
                there = shop.files(mine)
                kept = shop.call("upkeep", folder=mine)
                assert kept.exit_code == 0, kept.output
                assert "is skipped" not in kept.stderr
                removed += len(there.keys() - shop.files(mine).keys())
            assert shop.files(theirs) == before, (hour, mine)
    assert removed > 100
    assert (shop.different(), shop.different(other)) == ({}, {})
