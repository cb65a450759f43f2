"""Measure landing from Kafka, compared with a Spark job that writes the same messages as plain Parquet.

The benchmark starts a broker on loopback and fills four partitions with messages of 830 bytes. Both contestants read
the same offsets, in turns, in one Spark session with all cores. `ours` is `land`, with its checks, its ledger and its
commit in Iceberg. `floor` is a simple loop over a Kafka client in Spark's Python workers, with Spark's Parquet writer.
The result is the wall time, and the processor time of the JVM and its workers together.

    make bench
    PYTHONPATH=infra:tests python -m bench.land --messages 200000 --turns 3
"""

import argparse
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

from bench.replay.measure import megabytes, note, processor_seconds, ratio, seconds, show, table_bytes, timed
from retable.land.due import inspect_arrivals
from retable.land.kafka.messages import split_ranges
from retable.land.spark import land_window
from retable.ledger.lake.catalog import Lake, open_lake
from retable.ledger.lake.tables import BRONZE
from retable.ledger.windows.recording import record_windows
from retable.model.window import PartitionRange, Window
from retable.session import build_session, stop_session
from retable.settings.load import Settings, load_settings
from servers.kafka_broker import Broker, Record, kafka_server

PARTITIONS, BYTES = 4, 830
START = datetime(2026, 3, 1, 5, tzinfo=UTC)
HOUR = timedelta(hours=1)

PROJECT = """
[lake]
catalog = "sqlite:///lake/{number}.db"
warehouse = "lake"

[sources.bench]
kind = "kafka"
format = "canal_json"
bootstrap = "{bootstrap}"
topics = ["bench"]
"""


@dataclass(slots=True)
class Turns:
    """The wall seconds and the processor seconds of each turn of one contestant."""

    clock: list[float] = field(default_factory=list)
    processor: list[float] = field(default_factory=list)
    bytes: int = 0

    def take(self, act: Callable[[], object]) -> None:
        before = processor_seconds()
        self.clock.append(timed(act))
        self.processor.append(processor_seconds() - before)


@dataclass(frozen=True, slots=True)
class Floor:
    """The simplest possible reader: it returns the messages of some offset ranges as columns of bronze."""

    bootstrap: str
    shares: tuple[PartitionRange, ...]

    def read(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        # This module is __main__, which goes to the workers by value; the client's own classes cannot.
        from confluent_kafka import Consumer, TopicPartition

        facts = {"bootstrap.servers": self.bootstrap, "group.id": "floor", "enable.auto.commit": False}
        consumer = Consumer(facts)
        for batch in batches:
            for share in batch.column(0).to_pylist():
                wanted = self.shares[share]
                consumer.assign([TopicPartition(wanted.topic, wanted.partition, wanted.begin)])
                position = wanted.begin
                while position < wanted.end:
                    messages = [each for each in consumer.consume(10_000, 0.1) if each.offset() < wanted.end]
                    if messages:
                        position = messages[-1].offset() + 1
                        yield _columns(messages)
        consumer.close()


FLOOR = pa.schema([each for each in BRONZE.columns if each.name not in ("window", "problem", "landed_at")])


def _columns(messages: list) -> pa.RecordBatch:  # type: ignore[type-arg]  # a client's own class
    columns = [
        [each.topic() for each in messages],
        [each.partition() for each in messages],
        [each.offset() for each in messages],
        [each.timestamp()[1] for each in messages],
        [each.key() for each in messages],
        [each.value() for each in messages],
        [[{"key": key, "value": value} for key, value in each.headers() or ()] for each in messages],
    ]
    arrays = [pa.array(column, each.type) for column, each in zip(columns, FLOOR, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=FLOOR)


def fill(broker: Broker, count: int) -> None:
    """Produce `count` messages with different contents and rising timestamps."""
    broker.create("bench", PARTITIONS)
    first = int(START.timestamp() * 1000)
    for partition in range(PARTITIONS):
        values = range(partition, count, PARTITIONS)
        broker.produce(
            "bench", (Record(_value(n), first + n * 3_000_000 // count, partition, b"%d" % n) for n in values)
        )


def _value(number: int) -> bytes:
    """Return a message value that compresses like change messages, to about a sixth of its size."""
    row = b'{"id":%d,"customer":%d,"status":"paid","amount":"%d.%02d"}' % (
        number,
        number * 7919 % 100_003,
        number * 31 % 9973,
        number % 100,
    )
    head = b'{"data":[%s],"database":"shop","table":"orders","type":"INSERT","pad":"' % row
    return head.ljust(BYTES - 2, b"x") + b'"}'


class Contest:
    """Runs both contestants over the same window. In each turn, `ours` begins with an empty lake."""

    def __init__(self, folder: Path, broker: Broker) -> None:
        self._folder, self._broker = folder, broker
        self._session: SparkSession | None = None
        self.ours, self.floor = Turns(), Turns()

    def turn(self, number: int) -> None:
        settings = self._settings(number)
        spark, lake = build_session(settings, "retable bench"), open_lake(settings)
        self._session = self._session or spark
        window = self._record(lake, settings)
        lake.ensure("bronze.bench")
        source = settings.source("bench")
        self.ours.take(lambda: land_window(spark, lake, source, window.name, "bench", datetime.now(UTC)))
        self.ours.bytes = table_bytes(spark, "lake.bronze.bench")
        plain = self._folder / "plain"
        self.floor.take(partial(self._plainly, spark, window, plain))
        self.floor.bytes = sum(path.stat().st_size for path in plain.glob("*.parquet"))
        for each in (plain, settings.lake.warehouse):
            shutil.rmtree(str(each), ignore_errors=True)

    def forget_first(self) -> None:
        """Remove the results of the first turn, which only warms up."""
        for turns in (self.ours, self.floor):
            del turns.clock[0], turns.processor[0]

    def stop(self) -> None:
        if self._session is not None:
            stop_session(self._session)

    def _settings(self, number: int) -> Settings:
        (self._folder / "lake").mkdir(exist_ok=True)
        path = self._folder / "retable.toml"
        path.write_text(PROJECT.format(number=number, bootstrap=self._broker.bootstrap), encoding="utf-8")
        return load_settings(path)

    def _record(self, lake: Lake, settings: Settings) -> Window:
        now, source = START + HOUR + timedelta(minutes=2), settings.source("bench")
        return record_windows(lake, source, lambda: inspect_arrivals(source, now), START + HOUR, now)[-1]

    def _plainly(self, spark: SparkSession, window: Window, folder: Path) -> None:
        tasks = spark.sparkContext.defaultParallelism * 4
        floor = Floor(self._broker.bootstrap, tuple(split_ranges(window.ranges, 50_000, 2_000_000, tasks)))
        rows = spark.range(0, len(floor.shares), 1, len(floor.shares)).mapInArrow(floor.read, from_arrow_schema(FLOOR))
        rows.write.option("compression", "zstd").parquet(str(folder))


def main() -> None:
    parser = argparse.ArgumentParser(description="What landing from Kafka costs, against plain reading and writing.")
    parser.add_argument("--messages", type=int, default=1_000_000)
    parser.add_argument("--turns", type=int, default=3)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as place, kafka_server(Path(place)) as broker:
        note(f"filling a topic with {args.messages:,} messages")
        fill(broker, args.messages)
        contest = Contest(Path(place), broker)
        for number in range(args.turns + 1):
            note(f"turn {number} of {args.turns}")
            contest.turn(number)
        contest.stop()
    contest.forget_first()
    report(args.messages, contest)


def report(count: int, contest: Contest) -> None:
    ours, floor = contest.ours, contest.floor
    title = f"Landing {count:,} messages of {BYTES} bytes from Kafka ({megabytes(count * BYTES)})"
    rows = [
        [name, seconds(each.clock), seconds(each.processor), megabytes(each.bytes)]
        for name, each in (("floor: read, plain Parquet", floor), ("`land`", ours))
    ]
    ratios = [ratio(ours.clock, floor.clock), ratio(ours.processor, floor.processor), f"{ours.bytes / floor.bytes:.2f}"]
    show(title, ["", "seconds", "processor seconds", "written"], [*rows, ["ratio", *ratios]])


if __name__ == "__main__":
    main()
