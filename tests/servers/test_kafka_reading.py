"""Positions of a real broker, and the messages of a range of them: all that were committed, and no others."""

import signal
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from threading import Thread

import psutil
import pytest

from retable.errors import EnvironmentFault, NotFound, PositionsLost, Unavailable
from retable.land.due import inspect_arrivals
from retable.land.kafka import messages as reading
from retable.land.kafka.messages import find_left, read_ranges, split_ranges
from retable.ledger.windows.positions import FoundLog, plan_ranges
from retable.model.message import RawMessage
from retable.model.window import PartitionRange, Window
from retable.settings.sources import KafkaSource
from servers.kafka_broker import PASSWORD, PASSWORD_VARIABLE, USER_VARIABLE, Broker, Record, send, wait_for

NOW = datetime(2026, 3, 2, tzinfo=UTC)
DAY = datetime(2026, 3, 1, tzinfo=UTC)
IN_1970, IN_2099 = 1, 4_070_908_800_000


def stamp(hour: float) -> int:
    """Epoch milliseconds of an hour of the first of March."""
    return int((DAY + timedelta(hours=hour)).timestamp() * 1000)


def log_of(source: KafkaSource, now: datetime = NOW) -> FoundLog:
    found = inspect_arrivals(source, now)
    assert isinstance(found, FoundLog)
    return found


def whole(source: KafkaSource) -> list[PartitionRange]:
    return [
        PartitionRange(*each.address, each.topic_id, source.source_epoch, each.low, each.end)
        for each in log_of(source).partitions
    ]


def read(source: KafkaSource, ranges: Sequence[PartitionRange]) -> tuple[list[RawMessage], Counter[str]]:
    seen: Counter[str] = Counter()
    return list(read_ranges(source, ranges, seen)), seen


def plan(source: KafkaSource, now: datetime = NOW, recorded: Sequence[Window] = (), hours: int = 9) -> list[Window]:
    return plan_ranges(source, recorded, log_of(source, now), DAY + timedelta(hours=hours), now)


def spans(windows: Sequence[Window], partition: int = 0) -> dict[str, tuple[int, int]]:
    return {
        window.name[9:13]: (each.begin, each.end)
        for window in windows
        for each in window.ranges
        if each.partition == partition
    }


def test_a_message_comes_with_its_headers_stamp_and_nulls_as_it_was_written(kafka: Broker) -> None:
    source = kafka.source(kafka.create("as-written"))
    kafka.produce(
        "as-written",
        [
            Record(b"v", stamp(5), key=b"k", headers=[("a", b"1"), ("a", None), ("", b"\xff")]),
            Record(None, stamp(6), key=b""),
            Record(b"", 1),
        ],
    )
    messages, seen = read(source, whole(source))
    assert messages == [
        RawMessage("as-written", 0, 0, stamp(5), b"k", b"v", (("a", b"1"), ("a", None), ("", b"\xff"))),
        RawMessage("as-written", 0, 1, stamp(6), b"", None),
        RawMessage("as-written", 0, 2, 1, None, b""),
    ]
    assert seen == {"bytes": 2, "holes": 0}


def test_exactly_the_recorded_positions_are_read_again_and_again(kafka: Broker) -> None:
    source = kafka.source(kafka.create("again"))
    kafka.produce("again", (Record(b"%d" % number) for number in range(100)))
    (recorded,) = whole(source)
    kafka.produce("again", (Record(b"later") for _ in range(100)))
    first, _ = read(source, [recorded])
    assert [each.offset for each in first] == list(range(100))
    assert read(source, [recorded])[0] == first
    pieces = split_ranges([recorded], 1, 30, 7)
    assert [(each.begin, each.end) for each in pieces][:2] == [(0, 15), (15, 30)]
    assert read(source, pieces)[0] == first
    assert read(source, pieces[1:2])[0] == first[15:30]


def test_an_aborted_transaction_is_invisible_and_an_open_one_ends_what_is_there(kafka: Broker) -> None:
    source = kafka.source(kafka.create("transactions"))
    producer = kafka.producer(**{"transactional.id": "transactions"})
    producer.init_transactions(60)
    for ends in (producer.commit_transaction, producer.abort_transaction, producer.commit_transaction):
        producer.begin_transaction()
        send(producer, "transactions", (Record(b"x", stamp(5)) for _ in range(3)))
        producer.flush()
        ends()
    producer.begin_transaction()
    send(producer, "transactions", [Record(b"open", stamp(5))])
    producer.flush()
    (recorded,) = whole(source)
    assert recorded.end == 12
    messages, seen = read(source, [recorded])
    assert [each.offset for each in messages] == [0, 1, 2, 8, 9, 10]
    # Three that were aborted, and the marks behind each transaction.
    assert seen["holes"] == 6
    producer.abort_transaction()


def test_the_mark_of_a_transaction_ends_no_window_by_its_own_stamp(kafka: Broker) -> None:
    source = kafka.source(kafka.create("marks"))
    producer = kafka.producer(**{"transactional.id": "marks"})
    producer.init_transactions(60)
    for hour in (5, 5.5, 6.5):
        producer.begin_transaction()
        send(producer, "marks", [Record(b"x", stamp(hour))])
        producer.commit_transaction()
    assert spans(plan(source, datetime.now(UTC), hours=7)) == {"0500": (0, 4), "0600": (4, 6)}


def test_what_compaction_took_is_a_hole_and_no_loss(kafka: Broker) -> None:
    config = {"min_cleanable_dirty_ratio": "0.01", "segment_ms": "100", "delete_retention_ms": "0"}
    source = kafka.source(kafka.create("compacted", cleanup_policy="compact", **config))
    for number in range(5):
        kafka.produce("compacted", [Record(b"%d" % number, key=b"a"), Record(b"%d" % number, key=b"b")])
    (recorded,) = whole(source)

    def are_compacted() -> bool:
        kafka.produce("compacted", [Record(b"rolls the segment", key=b"c")])
        return len(read(source, [recorded])[0]) == 2

    wait_for(are_compacted)
    messages, seen = read(source, [recorded])
    assert [(each.offset, each.key) for each in messages] == [(8, b"a"), (9, b"b")]
    assert seen["holes"] == 8
    assert find_left(source, [recorded]) == [recorded]


class TestLost:
    def test_what_retention_took_before_it_was_read_is_named_exactly(self, kafka: Broker) -> None:
        source = kafka.source(kafka.create("retention", 2))
        kafka.produce("retention", (Record(b"x", partition=number % 2) for number in range(40)))
        recorded = whole(source)
        kafka.delete_records("retention", 7, partition=1)
        with pytest.raises(PositionsLost, match="the positions 0 to 6 of retention/1 are gone, and were not landed"):
            find_left(source, recorded)
        with pytest.raises(PositionsLost, match="the positions 0 to 6 of retention/1 are gone"):
            read(source, recorded)
        raised = kafka.source("retention", source_epoch=1)
        assert [(each.begin, each.end) for each in find_left(raised, recorded)] == [(0, 20), (7, 20)]

    def test_a_log_that_moved_on_before_a_window_was_recorded_stops_the_plan(self, kafka: Broker) -> None:
        source = kafka.source(kafka.create("moved"))
        kafka.produce("moved", (Record(b"x", stamp(5)) for _ in range(5)))
        first = plan(source, hours=6)
        kafka.produce("moved", (Record(b"x", stamp(6)) for _ in range(5)))
        kafka.delete_records("moved", 8)
        with pytest.raises(PositionsLost, match="the positions 5 to 7 of moved/0 are gone"):
            plan(source, recorded=first)

    def test_a_topic_made_anew_is_found_out_though_it_has_the_same_positions(self, kafka: Broker) -> None:
        source = kafka.source(kafka.create("anew"))
        kafka.produce("anew", (Record(b"old", stamp(5)) for _ in range(5)))
        first, recorded = plan(source, hours=6), whole(source)
        kafka.delete("anew")
        kafka.create("anew")
        kafka.produce("anew", (Record(b"new", stamp(6)) for _ in range(9)))
        with pytest.raises(PositionsLost, match="the topic anew was created again after anew/0 was read to position 5"):
            plan(source, recorded=first)
        gone = "the topic anew was deleted or created again, and the positions 0 to 4 of anew/0"
        with pytest.raises(PositionsLost, match=gone):
            find_left(source, recorded)
        with pytest.raises(PositionsLost, match="was created again while it was read"):
            read(source, recorded)
        kafka.delete("anew")
        with pytest.raises(PositionsLost, match="the topic anew was deleted or created again"):
            find_left(kafka.source("another*"), recorded)
        kafka.create("anew")
        kafka.produce("anew", (Record(b"new", stamp(6)) for _ in range(9)))
        raised = kafka.source("anew", source_epoch=1)
        assert find_left(raised, recorded) == []
        assert spans(plan(raised, recorded=first, hours=7)) == {"0600": (0, 9)}


class TestStamps:
    """Whatever a producer says, or the broker."""

    def test_hours_are_cut_by_the_brokers_time_and_no_stamp_of_2099_or_1970_stops_them(self, kafka: Broker) -> None:
        source = kafka.source(kafka.create("stamps"))
        stamps = [
            IN_1970,
            stamp(5.1),
            IN_2099,
            stamp(5.9),
            stamp(6.02),
            IN_1970,
            stamp(6.5),
            IN_2099,
            stamp(7.5),
            stamp(8.5),
        ]
        kafka.produce("stamps", (Record(b"x", each) for each in stamps))
        windows = plan(source)
        assert spans(windows) == {"0500": (0, 6), "0600": (6, 8), "0700": (8, 9), "0800": (9, 10)}

    def test_a_topic_that_the_broker_stamps_is_cut_by_its_clock(self, kafka: Broker) -> None:
        source = kafka.source(kafka.create("appended", message_timestamp_type="LogAppendTime"), every="1m", delay="0")
        kafka.produce("appended", (Record(b"x", each) for each in (IN_1970, IN_2099, stamp(5))))
        now = datetime.now(UTC)
        windows = plan_ranges(source, [], log_of(source, now), now, now)
        assert sum(each.count for window in windows for each in window.ranges) == 3
        assert abs(windows[0].start - now) < timedelta(minutes=5)

    def test_a_heartbeat_in_one_of_eight_partitions_lies_in_the_window_that_it_proves(self, kafka: Broker) -> None:
        source = kafka.source(kafka.create("eight", 8))
        kafka.produce("eight", (Record(b"x", stamp(5 + number / 20), number % 7) for number in range(20)))
        beats = (Record(b"beat", stamp(5 + minute / 60) + 1000, 7) for minute in range(1, 122))
        kafka.produce("eight", beats)
        windows = plan(source, hours=7)
        assert spans(windows, 7) == {"0500": (0, 61), "0600": (61, 121)}
        (last,) = (each for each in windows[0].ranges if each.partition == 7)
        messages, _ = read(source, [last])
        assert stamp(6) <= (messages[-1].timestamp_ms or 0) < stamp(6) + 120_000
        assert all(each.count == 0 for each in windows[1].ranges if each.partition != 7)


def test_partitions_and_topics_that_come_later_are_read_from_their_beginning(kafka: Broker) -> None:
    source = kafka.source("later*")
    kafka.create("later", 1)
    kafka.produce("later", [Record(b"x", stamp(5))])
    first = plan(source, hours=6)
    kafka.add_partitions("later", 3)
    kafka.create("later-too")
    kafka.produce("later", [Record(b"x", stamp(6), 2)])
    kafka.produce("later-too", [Record(b"x", stamp(6))])
    (then,) = plan(source, recorded=first, hours=7)
    assert [(each.topic, each.partition, each.begin, each.end) for each in then.ranges] == [
        ("later", 0, 1, 1),
        ("later", 1, 0, 0),
        ("later", 2, 0, 1),
        ("later-too", 0, 0, 1),
    ]


def test_topics_are_globs_and_never_kafkas_own(kafka: Broker) -> None:
    kafka.create("globs.a1")
    kafka.create("Globs.a2")
    kafka.create("globsxa3")
    kafka.create("__debezium-heartbeat.globs")
    kafka.producer(**{"transactional.id": "globs"}).init_transactions(60)
    assert "__transaction_state" in kafka.admin.list_topics(timeout=10).topics
    everything = {each.topic for each in log_of(kafka.source("*")).partitions}
    assert {each.topic for each in log_of(kafka.source("globs.*")).partitions} == {"globs.a1"}
    assert everything >= {"globs.a1", "Globs.a2", "globsxa3", "__debezium-heartbeat.globs"}
    assert not everything & {"__consumer_offsets", "__transaction_state"}
    with pytest.raises(NotFound, match="no topic 'globs.a', or this user may not see it; did you mean 'globs.a1'"):
        inspect_arrivals(kafka.source("globs.a"), NOW)
    with pytest.raises(NotFound, match="no topic matches 'nothing.*'"):
        inspect_arrivals(kafka.source("nothing.*"), NOW)


def test_a_message_as_long_as_max_message_is_whole_and_a_longer_one_says_what_is_missing(kafka: Broker) -> None:
    source = kafka.source(kafka.create("long", max_message_bytes=str(40 << 20)))
    kafka.produce("long", [Record(b"a" * (32 << 20)), Record(b"b" * ((32 << 20) + 1)), Record(b"c")])
    messages, seen = read(source, whole(source))
    assert [len(each.value or b"") for each in messages] == [32 << 20, 32 << 20, 1]
    told = (
        "the message has 33554433 bytes, but max_message is 33554432, so its end is cut off; "
        "raise max_message and run `retable quarantine redecode`"
    )
    assert [each.container_problem for each in messages] == [None, told, None]
    assert seen["bytes"] == (64 << 20) + 1


def test_a_backlog_is_read_in_memory_that_does_not_grow_with_it(kafka: Broker) -> None:
    source = kafka.source(kafka.create("backlog"))
    kafka.produce("backlog", (Record(b"x" * 10_000) for _ in range(30_000)))
    process, seen, most = psutil.Process(), Counter[str](), 0
    before = process.memory_info().rss
    for number, _ in enumerate(read_ranges(source, whole(source), seen)):
        if number % 1000 == 0:
            most = max(most, process.memory_info().rss - before)
    assert seen["bytes"] == 300_000_000
    assert most < 100_000_000


class TestAway:
    """Brokers that are not there, or refuse."""

    def test_a_broker_that_is_killed_and_comes_back_in_the_middle_of_a_range_costs_nothing(self, kafka: Broker) -> None:
        source = kafka.source(kafka.create("killed"))
        kafka.produce("killed", (Record(b"%07d" % number * 500) for number in range(20_000)))
        (recorded,) = whole(source)
        messages = read_ranges(source, [recorded], Counter())
        taken = [next(messages).offset for _ in range(100)]
        kafka.process.stop(signal.SIGKILL)
        back = Thread(target=kafka.process.start)
        back.start()
        taken += [each.offset for each in messages]
        back.join()
        assert taken == list(range(20_000))

    def test_a_broker_that_does_not_come_back_says_to_try_again(
        self, kafka: Broker, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        source = kafka.source(kafka.create("away"))
        kafka.produce("away", (Record(b"%07d" % number * 500) for number in range(20_000)))
        (recorded,) = whole(source)
        monkeypatch.setattr(reading, "_PATIENCE", 3)
        monkeypatch.setattr("retable.land.kafka.client.REQUEST_SECONDS", 2.0)
        monkeypatch.setattr("retable.land.kafka.positions.REQUEST_SECONDS", 2.0)
        messages = read_ranges(source, [recorded], Counter())
        next(messages)
        kafka.process.stop(signal.SIGKILL)
        try:
            with pytest.raises(Unavailable, match="no message came from away/0 at position [0-9]+ or later; try again"):
                list(messages)
            with pytest.raises(Unavailable, match="do not answer: .*; try again"):
                inspect_arrivals(source, NOW)
        finally:
            kafka.process.start()
        assert len(read(source, [recorded])[0]) == 20_000

    def test_a_user_is_let_in_by_the_names_of_variables(self, kafka: Broker) -> None:
        kafka.create("secured")
        kafka.produce("secured", [Record(b"x")])
        access = {
            "security_protocol": "SASL_PLAINTEXT",
            "username_env": USER_VARIABLE,
            "password_env": PASSWORD_VARIABLE,
        }
        source = kafka.source("secured", kafka=access, bootstrap=f"127.0.0.1:{kafka.sasl_port}")
        assert len(read(source, whole(source))[0]) == 1
        assert PASSWORD not in repr(source)

    def test_a_wrong_password_is_refused_and_not_shown(self, kafka: Broker, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("WRONG", "S3CR3T-wrong")
        monkeypatch.setattr("retable.land.kafka.positions.REQUEST_SECONDS", 3.0)
        access = {"security_protocol": "SASL_PLAINTEXT", "username_env": USER_VARIABLE, "password_env": "WRONG"}
        source = kafka.source("secured", kafka=access, bootstrap=f"127.0.0.1:{kafka.sasl_port}")
        with pytest.raises(EnvironmentFault, match="refuse: .*check sources.erp.kafka, the variables") as caught:
            inspect_arrivals(source, NOW)
        assert "S3CR3T" not in str(caught.value)

    def test_a_variable_that_is_not_set_is_named(self, kafka: Broker) -> None:
        access = {"security_protocol": "SASL_PLAINTEXT", "username_env": USER_VARIABLE, "password_env": "NOT_SET_HERE"}
        with pytest.raises(EnvironmentFault, match="NOT_SET_HERE"):
            inspect_arrivals(kafka.source("secured", kafka=access), NOW)
