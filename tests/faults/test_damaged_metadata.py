"""The newest metadata file of a table is lost or half written: it is told with its table."""

import json
import re
import shutil
from collections.abc import Callable
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


def read_again(shop: ShopLake, lost: Path) -> None:
    """Put the file back from the copy of the lake."""
    shutil.copy2(shop.pristine / lost.relative_to(shop.folder), lost)


def take_the_one_before(shop: ShopLake, lost: Path) -> None:
    """Recover: a file that is there and damaged is asked for, one that is gone is not."""
    recovered = shop.call("recover", "--yes")
    if lost.exists():
        assert recovered.exit_code == 1
        recovered = shop.call("recover", "--yes", *re.findall(r"--take|(?<=--take )\S+", recovered.stderr))
    assert recovered.exit_code == 0, recovered.output
    assert f"{TABLE} is held" in recovered.stderr


REMEDIES = {"put_back": read_again, "taken_before": take_the_one_before}


@pytest.mark.parametrize("damage", BROKEN.values(), ids=BROKEN)
@pytest.mark.parametrize("remedy", REMEDIES.values(), ids=REMEDIES)
def test_a_gold_table_whose_metadata_is_damaged_stops_alone(
    shop: ShopLake, damage: Damage, remedy: Callable[[ShopLake, Path], None]
) -> None:
    last = newest(shop, TABLE)
    damage(last)
    shop.run("2026-03-01T05:00:00Z", code=2)
    (hold,) = json.loads(shop.call("hold", "list", "--json").stdout)
    assert (hold["name"], hold["code"]) == (TABLE, "DAMAGED_METADATA")
    assert last.name in hold["reason"]
    others = shop.call("fresh", "gold_shop.orders", "--through", "2026-03-01T04:30:00Z")
    assert others.exit_code == 0, others.output
    late = shop.call("fresh", TABLE, "--through", "2026-03-01T04:30:00Z")
    assert late.exit_code == 3
    assert last.name in late.output
    planned = shop.call("plan")
    assert planned.exit_code == 0, planned.output
    assert "DAMAGED_METADATA" in planned.stdout
    kept = shop.call("upkeep")
    assert kept.exit_code == 1, kept.output
    assert f"{TABLE} is skipped" in kept.stderr
    assert kept.stderr.count("is skipped") == 1
    refused = shop.call("rebuild", TABLE, "--reason", "try", "--yes")
    assert refused.exit_code == 1
    assert "retable recover" in refused.stderr
    remedy(shop, last)
    shop.run(code=2)
    assert [hold["name"] for hold in json.loads(shop.call("hold", "list", "--json").stdout)] == [TABLE]
    assert shop.call("hold", "release", TABLE, "--retry", "--reason", "try", "--yes").exit_code == 1
    assert shop.call("rebuild", TABLE, "--reason", "mended", "--yes").exit_code == 0
    assert shop.different() == {}
    verified = shop.call("verify", TABLE, "--against", "bronze")
    assert verified.exit_code == 0, verified.output
    assert shop.call("fresh", TABLE, "--through", "2026-03-01T05:30:00Z").exit_code == 0
    shop.run()
    assert json.loads(shop.call("hold", "list", "--json").stdout) == []
