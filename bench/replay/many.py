"""Measure time and memory for many small tables that all change a little: Retable, and stock MERGE in threads."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial, reduce
from itertools import chain
from pathlib import Path
from time import perf_counter

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

from bench.replay.contestants import Batch, Retable, Stock, content_of, merge_on_read
from bench.replay.feed import Feed, open_feeds
from bench.replay.measure import Peak, heap_bytes, megabytes, note, ratio, seconds, show, watched
from bench.replay.orders import BASE, TYPED, Changes, Orders

THREADS = 4
ROWS = 200
"""The initial number of rows of a small table."""


@dataclass(slots=True)
class Round:
    """The cost of a round: wall seconds, live bytes in the JVM's heap after it, and the peak of memory during it."""

    seconds: float
    heap: int
    peak: Peak


@dataclass(slots=True)
class Result:
    """The rounds of each contestant."""

    rounds: dict[str, list[Round]] = field(default_factory=dict)


def measure(tables: int, changes: int, rounds: int, folder: Path) -> Result:
    """Let both contestants change all tables, in turns. Raise RuntimeError if their tables differ at the end."""
    (feed,) = open_feeds(folder, "small")
    orders = [Orders.of("small", f"t{number:03}", ROWS, seed=number) for number in range(tables)]
    note(f"{tables} small tables")
    feed.replay(feed.deliver(_everything(orders, feed), tables * (1 + ROWS)))
    stock = [merge_on_read(feed.spark, each.table) for each in orders]
    base = BASE.format(start=0, end=ROWS, files=1)
    # The first one alone, because it makes the namespace of all.
    stock[0].start(base)
    _at_once([partial(each.start, base) for each in stock[1:]])
    result = Result()
    for number in range(rounds):
        note(f"{tables} small tables: round {number + 1} of {rounds}")
        told = [each.change(changes) for each in orders]
        window = feed.deliver(_messages(orders, told, feed), tables * changes)
        batches = [
            Batch(window, _local_view(feed.spark, each.table, what)) for each, what in zip(orders, told, strict=True)
        ]
        _take(result, "Retable", feed.spark, partial(feed.replay, window))
        merges = [partial(s.apply, b) for s, b in zip(stock, batches, strict=True)]
        _take(result, f"stock MERGE, {THREADS} threads", feed.spark, partial(_at_once, merges))
    _check(feed, orders, stock)
    return result


def _everything(orders: list[Orders], feed: Feed) -> chain[str]:
    """Return the messages that create each table and insert its rows."""
    first, last = feed.position, feed.position + len(orders)
    creates = (each.create(first + number) for number, each in enumerate(orders))
    loads = (each.messages(each.load(), last + number * ROWS) for number, each in enumerate(orders))
    return chain(creates, chain.from_iterable(loads))


def _messages(orders: list[Orders], told: list[Changes], feed: Feed) -> chain[str]:
    position, parts = feed.position, []
    for each, changes in zip(orders, told, strict=True):
        parts.append(each.messages(changes, position))
        position += len(changes)
    return chain.from_iterable(parts)


def _local_view(spark: SparkSession, table: str, changes: Changes) -> str:
    """Return the name of a view of the changes. It is local to the driver, so that Spark reads no file for it."""
    frame = spark.createDataFrame(changes.typed(), from_arrow_schema(TYPED, prefer_timestamp_ntz=True))
    frame.createOrReplaceTempView(f"changes_{table}")
    return f"changes_{table}"


def _take(result: Result, name: str, spark: SparkSession, act: Callable[[], object]) -> None:
    with watched() as peak:
        began = perf_counter()
        act()
        took = perf_counter() - began
    result.rounds.setdefault(name, []).append(Round(took, heap_bytes(spark), peak))


def _at_once(acts: Sequence[Callable[[], object]]) -> None:
    with ThreadPoolExecutor(THREADS) as pool:
        for done in [pool.submit(act) for act in acts]:
            done.result()


def _check(feed: Feed, orders: list[Orders], stock: list[Stock], share: int = 50) -> None:
    """Compare all tables, `share` tables at a time. Raise RuntimeError if they differ."""
    ours = [Retable(feed, each.table) for each in orders]
    for start in range(0, len(orders), share):
        pair = [_together(feed.spark, [each.table for each in side[start : start + share]]) for side in (ours, stock)]
        if content_of(pair[0]) != content_of(pair[1]):
            raise RuntimeError(f"the contestants disagree on one of the tables from {orders[start].table} on")


def _together(spark: SparkSession, tables: list[str]) -> DataFrame:
    columns = TYPED.names[2:]
    return reduce(DataFrame.unionAll, (spark.table(table).select(*columns) for table in tables))


def report(tables: int, changes: int, result: Result) -> None:
    ours = [each.seconds for each in result.rounds["Retable"]]
    rows = []
    for name, rounds in result.rounds.items():
        took = [each.seconds for each in rounds]
        heaps = " ".join(megabytes(each.heap) for each in rounds)
        peaks = " ".join(megabytes(each.peak.python) for each in rounds)
        rows.append([name, seconds(took), ratio(ours, took), heaps, peaks])
    heads = ("who", "seconds a round (each)", "Retable to it", "heap alive after each", "driver's Python at most")
    show(f"{tables} small tables, {changes} changes each", heads, rows)
