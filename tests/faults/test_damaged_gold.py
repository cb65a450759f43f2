"""A gold table of which a file is missing, cut short or changed: it alone is held, and is made again from silver."""

import json
from pathlib import Path

import pytest

from faults.damaging import WAYS, Damage, damage_all
from faults.shop_lake import ShopLake

TABLE = "gold_shop.stock"
REBUILD = ("rebuild", TABLE, "--reason", "a file is damaged", "--yes")


def data_files(shop: ShopLake) -> list[Path]:
    return sorted(shop.folder_of(TABLE).glob("data/**/*.parquet"))


def vectors(shop: ShopLake) -> list[Path]:
    return sorted(shop.folder_of(TABLE).glob("data/**/*.puffin"))


@pytest.mark.parametrize("files", [data_files, vectors])
@pytest.mark.parametrize("damage", WAYS.values(), ids=WAYS)
def test_a_table_with_a_damaged_file_is_held_alone_and_made_again(shop: ShopLake, damage: Damage, files) -> None:
    names = [path.name for path in files(shop)]
    damage_all(files(shop), damage)
    verified = shop.call("verify", TABLE)
    assert verified.exit_code == 4
    assert "DAMAGED" in verified.stdout
    assert any(name in verified.stderr for name in names)
    for words in (["rows", TABLE], ["tables"]):
        refused = shop.call(*words)
        assert refused.exit_code == 1, refused.output
        assert any(name in refused.stderr for name in names), refused.stderr

    held = shop.run(code=2)
    assert f"held: {TABLE};" in held.stderr
    listed = shop.call("hold", "list")
    assert "DAMAGED" in listed.stdout
    assert any(name in listed.stdout for name in names)
    assert "retable rebuild gold_shop.stock" in listed.stdout
    assert shop.call("status", "--check").exit_code == 2

    released = shop.call(*REBUILD)
    assert released.exit_code == 0, released.output
    assert shop.different() == {}
    assert shop.call("verify", TABLE).exit_code == 0


@pytest.mark.parametrize("damage", [WAYS["missing"], WAYS["truncated"]], ids=["missing", "truncated"])
@pytest.mark.parametrize("pattern", ["snap-*.avro", "*-m*.avro"])
def test_a_table_whose_lists_of_files_are_damaged_is_made_again(shop: ShopLake, damage: Damage, pattern: str) -> None:
    damage_all(sorted(shop.folder_of(TABLE).glob(f"metadata/{pattern}")), damage)
    verified = shop.call("verify", TABLE)
    assert verified.exit_code == 4
    shop.run(code=2)
    (hold,) = json.loads(shop.call("hold", "list", "--json").stdout)
    assert (hold["name"], hold["code"]) == (TABLE, "DAMAGED")
    assert ".avro" in hold["reason"]
    released = shop.call(*REBUILD)
    assert released.exit_code == 0, released.output
    assert shop.different() == {}
    assert shop.call("verify", TABLE, "--against", "bronze").exit_code == 0
    shop.run()
    assert json.loads(shop.call("hold", "list", "--json").stdout) == []


def test_a_damaged_table_that_no_replay_has_held_yet_is_made_again(shop: ShopLake) -> None:
    damage_all(data_files(shop), WAYS["missing"])
    released = shop.call(*REBUILD)
    assert released.exit_code == 0, released.output
    shop.run()
    assert shop.different() == {}


def test_a_table_goes_on_where_its_file_was_put_back(shop: ShopLake) -> None:
    whole = {path: path.read_bytes() for path in data_files(shop)}
    damage_all(list(whole), WAYS["missing"])
    shop.run(code=2)
    for path, content in whole.items():
        path.write_bytes(content)
    released = shop.call("hold", "release", TABLE, "--retry", "--reason", "put back", "--yes")
    assert released.exit_code == 0, released.output
    assert shop.different() == {}
