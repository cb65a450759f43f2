"""A file of silver that is missing or damaged is made again from bronze, by the run that needs it or by decode."""

from pathlib import Path

import pytest

from faults.damaging import WAYS, Damage, damage_all
from faults.shop_lake import ShopLake

FIRST = "20260301T0000Z"


def files(shop: ShopLake, kind: str, table: str = "silver.shop") -> list[Path]:
    return sorted(shop.folder_of(table).glob(f"data/window={FIRST}/kind={kind}/*.parquet"))


def copied_statements(shop: ShopLake) -> list[Path]:
    """The copy from which statements are read as long as it is whole."""
    return sorted(shop.folder_of("statements.shop").glob("data/**/*.parquet"))


def test_statements_are_read_from_their_copy_though_silver_lost_them(shop: ShopLake) -> None:
    damage_all(files(shop, "schema"), WAYS["missing"])
    shop.run()
    assert shop.different() == {}


@pytest.mark.parametrize("kind", ["row", "schema"])
@pytest.mark.parametrize("damage", WAYS.values(), ids=WAYS)
def test_decode_makes_a_damaged_window_of_silver_again(shop: ShopLake, damage: Damage, kind: str) -> None:
    damage_all(files(shop, kind), damage)
    decoded = shop.call("decode", "shop", "--window", FIRST)
    assert decoded.exit_code == 0, decoded.output
    assert shop.call("replay", "shop", "--window", FIRST).exit_code == 0
    verified = shop.call("verify", "gold_shop.stock")
    assert verified.exit_code == 0, verified.output


@pytest.mark.parametrize("damage", WAYS.values(), ids=WAYS)
def test_a_run_that_needs_a_damaged_window_of_silver_makes_it_again(shop: ShopLake, damage: Damage) -> None:
    damage_all(copied_statements(shop), damage)
    damage_all(files(shop, "schema"), damage)
    damage_all(files(shop, "row"), damage)
    shop.run()
    assert shop.different() == {}
    verified = shop.call("verify", "gold_shop.stock")
    assert verified.exit_code == 0, verified.output


def test_a_rebuild_makes_a_damaged_window_of_silver_again(shop: ShopLake) -> None:
    damage_all(files(shop, "row"), WAYS["flipped"])
    told = ("hold", "release", "gold_shop.stock", "--rebuild", "--reason", "x", "--yes")
    assert shop.call(*told).exit_code == 0
    shop.run()
    assert shop.different() == {}


def test_where_bronze_is_damaged_too_the_error_names_its_file(shop: ShopLake) -> None:
    damage_all(copied_statements(shop), WAYS["missing"])
    damage_all(files(shop, "schema"), WAYS["missing"])
    bronze = sorted(shop.folder_of("bronze.shop").glob(f"data/window={FIRST}/*.parquet"))
    damage_all(bronze, WAYS["missing"])
    ran = shop.run(code=1)
    assert any(path.name in ran.stderr for path in bronze)
    assert f"retable land shop --window {FIRST}" in ran.stderr
