"""A lake that is whole, and a shadow beside it that was built without Spark."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from retable.gold.read import find_gold
from retable.gold.state import to_properties
from retable.ledger.lake.catalog import Lake, open_lake
from retable.settings.load import load_settings
from retable.shadow.lake import Shadow, copy_record, finish, shadow_source
from retable.shadow.plan import Ask
from verify.conftest import filled, whole  # noqa: F401  # fixtures: pytest finds them by their names here

Settings = Callable[[Callable[[str], str]], Lake]


@pytest.fixture
def under(tmp_path: Path) -> Settings:
    """The same lake under settings whose text was changed."""

    def reopen(change: Callable[[str], str]) -> Lake:
        path = tmp_path / "lake" / "retable.toml"
        path.write_text(change(path.read_text(encoding="utf-8")), encoding="utf-8")
        return open_lake(load_settings(path))

    return reopen


def stand(lake: Lake, ask: Ask) -> Shadow:
    """Put a shadow there as a build leaves it, which shows what gold has."""
    shadow = Shadow(ask, "to see", "ann", {})
    copy_record(lake, ask.source)
    lake.ensure(f"silver.{shadow_source(ask.source)}")
    for table in ask.tables:
        gold, state = find_gold(lake, table)
        name = shadow.name_of(table)
        lake.catalog.create_namespace_if_not_exists(name.partition(".")[0])
        mine = to_properties(replace(state, source=shadow_source(ask.source)))
        lake.catalog.create_table(name, gold.schema(), lake.new_location("gold"), properties=mine)
    finish(lake, shadow)
    return shadow
