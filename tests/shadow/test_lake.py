"""A shadow is of its own source alone, and of one build at a time; no JVM runs."""

from datetime import UTC, datetime

import pytest

from feeding import EACH
from lakes import SettingsWriter
from published import publish
from retable.cli.clock import NewRun
from retable.errors import InvalidSetting, Leased
from retable.ledger.lake.catalog import Lake, open_lake
from retable.ledger.leases import LENGTH, standing_leases
from retable.model.event import TableName
from retable.shadow.lake import (
    Shadow,
    building,
    drop_shadow,
    end_builds,
    find_shadow,
    finish,
    shadow_lake,
    shadow_source,
)
from retable.shadow.plan import Ask

ORDERS = TableName("shop", None, "orders")
NOW = datetime(2026, 3, 1, 8, tzinfo=UTC)
ONE, OTHER = NewRun("one", NOW), NewRun("other", NOW)


@pytest.fixture
def lake(write_settings: SettingsWriter) -> Lake:
    """A lake with a source whose name begins as the other's shadow does."""
    return open_lake(write_settings(EACH + EACH.replace("sources.dump", "sources.dump__eu")))


def shadowed(lake: Lake, source: str) -> str:
    """Put a table of a source beside gold."""
    return publish(shadow_lake(lake, source), ORDERS, {"id": "int"}, [[1]], source=shadow_source(source))


def test_a_shadow_goes_without_that_of_a_source_whose_name_begins_alike(lake: Lake) -> None:
    own, other = shadowed(lake, "dump"), shadowed(lake, "dump__eu")
    assert drop_shadow(lake, "dump") == [own]
    assert (lake.find(own), lake.find(other) is None) == (None, False)
    assert drop_shadow(lake, "dump__eu") == [other]
    assert [levels[0] for levels in lake.catalog.list_namespaces() if levels[0].startswith("shadow_")] == []


def test_a_source_that_is_called_like_a_shadow_is_never_taken_for_one(write_settings: SettingsWriter) -> None:
    lake = open_lake(write_settings(EACH + EACH.replace("sources.dump", "sources.shadow_dump")))
    lake.ensure("bronze.shadow_dump")
    with pytest.raises(InvalidSetting, match="rename this source"):
        drop_shadow(lake, "dump")
    with pytest.raises(InvalidSetting, match="rename this source"), building(lake, "dump", ONE.id, ONE.now):
        pass
    assert lake.find("bronze.shadow_dump") is not None


def test_a_build_is_let_in_when_no_other_is_at_the_same_source(lake: Lake) -> None:
    with building(lake, "dump", ONE.id, ONE.now):
        own = shadowed(lake, "dump")
        with (
            pytest.raises(Leased, match="the build one works on shadow_dump"),
            building(lake, "dump", OTHER.id, OTHER.now),
        ):
            pass
        assert lake.find(own) is not None
        with building(lake, "dump__eu", OTHER.id, OTHER.now):
            pass
    with building(lake, "dump", OTHER.id, OTHER.now):
        assert lake.find(own) is None


def test_a_shadow_that_stands_is_not_built_over(lake: Lake) -> None:
    with building(lake, "dump", ONE.id, ONE.now):
        lake.ensure("silver.shadow_dump")
        finish(lake, Shadow(Ask("dump", ("gold_shop.orders",), ("20260301T0500Z",)), "to see", "ann", {}))
    with pytest.raises(InvalidSetting, match="already has a shadow"), building(lake, "dump", OTHER.id, OTHER.now):
        pass
    assert find_shadow(lake, "dump") is not None


def test_a_build_that_goes_on_stays_the_only_one_and_one_that_was_killed_is_ended_by_a_person(lake: Lake) -> None:
    later = NewRun("later", NOW + 2 * LENGTH)
    killed = building(lake, "dump", ONE.id, later.now - LENGTH / 2)
    killed.__enter__()
    with pytest.raises(Leased), building(lake, "dump", later.id, later.now):
        pass
    end_builds(lake, "dump", later.now)
    assert standing_leases(lake, "dump", later.now) == []
    with building(lake, "dump", later.id, later.now):
        pass
