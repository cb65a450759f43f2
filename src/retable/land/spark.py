"""Land a window: its objects, read side by side, into its partition of bronze."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from time import perf_counter

import pyarrow as pa
from pyiceberg.expressions import EqualTo, Reference
from pyiceberg.expressions.literals import literal
from pyiceberg.table import Table
from pyspark import Accumulator, AccumulatorParam
from pyspark.sql import SparkSession
from pyspark.sql.functions import col

from retable.config import CATALOG
from retable.land.bronze import to_batches
from retable.land.files import check_object
from retable.land.layouts import read_messages
from retable.ledger.catalog import Lake
from retable.ledger.faults import explained, spark_explained
from retable.ledger.read import read_ledger
from retable.ledger.rows import LedgerRow, StageReport
from retable.ledger.windows import find_window, read_windows
from retable.ledger.write import append_rows
from retable.model.message import RawMessage
from retable.model.window import SourceObject, Window
from retable.source_settings import SourceSettings

_TASKS_PER_CORE = 4


def land(
    spark: SparkSession,
    lake: Lake,
    source: SourceSettings,
    window: str,
    run_id: str,
    now: datetime,
    *,
    anew: bool = False,
) -> StageReport:
    """Land a recorded window whole, or not at all; bronze never changes, so a landed one is left as it is.

    `anew` reads the same objects again, for lines that a former `max_message` cut. PositionsLost names an object that
    is gone or changed. `landed_at` is the time at which the window was recorded, so landing it anew into an empty lake
    gives equal rows.
    """
    started = perf_counter()
    recorded = find_window(lake, source.name, window)
    landed = _landed(lake, lake.ensure(f"bronze.{source.name}"), window)
    row = next((row for row in read_ledger(lake, source.name, window) if row.stage == "land"), None)
    if row and not anew and (landed or row.counts["landed"] == 0):
        return StageReport(source.name, window, "land", row.counts, wrote=False, seconds=perf_counter() - started)
    counts = {"objects": len(recorded.objects), "bytes": sum(item.size for item in recorded.objects), "landed": landed}
    written = anew or not landed
    if written:
        counts["new_versions"] = _new_versions(lake, recorded)
        counts["skipped_lines"] = _write(spark, lake, source, recorded, run_id) if counts["bytes"] else 0
        counts["landed"] = _landed(lake, lake.load(f"bronze.{source.name}"), window)
    seconds = perf_counter() - started
    append_rows(lake, [_ledger_row(lake, recorded, counts, run_id, seconds, now)])
    return StageReport(source.name, window, "land", counts, wrote=written, seconds=seconds)


class _ByObject(AccumulatorParam[dict[int, int]]):
    """Counts by object's number: one that is read twice counts once."""

    def zero(self, value: dict[int, int]) -> dict[int, int]:
        return {}

    def addInPlace(self, value1: dict[int, int], value2: dict[int, int]) -> dict[int, int]:  # noqa: N802  # Spark's name
        return {**value1, **value2}


def _write(spark: SparkSession, lake: Lake, source: SourceSettings, window: Window, run_id: str) -> int:
    """Overwrite the window's partition of bronze in one commit; give the number of empty lines left out."""
    _check(source, window)
    name = f"{CATALOG}.bronze.{source.name}"
    shares = _shares(window.objects, spark.sparkContext.defaultParallelism * _TASKS_PER_CORE)
    skipped = spark.sparkContext.accumulator({}, _ByObject())
    read = _reader(source, window, shares, skipped)
    rows = spark.range(0, len(shares), 1, len(shares)).mapInArrow(read, spark.table(name).schema)
    writer = rows.writeTo(name).option("snapshot-property.retable.window", window.name)
    try:
        with spark_explained(lake.settings.lake):
            writer.option("snapshot-property.retable.run", run_id).overwrite(col("window") == window.name)
    except Exception:  # whatever Spark says: an object that is gone or changed is the better reason
        _check(source, window)
        raise
    return sum(skipped.value.values())


def _reader(
    source: SourceSettings, window: Window, shares: list[list[SourceObject]], skipped: Accumulator[dict[int, int]]
) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Make the function that turns numbers of shares into the rows of their objects."""

    def messages(item: SourceObject) -> Iterator[RawMessage]:
        empty = 0
        for message in read_messages(source, item):
            if message is None:
                empty += 1
            else:
                yield message
        check_object(source.path, item)
        skipped.add({item.number: empty})

    def read(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for share in batch.column(0).to_pylist():
                for item in shares[share]:
                    yield from to_batches(messages(item), window.name, window.recorded_at)

    return read


def _check(source: SourceSettings, window: Window) -> None:
    for item in window.objects:
        check_object(source.path, item)


def _shares(objects: Sequence[SourceObject], most: int) -> list[list[SourceObject]]:
    """Deal the objects to tasks, the biggest first, so that no task waits long for another."""
    biggest_first = sorted(objects, key=lambda item: (-item.size, item.number))
    shares = min(most, len(objects))
    return [biggest_first[share::shares] for share in range(shares)]


def _new_versions(lake: Lake, window: Window) -> int:
    """Count the objects whose name an earlier window holds with another content."""
    earlier = {
        item.key
        for other in read_windows(lake, window.source)
        if other.ordinal < window.ordinal
        for item in other.objects
    }
    return sum(item.key in earlier for item in window.objects)


def _landed(lake: Lake, bronze: Table, window: str) -> int:
    condition = EqualTo(term=Reference("window"), value=literal(window))
    with explained(lake.settings.lake):
        return sum(task.file.record_count for task in bronze.scan(row_filter=condition).plan_files())


def _ledger_row(
    lake: Lake, window: Window, counts: dict[str, int], run_id: str, seconds: float, now: datetime
) -> LedgerRow:
    return LedgerRow(
        source=window.source,
        window=window.name,
        stage="land",
        table=None,
        counts=counts,
        lowest={},
        highest={},
        snapshot_id=_snapshot(lake.load(f"bronze.{window.source}"), window.name),
        identity=None,
        run_id=run_id,
        seconds=seconds,
        bytes=counts["bytes"],
        recorded_at=now,
    )


def _snapshot(bronze: Table, window: str) -> int | None:
    for snapshot in reversed(bronze.snapshots()):
        if snapshot.summary and snapshot.summary.additional_properties.get("retable.window") == window:
            return snapshot.snapshot_id
    return None
