"""What the catalog says of a source becomes a verdict, and promises that are kept; no JVM runs."""

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from feeding import EACH, ORDERED, SOURCE, Feed, at, name
from lakes import SettingsWriter
from published import publish
from retable.errors import NotFound
from retable.freshness.catalog import ask, record
from retable.freshness.progress import SourceProgress, read_progress
from retable.freshness.watermark import SourceLine, Stamps, to_rows
from retable.gold.state import from_properties, hold_json, to_properties
from retable.ledger.lake.catalog import Lake, open_lake
from retable.ledger.read import read_tables, read_watermarks
from retable.ledger.rows import TableRow
from retable.ledger.write import append_rows
from retable.model.event import TableName
from retable.model.evidence import Grade
from retable.model.sequence import Sequence
from retable.schema_history.history import Hold

ORDERS, ITEMS = TableName("shop", None, "orders"), TableName("shop", None, "items")
LATER = at("23:00")


@pytest.fixture
def feed(write_settings: SettingsWriter) -> Feed:
    """A source whose partitions each need their own evidence, with three replayed hours and two gold tables."""
    return fed(open_lake(write_settings(EACH)))


def fed(lake: Lake) -> Feed:
    feed = Feed(lake)
    feed.windows(8)
    for hour in (5, 6, 7):
        feed.done(hour)
    for table in (ORDERS, ITEMS):
        gold(lake, table)
    return feed


def gold(lake: Lake, table: TableName, hold: Hold | None = None) -> str:
    found = publish(lake, table, {"id": "int"}, [], state="held" if hold else "live", hold=hold)
    append_rows(
        lake,
        [
            TableRow(
                source="dump",
                identity=f"{table}@base",
                gold=found,
                database="shop",
                schema=None,
                table=table.table,
                state="live",
                hold=None,
                recorded_at=at("05:00"),
            )
        ],
    )
    return found


def hold_at(position: Sequence | None, part: str | None = "shop.t/0") -> Hold:
    return Hold("ZERO_DATE", "a zero date", position, part, None, "retable rebuild TABLE")


def cause(feed: Feed, table: str = "gold_shop.orders", through: str = "07:00", lowest: Grade = "row") -> str | None:
    verdict = ask(feed.lake, [table], at(through), lowest)
    return None if verdict.cause is None else verdict.cause.code


def reached(feed: Feed, table: str = "gold_shop.orders", lowest: Grade = "row") -> object:
    return ask(feed.lake, [table], at("22:00"), lowest).standing.watermark


# --- evidence ----------------------------------------------------------------------------------------------------
def test_evidence_of_replayed_windows_makes_a_table_fresh(feed: Feed) -> None:
    feed.proves(5, row="05:50")
    feed.proves(7, row="07:10")
    assert cause(feed) is None
    assert reached(feed) == at("07:10")


def test_silence_is_not_freshness_though_every_window_is_replayed(feed: Feed) -> None:
    feed.proves(5, row="05:50")
    assert cause(feed) == "SILENT"
    assert cause(feed, lowest="drained") is None


def test_evidence_counts_only_behind_replayed_windows(feed: Feed) -> None:
    feed.windows(10)
    feed.proves(9, row="09:10")
    feed.done(9)
    feed.done(8, "land", "decode")
    feed.proves(7, row="07:10")
    assert reached(feed) == at("07:10")
    verdict = ask(feed.lake, ["dump"], at("09:00"), "row")
    assert verdict.cause is not None
    assert (verdict.cause.code, verdict.cause.window) == ("NOT_REPLAYED", name(8))
    feed.done(8)
    assert reached(feed) == at("09:10")


def test_each_partition_is_waited_for_and_the_silent_one_is_named(feed: Feed) -> None:
    feed.proves(5, 0, row="05:50")
    feed.proves(5, 1, row="05:40")
    feed.proves(7, 0, row="07:10", ahead=3)
    verdict = ask(feed.lake, ["dump"], at("07:00"), "row")
    assert verdict.standing.watermark == at("05:40")
    assert verdict.cause is not None
    assert (verdict.cause.partition, verdict.cause.since) == ("shop.t/1", at("05:40"))


def test_where_partitions_are_ordered_one_is_enough(write_settings: SettingsWriter) -> None:
    feed = fed(open_lake(write_settings(ORDERED)))
    feed.proves(5, 1, row="05:40")
    feed.proves(7, 0, heartbeat="07:10")
    assert cause(feed, lowest="heartbeat") is None


def test_topics_without_a_row_are_waited_for_by_nobody_where_each_table_has_its_own(
    write_settings: SettingsWriter,
) -> None:
    """Older versions recorded them; a promise may have them, too."""
    feed = fed(open_lake(write_settings(SOURCE.format(format="debezium_json"))))
    append_rows(feed.lake, to_rows("dump", SourceLine(name(5), 0, {"shop.t/1": Stamps()}, {}), at("06:30")))
    for hour in (6, 7):
        feed.proves(hour, 2)
        feed.proves(hour, 0, row=f"0{hour}:50")
    assert (cause(feed), reached(feed)) == (None, at("07:50"))
    verdict = ask(feed.lake, ["gold_shop.orders"], at("08:00"), "row")
    assert "the partition shop.t/0 has no evidence" in verdict.words
    assert "send all of them to one topic" in verdict.words


def test_a_window_that_was_decoded_anew_proves_what_it_says_now(feed: Feed) -> None:
    feed.proves(7, row="07:50")
    feed.proves(7, row="07:10")
    assert reached(feed) == at("07:10")


def test_what_is_not_recorded_has_not_landed(feed: Feed) -> None:
    assert cause(feed, through="09:00") == "NOT_RECORDED"


def test_names_that_are_nowhere_are_not_found(feed: Feed) -> None:
    with pytest.raises(NotFound, match="gold_shop.order"):
        ask(feed.lake, ["gold_shop.order"], at("07:00"), "row")
    with pytest.raises(NotFound, match="no source is called 'dmup'"):
        ask(feed.lake, ["dmup"], at("07:00"), "row")


# --- blockers ----------------------------------------------------------------------------------------------------
def test_a_hold_stops_its_table_before_its_window_and_no_other(feed: Feed) -> None:
    for hour in (5, 6, 7):
        feed.proves(hour, row=f"0{hour}:50")
    feed.lake.catalog.drop_table("gold_shop.orders")
    gold(feed.lake, ORDERS, hold_at(Sequence(0, 7, 0)))
    feed.held(6, "gold_shop.orders")
    feed.held(7, "gold_shop.orders")
    assert reached(feed) == at("05:50")
    assert (cause(feed), cause(feed, "gold_shop.items"), cause(feed, "dump")) == ("HELD", None, "HELD")


def test_what_an_older_hold_kept_back_does_not_count(feed: Feed) -> None:
    for hour in (5, 6, 7):
        feed.proves(hour, row=f"0{hour}:50")
        feed.held(hour, "gold_shop.orders")
    hold_again(feed, at("07:00"))
    assert reached(feed) == at("05:50")


def test_what_a_hold_kept_back_later_counts_whatever_the_clock_of_that_run(feed: Feed) -> None:
    for hour in (5, 6, 7):
        feed.proves(hour, row=f"0{hour}:50")
    hold_again(feed, at("08:00"))
    feed.held(7, "gold_shop.orders")
    assert reached(feed) == at("06:50")
    feed.held(5, "gold_shop.orders")
    assert reached(feed) is None


def hold_again(feed: Feed, when: datetime) -> None:
    """Hold orders at hour 7, as a run does that records it then."""
    hold = hold_at(Sequence(0, 7, 0))
    feed.lake.catalog.drop_table("gold_shop.orders")
    gold(feed.lake, ORDERS, hold)
    told = json.dumps(hold_json(hold))
    held = TableRow(
        source="dump",
        identity="shop.orders@base",
        gold="gold_shop.orders",
        database="shop",
        schema=None,
        table="orders",
        state="held",
        hold=told,
        recorded_at=when,
    )
    append_rows(feed.lake, [held])


def test_a_hold_stops_its_table_before_its_window(feed: Feed) -> None:
    for hour in (5, 6, 7):
        feed.proves(hour, row=f"0{hour}:50")
    feed.lake.catalog.drop_table("gold_shop.orders")
    gold(feed.lake, ORDERS, hold_at(Sequence(0, 7, 0)))
    feed.held(6, "gold_shop.orders")
    feed.event(6, Sequence(0, 7, 0), "06:30")
    assert reached(feed) == at("05:50")


def test_rows_that_are_held_may_be_older_than_the_hold(feed: Feed) -> None:
    feed.proves(5, row="05:50")
    feed.proves(7, row="07:50")
    feed.lake.catalog.drop_table("gold_shop.orders")
    gold(feed.lake, ORDERS, hold_at(Sequence(0, 7, 0)))
    marked(feed, "gold_shop.orders", {"shop.t/0": Sequence(0, 2, 0)})
    for hour in (6, 7):
        feed.held(hour, "gold_shop.orders")
    feed.event(6, Sequence(0, 7, 0), "06:45")
    feed.event(7, Sequence(0, 500, 0), "06:20", part="shop.t/1")
    assert reached(feed) == at("05:50")


def marked(feed: Feed, gold: str, mark: dict[str, Sequence]) -> None:
    changed(feed, gold, high_water=mark)


def changed(feed: Feed, gold: str, **more: object) -> None:
    table = feed.lake.load(gold)
    state = from_properties(table.properties)
    assert state is not None
    with table.transaction() as transaction:
        transaction.set_properties(to_properties(replace(state, **more)))  # type: ignore[arg-type]  # fields by name


def test_a_hold_without_a_position_leaves_all_of_its_table_in_doubt(feed: Feed) -> None:
    feed.proves(7, row="07:50")
    feed.lake.catalog.drop_table("gold_shop.orders")
    gold(feed.lake, ORDERS, hold_at(None))
    assert reached(feed) is None
    verdict = ask(feed.lake, ["gold_shop.orders"], at("07:00"), "row")
    assert (
        "the table is held at its first row (ZERO_DATE): a value of a row stops the table: `retable hold list` shows "
        "the value and the reason; retable rebuild gold_shop.orders" in verdict.words
    )


def test_half_of_an_update_stops_its_table_before_its_window(feed: Feed) -> None:
    for hour in (5, 6, 7):
        feed.proves(hour, row=f"0{hour}:50")
    changed(feed, "gold_shop.orders", pending={"0.9.0": name(7), "0.8.1": name(6), "0.7.1": name(6)})
    feed.event(6, Sequence(0, 7, 1), "06:40", part=None)
    feed.event(6, Sequence(0, 8, 1), "06:45", part=None)
    feed.event(7, Sequence(0, 9, 0), "06:20", part=None)
    assert (cause(feed, through="05:50"), cause(feed), reached(feed)) == (None, "PENDING", at("05:50"))


@pytest.mark.parametrize(
    ("budget", "count", "blocked"),
    [("0", 0, False), ("0", 1, True), ("2/window", 2, False), ("2/window", 3, True), ("1%", 2, False), ("1%", 3, True)],
)
def test_quarantine_beyond_its_budget_stops_its_table(
    write_settings: SettingsWriter, budget: str, count: int, blocked: bool
) -> None:
    feed = fed(open_lake(write_settings(EACH + f'quarantine_budget = "{budget}"')))
    for hour in (5, 6, 7):
        feed.proves(hour, row=f"0{hour}:50")
    feed.done(6, landed=200)
    feed.quarantined(6, count, ORDERS)
    assert cause(feed) == ("QUARANTINED" if blocked else None)
    assert reached(feed) == at("05:50" if blocked else "07:50")
    assert cause(feed, "gold_shop.items") is None


def test_a_message_that_names_no_table_may_be_any_tables(feed: Feed) -> None:
    feed.proves(7, row="07:50")
    feed.quarantined(6)
    assert cause(feed) == cause(feed, "gold_shop.items") == "QUARANTINED"


def test_a_new_table_that_is_all_in_quarantine_stops_its_source_and_no_other_table(feed: Feed) -> None:
    for hour in (5, 6, 7):
        feed.proves(hour, row=f"0{hour}:50")
    feed.quarantined(6, 500, TableName("shop", None, "payments"))
    assert [cause(feed, asked) for asked in ("dump", "gold_shop.orders")] == ["QUARANTINED", None]
    verdict = ask(feed.lake, ["dump"], at("07:00"), "row")
    assert (verdict.name, verdict.standing.watermark) == ("dump", at("05:50"))
    what = "500 messages or rows of shop.payments, which gold does not have, or without the name of a table"
    assert what in verdict.words
    record(feed.lake, feed.lake.settings.source("dump"), LATER)
    assert promised(feed, "gold_shop.orders") == [at("07:50")]
    gold(feed.lake, TableName("shop", None, "payments"))
    assert [cause(feed, asked) for asked in ("dump", "gold_shop.payments")] == ["QUARANTINED", "QUARANTINED"]


def test_what_is_quarantined_of_a_table_that_the_settings_leave_out_stops_nothing(
    write_settings: SettingsWriter,
) -> None:
    feed = fed(open_lake(write_settings(EACH + 'exclude = ["shop.payments"]\n')))
    feed.proves(7, row="07:50")
    feed.quarantined(6, 500, TableName("shop", None, "payments"))
    assert cause(feed, "dump") is None


def test_a_source_without_tables_of_which_nothing_could_be_read_is_not_complete(write_settings: SettingsWriter) -> None:
    feed = Feed(open_lake(write_settings(EACH)))
    feed.windows(6)
    feed.done(5)
    feed.proves(5, row="05:50")
    assert cause(feed, "dump", "05:30") is None
    feed.quarantined(5)
    assert cause(feed, "dump", "05:30") == "QUARANTINED"


def test_what_was_quarantined_under_a_former_name_is_the_tables_own(feed: Feed) -> None:
    feed.proves(7, row="07:50")
    feed.quarantined(6, 1, TableName("shop", None, "bestellungen"))
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
    assert (cause(feed), cause(feed, "gold_shop.items")) == ("QUARANTINED", None)


def test_what_was_quarantined_under_the_first_name_is_the_tables_own(feed: Feed) -> None:
    """A tool that changes a table fills another one, and gives it the table's name in the same window."""
    feed.proves(7, row="07:50")
    known = next(row for row in read_tables(feed.lake, "dump") if row.gold == "gold_shop.orders")
    changed(feed, "gold_shop.orders", identity="shop._orders_gho@base")
    append_rows(feed.lake, [replace(known, identity="shop._orders_gho@base", recorded_at=LATER)])
    assert cause(feed) is None
    feed.quarantined(6, 1, TableName("shop", None, "_orders_gho"))
    assert (cause(feed), cause(feed, "gold_shop.items")) == ("QUARANTINED", None)


def test_a_window_that_was_decoded_to_another_content_waits_for_its_replay(feed: Feed) -> None:
    for hour in (5, 6, 7):
        feed.proves(hour, row=f"0{hour}:50")
    source = feed.lake.settings.source("dump")
    record(feed.lake, source, LATER)
    feed.windows(9)
    feed.done(8)
    feed.proves(8, row="08:50")
    feed.decoded_anew(6)
    assert (cause(feed), reached(feed)) == ("NOT_REPLAYED", at("05:50"))
    verdict = ask(feed.lake, ["dump"], at("07:00"), "row")
    assert (
        f"the window {name(6)} of dump was decoded again with different contents, and not replayed since then"
        in verdict.words
    )
    record(feed.lake, source, LATER)
    assert promised(feed, None)[-1] == at("07:50")
    feed.replayed_again(6, at("13:00"))
    assert (cause(feed), reached(feed)) == (None, at("08:50"))
    feed.decoded_anew(9)
    assert cause(feed) is None
    record(feed.lake, source, LATER)
    assert promised(feed, None)[-1] == at("08:50")


def test_a_window_that_was_decoded_anew_long_after_its_replay_waits_too(feed: Feed) -> None:
    feed.proves(7, row="07:50")
    record(feed.lake, feed.lake.settings.source("dump"), LATER + timedelta(days=9))
    feed.decoded_anew(6)
    assert ask(feed.lake, ["dump"], at("07:00"), "row").cause is not None


@pytest.mark.parametrize("replays", [-1, 0, 1])
@pytest.mark.parametrize("promises", [-1, 0, 1])
def test_that_a_window_waits_for_its_replay_is_known_whatever_the_clocks_of_the_runs_said(
    feed: Feed, promises: int, replays: int
) -> None:
    now, day = datetime.now(UTC), timedelta(days=1)
    feed.proves(7, row="07:50")
    record(feed.lake, feed.lake.settings.source("dump"), now + promises * day)
    feed.decoded_anew(6)
    assert cause(feed) == "NOT_REPLAYED"
    feed.replayed_again(6, now + replays * day)
    assert cause(feed) is None
    feed.decoded_anew(6)
    assert cause(feed) == "NOT_REPLAYED"


def test_a_window_that_was_decoded_anew_to_the_same_content_needs_no_replay(feed: Feed) -> None:
    feed.proves(7, row="07:50")
    feed.decoded_anew(6)
    feed.replayed_again(6, at("12:00"))
    written = feed.lake.load("silver.dump").current_snapshot()
    assert written is not None
    assert written.timestamp_ms > at("12:00").timestamp() * 1000
    assert cause(feed) is None


# --- promises ----------------------------------------------------------------------------------------------------
def progress(feed: Feed) -> SourceProgress:
    source = feed.lake.settings.source("dump")
    return read_progress(feed.lake, source)


def promised(feed: Feed, table: str | None, grade: Grade = "row") -> list[object]:
    rows = read_watermarks(feed.lake, "dump", grade=grade)
    return [row.watermark for row in rows if row.table == table]


def test_promises_are_kept_for_every_window_and_go_on_where_they_ended(feed: Feed) -> None:
    feed.proves(5, row="05:50")
    feed.proves(7, row="07:10")
    source = feed.lake.settings.source("dump")
    before = progress(feed)
    record(feed.lake, source, LATER)
    assert promised(feed, None) == [at("05:50"), at("05:50"), at("07:10")]
    assert promised(feed, "gold_shop.orders") == [at("07:10")]
    after = progress(feed)
    assert (len(before.lines), len(after.lines)) == (4, 1)
    assert after.line.watermarks == before.line.watermarks
    feed.windows(9)
    feed.done(8)
    feed.proves(8, row="08:10")
    record(feed.lake, source, LATER + timedelta(days=9))
    assert promised(feed, None)[3:] == [at("08:10")]
    assert promised(feed, "gold_shop.orders") == [at("07:10")]
    written = feed.lake.load("ops.watermarks").scan().to_arrow().to_pylist()
    assert [row["window"] for row in written if row["table"] is None and row["grade"] == "row"] == [
        name(hour) for hour in (8, 7, 6, 5)
    ]


def test_recording_again_writes_nothing(feed: Feed) -> None:
    feed.proves(7, row="07:10")
    source = feed.lake.settings.source("dump")
    for _ in range(3):
        record(feed.lake, source, LATER)
    assert len(feed.lake.load("ops.watermarks").snapshots()) == 1


def test_a_promise_is_never_taken_back_though_the_gate_shuts_again(feed: Feed) -> None:
    feed.proves(5, row="05:50")
    feed.proves(7, row="07:10")
    source = feed.lake.settings.source("dump")
    record(feed.lake, source, LATER)
    feed.quarantined(6, 1, ORDERS)
    assert (cause(feed), reached(feed)) == ("QUARANTINED", at("05:50"))
    for hour in (8, 9):
        feed.windows(hour + 1)
        feed.done(hour)
        feed.proves(hour, row=f"0{hour}:10")
        record(feed.lake, source, LATER + timedelta(days=3, hours=hour))
    assert promised(feed, "gold_shop.orders") == [at("07:10")]
    assert promised(feed, "gold_shop.items") == [at("07:10")]
