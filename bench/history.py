"""Measure what the system tables of a source cost, and how the cost grows with the number of windows.

The lake has hourly windows of 500 tables, of which 50 change in each window, and 5,000 statements. Retable's own code
writes the ledger and the other system tables. Silver is as upkeep leaves it; gold tables have no rows. Each measurement
is a separate process: a replay of a window without changes, the gate, `retable status`, and upkeep of the system tables
after a day. Seconds are wall seconds. Bytes are the growth of the process's memory at its peak.

    make bench
    python -m bench.history --windows 24 8760
"""

import argparse
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any, cast

import psutil
import pyarrow as pa
from pyiceberg.manifest import DataFile

from bench.replay.measure import say, show
from retable.decode.statements import keep_statements
from retable.freshness.catalog import ask
from retable.gold.gold_metadata import GoldMetadata
from retable.gold.state import GoldColumn, GoldState, to_properties
from retable.gold.store import GoldCatalog, SessionSlot
from retable.ledger.cuts import TableSnapshot, read_cuts, record_cut
from retable.ledger.lake.catalog import Lake, close_lake, open_lake, open_lake_to_read
from retable.ledger.lake.data_files import PartitionWriter
from retable.ledger.lake.tables import OPS, SAME_STATEMENTS, SILVER
from retable.ledger.rows import EvidenceRow, LedgerRow, OpsRow, SchemaChangeRow, Stage, TableRow, WatermarkRow
from retable.ledger.windows.contents import silver_files
from retable.ledger.windows.objects import FoundObject
from retable.ledger.windows.recording import read_ordinals, record_windows
from retable.ledger.write import append_rows
from retable.model.event import TableName
from retable.model.evidence import GRADES
from retable.model.schema import parse_gold_type
from retable.model.window import SourceObject, window_name
from retable.replay.report import RunRecord
from retable.replay.run import Run
from retable.replay.spark import SparkRows
from retable.settings.load import Settings
from retable.upkeep.inspection import TablePlace
from retable.upkeep.plan import plan_place
from retable.upkeep.policy import UpkeepRules
from retable.upkeep.system import compact_ops, prune_cuts

SOURCE = "erp"
START = datetime(2025, 1, 1, tzinfo=UTC)
_AT_ONCE = 250
_WRITTEN_LATELY = 48
_COLUMNS = 20


@dataclass(frozen=True, slots=True)
class Shape:
    """The size of the lake: numbers of windows, tables, tables that change in a window (`busy`), and statements."""

    windows: int
    tables: int = 500
    busy: int = 50
    statements: int = 5_000
    partitions: int = 4

    def name(self, table: int) -> TableName:
        return TableName("shop", None, f"table_{table}")

    def gold(self, table: int) -> str:
        return f"gold_shop.table_{table}"

    def identity(self, table: int) -> str:
        return f"{self.name(table)}@base"

    def busy_in(self, window: int) -> list[int]:
        return [(window * self.busy + at) % self.tables for at in range(self.busy)]


def settings_in(folder: Path) -> Settings:
    source = {"kind": "files", "format": "canal_json", "path": str(folder / "in"), "layout": "kafka_dump"}
    hour = {"hour": r"(\d{4}-\d{2}-\d{2}T\d{2})", "start": START.isoformat()}
    lake = {"catalog": f"sqlite:///{folder}/catalog.db", "warehouse": f"{folder}/lake"}
    return Settings.model_validate({"lake": lake, "sources": {SOURCE: {**source, **hour}}})


def write_settings(folder: Path) -> Path:
    """Write the settings of `settings_in` to a file, for the command line. Return its path."""
    path = folder / "retable.toml"
    hour = "hour = '(\\d{4}-\\d{2}-\\d{2}T\\d{2})'"
    path.write_text(
        f'[lake]\ncatalog = "sqlite:///{folder}/catalog.db"\nwarehouse = "{folder}/lake"\n\n[sources.{SOURCE}]\n'
        f'kind = "files"\nformat = "canal_json"\npath = "{folder}/in"\nlayout = "kafka_dump"\n{hour}\n'
        f'start = "{START.isoformat()}"\n'
    )
    return path


# --- making ------------------------------------------------------------------------------------------------------
def make(folder: Path, shape: Shape) -> None:
    """Make a lake. Its last window has no change, is decoded, and is not replayed.

    The windows of the last day are recorded one by one, as runs do. Earlier windows are recorded in batches.
    """
    (folder / "in").mkdir(parents=True)
    lake = open_lake(settings_in(folder))
    end = START + shape.windows * timedelta(hours=1)
    source = lake.settings.source(SOURCE)
    for at in range(0, shape.windows, _AT_ONCE):
        until = min(end, START + (at + _AT_ONCE) * timedelta(hours=1))
        record_windows(lake, source, partial(_objects, at, shape), until, until)
    names = [window_name(START + at * timedelta(hours=1)) for at in range(shape.windows)]
    _make_silver(lake, shape, names)
    keep_statements(lake, SOURCE, None)
    _make_gold(lake, shape, names)
    digests = silver_files(lake, SOURCE)
    single = max(shape.windows - 24, 0)
    for first in range(0, single, _AT_ONCE):
        chunk = range(first, min(first + _AT_ONCE, single))
        append_rows(lake, [row for at in chunk for row in _rows(shape, at, names[at], digests)])
        for at in chunk if first + _AT_ONCE >= single else ():
            _cut(lake, shape, at, names[at])
    _compact(lake)
    for at in range(single, shape.windows):
        rows = [*_rows(shape, at, names[at], digests)]
        stages = ("land", "decode", "replay") if at + 1 < shape.windows else ("land", "decode")
        for stage in stages:
            append_rows(lake, [row for row in rows if isinstance(row, LedgerRow) and row.stage == stage])
        if at + 1 < shape.windows:
            _cut(lake, shape, at, names[at])
            append_rows(lake, [row for row in rows if isinstance(row, EvidenceRow)])
            append_rows(lake, [row for row in rows if isinstance(row, WatermarkRow)])
    close_lake(lake)


def _objects(first: int, shape: Shape) -> list[FoundObject]:
    hours = [START + at * timedelta(hours=1) for at in range(first, min(first + _AT_ONCE, shape.windows))]
    return [
        FoundObject(
            f"{hour:%Y-%m-%dT%H}.jsonl", 4_000_000, hour, hour, partial(str, f"etag-{hour:%Y-%m-%dT%H}"), _has_grown
        )
        for hour in hours
    ]


def _has_grown(_: SourceObject) -> bool:
    return False


def _rows(shape: Shape, at: int, window: str, digests: Mapping[str, str]) -> Iterator[OpsRow]:
    """Yield the rows of the system tables for a window: of its stages, and of the watermarks after it."""
    now, busy = START + (at + 1) * timedelta(hours=1), [] if at + 1 == shape.windows else shape.busy_in(at)
    each, last = 160, at * 1_000
    total = each * len(busy)
    snapshot, digest = 10_000 + at, digests.get(window)

    def row(stage: Stage, table: str | None, counts: dict[str, int], identity: str | None) -> LedgerRow:
        parts = {} if table is None else {f"t/{number}": f"0.{last}.0" for number in range(shape.partitions)}
        ends = {} if table is None else dict.fromkeys(parts, f"0.{last + 999}.0")
        return LedgerRow(
            source=SOURCE,
            window=window,
            stage=stage,
            table=table,
            counts=counts,
            lowest=parts,
            highest=ends,
            snapshot_id=snapshot,
            identity=identity,
            run_id=f"run-{at}-{stage}",
            seconds=1.0,
            bytes=4_000_000,
            recorded_at=now,
        )

    yield row("land", None, {"objects": 1, "bytes": 4_000_000, "landed": total}, None)
    decoded = {"landed": total, "decoded": total, "events": total, "rows": total}
    yield row("decode", None, decoded, "canal_json 1")
    for table in busy:
        yield row("decode", str(shape.name(table)), {"events": each, "rows": each}, None)
    counts = {"rows": each, "applied": each - 40, "superseded": 40}
    for table in busy:
        yield row("replay", shape.gold(table), counts, f"{digest}:0123456789abcdef")
    yield row("replay", None, {"rows": total, "applied": total}, digest)
    for partition in range(shape.partitions):
        stamp = now - timedelta(minutes=1)
        yield EvidenceRow(
            source=SOURCE,
            window=window,
            topic="t",
            partition=partition,
            epoch=0,
            heartbeat=None,
            canary=None,
            row=stamp,
            ahead=0,
            recorded_at=now,
        )
    evidence: dict[str, datetime | None] = {f"t/{number}": now for number in range(shape.partitions)}
    for name in [None, *([shape.gold(table) for table in range(shape.tables)] if at == 0 else [])]:
        for grade in GRADES:
            yield WatermarkRow(
                source=SOURCE,
                table=name,
                grade=grade,
                window=window,
                watermark=now if grade in ("row", "drained") else None,
                epoch=0,
                evidence={} if name else evidence,
                because=None,
                recorded_at=now,
            )


def _cut(lake: Lake, shape: Shape, at: int, window: str) -> None:
    changed = range(shape.tables) if at == 0 else shape.busy_in(at)
    tables = {shape.identity(table): TableSnapshot(shape.gold(table), 20_000 + at, "live") for table in changed}
    record_cut(
        lake, SOURCE, window, tables, START + (at + 1) * timedelta(hours=1), read_cuts(lake, SOURCE), lambda _: None
    )


def _make_silver(lake: Lake, shape: Shape, names: Sequence[str]) -> None:
    """Write a file of row events for each window except the last, and a file of statements if it has statements.

    The windows of the last days are committed one by one, as decode does.
    """
    table = lake.ensure(f"silver.{SOURCE}")
    writer = PartitionWriter(table.io, table.metadata)
    statements: dict[int, list[int]] = defaultdict(list)
    for number in range(shape.statements):
        late = number - shape.tables
        statements[0 if late < 0 else late * (shape.windows - 1) // max(shape.statements - shape.tables, 1)].append(
            number
        )
    files: list[list[DataFile]] = []
    for at, name in enumerate(names[:-1]):
        rows = [{"window": name, "kind": "row", **_of(shape, table, at * 1_000)} for table in shape.busy_in(at)]
        files.append([writer.write(_silver(rows), {"window": name, "kind": "row"})])
        if said := statements.get(at):
            rows = [_statement(shape, number, name) for number in said]
            files[-1].append(writer.write(_silver(rows), {"window": name, "kind": "schema"}))
    single = max(len(files) - _WRITTEN_LATELY, 0)
    commits = [range(first, min(first + _AT_ONCE, single)) for first in range(0, single, _AT_ONCE)]
    for windows in [*commits, *(range(at, at + 1) for at in range(single, len(files)))]:
        said = {"retable.window": names[windows[0]]} if len(windows) == 1 else {SAME_STATEMENTS: "true"}
        with table.transaction() as transaction, transaction.update_snapshot(said).merge_append() as change:
            for file in (file for at in windows for file in files[at]):
                change.append_data_file(file)


def _silver(rows: Sequence[Mapping[str, Any]]) -> pa.Table:
    return pa.Table.from_pylist(list(rows), schema=SILVER.columns)


def _of(shape: Shape, table: int, position: int) -> dict[str, Any]:
    name = shape.name(table)
    return {
        "database": name.database,
        "table": name.table,
        "source_format": "canal_json",
        "source_system": "mysql",
        "sequence": {"epoch": 0, "hi": Decimal(position), "lo": 0},
        "part": "t/0",
        "topic": "t",
        "partition": 0,
        "offset": position,
    }


def _statement(shape: Shape, number: int, window: str) -> dict[str, Any]:
    table = number % shape.tables
    if number < shape.tables:
        columns = ", ".join(f"`c{at}` varchar(64) DEFAULT NULL" for at in range(_COLUMNS))
        text = f"CREATE TABLE `table_{table}` (`id` bigint NOT NULL, {columns}, PRIMARY KEY (`id`))"
    elif number % 3:
        text = f"ALTER TABLE `table_{table}` ADD INDEX `ix{number}` (`c1`)"
    else:
        text = f"ALTER TABLE `table_{table}` ADD COLUMN `n{number}` varchar(32) DEFAULT NULL"
    said = {"window": window, "kind": "schema", "op": "DDL", "op_raw": text.split()[0], "ddl_text": text}
    return {**_of(shape, table, number), **said, "event_time_ms": 1}


def _make_gold(lake: Lake, shape: Shape, names: Sequence[str]) -> None:
    """Make gold tables without rows, with the properties that replays write, and record them in the system tables."""
    lake.catalog.create_namespace_if_not_exists("gold_shop")
    kind = parse_gold_type("string")
    assert kind is not None
    rows: list[OpsRow] = []
    for table in range(shape.tables):
        added = [n for n in range(table + shape.tables, shape.statements, shape.tables) if n % 3 == 0]
        columns = tuple(
            GoldColumn(f"base:{name}", number, name, name, "varchar(64)", kind, None)
            for number, name in enumerate(
                ["id", *(f"c{at}" for at in range(_COLUMNS)), *(f"n{n}" for n in added)], start=1
            )
        )
        state = GoldState(
            source=SOURCE,
            identity=shape.identity(table),
            table=shape.name(table),
            columns=columns,
            keys=("id",),
            applied=dict.fromkeys(names[-24:], f"{'0' * 16}:{'1' * 16}"),
            changes=tuple(f"0.{n}.0" for n in (table, *added)),
        )
        schema = pa.schema({column.gold: pa.string() for column in columns})
        lake.catalog.create_table(shape.gold(table), schema, lake.new_location("gold"), properties=to_properties(state))
        rows.append(
            TableRow(
                source=SOURCE,
                identity=state.identity,
                gold=shape.gold(table),
                database="shop",
                schema=None,
                table=state.table.table,
                state="live",
                hold=None,
                recorded_at=START,
                first_window=names[0],
                lowest={f"t/{number}": "0.0.0" for number in range(shape.partitions)},
            )
        )
        rows += [_change(shape, n, columns) for n in range(table, shape.statements, shape.tables)]
    append_rows(lake, rows)


def _change(shape: Shape, number: int, columns: Sequence[GoldColumn]) -> SchemaChangeRow:
    table, text = number % shape.tables, str(_statement(shape, number, "")["ddl_text"])
    is_nothing = "INDEX" in text
    return SchemaChangeRow(
        source=SOURCE,
        identity="" if is_nothing else shape.identity(table),
        table=str(shape.name(table)) if is_nothing else shape.gold(table),
        position=f"0.{number}.0",
        part="t/0",
        event_time_ms=1,
        window=window_name(START),
        statement=text,
        meaning="[]",
        status="nothing" if is_nothing else "applied",
        reason=None,
        columns=json.dumps({column.gold: column.field_id for column in columns}),
        recorded_at=START,
    )


def _compact(lake: Lake) -> None:
    """Compact the system tables, as upkeep does."""
    if lake.find("ops.cuts") is not None:
        prune_cuts(lake, lake.settings.lake.keep_cuts, "upkeep")
    for name in OPS:
        if lake.find(name) is not None:
            place = TablePlace(name, "ops", None)
            _, plan = plan_place(lake, place, datetime.now(UTC), UpkeepRules(), partial(read_cuts, lake))
            if plan.compact:
                compact_ops(lake, lake.load(name), plan.compact, "upkeep")


@dataclass(frozen=True, slots=True)
class _Gold:
    """The part of the gold tables that a replay without changes reads."""

    lake: Lake

    def find_metadata(self, name: str) -> GoldMetadata | None:
        return GoldMetadata(table.metadata) if (table := self.lake.find(name)) is not None else None


# --- measuring ---------------------------------------------------------------------------------------------------
def replay(folder: Path) -> None:
    """Replay the last window. It has no rows, so this is the cost that every replay has in addition to its rows."""
    lake = open_lake(settings_in(folder))
    waiting = max(read_ordinals(lake, SOURCE))
    source, now = lake.settings.source(SOURCE), datetime.now(UTC)
    report = RunRecord(lake, SOURCE, "bench", now, lambda _: None)
    slot = SessionSlot(SparkRows(cast(Any, None), lake, SOURCE), cast(GoldCatalog, _Gold(lake)))
    run = Run(lambda _: [slot], report.recorded(), lake.settings, source, "bench", str, lambda _: None)
    report.record(run.replay(waiting), 0.0)


def gate(folder: Path) -> None:
    """Ask whether one table is complete."""
    lake = open_lake_to_read(settings_in(folder))
    ask(lake, ["gold_shop.table_1"], datetime.now(UTC), "row")


def start(folder: Path) -> None:
    """Start the command line with `--version`."""
    _retable(folder, "--version")


def status(folder: Path) -> None:
    """Run `retable status`."""
    _retable(folder, "status", "--json")


def _retable(folder: Path, *words: str) -> None:
    command = [str(Path(sys.executable).with_name("retable")), "--settings", str(folder / "retable.toml"), *words]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def compact(folder: Path) -> None:
    """Run upkeep of the system tables, without the part that needs Spark."""
    lake = open_lake(settings_in(folder))
    _compact(lake)


MEASURED: dict[str, Callable[[Path], None]] = {
    "replay": replay,
    "gate": gate,
    "start": start,
    "status": status,
    "upkeep": compact,
}


@dataclass(frozen=True, slots=True)
class Cost:
    """The cost of one measurement: wall seconds, processor seconds, and MiB of memory."""

    seconds: float
    cpu: float
    mib: float


def measure(folder: Path, what: str) -> Cost:
    """Run one entry of `MEASURED` in a separate process and return its cost."""
    command = [sys.executable, "-m", "bench.history", "--folder", str(folder), "--only", what]
    answer = subprocess.run(command, check=True, capture_output=True, text=True)
    return Cost(**json.loads(answer.stdout.splitlines()[-1]))


def _only(folder: Path, what: str) -> None:
    process = psutil.Process()
    before, began = process.memory_info().rss, perf_counter()
    cpu = process.cpu_times()
    MEASURED[what](folder)
    took, after = perf_counter() - began, process.cpu_times()
    used = sum(after[:4]) - sum(cpu[:4])
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    peak = int(status["VmHWM"].split()[0]) * 1024
    print(json.dumps({"seconds": took, "cpu": used, "mib": max(0, peak - before) / 2**20}))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.history", description="What the record of a source costs.")
    parser.add_argument("--windows", type=int, nargs="+", default=[24, 240])
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--folder", type=Path, help="keep the lakes there, and take those that are there")
    parser.add_argument("--only", choices=MEASURED, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.only:
        _only(args.folder, args.only)
        return
    with tempfile.TemporaryDirectory() as temporary:
        costs: dict[str, dict[int, Cost]] = defaultdict(dict)
        for windows in args.windows:
            folder = (args.folder or Path(temporary)) / str(windows)
            if not folder.exists():
                began = perf_counter()
                make(folder, Shape(windows))
                write_settings(folder)
                say(f"{windows:,} windows: made in {perf_counter() - began:.0f} s")
            for what in MEASURED:
                costs[what][windows] = _median([_turn(folder, what) for _ in range(args.turns)])
    first = args.windows[0]
    lines = [
        [what, f"{windows:,}", f"{cost.seconds:.2f}", f"{cost.cpu:.2f}", f"{cost.mib:.0f}", ratio(cost, by[first])]
        for what, by in costs.items()
        for windows, cost in by.items()
    ]
    show("The record grows", ("what", "windows", "seconds", "of processor", "MiB", f"to {first:,} windows"), lines)


def _turn(folder: Path, what: str) -> Cost:
    """Measure, then restore the catalog, so that the next measurement sees the same lake."""
    kept = folder / "catalog.kept"
    if not kept.exists():
        shutil.copyfile(folder / "catalog.db", kept)
    try:
        return measure(folder, what)
    finally:
        for end in ("", "-wal", "-shm"):
            (folder / f"catalog.db{end}").unlink(missing_ok=True)
        shutil.copyfile(kept, folder / "catalog.db")


def _median(costs: Sequence[Cost]) -> Cost:
    return Cost(*(statistics.median(getattr(cost, name) for cost in costs) for name in ("seconds", "cpu", "mib")))


def ratio(cost: Cost, first: Cost) -> str:
    return f"{cost.cpu / first.cpu:.2f}"


if __name__ == "__main__":
    main()
