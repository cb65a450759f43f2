"""Measure all stages from messages in files to gold: one hour of many tables, the hour again, and a day's storage."""

import os
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from time import perf_counter

from bench.replay.feed import Feed, open_feeds
from bench.replay.measure import folder_bytes, megabytes, note, show
from bench.replay.orders import BASE, Orders

DAY = 24
"""The number of windows of a day."""


@dataclass(slots=True)
class Hour:
    """The cost of an hour: wall and processor seconds by stage. `again` is the wall time of a second replay of it."""

    changes: int
    tables: int
    wall: dict[str, float]
    processor: dict[str, float]
    again: float
    new_snapshots: int


@dataclass(slots=True)
class Day:
    """The bytes on disk after a day of windows, by layer. `source` is the size of the messages in bytes."""

    source: int
    layers: dict[str, int]
    wall: dict[str, float]


def measure_hour(tables: int, rows: int, changes: int, folder: Path) -> Hour:
    """Land, decode and replay an hour of `changes` changes in all. Before it, each table has `rows` rows."""
    (feed,) = open_feeds(folder, "hour")
    orders = [Orders.of("hour", f"t{number:03}", rows, seed=number) for number in range(tables)]
    note(f"{tables} tables of {rows:,} rows")
    first = feed.position
    creates = [each.create(first + number) for number, each in enumerate(orders)]
    feed.replay(feed.deliver(creates, tables))
    for each in orders:
        feed.seed(each.table, BASE.format(start=0, end=rows, files=1))
    share = changes // tables
    note(f"{changes:,} changes over {tables} tables")
    feed.seconds.clear()
    feed.processor.clear()
    window = feed.deliver(_messages(feed, orders, share), tables * share)
    feed.replay(window)
    wall, used = dict(feed.seconds), dict(feed.processor)
    snapshots = sum(feed.snapshots(each.table) for each in orders)
    began = perf_counter()
    feed.replay(window)
    again = perf_counter() - began
    more = sum(feed.snapshots(each.table) for each in orders) - snapshots
    return Hour(tables * share, tables, wall, used, again, more)


def measure_day(tables: int, rows: int, changes: int, folder: Path) -> Day:
    """Replay a day of windows. The first window inserts all rows; each later window changes `changes` rows a table."""
    (feed,) = open_feeds(folder, "day")
    orders = [Orders.of("day", f"t{number}", rows, seed=number) for number in range(tables)]
    first, after = feed.position, feed.position + tables
    creates = (each.create(first + number) for number, each in enumerate(orders))
    loads = (each.messages(each.load(), after + number * rows) for number, each in enumerate(orders))
    feed.replay(feed.deliver(chain(creates, chain.from_iterable(loads)), tables * (1 + rows)))
    for number in range(1, DAY):
        note(f"window {number + 1} of {DAY}")
        feed.replay(feed.deliver(_messages(feed, orders, changes), tables * changes))
    lake = folder / "lake"
    layers = {path.name: folder_bytes(path) for path in sorted(lake.iterdir()) if path.is_dir()}
    layers["catalog"] = sum(path.stat().st_size for path in lake.glob("catalog.db*"))
    return Day(feed.source_bytes, layers, feed.seconds)


def _messages(feed: Feed, orders: list[Orders], share: int) -> chain[str]:
    position = feed.position
    return chain.from_iterable(
        each.messages(each.change(share), position + number * share) for number, each in enumerate(orders)
    )


def report_hour(hour: Hour) -> None:
    cores = os.cpu_count() or 1
    wall = {**hour.wall, "the whole way": sum(hour.wall.values())}
    used = {**hour.processor, "the whole way": sum(hour.processor.values())}
    rows = [
        [stage, f"{took:.1f}", _rate(hour, took * cores), f"{used[stage]:.1f}", _rate(hour, used[stage])]
        for stage, took in wall.items()
    ]
    title = f"An hour of {hour.changes:,} changes over {hour.tables} tables, {cores} cores"
    heads = ("stage", "seconds", "changes/s per core", "processor seconds", "changes per processor second")
    show(title, heads, rows)
    first = hour.wall["replay"]
    again = [["first", f"{first:.2f}", ""], ["again", f"{hour.again:.2f}", f"{hour.again / first:.3f}"]]
    show(f"A finished window again: {hour.new_snapshots} new snapshots", ("replay", "seconds", "to the first"), again)


def _rate(hour: Hour, seconds: float) -> str:
    return f"{hour.changes / seconds:,.0f}"


def report_day(day: Day) -> None:
    rows = [[layer, megabytes(size), f"{size / day.source:.2f}"] for layer, size in day.layers.items()]
    whole = sum(day.layers.values())
    rows.append(["all", megabytes(whole), f"{whole / day.source:.2f}"])
    title = f"What {DAY} windows leave on disk, of {megabytes(day.source)} of messages"
    show(title, ("layer", "stored", "bytes a byte of the source"), rows)
