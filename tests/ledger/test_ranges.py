"""Windows of a log: they tile every partition, and no stamp can stop a source or make it skip."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakes import SettingsWriter
from recorded import record_windows
from retable.errors import InvalidSetting, PositionsLost
from retable.ledger.lake.catalog import open_lake
from retable.ledger.lake.tables import OPS
from retable.ledger.windows import recording
from retable.ledger.windows.positions import FoundLog, FoundPartition, PartitionAddress, Stamped, plan_ranges
from retable.ledger.windows.recorded import recorded_items
from retable.ledger.windows.recording import count_empty, read_windows
from retable.model.window import PartitionRange, Window
from retable.settings.load import Settings
from retable.settings.sources import KafkaSource

DAY = datetime(2026, 3, 1, tzinfo=UTC)
T: PartitionAddress = ("shop", 0)
ERP = {"kind": "kafka", "format": "canal_json", "bootstrap": "127.0.0.1:1", "topics": ["shop*"]}


def at(hour: float) -> datetime:
    return DAY + timedelta(hours=hour)


def source(**more: object) -> KafkaSource:
    lake = {"catalog": "sqlite:////lake/c.db", "warehouse": "/lake"}
    found = Settings.model_validate({"lake": lake, "sources": {"erp": {**ERP, **more}}}).source("erp")
    assert isinstance(found, KafkaSource)
    return found


class Log:
    """A log as a broker has it: the hour of every message's stamp; None is a position without a message."""

    def __init__(self, *messages: float | None, **options: Any) -> None:
        self.stamps: dict[PartitionAddress, list[float | None]] = {T: list(messages)}
        self.ids: dict[str, str] = {"shop": "id"}
        self.lows: dict[PartitionAddress, int] = options.get("lows", {})

    def add(self, address: PartitionAddress, *messages: float | None) -> None:
        self.stamps.setdefault(address, []).extend(messages)
        self.ids.setdefault(address[0], f"id of {address[0]}")

    def look(self, now: datetime) -> FoundLog:
        found = [
            FoundPartition(*key, self.ids[key[0]], self.lows.get(key, 0), len(stamps))
            for key, stamps in sorted(self.stamps.items())
        ]

        def search(time: datetime, begins: Mapping[PartitionAddress, int]) -> dict[PartitionAddress, Stamped]:
            hits = {}
            for key, begin in begins.items():
                stamped = [(position, at(hour)) for position, hour in enumerate(self.stamps[key]) if hour is not None]
                hit = next(((p, t) for p, t in stamped if p >= begin and time <= t <= now), None)
                if hit:
                    hits[key] = Stamped(*hit)
            return hits

        return FoundLog(tuple(found), search)

    def plan(
        self, now: float, recorded: Sequence[Window] = (), until: float | None = None, **more: Any
    ) -> list[Window]:
        due = at(now if until is None else until)
        return plan_ranges(source(**more), recorded, self.look(at(now)), due, at(now))


def spans(windows: Sequence[Window], address: PartitionAddress = T) -> dict[str, tuple[int, int]]:
    return {
        window.name[9:13]: (each.begin, each.end)
        for window in windows
        for each in window.ranges
        if each.address == address
    }


def test_hours_that_were_never_fixed_are_cut_by_the_brokers_time_a_delay_after_their_end():
    windows = Log(5.1, 5.9, 6.02, 6.04, 6.9, 7.5).plan(12, until=8)
    assert spans(windows) == {"0500": (0, 3), "0600": (3, 5), "0700": (5, 6)}
    assert [window.ordinal for window in windows] == [0, 1, 2]


def test_a_live_window_takes_all_that_is_there_whatever_its_stamp():
    far = 24 * 365 * 73
    assert spans(Log(5.1, far, 6.01, 6.05).plan(6.04)) == {"0500": (0, 4), "0600": (4, 4)}
    assert spans(Log(5.1, far, 6.01, 6.05).plan(6.2, until=6)) == {"0500": (0, 3)}


def test_a_stamp_ahead_of_the_clock_ends_no_window_and_freezes_none():
    windows = Log(5.1, 40, 5.2, 6.1, 40, 7.1, 8.1).plan(12, until=9)
    assert spans(windows) == {"0500": (0, 3), "0600": (3, 5), "0700": (5, 6), "0800": (6, 7)}


def test_a_stamp_of_1970_neither_ends_a_window_nor_begins_a_source():
    epoch = -(at(0) - datetime(1970, 1, 1, tzinfo=UTC)) / timedelta(hours=1)
    windows = Log(epoch, 5.1, epoch, 6.1, epoch).plan(12, until=7)
    assert spans(windows) == {"0500": (0, 3), "0600": (3, 5)}


def test_where_nothing_says_when_it_came_all_belongs_to_the_hour_of_now():
    assert spans(Log(40, 41).plan(12.5)) == {"1200": (0, 2)}


def test_an_idle_partition_has_an_empty_range_in_every_window():
    log = Log(5.1, 6.1)
    log.add(("shop", 1))
    windows = log.plan(12, until=7)
    assert spans(windows, ("shop", 1)) == {"0500": (0, 0), "0600": (0, 0)}
    assert not any(window.is_empty for window in windows)
    assert all(window.is_empty for window in log.plan(9, windows, until=8))


def test_a_log_in_which_nothing_ever_arrived_has_no_windows():
    assert Log().plan(12) == []
    assert Log(None, None, lows={T: 2}).plan(12) == []


def test_a_source_may_begin_at_a_time_or_with_what_comes_next():
    log = Log(3.1, 5.1, 5.9, 6.5)
    assert spans(log.plan(12, until=7, start="2026-03-01T05:30:00Z")) == {"0500": (1, 3), "0600": (3, 4)}
    assert spans(log.plan(12.5, start="latest")) == {"1200": (4, 4)}
    assert spans(log.plan(12, until=9, start="2026-03-01T08:00:00Z")) == {"0800": (4, 4)}


def test_a_partition_and_a_topic_that_come_later_are_read_from_their_beginning():
    log = Log(5.1)
    first = log.plan(7, until=6, start="latest")
    assert first == []
    first = log.plan(6.5, start="latest")
    log.add(("shop", 1), 2.0, 7.1)
    log.add(("shop_b", 0), 1.0)
    then = log.plan(8.01, first, until=8)
    assert spans(then, ("shop", 1)) == spans(then, ("shop_b", 0)) | {"0700": (0, 2)}
    assert spans(then, ("shop_b", 0)) == {"0700": (0, 1)}


def test_a_topic_that_is_no_longer_asked_for_is_left_alone_and_goes_on_where_it_ended():
    log = Log(5.1)
    log.add(("shop_b", 0), 5.1)
    first = log.plan(6.01, until=6)
    del log.stamps["shop_b", 0]
    then = log.plan(7.01, first, until=7, topics=["shop"])
    log.add(("shop_b", 0), 5.1, 6.5)
    assert spans(log.plan(8.01, [*first, *then], until=8), ("shop_b", 0)) == {"0700": (1, 2)}


class TestLost:
    """What the brokers no longer have stops the source, until a person raises the source epoch."""

    def test_positions_that_retention_took_before_a_window_had_them_are_named_and_nothing_advances(self):
        log = Log(5.1, 6.1, 6.2, 6.3)
        first = log.plan(6.01, until=6)
        assert spans(first) == {"0500": (0, 4)}
        log.add(T, 7.1, 7.2, 7.3)
        log.lows[T] = 6
        with pytest.raises(PositionsLost, match=r"the positions 4 to 5 of shop/0 are gone.*source_epoch to 1"):
            log.plan(8.01, first, until=7)
        then = log.plan(7.01, first, until=7, source_epoch=1)
        assert spans(then) == {"0600": (6, 7)}
        assert then[0].ranges[0].epoch == 1

    def test_what_retention_took_after_a_window_had_it_is_nothing(self):
        log = Log(5.1, 6.1)
        first = log.plan(6.01, until=6)
        log.lows[T] = 2
        assert spans(log.plan(7.01, first, until=7)) == {"0600": (2, 2)}

    def test_a_topic_made_anew_is_known_by_its_id_however_long_it_is(self):
        log = Log(5.1, 5.2)
        first = log.plan(6.01, until=6)
        log.ids["shop"] = "another id"
        log.add(T, 6.1, 6.2)
        with pytest.raises(PositionsLost, match="the topic shop was created again after shop/0 was read to position 2"):
            log.plan(7.01, first, until=7)
        assert spans(log.plan(7.01, first, until=7, source_epoch=1)) == {"0600": (0, 4)}

    def test_a_log_that_ends_before_what_was_recorded_is_named(self):
        log = Log(5.1, 5.2, 5.3)
        first = log.plan(6.01, until=6)
        del log.stamps[T][1:]
        with pytest.raises(PositionsLost, match="positions 1 to 2 of shop/0, but the log now ends before them"):
            log.plan(7.01, first, until=7)
        assert spans(log.plan(7.01, first, until=7, source_epoch=1)) == {"0600": (1, 1)}

    def test_a_partition_that_is_not_there_any_more_is_named(self):
        log = Log(5.1)
        first = log.plan(6.01, until=6)
        del log.stamps[T]
        with pytest.raises(PositionsLost, match="shop/0 does not exist any more, or this user may not see it"):
            log.plan(7.01, first, until=7)
        assert log.plan(7.01, first, until=7, source_epoch=1)[0].ranges == ()

    def test_brokers_that_tell_no_ids_are_believed(self):
        log = Log(5.1)
        log.ids["shop"] = ""
        first = log.plan(6.01, until=6)
        log.ids["shop"] = "id"
        assert spans(log.plan(7.01, first, until=7)) == {"0600": (1, 1)}


def test_another_interval_than_the_recorded_one_is_an_error():
    first = Log(5.1).plan(6.01, until=6)
    with pytest.raises(InvalidSetting, match=r"sources.erp.every is 0:15:00, but .* 1:00:00 long"):
        Log(5.1).plan(7.01, first, every="15m")


def test_a_source_that_would_begin_long_ago_asks_for_a_start():
    with pytest.raises(InvalidSetting, match=r"is more than 100,000; set sources.erp.start"):
        Log(-24 * 365 * 20).plan(12)


STAMPS = st.one_of(st.floats(0, 30), st.sampled_from([-300_000.0, 10.0**6]), st.none())
STEPS = st.lists(
    st.tuples(st.floats(0.1, 8), st.lists(st.tuples(st.integers(0, 2), STAMPS), max_size=8)), min_size=1, max_size=6
)


@given(steps=STEPS, delay=st.sampled_from(["0", "2m", "30m"]))
def test_windows_tile_every_partition_whatever_the_stamps_and_recorded_ones_never_change(steps, delay):
    log, recorded, now = Log(), list[Window](), 1.0
    for wait, messages in steps:
        now += wait
        for partition, stamp in messages:
            log.add(("shop", partition), stamp)
        before = list(recorded)
        recorded += log.plan(now, recorded, delay=delay)
        assert recorded[: len(before)] == before
        _assert_tiled(log, recorded)
        if len(recorded) > len(before):
            # The window in progress is closed at once, with all that there is.
            assert {key: len(stamps) for key, stamps in log.stamps.items()} == _ends(recorded)


@given(steps=STEPS)
def test_a_look_at_some_of_the_recorded_windows_plans_what_a_look_at_all_would(steps):
    log, recorded, now = Log(), list[Window](), 1.0
    for wait, messages in steps:
        now += wait
        for partition, stamp in messages:
            log.add(("shop", partition), stamp)
        rows = pa.Table.from_pylist(
            [recording._record(stretch) for stretch in recording._stretches(recorded)],
            schema=OPS["ops.windows"].columns,
        )
        made = log.plan(now, recorded)
        numbers = recorded_items(rows, "ranges", ("topic", "partition")).last_of_partitions()
        some = [
            window for row in rows.to_pylist() if row["ordinal"] in numbers for window in recording._read("erp", row)
        ]
        assert log.plan(now, some) == made
        recorded += made


def _assert_tiled(log: Log, windows: Sequence[Window]) -> None:
    assert [window.ordinal for window in windows] == list(range(len(windows)))
    assert all(earlier.end == later.start for earlier, later in pairwise(windows))
    for address in log.stamps:
        ranges = [each for window in windows for each in window.ranges if each.address == address]
        assert all(each.begin <= each.end for each in ranges)
        assert all(earlier.end == later.begin for earlier, later in pairwise(ranges))
        assert not ranges or ranges[0].begin == 0


def _ends(windows: Sequence[Window]) -> dict[PartitionAddress, int]:
    return {each.address: each.end for window in windows for each in window.ranges}


@given(stamps=st.lists(st.floats(0, 11), min_size=1, max_size=30).map(sorted), outliers=st.sets(st.integers(0, 29)))
def test_where_brokers_stamp_in_order_each_message_is_in_its_hour_or_came_within_the_delay(stamps, outliers):
    """As LogAppendTime does; messages stamped ahead of the clock stay where they came."""
    log = Log(*(10.0**6 if number in outliers else stamp for number, stamp in enumerate(stamps)))
    windows = {window.start: spans([window]).popitem()[1] for window in log.plan(12.9)}
    for number, stamp in enumerate(stamps):
        if number not in outliers:
            (start,) = (start for start, (begin, end) in windows.items() if begin <= number < end)
            assert start <= at(stamp) < start + timedelta(hours=1, minutes=2) or start == min(windows)


def test_ranges_are_recorded_and_read_back_in_a_lake_that_was_made_before_there_were_any(
    write_settings: SettingsWriter,
) -> None:
    text = "".join(f"{key} = {value!r}\n" for key, value in ERP.items())
    settings = write_settings(f"[sources.erp]\n{text}")
    lake, erp = open_lake(settings), settings.source("erp")
    table, columns = lake.ensure("ops.windows"), OPS["ops.windows"].columns
    with table.update_schema() as update:
        update.delete_column("ranges")
    old = pa.schema([each for each in columns if each.name != "ranges"])
    ended = {"source": "other", "ordinal": 0, "window": "20260301T0500Z", "start": at(5), "end": at(6)}
    table.append(pa.Table.from_pylist([{**ended, "objects": [], "recorded_at": at(7)}], schema=old))
    assert [window.ranges for window in read_windows(lake, "other")] == [()]

    log = Log(5.1, 6.5)
    made = record_windows(lake, erp, lambda: log.look(at(8)), at(7), at(8))
    assert made == read_windows(lake, "erp")
    assert made[1].ranges == (PartitionRange("shop", 0, "id", 0, 1, 2),)
    more = record_windows(lake, erp, lambda: log.look(at(12)), at(11), at(12))
    assert count_empty(lake, "erp") == sum(window.is_empty for window in more) == 4
    assert [window.ranges for window in read_windows(lake, "other")] == [()]
