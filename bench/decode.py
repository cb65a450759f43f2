"""Measure how fast decode turns messages into change events, from bronze to silver on disk, for each format.

It is compared with the time that Spark needs only to parse the same bronze: `parse_json` of every value, without
output. Both run in turns, in one Spark session with one core. The measure is the processor time of the JVM and its
workers together, so that other load on the machine matters less. A figure is the median over the turns. A ratio is the
median of the ratios of the turns. Messages are the captures and golden messages of `tests/`, repeated.

    make bench
    python bench/decode.py --profile canal_json
"""

import argparse
import base64
import cProfile
import gzip
import json
import os
import pstats
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import cycle, islice
from pathlib import Path

import msgspec
import psutil
from pyspark import SparkConf, SparkContext
from pyspark.sql import SparkSession
from pyspark.sql import functions as sf

from retable.decode.context import context_of
from retable.decode.outcome import decode_batches
from retable.decode.silver import events_to_batch
from retable.decode.spark import decode
from retable.errors import MessageError
from retable.formats.context import DecodeContext
from retable.formats.registry import FORMATS, decode_message
from retable.land.bronze import to_batches
from retable.land.objects.files import list_objects
from retable.land.spark import land_window
from retable.ledger.lake.catalog import open_lake
from retable.ledger.lake.data_files import replace_files
from retable.ledger.windows.recording import record_windows
from retable.model.message import RawMessage
from retable.session import build_session, submit_conf
from retable.settings.load import CATALOG, Settings, load_settings

_ANY_LAKE = Settings.model_validate({"lake": {"catalog": "sqlite:////lake/catalog.db", "warehouse": "/lake"}})
TESTS = Path(__file__).parents[1] / "tests"
NOW = datetime(2026, 3, 2, tzinfo=UTC)
CLEAN, SPOILED = "20260301T0500Z", "20260301T0600Z"
CAPTURES = {
    "canal_json": "canal_mariadb.jsonl.gz",
    "debezium_json": "debezium_mariadb.jsonl.gz",
    "dts_avro": "dts_avro.jsonl.gz",
}
OPTIONS = {
    "datahub_tuple": 'database = "shop"\ntable = "orders"\n\n[tables."*"]\nkeys = ["id"]',
    "shareplex_json": 'database = "shop"',
    "ogg_json": 'op_ts_zone = "UTC"',
}
BAD_SHARE = 100
"""In the spoiled window, one of this many messages is cut in its middle."""

PROJECT = """
[lake]
catalog = "sqlite:///lake/catalog.db"
warehouse = "lake"

[sources.bench]
kind = "files"
format = "{name}"
path = "in"
layout = "kafka_dump"
hour = '(\\d{{4}}-\\d\\d-\\d\\dT\\d\\d)'
{options}
"""


@dataclass(slots=True)
class Measured:
    """The processor seconds of each turn: of decode (`ours`), of the spoiled window (`bad`), and of the parse alone."""

    size: int
    ours: list[float] = field(default_factory=list)
    bad: list[float] = field(default_factory=list)
    parse: list[float] = field(default_factory=list)


def messages_of(name: str, context: DecodeContext) -> list[RawMessage]:
    """Return all messages of `tests/` with row changes in this format."""
    found = _captured(CAPTURES[name]) if name in CAPTURES else _golden(name)
    return [message for message in found if _is_row(message, context)]


def _captured(file: str) -> Iterator[RawMessage]:
    with gzip.open(TESTS / "captures" / file, "rt", encoding="utf-8") as lines:
        for record in map(json.loads, lines):
            texts = [record.get(part) and record[part].encode() for part in ("key", "value")]
            if "value_base64" in record:
                texts[1] = base64.b64decode(record["value_base64"])
            yield RawMessage(record["topic"], record["partition"], record["offset"], record["timestamp"], *texts)


def _golden(name: str) -> Iterator[RawMessage]:
    for path in sorted((TESTS / "golden" / name).glob("*.message.*")):
        try:
            value = msgspec.json.format(path.read_bytes(), indent=-1)
        except msgspec.DecodeError:
            continue
        yield RawMessage("bench", 0, 0, 1_700_000_000_000, None, value)


def _is_row(message: RawMessage, context: DecodeContext) -> bool:
    try:
        return all(event.kind == "row" for event in decode_message(message, context))
    except MessageError:
        return False


def repeat(messages: list[RawMessage], count: int, spoil: bool) -> Iterator[RawMessage]:
    """Yield `count` messages by repetition, each at its own offset. If `spoil` is true, cut some of them."""
    for offset, message in enumerate(islice(cycle(messages), count)):
        value = message.value or b""
        if spoil and offset % BAD_SHARE == 0:
            value = value[: len(value) // 2]
        yield msgspec.structs.replace(message, topic="bench", partition=0, offset=offset, value=value)


def write_project(name: str, folder: Path) -> Settings:
    """Write settings with one source of this format, and return them."""
    path = folder / "retable.toml"
    path.write_text(PROJECT.format(name=name, options=OPTIONS.get(name, "")), encoding="utf-8")
    (folder / "in").mkdir()
    return load_settings(path)


def write_dump(path: Path, messages: Iterator[RawMessage]) -> None:
    with path.open("wb") as file:
        for message in messages:
            record = {name: getattr(message, name) for name in ("topic", "partition", "offset")}
            record |= {"timestamp": message.timestamp_ms, "key_base64": message.key, "value_base64": message.value}
            file.write(msgspec.json.encode({key: value for key, value in record.items() if value is not None}) + b"\n")


class Contest:
    """A source of one format with two landed windows. Each call is one turn and returns its processor seconds."""

    def __init__(self, spark: SparkSession, settings: Settings) -> None:
        self._spark, self._lake, self._source = spark, open_lake(settings), settings.source("bench")
        until = datetime(2026, 3, 1, 7, tzinfo=UTC)
        record_windows(self._lake, self._source, lambda: list_objects(self._source), until, NOW)
        for window in (CLEAN, SPOILED):
            land_window(spark, self._lake, self._source, window, "bench", NOW)

    def ours(self, window: str) -> float:
        seconds = charged(lambda: decode(self._spark, self._lake, self._source, window, "bench", NOW))
        for table, place in (("silver.bench", {}), ("quarantine.bench", {"stage": "decode"})):
            replace_files(self._lake, self._lake.load(table), {"window": window, **place}, [], {})
        return seconds

    def parse(self) -> float:
        bronze = self._spark.table(f"{CATALOG}.bronze.bench").where(sf.col("window") == CLEAN)
        parsed = bronze.select(sf.try_parse_json(sf.col("value").cast("string")))
        return charged(lambda: parsed.write.format("noop").mode("overwrite").save())


def charged(act: Callable[[], object]) -> float:
    """Call `act`. Return the processor seconds that this process, its JVM and its workers needed for it."""
    before = _processor_seconds()
    act()
    return _processor_seconds() - before


def _processor_seconds() -> float:
    me = psutil.Process()
    times = [process.cpu_times() for process in (me, *me.children(recursive=True))]
    return float(sum(each.user + each.system for each in times))


def measure(name: str, count: int, turns: int) -> Measured:
    """Measure a format with `count` messages in each of `turns` turns. A first turn only warms up."""
    with tempfile.TemporaryDirectory() as folder:
        settings = write_project(name, Path(folder))
        messages = messages_of(name, _context(settings))
        for hour, spoil in (("05", False), ("06", True)):
            write_dump(Path(folder) / "in" / f"2026-03-01T{hour}.jsonl", repeat(messages, count, spoil))
        found = Measured(sum(len(message.value or b"") for message in messages) // len(messages))
        contest = Contest(build_session(settings, "retable bench"), settings)
        for turn in range(turns + 1):
            ours, parse, bad = contest.ours(CLEAN), contest.parse(), contest.ours(SPOILED)
            if turn:
                found.ours.append(ours)
                found.bad.append(bad)
                found.parse.append(parse)
    return found


def _context(settings: Settings) -> DecodeContext:
    return context_of(settings.source("bench"), lambda table: settings.rules(table).keys)


def profile(name: str, count: int) -> None:
    """Print a profile of the Python code that turns messages into rows of silver. It runs in this process."""
    with tempfile.TemporaryDirectory() as folder:
        context = _context(write_project(name, Path(folder)))
    batches = list(to_batches(repeat(messages_of(name, context), count, spoil=False), CLEAN, NOW))
    profiler = cProfile.Profile()
    profiler.enable()
    for decoded in decode_batches(batches, context, lambda _: True):
        events_to_batch(CLEAN, decoded.stored)
    profiler.disable()
    pstats.Stats(profiler).strip_dirs().sort_stats("tottime").print_stats(20)


def one_core() -> SparkContext:
    os.environ.update(PYSPARK_PYTHON=sys.executable, SPARK_LOCAL_IP="127.0.0.1")
    conf = SparkConf(loadDefaults=False).setAll(list(submit_conf(_ANY_LAKE).items()))
    return SparkContext(conf=conf.setMaster("local[1]").setAppName("retable bench"))


def main() -> None:
    parser = argparse.ArgumentParser(description="Messages a second on one core, from bronze to silver.")
    parser.add_argument("--messages", type=int, default=50_000, help="messages a turn")
    parser.add_argument("--turns", type=int, default=5, help="turns of each")
    parser.add_argument("--profile", action="store_true", help="show where the time of the pure part goes instead")
    parser.add_argument("formats", nargs="*", default=list(FORMATS), help="formats; all of them where none is named")
    args = parser.parse_args()
    if args.profile:
        for name in args.formats:
            profile(name, args.messages)
        return
    spark = one_core()
    sys.stdout.write("| format | bytes | messages/s | MB/s | to parse_json | 1 % bad |\n|---|---|---|---|---|---|\n")
    for name in args.formats:
        found = measure(name, args.messages, args.turns)
        rate = args.messages / statistics.median(found.ours)
        ratio = statistics.median(a / b for a, b in zip(found.ours, found.parse, strict=True))
        price = statistics.median(a / b for a, b in zip(found.bad, found.ours, strict=True)) - 1
        shown = "no JSON" if name == "dts_avro" else f"{ratio:.2f}"
        sys.stdout.write(
            f"| {name} | {found.size:,} | {rate:,.0f} | {rate * found.size / 1e6:.1f} | {shown} | {price:+.1%} |\n"
        )
        sys.stdout.flush()
    spark.stop()


if __name__ == "__main__":
    main()
