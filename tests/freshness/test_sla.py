"""What is late by its SLA: decided by the watermark, with its one cause."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feeding import EACH, Feed, at
from lakes import SettingsWriter
from published import publish
from retable.freshness.sla import LateTable, due_through, find_late, inspect_sla, place_of
from retable.ledger.lake.catalog import open_lake
from retable.ledger.rows import TableRow
from retable.ledger.write import append_rows
from retable.model.event import TableName

SLA = EACH + 'sla = "20m"\nowner = "platform"\n'
TIMES = st.integers(0, 365 * 24 * 3600).map(lambda second: datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=second))


@pytest.fixture
def feed(write_settings: SettingsWriter) -> Feed:
    """Two hours that are replayed and proven; of the second, up to 06:50 only."""
    tables = '[tables."shop.items"]\nsla = "2h"\nowner = "items-team"\nseverity = "critical"\n'
    feed = Feed(open_lake(write_settings(SLA + tables)))
    feed.windows(7)
    for hour in (5, 6):
        feed.done(hour)
        feed.proves(hour, 0, row=f"0{hour}:50")
    for table in ("orders", "items"):
        gold = publish(feed.lake, TableName("shop", None, table), {"id": "int"}, [])
        append_rows(
            feed.lake,
            [
                TableRow(
                    source="dump",
                    identity=f"shop.{table}@base",
                    gold=gold,
                    database="shop",
                    schema=None,
                    table=table,
                    state="live",
                    hold=None,
                    recorded_at=at("06:00"),
                )
            ],
        )
    return feed


def found(feed: Feed, now: str) -> list[LateTable]:
    return find_late(feed.lake, feed.lake.settings.source("dump"), at(now))


def late(feed: Feed, now: str) -> dict[str, str]:
    return {each.name: each.key for each in found(feed, now)}


def unread(feed: Feed) -> str:
    return f"UNREAD:{place_of(feed.lake.settings.source('dump'))}"


@given(TIMES, st.integers(1, 600), st.sampled_from([1, 15, 60, 1440]))
def test_a_window_is_due_from_its_sla_on_and_not_before(now: datetime, sla: int, every: int) -> None:
    length, allowed = timedelta(minutes=every), timedelta(minutes=sla)
    through = due_through(now, allowed, length)
    assert through + allowed <= now < through + length + allowed
    assert not (through - datetime(1970, 1, 1, tzinfo=UTC)) % length


def test_a_table_is_late_when_its_hours_end_and_its_sla_are_past(feed: Feed) -> None:
    assert late(feed, "07:19") == {}
    assert late(feed, "07:20") == {"dump/gold_shop.orders": "SILENT:dump"}
    assert late(feed, "09:00").keys() == {"dump/gold_shop.orders", "dump/gold_shop.items"}


def test_it_is_late_since_the_first_hour_that_it_lacks_was_due_whenever_one_looks(feed: Feed) -> None:
    feed.windows(12)
    (orders,) = (
        each for each in find_late(feed.lake, feed.lake.settings.source("dump"), at("11:30")) if "orders" in each.name
    )
    assert orders.due == at("07:20")
    assert orders.key == unread(feed)


def test_a_tables_own_word_goes_before_its_sources(feed: Feed) -> None:
    told = {each.table: (each.owner, each.severity) for each in found(feed, "10:00")}
    assert told == {"gold_shop.orders": ("platform", "warning"), "gold_shop.items": ("items-team", "critical")}


def test_a_lower_grade_may_be_proof_enough(write_settings: SettingsWriter) -> None:
    feed = Feed(open_lake(write_settings(SLA + 'sla_grade = "drained"\n')))
    feed.windows(6)
    feed.done(5)
    assert late(feed, "06:30") == {}


def test_a_source_without_tables_is_late_itself(write_settings: SettingsWriter) -> None:
    feed = Feed(open_lake(write_settings(SLA)))
    assert late(feed, "05:20") == {}
    assert late(feed, "06:20") == {"dump": "UNREAD:" + str(feed.lake.settings.source("dump").path)}  # type: ignore[union-attr]  # it is of files


def test_a_source_of_which_a_new_table_is_all_in_quarantine_is_late_itself(feed: Feed) -> None:
    assert late(feed, "07:19") == {}
    feed.quarantined(5, 3, TableName("shop", None, "payments"))
    assert late(feed, "07:19") == {"dump": "QUARANTINED:dump/20260301T0500Z"}


def test_what_has_an_sla_is_watched_and_so_is_its_source(feed: Feed, write_settings: SettingsWriter) -> None:
    source = feed.lake.settings.source("dump")
    both = {"dump", "dump/gold_shop.orders", "dump/gold_shop.items"}
    assert inspect_sla(feed.lake, source, at("07:00")).watched == both
    fewer = write_settings(SLA + 'exclude = ["shop.orders"]\n').source("dump")
    assert inspect_sla(feed.lake, fewer, at("07:00")).watched == both - {"dump/gold_shop.orders"}


def test_without_an_sla_nothing_is_late(write_settings: SettingsWriter) -> None:
    assert late(Feed(open_lake(write_settings(EACH))), "23:00") == {}
