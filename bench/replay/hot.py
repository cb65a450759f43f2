"""Measure a small table whose keys change many times in one window."""

from pathlib import Path

from bench.replay.batches import typed_view
from bench.replay.contestants import Batch, Contestant, Retable, content, copy_on_write, merge_on_read
from bench.replay.feed import open_feeds
from bench.replay.measure import note, ratio, seconds, show
from bench.replay.orders import BASE, Orders

Result = dict[str, list[float]]


def measure(keys: int, changes: int, folder: Path) -> Result:
    """Return the wall seconds by contestant. Stock MERGE first selects the last change of each key."""
    (feed,) = open_feeds(folder, "hot")
    orders = Orders.of("hot", "orders", keys, seed=3)
    feed.replay(feed.deliver([orders.create(feed.position)], 1))
    starters = (Retable(feed, "orders"), merge_on_read(feed.spark, "orders"), copy_on_write(feed.spark, "orders"))
    for each in starters:
        each.start(BASE.format(start=0, end=keys, files=1))
    contestants: list[Contestant] = list(starters)
    told = orders.rewrite(changes)
    view = typed_view(feed.spark, told, folder / "changes.parquet")
    note(f"{changes:,} changes of {keys:,} keys")
    window = feed.deliver(orders.messages(told, feed.position), changes)
    found = {each.name: [each.apply(Batch(window, view, once=False))] for each in contestants}
    left = {content(feed.spark, each.table) for each in contestants}
    if len(left) != 1:
        raise RuntimeError(f"the contestants disagree: {left}")
    return found


def report(keys: int, changes: int, result: Result) -> None:
    rows = [[name, seconds(took), ratio(result["Retable"], took)] for name, took in result.items()]
    show(f"{changes:,} changes of {keys:,} keys in one window", ("who", "seconds", "Retable to it"), rows)
