"""The uninterrupted replay and the lake of a shop, made once for all faults."""

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from faults.shop_lake import ShopLake
    from faults.uninterrupted import Uninterrupted


@pytest.fixture(scope="session")
def uninterrupted(spark: "SparkSession", tmp_path_factory: pytest.TempPathFactory) -> "Uninterrupted":
    """The genuine stream, landed, decoded, and replayed window by window."""
    from faults.uninterrupted import replay_uninterrupted

    return replay_uninterrupted(tmp_path_factory.mktemp("uninterrupted"))


@pytest.fixture(scope="session")
def made_shop(spark: "SparkSession", tmp_path_factory: pytest.TempPathFactory) -> "ShopLake":
    """A lake of a shop with four of its six hours, made once."""
    from faults.shop_lake import make_shop

    with pytest.MonkeyPatch.context() as patch:
        return make_shop(tmp_path_factory.mktemp("faults"), patch)


@pytest.fixture
def shop(made_shop: "ShopLake", monkeypatch: pytest.MonkeyPatch) -> "ShopLake":
    """That lake as it was made, at the same place."""
    from faults.shop_lake import use_warm_spark

    use_warm_spark(monkeypatch)
    monkeypatch.delenv("RETABLE_SETTINGS", raising=False)
    made_shop.restore()
    return made_shop
