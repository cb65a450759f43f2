"""Measure what it costs to replay changes, and how the cost grows, for Retable and for other methods.

All contestants apply the same batches in the same run, in turns, each to a separate table. The contents of the tables
are compared. Retable reads silver, which its own land and decode made from messages. The others get typed rows at no
cost. Stock MERGE uses shuffle hash joins, which are best for it. The floor reads all keys once, joins them, and writes
the new rows once. No method that reads all keys can be faster. Seconds are wall seconds, as medians over the batches. A
ratio is the median of the ratios of the batches.

    make bench
    python -m bench.replay --full
    python -m bench.replay random recent
"""

import argparse
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from bench.replay import batches, hot, many, whole
from bench.replay.batches import Workload
from bench.replay.feed import start_spark
from bench.replay.measure import ratio, say, seconds, show

PATTERNS = {"random": 1.0, "recent": 0.05}
"""The share of the newest keys that updates and deletes choose from: all keys, or a twentieth."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """The size of each workload. `hour` and `day` are each: number of tables, rows per table, number of changes."""

    rows: int
    changes: int
    batches: int
    small_tables: int
    hot_changes: int
    hour: tuple[int, int, int]
    day: tuple[int, int, int]


QUICK = Sizes(1_000_000, 20_000, 3, 40, 100_000, (20, 10_000, 100_000), (2, 10_000, 1_000))
FULL = Sizes(10_000_000, 200_000, 5, 500, 1_000_000, (100, 20_000, 1_000_000), (4, 50_000, 10_000))


@dataclass(slots=True)
class Bench:
    """The workloads, one method each. `folder` is a new folder that is deleted after the workload."""

    sizes: Sizes

    def random(self, folder: Path) -> None:
        self._batches("random", folder)

    def recent(self, folder: Path) -> None:
        self._batches("recent", folder)

    def growth(self, folder: Path) -> None:
        """Apply the same changes to tables with a tenth, one and four times the rows, with Retable and the floor."""
        found: dict[tuple[str, int], batches.Result] = {}
        sizes = [self.sizes.rows // 10, self.sizes.rows, self.sizes.rows * 4]
        for pattern, newest in PATTERNS.items():
            for rows in sizes:
                share = newest * sizes[1] / rows if newest < 1 else newest
                workload = Workload(f"{pattern} keys", rows, self.sizes.changes, share, 3, all_of_them=False)
                found[pattern, rows] = batches.measure(workload, folder / f"{pattern}-{rows}")
        lines = []
        for (pattern, rows), result in found.items():
            middle = found[pattern, sizes[1]].seconds
            lines.append(
                [pattern, f"{rows:,}"]
                + [text for name, took in result.seconds.items() for text in (seconds(took), ratio(took, middle[name]))]
            )
        show("The table grows", ("keys", "rows", "Retable", f"to {sizes[1]:,} rows", "floor", "to that"), lines)

    def many(self, folder: Path) -> None:
        many.report(self.sizes.small_tables, 100, many.measure(self.sizes.small_tables, 100, 3, folder / "many"))

    def hot(self, folder: Path) -> None:
        hot.report(1_000, self.sizes.hot_changes, hot.measure(1_000, self.sizes.hot_changes, folder / "hot"))

    def hour(self, folder: Path) -> None:
        whole.report_hour(whole.measure_hour(*self.sizes.hour, folder / "hour"))

    def day(self, folder: Path) -> None:
        whole.report_day(whole.measure_day(*self.sizes.day, folder / "day"))

    def _batches(self, pattern: str, folder: Path) -> None:
        workload = Workload(
            f"{pattern} keys", self.sizes.rows, self.sizes.changes, PATTERNS[pattern], self.sizes.batches
        )
        batches.report(workload, batches.measure(workload, folder / pattern))


WORKLOADS: dict[str, Callable[[Bench, Path], None]] = {
    "random": Bench.random,
    "recent": Bench.recent,
    "growth": Bench.growth,
    "many": Bench.many,
    "hot": Bench.hot,
    "hour": Bench.hour,
    "day": Bench.day,
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.replay", description="What replaying changes costs.")
    parser.add_argument("--full", action="store_true", help="10 M rows and more of all; takes an hour")
    parser.add_argument("--batches", type=int, help="batches of changes on the big table, one after the other")
    parser.add_argument("--memory", default="6g", help="the heap of Spark's JVM")
    parser.add_argument("--folder", type=Path, help="where the lakes are for as long as they are needed")
    parser.add_argument("workloads", nargs="*", metavar="WORKLOAD", help=f"of {', '.join(WORKLOADS)}; all without any")
    args = parser.parse_args()
    if unknown := set(args.workloads) - WORKLOADS.keys():
        parser.error(f"no workload is called {unknown.pop()}; there are {', '.join(WORKLOADS)}")
    sizes = FULL if args.full else QUICK
    bench = Bench(replace(sizes, batches=args.batches or sizes.batches))
    spark = start_spark(args.memory)
    say("Seconds are wall seconds. Retable reads the images of silver; the others get typed rows for nothing.")
    with tempfile.TemporaryDirectory(prefix="retable-bench-", dir=args.folder) as folder:
        batches.measure(Workload("warm-up", 50_000, 2_000, batches=2), Path(folder) / "warm-up")
        for name in args.workloads or WORKLOADS:
            with tempfile.TemporaryDirectory(dir=folder) as own:
                WORKLOADS[name](bench, Path(own))
    spark.stop()


if __name__ == "__main__":
    main()
