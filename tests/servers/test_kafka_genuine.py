"""Genuine streams through Kafka as they once came, landed window by window, decoded, replayed: equal to their truth."""

import base64
import gzip
import json
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from captures.test_expected import CAPTURES, END, STREAMS, _cut, differences, expected
from laws.spark_world import SparkWorld
from recorded import record_windows
from retable.decode.context import context_of
from retable.formats.registry import decode_message
from retable.land.due import inspect_arrivals
from retable.land.spark import land_window
from retable.ledger.lake.catalog import Lake, open_lake
from retable.ledger.read import read_ledger
from retable.model.message import RawMessage
from retable.settings.load import Settings, load_settings
from retable.settings.sources import KafkaSource
from servers.kafka_broker import Broker, Record
from servers.test_kafka_reading import plan, read

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

HOUR = timedelta(hours=1)
LAKE = """
[lake]
catalog = "sqlite:///catalog.db"
warehouse = "lake"
"""
SOURCE = """
[sources.shop]
kind = "kafka"
format = "{format}"
bootstrap = "{bootstrap}"
topics = {topics}
"""


def genuine(stream: str) -> Iterator[RawMessage]:
    """A stream as Kafka once had it: its partitions, stamps, keys and headers."""
    with gzip.open(CAPTURES / f"{stream}.jsonl.gz", "rt", encoding="utf-8") as lines:
        for line in map(json.loads, lines):
            key, value = (line.get(part) and line[part].encode() for part in ("key", "value"))
            if "value_base64" in line:
                value = base64.b64decode(line["value_base64"])
            headers = tuple((name, text and text.encode()) for name, text in line.get("headers") or ())
            yield RawMessage(line["topic"], line["partition"], line["offset"], line["timestamp"], key, value, headers)


def make_topics(kafka: Broker, source_format: str, messages: list[RawMessage]) -> str:
    """Make the topics of messages, empty, and give the settings of the source `shop` that reads them."""
    topics = sorted({each.topic for each in messages})
    for topic in topics:
        kafka.create(topic)
    return SOURCE.format(format=source_format, bootstrap=kafka.bootstrap, topics=json.dumps(topics))


def first_hour(messages: list[RawMessage]) -> datetime:
    first = datetime.fromtimestamp(min(each.timestamp_ms or 0 for each in messages) / 1000, UTC)
    return first.replace(minute=0, second=0, microsecond=0)


def cut(messages: list[RawMessage], settings: Settings, stops: list[str]) -> list[list[RawMessage]]:
    """Cut a stream at some of its checkpoints; what is behind the last one is a window too."""
    context = context_of(settings.source("shop"))
    return _cut([(each, decode_message(each, context)) for each in messages], stops)


def produce(kafka: Broker, messages: list[RawMessage]) -> None:
    topics: dict[str, list[Record]] = defaultdict(list)
    for each in messages:
        topics[each.topic].append(Record(each.value, each.timestamp_ms, each.partition, each.key, each.headers))
    for topic, records in topics.items():
        kafka.produce(topic, records)


def content(message: RawMessage) -> tuple[object, ...]:
    """All of a message but its offset, which a broker numbers anew."""
    return message.topic, message.partition, message.timestamp_ms, message.key, message.value, message.headers


@dataclass(slots=True, kw_only=True)
class KafkaWorld(SparkWorld):
    """The source `shop` in topics of a broker; each delivery is there when its hour is recorded, live."""

    broker: Broker
    first: datetime

    @property
    def settings(self) -> Settings:
        return self.lake.settings

    def deliver(self, messages: list[RawMessage]) -> str:
        produce(self.broker, messages)
        source, end = self.settings.source("shop"), self.first + (len(self.names) + 1) * HOUR
        now = end + timedelta(minutes=2)
        name = record_windows(self.lake, source, lambda: inspect_arrivals(source, now), end, now)[-1].name
        report = land_window(self.session, self.lake, source, name, "run", now)
        assert (report.counts["landed"], report.counts["holes"]) == (len(messages), 0)
        self.decode(name, now)
        self.names.append(name)
        return name

    def decode(self, name: str, now: datetime) -> None:
        from retable.decode.spark import decode

        decode(self.session, self.lake, self.source, name, "run", now)


def open_world(folder: Path, broker: Broker, source_format: str, messages: list[RawMessage]) -> KafkaWorld:
    from retable.session import build_session

    text = LAKE + make_topics(broker, source_format, messages)
    (folder / "retable.toml").write_text(text, encoding="utf-8")
    settings = load_settings(folder / "retable.toml")
    session = build_session(settings, "retable tests")
    return KafkaWorld(folder, session, open_lake(settings), broker=broker, first=first_hour(messages))


STOPS = {name: ["final"] for name in ("debezium_mariadb", "dts_avro")}
"""Files stop them at every checkpoint, in memory (tests/captures); here the last one says that all of it came."""


@pytest.mark.parametrize("stream", STOPS)
def test_at_a_checkpoint_gold_equals_the_source_but_for_what_is_named(
    kafka: Broker, spark: "SparkSession", tmp_path: Path, stream: str
) -> None:
    """Two streams on one machine; a cluster has the two others (test_cluster.py)."""
    (kind, truth, checkpoints), stops = STREAMS[stream], STOPS[stream]
    messages = list(genuine(stream))
    world = open_world(tmp_path, kafka, kind, messages)
    windows = cut(messages, world.settings, stops)
    held: dict[str, str] = {}
    for stop, delivered in zip([*stops, END], windows, strict=True):
        world.replay(world.deliver(delivered))
        gold = world.gold()
        held |= {name: each.hold.code for name, each in gold.items() if each.hold and name not in held}
        if stop != END:
            found: Any = differences(gold, world, CAPTURES / truth / stop)  # type: ignore[arg-type]
            assert dict(found) == named(stream, checkpoints.index(stop)), stop
    assert held == {gold: code for gold, code, *_ in expected("Held tables", stream)}
    assert_bronze_is(world.lake, messages)


def named(stream: str, checkpoint: int) -> dict[tuple[str, str], int]:
    """What may differ at a checkpoint, by table and column."""
    told = {(table, column): counts.split() for table, column, counts, _ in expected("Differences", stream)}
    return {place: int(counts[checkpoint]) for place, counts in told.items() if int(counts[checkpoint])}


def assert_bronze_is(lake: Lake, messages: list[RawMessage]) -> None:
    """Bronze has each message once, as it was, and the ledger has counted it."""
    rows = lake.load("bronze.shop").scan().to_arrow().sort_by([("topic", "ascending"), ("offset", "ascending")])
    landed = [
        RawMessage(
            *(row[name] for name in ("topic", "partition", "offset", "timestamp_ms", "key", "value")),
            tuple((header["key"], header["value"]) for header in row["headers"]),
            row["problem"],
        )
        for row in rows.to_pylist()
    ]
    wanted = sorted(messages, key=lambda each: (each.topic, each.offset))
    assert list(map(content, landed)) == list(map(content, wanted))
    ledger = [row for row in read_ledger(lake, "shop") if row.stage == "land"]
    assert (
        sum(row.counts["landed"] for row in ledger) == sum(row.counts["positions"] for row in ledger) == len(messages)
    )
    assert sum(row.bytes for row in ledger) == sum(len(each.key or b"") + len(each.value or b"") for each in messages)


def test_a_stream_of_thirty_hours_is_cut_into_them_by_its_own_stamps(kafka: Broker) -> None:
    messages = [
        RawMessage("thirty-hours", *content(each)[1:2], each.offset, each.timestamp_ms, each.key, each.value)
        for each in genuine("dts_avro")
    ]
    kafka.create("thirty-hours")
    produce(kafka, messages)
    source: KafkaSource = kafka.source("thirty-hours")
    windows = plan(source, datetime(2026, 4, 1, tzinfo=UTC), hours=48)
    assert len(windows) == 48
    taken: list[RawMessage] = []
    for window in windows:
        landed, _ = read(source, window.ranges)
        taken += landed
        assert all(_time(each) < window.end + source.delay for each in landed[:-1] or landed)
    assert list(map(content, taken)) == list(map(content, messages))
    assert sum(not window.is_empty for window in windows) > 2


def _time(message: RawMessage) -> datetime:
    return datetime.fromtimestamp((message.timestamp_ms or 0) / 1000, UTC)
