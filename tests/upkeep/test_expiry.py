"""What the daily expiry leaves, so that freshness and readers find what they need; no JVM runs."""

from datetime import UTC, datetime, timedelta
from functools import partial

from feeding import EACH, Feed, at, name
from lakes import SettingsWriter
from published import publish
from retable.freshness.catalog import ask, record
from retable.ledger.cuts import read_cuts
from retable.ledger.lake.catalog import open_lake
from retable.ledger.rows import TableRow
from retable.ledger.write import append_rows
from retable.model.event import TableName
from retable.upkeep.inspection import choose, places
from retable.upkeep.plan import plan_place
from retable.upkeep.policy import UpkeepRules

ORDERS = TableName("shop", None, "orders")
LATER = at("23:00")


def test_a_window_that_was_decoded_anew_and_not_replayed_is_not_forgotten(write_settings: SettingsWriter) -> None:
    feed = Feed(open_lake(write_settings(EACH)))
    publish(feed.lake, ORDERS, {"id": "int"}, [])
    append_rows(
        feed.lake,
        [
            TableRow(
                source="dump",
                identity=f"{ORDERS}@base",
                gold="gold_shop.orders",
                database="shop",
                schema=None,
                table="orders",
                state="live",
                hold=None,
                recorded_at=at("05:00"),
            )
        ],
    )
    feed.windows(9)
    for hour in (5, 6, 7, 8):
        feed.done(hour)
        feed.proves(hour, row=f"0{hour}:50")
    for hour in (5, 6, 8):
        feed.decoded_anew(hour)
    for hour in (5, 8):
        feed.replayed_again(hour, datetime.now(UTC) + timedelta(minutes=1))
    lake = feed.lake
    assert expire(feed) == 1
    verdict = ask(lake, ["gold_shop.orders"], at("08:00"), "row")
    assert verdict.cause is not None
    assert name(6) in verdict.words
    record(lake, lake.settings.source("dump"), LATER)
    feed.replayed_again(6, datetime.now(UTC) + timedelta(minutes=1))
    assert ask(lake, ["gold_shop.orders"], at("08:00"), "row").cause is None
    feed.decoded_anew(8)
    feed.replayed_again(8, datetime.now(UTC) + timedelta(minutes=2))
    assert expire(feed) == 2


def expire(feed: Feed) -> int:
    """Expire what upkeep would a day later; give how many snapshots of silver go."""
    [silver] = choose(places(feed.lake), ["silver.dump"])
    plan = plan_place(
        feed.lake, silver, datetime.now(UTC) + timedelta(hours=30), UpkeepRules(), partial(read_cuts, feed.lake)
    )[1]
    feed.lake.load(silver.name).maintenance.expire_snapshots().by_ids(list(plan.expire)).commit()
    return len(plan.expire)
