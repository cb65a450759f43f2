"""A catalog that is lost, emptied or restored from an old copy, over a warehouse that is whole."""

import shutil
from pathlib import Path

import pytest

from faults.shop_lake import ShopLake


def remove_landed(shop: ShopLake) -> None:
    """What was landed is allowed to go: bronze has it."""
    gone = [path for path in (shop.folder / "landing").rglob("*") if any(f"T0{hour}" in path.name for hour in range(4))]
    assert gone
    for path in gone:
        path.unlink()


def empty(catalog: Path) -> None:
    catalog.write_bytes(b"")


def truncate(catalog: Path) -> None:
    catalog.write_bytes(catalog.read_bytes()[:10_000])


@pytest.mark.parametrize("lose", [Path.unlink, empty, truncate], ids=["lost", "emptied", "damaged"])
def test_a_lost_catalog_is_refused_by_every_command_and_recovered(shop: ShopLake, lose) -> None:
    remove_landed(shop)
    lose(shop.catalog)
    shop.age()
    before = shop.files()
    for words in (["status", "--check"], ["run", "shop"], ["upkeep"], ["verify", "gold_shop.stock"], ["tables"]):
        refused = shop.call(*words)
        assert refused.exit_code == 1, (words, refused.output)
        assert "retable recover" in refused.stderr, (words, refused.stderr)
    assert shop.files() == before
    done = shop.call("recover", "--yes")
    assert done.exit_code == 0, done.output
    shop.run()
    assert shop.different() == {}
    assert shop.call("verify", "gold_shop.stock").exit_code == 0


def test_an_older_catalog_is_refused_for_writing_and_its_newer_files_stay(shop: ShopLake, tmp_path: Path) -> None:
    shutil.copy2(shop.catalog, tmp_path)
    shop.run("2026-03-01T05:00:00Z")
    shutil.copy2(tmp_path / "catalog.db", shop.catalog)
    shop.age()
    before = shop.files()
    assert "is older than the warehouse" in shop.call("status").stderr
    for words in (["upkeep"], ["run", "shop"], ["verify", "gold_shop.stock"], ["status", "--check"]):
        refused = shop.call(*words)
        assert refused.exit_code == 1
        assert "older than the warehouse" in refused.stderr
    assert shop.files() == before
    assert shop.call("recover", "--yes").exit_code == 0
    shop.run()
    assert shop.different() == {}


def test_the_catalogs_file_alone_is_a_whole_copy_after_a_run(shop: ShopLake, tmp_path: Path) -> None:
    shop.run()
    shutil.copy2(shop.catalog, tmp_path)
    for path in shop.warehouse.glob("catalog.db*"):
        path.unlink()
    shutil.copy2(tmp_path / "catalog.db", shop.catalog)
    assert shop.different() == {}
    assert "nothing to do" in shop.run().stderr
