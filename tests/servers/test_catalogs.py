"""The shop on every catalog, with a folder and with a bucket: gold is the truth, and both readers see the same."""

from collections.abc import Callable
from pathlib import Path

import pytest

from retable.ledger.lake.catalog import open_lake
from retable.session import build_session
from servers.lake_shop import LakeShop, Place, shop_at

PLACES = [
    "sqlite s3",
    "postgresql folder",
    "postgresql s3",
    "rest folder",
    "rest s3",
    "glue s3",
]


@pytest.fixture(params=PLACES)
def shop(request: pytest.FixtureRequest, tmp_path: Path, bucket: str, place: Callable[[str], Place]) -> LakeShop:
    return shop_at(tmp_path, place(request.param), bucket if request.param == "postgresql s3" else None)


def test_the_shop_is_replayed_as_it_is(shop, spark):
    session = build_session(shop.settings, "retable tests")
    for window in shop.windows():
        shop.run(session, window)
    assert shop.differences() == {}
    for name in ("orders", "customers"):
        gold = f"gold_webshop.{name}"
        seen = open_lake(shop.settings).load(gold).scan().to_arrow().num_rows
        assert session.table(f"lake.{gold}").count() == seen > 0
