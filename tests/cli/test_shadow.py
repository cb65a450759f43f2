"""How `retable shadow promote` ends; the promotion itself is tested in its room."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace

import pytest
from typer.testing import Result

from feeding import EACH, Feed, name
from lakes import SettingsWriter
from retable.cli.look_after import shadow
from retable.ledger.lake.catalog import open_lake
from retable.ledger.rows import StageReport
from retable.model.event import TableName
from retable.shadow.lake import Shadow, finish
from retable.shadow.plan import Ask

Retable = Callable[..., Result]

ORDERS = TableName("shop", None, "orders")
TABLES = ("gold_shop.items", "gold_shop.orders")


@pytest.fixture
def feed(write_settings: SettingsWriter) -> Feed:
    """Two windows, and a shadow that stands."""
    feed = Feed(open_lake(write_settings(f'{EACH}quarantine_budget = "1/window"\n')))
    feed.windows(7)
    for hour in (5, 6):
        feed.done(hour)
    feed.lake.ensure("silver.shadow_dump")
    finish(feed.lake, Shadow(Ask("dump", TABLES, (name(5), name(6))), "to see", "ann", {}))
    return feed


@pytest.fixture
def promoted(feed: Feed, monkeypatch: pytest.MonkeyPatch) -> list[StageReport]:
    """What a promotion reports that is not done here."""
    reports: list[StageReport] = []

    @contextmanager
    def no_spark(_: object) -> Iterator[None]:
        yield None

    monkeypatch.setattr(shadow, "running_spark", no_spark)
    monkeypatch.setattr(shadow, "_entry_points", lambda: SimpleNamespace(promote=lambda *_: reports))
    return reports


def rebuilt(counts: dict[str, int], *held: str) -> StageReport:
    return StageReport(source="dump", window=name(6), stage="replay", counts=counts, held=held)


def promote(retable: Retable) -> Result:
    return retable("shadow", "promote", "dump", "--reason", "looked at")


def test_held_tables_that_are_all_promoted_end_it_well(retable: Retable, promoted: list[StageReport]) -> None:
    promoted += [rebuilt({"rows": 5, "applied": 5}, TABLES[1]), rebuilt({"rows": 5, "applied": 5}), rebuilt({})]
    assert promote(retable).exit_code == 0


def test_a_table_that_is_held_at_the_end_is_named(retable: Retable, promoted: list[StageReport]) -> None:
    promoted += [rebuilt({"rows": 5, "applied": 5}, *TABLES), rebuilt({}, TABLES[1])]
    result = promote(retable)
    assert result.exit_code == 2
    assert "done, but held: gold_shop.orders; `retable hold list` says why" in result.stderr


def test_rows_that_did_not_fit_end_it_with_2_where_a_window_has_more_than_the_budget(
    retable: Retable, feed: Feed, promoted: list[StageReport]
) -> None:
    promoted += [rebuilt({"rows": 5, "applied": 3, "rejected": 2}), rebuilt({})]
    for hour in (5, 6):
        feed.quarantined(hour, table=ORDERS)
    assert promote(retable).exit_code == 0
    feed.quarantined(5, table=ORDERS)
    result = promote(retable)
    assert result.exit_code == 2
    assert "quarantined: 2 messages or rows; `retable quarantine list` says which" in result.stderr
    # What others have there is not told by a promotion that brought nothing.
    promoted[0] = rebuilt({"rows": 5, "applied": 5})
    assert promote(retable).exit_code == 0
