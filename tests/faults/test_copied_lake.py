"""A lake that stands at another place: copied as files, copied by the command, moved."""

import json
import shutil
from pathlib import Path

import pytest

from faults.shop_lake import HALF, WHOLE, ShopLake


@pytest.fixture
def copy(shop: ShopLake, tmp_path: Path) -> Path:
    """The whole folder copied as files, as with `cp -a`."""
    shutil.copytree(shop.folder, tmp_path / "copy", copy_function=shutil.copy2)
    return tmp_path / "copy"


def test_a_copied_lake_touches_nothing_of_its_original(shop: ShopLake, copy: Path) -> None:
    shop.run("2026-03-01T05:00:00Z")
    shop.age()
    shop.age(folder=copy)
    before, beside = shop.files(), shop.files(copy)
    for words in (["run", "shop"], ["upkeep"], ["status"]):
        refused = shop.call(*words, folder=copy)
        assert refused.exit_code == 1, words
        assert "was copied or moved from" in refused.stderr
    assert (shop.files(), shop.files(copy)) == (before, beside)
    moved = shop.call("recover", "--as", "moved", "--yes", folder=copy)
    assert "is still there" in moved.stderr
    done = shop.call("recover", "--as", "copy", "--yes", folder=copy)
    assert done.exit_code == 0, done.output
    shop.run(folder=copy)
    assert shop.call("upkeep", folder=copy).exit_code == 0
    assert shop.different(copy) == {}
    assert shop.files() == before
    after = shop.files(copy)
    shop.run()
    assert shop.call("upkeep").exit_code == 0
    assert (shop.different(), shop.files(copy)) == ({}, after)


def test_a_moved_lake_goes_on_where_it_is(shop: ShopLake, tmp_path: Path) -> None:
    there = tmp_path / "moved"
    shutil.move(shop.folder, there)
    refused = shop.call("status", folder=there)
    assert "--as moved" in refused.stderr
    done = shop.call("recover", "--as", "moved", "--yes", folder=there)
    assert done.exit_code == 0, done.output
    for against in ("bronze", "ledger"):
        assert shop.call("verify", "gold_shop.stock", "--against", against, folder=there).exit_code == 0
    shop.run(folder=there)
    assert shop.different(there) == {}
    assert not shop.folder.exists()


def test_copy_makes_a_lake_that_goes_on_by_itself(shop: ShopLake, tmp_path: Path) -> None:
    there = tmp_path / "other"
    made = shop.call("copy", str(there / "lake"))
    assert made.exit_code == 0, made.output
    text = (shop.folder / "retable.toml").read_text(encoding="utf-8")
    (there / "retable.toml").write_text(made.stdout + text[text.index("\n[sources") :], encoding="utf-8")
    for name in ("landing", "truth"):
        shutil.copytree(shop.folder / name, there / name)
    before = shop.files()
    records = [json.loads((place / "retable-lake.json").read_text()) for place in (shop.warehouse, there / "lake")]
    assert records[0]["lake"] != records[1]["lake"]
    shop.run(WHOLE, folder=there)
    assert (shop.different(there), shop.files()) == ({}, before)
    again = shop.call("copy", str(there / "lake"))
    assert (again.exit_code, "has a lake already" in again.stderr) == (1, True)


def test_a_backup_is_a_whole_catalog(shop: ShopLake, tmp_path: Path) -> None:
    done = shop.call("backup", str(tmp_path / "saved.db"))
    assert done.exit_code == 0, done.output
    assert shop.call("backup", str(tmp_path / "saved.db")).exit_code == 1
    for path in shop.warehouse.glob("catalog.db*"):
        path.unlink()
    shutil.copy2(tmp_path / "saved.db", shop.catalog)
    assert "nothing to do" in shop.run(HALF).stderr
    shop.run()
    assert shop.different() == {}
