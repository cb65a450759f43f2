"""A table is not complete where positions were lost, or where the settings left its rows out, until it has them."""

from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feeding import DAY, EACH, Feed, at, name
from freshness.test_catalog import LATER, fed
from lakes import SettingsWriter
from retable.freshness.catalog import ask, record
from retable.freshness.gaps import ACCEPT_LOSS, Loss, find_losses
from retable.freshness.sla import find_late
from retable.gold.read import find_gold
from retable.gold.state import from_properties, to_properties
from retable.ledger.lake.catalog import open_lake
from retable.ledger.read import read_watermarks
from retable.ledger.rows import ActionRow, LedgerRow, Stage, TableRow
from retable.ledger.windows.recording import read_windows
from retable.ledger.write import append_rows
from retable.model.sequence import LOWEST, Sequence
from retable.model.window import PartitionRange, Window

ORDERS, ITEMS = "gold_shop.orders", "gold_shop.items"


@pytest.fixture
def feed(write_settings: SettingsWriter) -> Feed:
    return proven(fed(open_lake(write_settings(EACH))))


def proven(feed: Feed) -> Feed:
    for hour in (5, 6, 7):
        feed.proves(hour, row=f"0{hour}:50")
    return feed


def cause(feed: Feed, asked: str = ORDERS, through: str = "07:00") -> str | None:
    verdict = ask(feed.lake, [asked], at(through), "row")
    return None if verdict.cause is None else verdict.cause.code


def reached(feed: Feed, asked: str = ORDERS) -> object:
    return ask(feed.lake, [asked], at("22:00"), "row").standing.watermark


def counted(
    feed: Feed,
    hour: int,
    stage: Stage,
    table: str | None,
    highest: str | None = None,
    when: datetime | None = None,
    **counts: int,
) -> None:
    rest = {
        "lowest": {},
        "highest": {"": highest} if highest else {},
        "snapshot_id": None,
        "identity": None,
        "run_id": "run",
        "seconds": 1.0,
        "bytes": 0,
        "recorded_at": when or at(f"{hour + 2}:00"),
    }
    append_rows(
        feed.lake, [LedgerRow(source="dump", window=name(hour), stage=stage, table=table, counts=counts, **rest)]
    )


def starts_anew(feed: Feed, where: Sequence) -> None:
    table, state = find_gold(feed.lake, ORDERS)
    with table.transaction() as transaction:
        transaction.set_properties(to_properties(replace(state, truncated_at=where)))


# --- rows that were left out -------------------------------------------------------------------------------------
def test_a_table_that_is_taken_back_lacks_what_was_left_out_since(write_settings: SettingsWriter) -> None:
    feed = proven(fed(open_lake(write_settings(EACH + 'exclude = ["shop.orders"]\n'))))
    for hour, rows in ((6, 100), (7, 20)):
        counted(feed, hour, "decode", "shop.orders", events=rows, rows=rows, excluded=rows)
    assert (cause(feed), cause(feed, "dump")) == ("RETIRED", None)
    back = Feed(open_lake(write_settings(EACH)))
    assert (cause(back), cause(back, "dump"), reached(back)) == ("LEFT_OUT", "LEFT_OUT", at("05:50"))
    assert cause(back, ITEMS) is None
    words = ask(back.lake, [ORDERS], at("07:00"), "row").words
    assert f"120 rows of the table in the windows {name(6)} to {name(7)} were not stored" in words
    assert "`retable run dump --from 2026-03-01T06:00:00Z --to 2026-03-01T08:00:00Z` stores these rows" in words
    for hour in (6, 7):
        counted(back, hour, "decode", "shop.orders", events=100, rows=100)
    assert cause(back) is None


@pytest.mark.parametrize("has_record", [True, False])
def test_a_table_that_is_taken_back_lacks_what_an_old_window_left_out_since(
    has_record: bool, feed: Feed, write_settings: SettingsWriter
) -> None:
    """The window is not after the last one that the watermark records have, but it was decoded after them."""
    record(feed.lake, feed.lake.settings.source("dump"), LATER)
    for days, excluded in ((30, 1), (-30, 0)):
        counted(feed, 5, "decode", "shop.orders", when=LATER - timedelta(days=days), rows=1, excluded=excluded)
    assert cause(feed) is None
    without = Feed(open_lake(write_settings(EACH + 'exclude = ["shop.orders"]\n')))
    counted(without, 6, "decode", "shop.orders", when=LATER + timedelta(days=40), rows=1, excluded=1)
    if has_record:
        record(without.lake, without.lake.settings.source("dump"), LATER + timedelta(days=40))
    back = Feed(open_lake(write_settings(EACH)))
    for days in (41, 42):
        assert (cause(back), cause(back, ITEMS), reached(back)) == ("LEFT_OUT", None, at("05:50"))
        record(back.lake, back.lake.settings.source("dump"), LATER + timedelta(days=days))
    counted(back, 6, "decode", "shop.orders", when=LATER + timedelta(days=43), rows=1)
    assert cause(back) is None


def test_it_is_late_by_its_sla(write_settings: SettingsWriter) -> None:
    feed = proven(fed(open_lake(write_settings(EACH + 'sla = "20m"\n'))))
    counted(feed, 6, "decode", "shop.orders", rows=1, excluded=1)
    late = {each.name: each.key for each in find_late(feed.lake, feed.lake.settings.source("dump"), at("07:30"))}
    assert late == {f"dump/{ORDERS}": f"LEFT_OUT:dump/{ORDERS}"}


def test_nothing_is_promised_of_it_before_it_has_them(feed: Feed) -> None:
    source = feed.lake.settings.source("dump")
    counted(feed, 6, "decode", "shop.orders", rows=1, excluded=1)
    for _ in range(2):
        record(feed.lake, source, LATER)
        assert (cause(feed), reached(feed)) == ("LEFT_OUT", at("05:50"))
    counted(feed, 6, "decode", "shop.orders", rows=1)
    record(feed.lake, source, LATER)
    promised = read_watermarks(feed.lake, "dump", table=ORDERS, grade="row")
    assert [(row.window, row.watermark) for row in promised][-1] == (name(7), at("07:50"))


def test_what_was_left_out_under_a_former_name_is_its_own(feed: Feed) -> None:
    counted(feed, 6, "decode", "shop.bestellungen", rows=1, excluded=1)
    assert cause(feed) is None
    former = TableRow(
        source="dump",
        identity="shop.orders@base",
        gold="gold_shop.x",
        database="shop",
        schema=None,
        table="bestellungen",
        state="live",
        hold=None,
        recorded_at=at("04:00"),
    )
    append_rows(feed.lake, [former])
    assert (cause(feed), cause(feed, ITEMS)) == ("LEFT_OUT", None)


def test_a_table_that_started_anew_behind_what_was_left_out_lacks_nothing(feed: Feed) -> None:
    counted(feed, 6, "decode", "shop.orders", highest="0.9.0", rows=1, excluded=1)
    assert cause(feed) == "LEFT_OUT"
    starts_anew(feed, Sequence(0, 9, 0))
    assert cause(feed) == "LEFT_OUT"
    starts_anew(feed, Sequence(0, 9, 1))
    assert cause(feed) is None


# --- positions that are lost -------------------------------------------------------------------------------------
@pytest.fixture
def lost(feed: Feed, write_settings: SettingsWriter) -> Feed:
    """Of the window 6, positions are lost by leave of a source epoch that was raised behind it."""
    raised = Feed(open_lake(write_settings(EACH + "source_epoch = 1\n")))
    counted(raised, 6, "land", None, positions=1000, landed=400, lost=600)
    return raised


def test_no_table_is_complete_behind_positions_that_are_lost(lost: Feed) -> None:
    assert (cause(lost), cause(lost, ITEMS), cause(lost, "dump"), reached(lost)) == (*["LOST"] * 3, at("05:50"))
    assert "600 positions of dump were lost before the window" in ask(lost.lake, ["dump"], LATER, "row").words


@pytest.mark.parametrize(("start", "whole"), [((0, 5, 0), False), ((1, LOWEST.hi, LOWEST.lo), True), ((1, 5, 0), True)])
def test_a_table_that_started_anew_in_a_later_source_epoch_is(
    lost: Feed, start: tuple[int, int, int], whole: bool
) -> None:
    starts_anew(lost, Sequence(*start))
    assert (cause(lost), cause(lost, ITEMS)) == (None if whole else "LOST", "LOST")


def test_so_is_one_of_which_a_person_says_that_it_lost_nothing(lost: Feed) -> None:
    record(lost.lake, lost.lake.settings.source("dump"), LATER)
    state = from_properties(lost.lake.load(ORDERS).properties)
    assert state is not None
    target = Loss(name(6), 600, 1).of(state)
    append_rows(lost.lake, [ActionRow("dump", ACCEPT_LOSS, target, "it is never written", "ann", at("12:00"))])
    assert (cause(lost), cause(lost, ITEMS)) == (None, "LOST")
    record(lost.lake, lost.lake.settings.source("dump"), LATER)
    assert cause(lost) is None


def test_without_a_raised_source_epoch_nothing_is_lost(feed: Feed) -> None:
    assert find_losses(read_windows(feed.lake, "dump"), []) == []
    assert cause(feed) is None


# --- the law -----------------------------------------------------------------------------------------------------
steps = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 9), st.booleans()), min_size=1, max_size=8)


@given(steps)
def test_every_position_behind_the_first_window_is_in_a_window_or_lost(found: list[tuple[int, int, bool]]) -> None:
    """Windows of one partition take some positions, some are gone before; a topic may be made anew."""
    windows, end, topic, gone = [], 0, 0, 0
    for hour, (skips, takes, anew) in enumerate(found):
        end, topic = (0, topic + 1) if anew else (end, topic)
        begin = end + skips
        gone += skips if hour and not anew else 0
        there = (PartitionRange("t", 0, f"id{topic}", 1, begin, begin + takes),)
        windows.append(
            Window(
                source="erp",
                ordinal=hour,
                start=at(f"{hour}:00"),
                end=at(f"{hour + 1}:00"),
                objects=(),
                recorded_at=DAY,
                ranges=there,
                epoch=1,
            )
        )
        end = begin + takes
    losses = find_losses(windows, [])
    assert sum(loss.positions for loss in losses) == gone
    assert {loss.whole for loss in losses} <= {1}
