"""A file of bronze that is missing or damaged costs its window, which lands again where its objects are there."""

from pathlib import Path

import pytest

from faults.damaging import WAYS, Damage, damage_all
from faults.shop_lake import ShopLake

FIRST, HOUR = "20260301T0000Z", ("--from", "2026-03-01T00:00:00Z", "--to", "2026-03-01T01:00:00Z")


def bronze(shop: ShopLake) -> list[Path]:
    return sorted(shop.folder_of("bronze.shop").glob(f"data/window={FIRST}/*.parquet"))


def silver(shop: ShopLake) -> dict[str, int]:
    return {name: size for name, size in shop.files().items() if name.startswith("silver/")}


@pytest.mark.parametrize("damage", WAYS.values(), ids=WAYS)
def test_a_damaged_window_of_bronze_is_not_decoded_and_lands_again(shop: ShopLake, damage: Damage) -> None:
    damage_all(bronze(shop), damage)
    before = silver(shop)
    for words in (("decode", "shop", "--window", FIRST), ("run", "shop", *HOUR)):
        refused = shop.call(*words)
        assert refused.exit_code == 1, (words, refused.output)
        assert any(path.name in refused.stderr for path in shop.folder_of("bronze.shop").rglob("*.parquet")) or any(
            f"window={FIRST}" in line for line in refused.stderr.splitlines()
        )
        assert f"window {FIRST}" in refused.stderr
        assert f"retable land shop --window {FIRST}" in refused.stderr
        assert "space" not in refused.stderr
    verified = shop.call("verify", "gold_shop.stock")
    assert verified.exit_code == 4
    assert "DAMAGED" in verified.stdout
    assert "refused now" not in verified.stdout
    assert silver(shop) == before

    landed = shop.call("land", "shop", "--window", FIRST)
    assert landed.exit_code == 0, landed.output
    shop.run()
    assert shop.different() == {}
    verified = shop.call("verify", "gold_shop.stock")
    assert verified.exit_code == 0, verified.output
    assert shop.call("run", "shop", *HOUR).exit_code == 0
    assert shop.different() == {}


def test_a_window_that_is_whole_is_not_landed_again(shop: ShopLake) -> None:
    before = shop.files()
    assert shop.call("land", "shop", "--window", FIRST).exit_code == 0
    assert {name for name in shop.files().keys() ^ before.keys() if name.startswith("bronze/")} == set()


def test_a_damaged_window_whose_objects_are_gone_stays_as_it_is(shop: ShopLake) -> None:
    damage_all(bronze(shop), WAYS["flipped"])
    for path in (shop.folder / "landing").rglob("*T00*"):
        path.unlink()
    before = shop.files()
    assert shop.call("land", "shop", "--window", FIRST).exit_code == 1
    assert {name for name in shop.files().keys() ^ before.keys() if name.startswith("bronze/")} == set()
