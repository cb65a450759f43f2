"""Measure batches of changes on one big table, for all contestants in turns, and then a full read of each table."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.pandas.types import from_arrow_schema

from bench.replay.contestants import (
    Batch,
    Contestant,
    Floor,
    Retable,
    content,
    copy_on_write,
    floor,
    merge_on_read,
    two_merges,
)
from bench.replay.feed import Feed, open_feeds
from bench.replay.measure import megabytes, note, processor_seconds, ratio, seconds, show, table_bytes, timed
from bench.replay.orders import BASE, COLUMNS, TYPED, Changes, Orders
from retable.settings.load import CATALOG

ROWS_A_FILE = 1_000_000
READS = 3
Measured = dict[str, list[float]]


@dataclass(frozen=True, slots=True)
class Workload:
    """The size of the table and of the batches.

    Updates and deletes choose only from the newest keys; `newest` is their share, from 0 to 1. If `all_of_them` is
    false, only Retable and the floor take part.
    """

    name: str
    rows: int
    changes: int
    newest: float = 1.0
    batches: int = 5
    all_of_them: bool = True


@dataclass(slots=True)
class Result:
    """The costs by contestant and batch: wall seconds, processor seconds, and written bytes.

    `changed` is the size of all changes as Parquet. `reads` has the seconds of full reads, `steps` the steps of each
    replay, `from_silver` the seconds of a replay into an empty table.
    """

    seconds: Measured = field(default_factory=dict)
    processor: Measured = field(default_factory=dict)
    written: dict[str, list[int]] = field(default_factory=dict)
    changed: int = 0
    reads: Measured = field(default_factory=dict)
    steps: list[list[tuple[str, float]]] = field(default_factory=list)
    from_silver: float = 0.0


def base_of(rows: int) -> str:
    return BASE.format(start=0, end=rows, files=max(1, rows // ROWS_A_FILE))


def measure(workload: Workload, folder: Path) -> Result:
    """Let every contestant apply the same batches, in rotating order. Raise RuntimeError if their tables differ."""
    feed, alone = open_feeds(folder, "big", "alone")
    orders = Orders.of("big", "orders", workload.rows, seed=7)
    note(f"{workload.name}: {workload.rows:,} rows, for each contestant")
    feed.replay(feed.deliver([orders.create(feed.position)], 1))
    contestants = _start(feed, workload)
    result = Result()
    for number in range(workload.batches):
        changes = orders.change(workload.changes, workload.newest)
        path = folder / f"changes_{number}.parquet"
        view = typed_view(feed.spark, changes, path)
        window = feed.deliver(orders.messages(changes, feed.position), len(changes))
        note(f"{workload.name}: batch {number + 1} of {workload.batches}")
        first = number % len(contestants)
        _take_turns([*contestants[first:], *contestants[:first]], Batch(window, view), feed.spark, result)
        if number == 0 and workload.all_of_them:
            result.from_silver = _into_nothing(alone, orders, changes)
        result.changed += path.stat().st_size
    _check(feed.spark, contestants)
    if workload.all_of_them:
        result.reads = _read(feed.spark, contestants)
    return result


def typed_view(spark: SparkSession, changes: Changes, path: Path) -> str:
    """Write changes as typed rows and return the name of a view of them. This time is not measured."""
    pq.write_table(changes.typed(), path, compression="zstd")
    frame = spark.read.schema(from_arrow_schema(TYPED, prefer_timestamp_ntz=True)).parquet(str(path))
    frame.createOrReplaceTempView(path.stem)
    return path.stem


def _start(feed: Feed, workload: Workload) -> list[Contestant]:
    """Fill a table for each contestant. Tables of stock Iceberg use the data files of the floor's table."""
    ours, below, base = Retable(feed, "orders"), floor(feed.spark, "orders"), base_of(workload.rows)
    ours.start(base)
    below.start(base)
    makers = (merge_on_read, copy_on_write, two_merges) if workload.all_of_them else ()
    others = [make(feed.spark, "orders") for make in makers]
    for other in others:
        other.start_like(below)
    return [ours, below, *others]


def _take_turns(contestants: Sequence[Contestant], batch: Batch, spark: SparkSession, result: Result) -> None:
    for each in contestants:
        before, used = table_bytes(spark, each.table), processor_seconds()
        took = each.apply(batch)
        result.processor.setdefault(each.name, []).append(processor_seconds() - used)
        note(f"{each.name}: {took:.2f} s")
        result.seconds.setdefault(each.name, []).append(took)
        result.written.setdefault(each.name, []).append(table_bytes(spark, each.table) - before)
        if isinstance(each, Retable) and each.last is not None:
            result.steps.append(each.last.steps)


def _into_nothing(alone: Feed, orders: Orders, changes: Changes) -> float:
    """Replay the same changes into an empty table, which has no keys to look up. Return the seconds."""
    apart = Orders("alone", "orders", 0, orders.versions)
    alone.replay(alone.deliver([apart.create(alone.position)], 1))
    return alone.replay(alone.deliver(apart.messages(changes, alone.position), len(changes))).seconds


def _check(spark: SparkSession, contestants: Sequence[Contestant]) -> None:
    """Raise RuntimeError if the contestants' tables differ. The floor's table is not compared."""
    found = {each.name: content(spark, each.table) for each in contestants if not isinstance(each, Floor)}
    if len(set(found.values())) != 1:
        raise RuntimeError(f"the contestants disagree: {found}")


def _read(spark: SparkSession, contestants: Sequence[Contestant]) -> Measured:
    """Read each table in full, in turns with a freshly compacted table of the same rows. Return the seconds."""
    compact = f"{CATALOG}.stock.compact"
    ours = contestants[0].table
    rows = spark.table(ours).repartitionByRange(max(1, _count(spark, ours) // ROWS_A_FILE), "id")
    rows.sortWithinPartitions("id").writeTo(compact).tableProperty("format-version", "3").create()
    tables = {"freshly compacted": compact}
    tables |= {each.name: each.table for each in contestants if not isinstance(each, Floor)}
    found: Measured = {name: [] for name in tables}
    for turn in range(READS + 1):
        for name, table in tables.items():
            took = timed(partial(_all, spark.table(table)))
            if turn:
                found[name].append(took)
    return found


def _all(rows: DataFrame) -> None:
    rows.agg(sf.bit_xor(sf.xxhash64(*COLUMNS))).collect()


def _count(spark: SparkSession, table: str) -> int:
    return int(spark.table(table).count())


def report(workload: Workload, result: Result) -> None:
    """Print the results of a workload as tables."""
    ours = result.seconds["Retable"]
    rows = [
        [
            name,
            seconds(took),
            ratio(ours, took),
            f"{statistics.median(result.processor[name]):.1f}",
            megabytes(statistics.median(result.written[name])),
            f"{sum(result.written[name]) / result.changed:.1f}",
        ]
        for name, took in result.seconds.items()
    ]
    heads = (
        "who",
        "seconds a batch (each)",
        "Retable to it",
        "processor seconds",
        "written a batch",
        "bytes a byte changed",
    )
    title = f"{workload.name}: {workload.changes:,} changes on {workload.rows:,} rows"
    show(title, heads, rows)
    _report_steps(result)
    if result.reads:
        fresh = result.reads["freshly compacted"]
        read = [[name, seconds(took), ratio(took, fresh)] for name, took in result.reads.items()]
        show(f"{workload.name}: a full read after {workload.batches} batches", ("of", "seconds", "to fresh"), read)


def _report_steps(result: Result) -> None:
    """Show where a replay's time goes, as far as its own steps report it."""
    names = [text.rpartition(": ")[2] for text, _ in result.steps[-1]]
    took = [
        [at - before for at, before in zip(_times(each), [0.0, *_times(each)], strict=False)] for each in result.steps
    ]
    whole = result.seconds["Retable"]
    medians = [statistics.median(each[place] for each in took) for place in range(min(map(len, took)))]
    told = [[name, f"{value:.2f}"] for name, value in zip(names, medians, strict=False)]
    rest = statistics.median(total - _times(each)[-1] for total, each in zip(whole, result.steps, strict=True))
    told += [["ledger", f"{rest:.2f}"], ["(the same changes into an empty table, whole)", f"{result.from_silver:.2f}"]]
    show("Retable's steps, each until it was done", ("step", "seconds"), told)


def _times(steps: Sequence[tuple[str, float]]) -> list[float]:
    return [at for _, at in steps]
