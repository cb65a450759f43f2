"""An object that was landed while it was written, in the middle of a line: the line closes once all of it landed."""

import json
import os

from faults.shop_lake import ShopLake

FIVE, SIX = "2026-03-01T05:00:00Z", "2026-03-01T06:00:00Z"


def quarantined(shop: ShopLake) -> list[str]:
    return [row["state"] for row in json.loads(shop.call("quarantine", "list", "--json").stdout)]


def half_written(shop: ShopLake) -> bytes:
    """Cut the object of the fifth hour within its tenth line and land it; gives the whole of it."""
    path = shop.folder / "landing" / "shop-2026-03-01T04.jsonl"
    content, moment = path.read_bytes(), path.stat().st_mtime
    lines = content.split(b"\n")
    path.write_bytes(b"\n".join([*lines[:9], lines[9][:40]]))
    os.utime(path, (moment, moment))
    shop.run(FIVE, code=2)
    assert quarantined(shop) == ["open"]
    return content


def replace(shop: ShopLake, content: bytes) -> None:
    """Put other content there, as of the last hour."""
    landing = shop.folder / "landing"
    last = (landing / "shop-2026-03-01T05.jsonl").stat().st_mtime
    path = landing / "shop-2026-03-01T04.jsonl"
    path.write_bytes(content)
    os.utime(path, (last, last))


def test_a_half_written_line_closes_when_the_window_that_has_all_of_it_is_replayed(shop: ShopLake) -> None:
    replace(shop, half_written(shop))
    window = "20260301T0500Z"
    assert shop.call("land", "shop", "--window", window).exit_code == 0
    assert quarantined(shop) == ["open"]
    shop.run(SIX)
    assert quarantined(shop) == ["landed"]
    assert shop.different() == {}
    listed = shop.call("quarantine", "list")
    assert "landed" in listed.stdout
    assert shop.call("status", "--check").exit_code == 0, shop.call("status", "--check").output
    assert shop.call("fresh", "shop", "--through", "2026-03-01T05:30:00Z").exit_code == 0
    assert shop.call("run", "shop", "--to", SIX).exit_code == 0


def test_a_half_written_line_stays_where_what_landed_again_begins_otherwise(shop: ShopLake) -> None:
    content = half_written(shop)
    replace(shop, b"\n" + content)
    shop.run(SIX)
    assert quarantined(shop) == ["open"]
    assert shop.call("status", "--check").exit_code == 2


def test_a_line_that_is_still_half_when_the_object_landed_again_is_open_there(shop: ShopLake) -> None:
    content = half_written(shop)
    lines = content.split(b"\n")
    replace(shop, b"\n".join([*lines[:9], lines[9][:50]]))
    shop.run(SIX, code=2)
    assert sorted(quarantined(shop)) == ["landed", "open"]
