"""Measure one class of changes at one size and append its cost to a file, or print such a file as a table.

Retable itself lands and decodes the messages. A separate process then replays them with a driver of 2 GB on two cores,
and gold is compared with the expected rows. Seconds are of all measured windows together: wall time, and processor time
of Python, the JVM and its workers. Memory is the peak of the JVM, of one worker, and of the driver's Python. Memory of
this Python before the first measured window does not count.

    python -m bench.scale --class plain --rows 100000
    python -m bench.scale --table
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from datetime import timedelta
from itertools import count, islice
from pathlib import Path
from time import perf_counter

import msgspec
import numpy as np
import psutil
import pyarrow as pa
import pyarrow.compute as pc
import zstandard

from bench.replay.feed import FIRST, HOUR, NOW, start_spark
from bench.replay.measure import note, processor_seconds, say, show, watched
from bench.scale.classes import CLASSES, Made, Window
from bench.scale.rows import COLUMNS, GONE, Keys, name, values
from retable.decode.spark import decode
from retable.land.objects.files import list_objects
from retable.land.spark import land_window
from retable.ledger.lake.catalog import close_lake, open_lake, open_lake_to_read
from retable.ledger.windows.recording import read_windows, record_windows
from retable.replay.batch.ranges import BYTES_AT_ONCE
from retable.replay.files.lake_rows import ROWS_HERE, ROWS_NEAR
from retable.replay.spark import rebuild, replay
from retable.replay.tasks.folding import ROWS_A_TASK
from retable.session import build_session
from retable.settings.load import load_settings
from retable.verify.bronze import against_bronze
from retable.verify.rows import Share

_SOURCE, _RESULTS = "shop", Path("scale.jsonl")
_ROWS_A_FILE = 250_000
_STAMP_MS = 1_772_323_200_000
_LAKE = """
[lake]
catalog = "sqlite:///lake/catalog.db"
warehouse = "lake"
"""
_SOURCE_OF = """
[sources.shop]
kind = "files"
format = "{format}"
path = "{path}"
layout = "kafka_dump"
hour = '(\\d{{4}}-\\d\\d-\\d\\dT\\d\\d)'
{options}
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """The cost of the class `of` at one size. The megabytes are peaks."""

    of: str
    rows: int
    seconds: float
    processor: float
    python_mb: float
    jvm_mb: float
    worker_mb: float


def settings_of(of: str, lake: str = _LAKE, path: str = "in") -> str:
    """Return the settings of a class as TOML. `lake` is the TOML of the lake, `path` the folder of the messages."""
    return lake + _SOURCE_OF.format(format=CLASSES[of].format, options=CLASSES[of].options, path=path)


# --- making ------------------------------------------------------------------------------------------------------
def prepare(folder: Path, of: str, rows: int) -> None:
    """Land and decode the windows of a class. Replay the first window, or for a rebuild all windows."""
    spoken = CLASSES[of]
    (folder / "retable.toml").write_text(settings_of(of), encoding="utf-8")
    lake, offsets = open_lake(load_settings(folder / "retable.toml")), count()
    start_spark("2g")
    spark, source = build_session(lake.settings, "retable bench"), lake.settings.source(_SOURCE)
    for number, window in enumerate(spoken.make(rows).windows):
        hour = FIRST + number * HOUR
        write_messages(source.path, window, f"{hour:%Y-%m-%dT%H}", offsets)
        (recorded,) = record_windows(lake, source, lambda: list_objects(source), hour + HOUR, NOW)
        for stage in (land_window, decode):
            report = stage(spark, lake, source, recorded.name, "bench", NOW)
        if report.counts.get("quarantined"):
            raise RuntimeError(f"{of}: {report.counts['quarantined']} messages were not decoded")
        if number == 0 or spoken.act == "rebuild":
            replay(spark, lake, source, recorded.name, "bench", NOW)
    close_lake(lake)


def write_messages(folder: Path, window: Window, hour: str, offsets: Iterator[int]) -> None:
    """Write the messages of a window as packed files whose names contain its hour, as `2026-03-01T05`."""
    folder.mkdir(parents=True, exist_ok=True)
    encode, messages = msgspec.json.Encoder().encode, window()
    for number in count():
        if not (some := list(islice(messages, _ROWS_A_FILE))):
            return
        with zstandard.open(folder / f"{hour}-{number}.jsonl.zst", "wb") as file:
            for message in some:
                at = {"topic": _SOURCE, "partition": message.partition, "offset": next(offsets)}
                record = {**at, "timestamp": _STAMP_MS, "key": message.key, "value": message.value}
                file.write(encode(record) + b"\n")


# --- measuring ---------------------------------------------------------------------------------------------------
def measure(folder: Path, of: str, rows: int) -> Cost:
    """Replay all windows after the first, or rebuild the table. Return the cost."""
    lake = open_lake(load_settings(folder / "retable.toml"))
    start_spark("2g")
    spark, source = build_session(lake.settings, "retable bench"), lake.settings.source(_SOURCE)
    waiting = [window.name for window in read_windows(lake, _SOURCE)][1:]
    began, used, before = perf_counter(), processor_seconds(), psutil.Process().memory_info().rss
    with watched() as peak:
        if CLASSES[of].act == "rebuild":
            reports = [rebuild(spark, lake, source, CLASSES[of].gold, "bench", NOW + timedelta(hours=1))]
        else:
            reports = [replay(spark, lake, source, window, "bench", NOW) for window in waiting]
    took, processor = perf_counter() - began, processor_seconds() - used
    if bad := [report.counts for report in reports if report.held or report.counts.get("rejected")]:
        raise RuntimeError(f"{of}: rows were held or rejected: {bad}")
    close_lake(lake)
    cost = Cost(
        of=of,
        rows=rows,
        seconds=took,
        processor=processor,
        python_mb=max(0, peak.python - before) / 1e6,
        jvm_mb=peak.jvm / 1e6,
        worker_mb=peak.worker / 1e6,
    )
    check_memory(cost, max(report.counts["rows"] for report in reports))
    return cost


def driver_mb(rows: int) -> float:
    """Return how many MB the driver's Python may need for a window of `rows` rows, above its memory before."""
    here = min(rows, ROWS_HERE) if rows <= ROWS_NEAR else 0
    return 100 + here * 750 * COLUMNS / 1e6


def worker_mb(rows: int) -> float:
    """Return how many MB a worker may need for a window of `rows` rows. A task has only a part of them in memory."""
    row = 200 + 50 * COLUMNS
    return 400 + 2.5 * min(rows * row, ROWS_A_TASK * row, BYTES_AT_ONCE) / 1e6


def check_memory(cost: Cost, rows: int) -> None:
    """Raise RuntimeError if a replay needed more memory for `rows` rows than docs/internals/performance.md says."""
    for who, used, said in (
        ("the driver", cost.python_mb, driver_mb(rows)),
        ("a worker", cost.worker_mb, worker_mb(rows)),
    ):
        if used > said:
            raise RuntimeError(f"{cost.of}: {who} needed {used:,.0f} MB for {rows:,} rows, not {said:,.0f}")


# --- comparing ---------------------------------------------------------------------------------------------------
def compare(gold: Iterable[pa.Table], made: Made) -> None:
    """Raise RuntimeError unless gold has each expected row once, with its values. `gold` yields batches of rows."""
    versions = made.table.versions
    seen = np.zeros(len(versions), bool)
    for rows in gold:
        ids = np.asarray(pc.floor(rows["id"].cast(pa.float64())).cast(pa.int64()))
        if (ids >= len(versions)).any() or seen[ids].any() or len(np.unique(ids)) != len(ids):
            raise RuntimeError("gold has a row twice, or a row that the generator did not write")
        seen[ids] = True
        for column in range(1, COLUMNS):
            wanted = _wanted(made, column, ids, versions[ids])
            found = rows[name(column)].combine_chunks().cast(wanted.type)
            if not found.equals(wanted):
                at = int(np.flatnonzero(~np.asarray(pc.fill_null(pc.equal(found, wanted), False)))[0])
                raise RuntimeError(f"{name(column)} of {ids[at]} is {found[at]} in gold, not {wanted[at]}")
    if (missing := np.flatnonzero(seen != (versions != GONE))).size:
        raise RuntimeError(f"{missing.size:,} keys, as {missing[0]}, are not in gold as they should be")


def _wanted(made: Made, column: int, ids: Keys, versions: Keys) -> pa.Array:
    found = values(column, ids, versions if column < made.fixed else 0 * versions)
    if column == COLUMNS - 1 and made.since:
        return pc.if_else(pa.array(versions >= made.since), found, pa.scalar(None, found.type))
    return found


# --- the command -------------------------------------------------------------------------------------------------
def run(folder: Path, of: str, rows: int, verifies: bool) -> Cost:
    """Make, measure and compare one class at one size. If `verifies` is true, also compare gold with bronze."""
    for step in ("prepare", "measure"):
        note(f"{of}, {rows:,} rows: {step}")
        command = [sys.executable, "-m", "bench.scale", "--class", of, "--rows", str(rows), "--folder", str(folder)]
        answer = subprocess.run([*command, "--only", step], check=True, stdout=subprocess.PIPE, text=True)
    lake = open_lake_to_read(load_settings(folder / "retable.toml"))
    gold = lake.load(CLASSES[of].gold).scan().to_arrow_batch_reader()
    compare((pa.Table.from_batches([batch]) for batch in gold), CLASSES[of].make(rows))
    if verifies:
        note(f"{of}, {rows:,} rows: decode and fold again")
        (folder / "verify").mkdir()
        found = against_bronze(lake, CLASSES[of].gold, folder / "verify", Share())
        if not found.is_equal:
            raise RuntimeError(f"{of}: gold is not what the pure fold gives: {found.findings or found.rows}")
    return Cost(**json.loads(answer.stdout.splitlines()[-1]))


def print_table(results: Path) -> None:
    """Print the newest result of each class and size."""
    costs = [msgspec.json.decode(line, type=Cost) for line in results.read_bytes().splitlines()]
    newest = {(cost.of, cost.rows): cost for cost in costs}
    order = {of: at for at, of in enumerate(CLASSES)}
    lines = [
        [
            f"{of}: {CLASSES[of].words}",
            f"{rows:,}",
            f"{cost.seconds:.1f}",
            f"{cost.processor:.1f}",
            f"{cost.processor / rows * 1e6:.0f}",
            f"{cost.python_mb:,.0f}",
            f"{cost.jvm_mb:,.0f}",
            f"{cost.worker_mb:,.0f}",
        ]
        for (of, rows), cost in sorted(newest.items(), key=lambda each: (order[each[0][0]], each[0][1]))
    ]
    heads = ("class", "rows", "seconds", "of processor", "µs a row", "Python, MB", "JVM, MB", "largest worker, MB")
    show("Replays by the kind of their changes", heads, lines)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.scale", description="What a replay costs by its changes.")
    parser.add_argument("--class", dest="of", choices=CLASSES, help="the kind of changes; without one: all of them")
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--results", type=Path, default=_RESULTS, help="the file to which a line is appended")
    parser.add_argument("--verify", action="store_true", help="decode and fold all messages again, and compare gold")
    parser.add_argument("--table", action="store_true", help="print the table of that file, and measure nothing")
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--only", choices=("prepare", "measure"), help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.table and not args.results.exists():
        parser.error(f"there is no file {args.results}; measure a class first")
    if args.only == "prepare":
        prepare(args.folder, args.of, args.rows)
    elif args.only == "measure":
        say(json.dumps(asdict(measure(args.folder, args.of, args.rows))))
    elif not args.table:
        for of in [args.of] if args.of else CLASSES:
            with tempfile.TemporaryDirectory() as folder:
                cost = run(Path(folder), of, args.rows, args.verify)
            with args.results.open("a", encoding="utf-8") as file:
                file.write(f"{json.dumps(asdict(cost))}\n")
            note(f"{of}, {args.rows:,} rows: gold is right, {cost.seconds:.1f} s")
    if not args.only:
        try:
            print_table(args.results)
        except msgspec.DecodeError as error:
            parser.error(f"{args.results} is not of this version ({error}); move it away, and measure again")


if __name__ == "__main__":
    main()
