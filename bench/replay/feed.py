"""Make a lake for one workload. Retable lands, decodes and replays the messages, and each stage is timed."""

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from time import perf_counter

import msgspec
from pyspark import SparkConf, SparkContext
from pyspark.sql import SparkSession

from bench.replay.measure import processor_seconds
from retable.decode.spark import decode
from retable.land.objects.files import list_objects
from retable.land.spark import land_window
from retable.ledger.lake.catalog import Lake, open_lake
from retable.ledger.rows import StageReport
from retable.ledger.windows.recording import record_windows
from retable.replay.spark import replay
from retable.session import build_session, submit_conf
from retable.settings.load import CATALOG, Settings, load_settings
from retable.settings.sources import SourceSettings

FIRST = datetime(2026, 3, 1, tzinfo=UTC)
NOW = datetime(2026, 3, 9, tzinfo=UTC)
HOUR = timedelta(hours=1)
FILES = 4
"""The number of files into which the messages of a window are written."""
_BINLOG_START = 1_000_000_000
_ANY_LAKE = Settings.model_validate({"lake": {"catalog": "sqlite:////lake/catalog.db", "warehouse": "/lake"}})
_PROJECT = """
[lake]
catalog = "sqlite:///lake/catalog.db"
warehouse = "lake"
"""
_SOURCE = """
[sources.{name}]
kind = "files"
format = "streamx_json"
path = "in/{name}"
layout = "kafka_dump"
hour = '(\\d{{4}}-\\d\\d-\\d\\dT\\d\\d)'
"""
_SEQUENCE = "named_struct('epoch', 0, 'hi', CAST({hi} AS DECIMAL(38,0)), 'lo', CAST(2 AS BIGINT)) AS _retable_sequence"


def start_spark(memory: str) -> SparkContext:
    """Start Spark on all cores with `memory` for the driver. It should be enough for every contestant."""
    os.environ.update(PYSPARK_PYTHON=sys.executable, SPARK_LOCAL_IP="127.0.0.1")
    conf = SparkConf(loadDefaults=False).setAll(list(submit_conf(_ANY_LAKE).items()))
    conf.setMaster("local[*]").setAppName("retable bench").set("spark.driver.memory", memory)
    context = SparkContext(conf=conf)
    # Spark warns that no catalog is called parquet each time that a table takes another's files.
    context.setLogLevel("ERROR")
    return context


@dataclass(frozen=True, slots=True)
class Replayed:
    """One replay: its wall seconds, its report, and for each reported step the seconds since its begin."""

    seconds: float
    report: StageReport
    steps: list[tuple[str, float]]


@dataclass(slots=True, kw_only=True)
class Feed:
    """One source. `seconds` and `processor` have the wall and processor time by stage. `offset` is the next offset."""

    lake: Lake
    spark: SparkSession
    name: str
    windows: list[str] = field(default_factory=list)
    offset: int = 0
    source_bytes: int = 0
    seconds: dict[str, float] = field(default_factory=dict)
    processor: dict[str, float] = field(default_factory=dict)

    @property
    def source(self) -> SourceSettings:
        return self.lake.settings.source(self.name)

    @property
    def position(self) -> int:
        """The binlog position of the next message."""
        return _BINLOG_START + self.offset

    def deliver(self, messages: Iterable[str], count: int) -> str:
        """Write these messages as the next window, land and decode it, and return its name. `count` is their number."""
        hour = FIRST + len(self.windows) * HOUR
        self._write(messages, count, hour)
        now = record_windows(self.lake, self.source, lambda: list_objects(self.source), hour + HOUR, NOW)
        window = now[-1].name
        for stage, act in (("land", land_window), ("decode", decode)):
            with self._timed(stage):
                report = act(self.spark, self.lake, self.source, window, "bench", NOW)
        if report.counts["decoded"] != count:
            raise RuntimeError(f"of {count} messages only {report.counts['decoded']} were decoded")
        self.windows.append(window)
        return window

    def replay(self, window: str) -> Replayed:
        """Replay a window. Raise RuntimeError if rows are held, rejected or pending."""
        steps: list[tuple[str, float]] = []
        began = perf_counter()

        def step(text: str) -> None:
            steps.append((text, perf_counter() - began))

        with self._timed("replay"):
            report = replay(self.spark, self.lake, self.source, window, "bench", NOW, step)
        seconds = perf_counter() - began
        if bad := {name for name in ("held", "rejected", "pending") if report.counts.get(name)} or report.held:
            raise RuntimeError(f"the window {window} of {self.name} was not replayed whole: {bad}")
        return Replayed(seconds, report, steps)

    def seed(self, table: str, base: str) -> None:
        """Write the rows of the query `base` directly into a gold table, as if the last message had changed them."""
        columns = self.spark.table(self.gold(table)).columns
        rows = self.spark.sql(f"SELECT *, {_SEQUENCE.format(hi=self.position - 1)} FROM ({base})")
        rows.select(*columns).writeTo(self.gold(table)).append()

    def gold(self, table: str) -> str:
        return f"{CATALOG}.`gold_{self.name}`.`{table}`"

    def snapshots(self, table: str) -> int:
        return self.spark.table(f"{self.gold(table)}.snapshots").count()

    @contextmanager
    def _timed(self, stage: str) -> Iterator[None]:
        began, used = perf_counter(), processor_seconds()
        yield
        self.seconds[stage] = self.seconds.get(stage, 0.0) + perf_counter() - began
        self.processor[stage] = self.processor.get(stage, 0.0) + processor_seconds() - used

    def _write(self, messages: Iterable[str], count: int, hour: datetime) -> None:
        folder, rest, share = self.source.path, iter(messages), -(-count // FILES)
        folder.mkdir(parents=True, exist_ok=True)
        for number in range(FILES):
            part = list(islice(rest, share))
            with (folder / f"{hour:%Y-%m-%dT%H}-{number}.jsonl").open("wb") as file:
                for value in part:
                    record = {"topic": self.name, "partition": 0, "offset": self.offset, "timestamp": _TIMESTAMP}
                    file.write(_ENCODE({**record, "value": value}) + b"\n")
                    self.offset += 1
            self.source_bytes += sum(map(len, part))


_TIMESTAMP = 1_772_323_200_000
_ENCODE: Callable[[object], bytes] = msgspec.json.Encoder().encode


def open_feeds(folder: Path, *names: str) -> list[Feed]:
    """Make a lake in a new folder, with a separate Spark session and one source for each name. Return the sources."""
    folder.mkdir(parents=True)
    text = _PROJECT + "".join(_SOURCE.format(name=name) for name in names)
    (folder / "retable.toml").write_text(text, encoding="utf-8")
    settings = load_settings(folder / "retable.toml")
    lake, spark = open_lake(settings), build_session(settings, "retable bench")
    return [Feed(lake=lake, spark=spark, name=name) for name in names]
