"""The newest metadata file of a table is lost or half written: it is told with its table."""

import json
from pathlib import Path

import pytest

from faults.damaging import WAYS, Damage
from faults.shop_lake import ShopLake

TABLE = "gold_shop.stock"
BROKEN = {name: WAYS[name] for name in ("missing", "truncated")}


def newest(shop: ShopLake, table: str) -> Path:
    return max(shop.folder_of(table).glob("metadata/*.metadata.json"))


@pytest.mark.parametrize("damage", BROKEN.values(), ids=BROKEN)
def test_a_gold_table_whose_metadata_is_damaged_is_named_beside_the_others(shop: ShopLake, damage: Damage) -> None:
    last = newest(shop, TABLE)
    damage(last)
    status = shop.call("status")
    assert status.exit_code == 0
    assert last.name in status.stderr
    assert "shop" in status.stdout
    assert shop.call("status", "--check").exit_code == 2
    tables = shop.call("tables", "--json")
    assert tables.exit_code == 1
    assert last.name in tables.stderr
    assert {table["name"] for table in json.loads(tables.stdout)} > {"gold_shop.orders", "gold_shop.customers"}
    refused = shop.call("rows", TABLE)
    assert refused.exit_code == 1
    assert last.name in refused.output
    assert TABLE in refused.output


@pytest.mark.parametrize("table", ["ops.ledger", "silver.shop", "bronze.shop"])
@pytest.mark.parametrize("damage", BROKEN.values(), ids=BROKEN)
def test_a_table_of_the_system_whose_metadata_is_damaged_stops_a_run_with_its_name(
    shop: ShopLake, table: str, damage: Damage
) -> None:
    last = newest(shop, table)
    damage(last)
    ran = shop.run(code=1)
    assert last.name in ran.stderr
    assert f"metadata of {table}" in ran.stderr
    assert "retable recover" in ran.stderr
    assert "space" not in ran.stderr
