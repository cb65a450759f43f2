"""A loss that somebody accepted keeps no table from being complete, and only that loss."""

import pytest

from feeding import EACH, Feed, at
from freshness.test_catalog import ITEMS, ORDERS, fed
from lakes import SettingsWriter
from retable.freshness.blockers import beyond_budget
from retable.freshness.catalog import ask
from retable.ledger.lake.catalog import open_lake
from retable.ledger.quarantine import ACCEPT, list_quarantined, read_open
from retable.ledger.rows import ActionRow
from retable.ledger.write import append_rows
from retable.model.event import TableName


@pytest.fixture
def feed(write_settings: SettingsWriter) -> Feed:
    feed = fed(open_lake(write_settings(EACH)))
    for hour in (5, 6, 7):
        feed.proves(hour, row=f"{hour + 1:02}:00")
    return feed


def accept(feed: Feed, at_hour: int) -> None:
    (row,) = {row.id: row for row in list_quarantined(feed.lake, "dump", f"20260301T{at_hour:02}00Z")}.values()
    append_rows(feed.lake, [ActionRow("dump", ACCEPT, row.id, "a test", "ann", at("09:00"))])


def cause(feed: Feed, table: str) -> str | None:
    verdict = ask(feed.lake, [table], at("07:00"), "row")
    return None if verdict.cause is None else verdict.cause.code


@pytest.mark.parametrize("table", [ORDERS, None])
def test_an_accepted_loss_frees_the_tables_that_it_kept_back(feed: Feed, table: TableName | None) -> None:
    assert cause(feed, "gold_shop.orders") is None
    feed.quarantined(6, 1, table)
    assert cause(feed, "gold_shop.orders") == "QUARANTINED"
    assert cause(feed, "gold_shop.items") == (None if table else "QUARANTINED")
    accept(feed, 6)
    assert cause(feed, "gold_shop.orders") is None
    assert cause(feed, "gold_shop.items") is None
    assert beyond_budget(feed.lake, feed.lake.settings.source("dump")) == 0
    assert len(list_quarantined(feed.lake, "dump")) == 1


def test_the_same_address_in_another_window_is_another_loss(feed: Feed) -> None:
    feed.quarantined(5, 1, ITEMS)
    feed.quarantined(6, 1, ITEMS)
    accept(feed, 5)
    assert read_open(feed.lake, "dump")["window"].to_pylist() == ["20260301T0600Z"]
    assert cause(feed, "gold_shop.items") == "QUARANTINED"
