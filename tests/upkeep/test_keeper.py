"""What upkeep leaves for the next time, and what ends it."""

from datetime import UTC, datetime
from typing import Any, cast

import pytest

from published import publish
from retable.errors import ConflictError, Fenced, RetableError, SparkDied, Unavailable
from retable.ledger.lake.catalog import open_lake
from retable.model.event import TableName
from retable.settings.load import Settings
from retable.upkeep import spark
from retable.upkeep.inspection import TablePlace
from retable.upkeep.policy import UpkeepRules
from retable.upkeep.spark import Keeper

NOW = datetime(2026, 3, 1, 5, tzinfo=UTC)


@pytest.fixture
def fails(lake_settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Keep a table while the catalog, or Spark, fails with this error."""
    lake = open_lake(lake_settings)
    name = publish(lake, TableName("shop", None, "orders"), {"id": "int"}, [[1]])

    def keep(error: RetableError) -> Any:
        def fail(*_: object) -> None:
            raise error

        monkeypatch.setattr(spark, "facts_of", fail)
        return Keeper(cast(Any, None), lake, "run", lambda: NOW, UpkeepRules()).keep(TablePlace(name, "gold", "shop"))

    return keep


@pytest.mark.parametrize("error", [Fenced("gold moved"), ConflictError("another run committed first")])
def test_a_table_to_which_another_run_committed_is_left(fails: Any, error: RetableError) -> None:
    assert fails(error).left == error.message


@pytest.mark.parametrize("error", [Unavailable("the catalog is busy"), SparkDied("Spark died")])
def test_what_would_befall_every_other_table_too_ends_upkeep(fails: Any, error: RetableError) -> None:
    with pytest.raises(type(error)):
        fails(error)
