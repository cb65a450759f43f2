"""The uninterrupted replay, made once for all faults."""

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from faults.uninterrupted import Uninterrupted


@pytest.fixture(scope="session")
def uninterrupted(spark: "SparkSession", tmp_path_factory: pytest.TempPathFactory) -> "Uninterrupted":
    """The genuine stream, landed, decoded, and replayed window by window."""
    from faults.uninterrupted import replay_uninterrupted

    return replay_uninterrupted(tmp_path_factory.mktemp("uninterrupted"))
