"""Land a window: read its objects or positions in parallel and write them to its partition of bronze."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from time import perf_counter

import pyarrow as pa
from pyiceberg.expressions import EqualTo, Reference
from pyiceberg.expressions.literals import literal
from pyiceberg.table import Table
from pyspark import Accumulator, AccumulatorParam
from pyspark.sql import SparkSession
from pyspark.sql.functions import col, octet_length
from pyspark.sql.functions import sum as sum_of

from retable.errors import PositionsLost, Unbalanced
from retable.land.bronze import to_batches
from retable.land.due import record_due
from retable.land.landing import Landing, open_landing
from retable.land.objects.grown import close_outgrown
from retable.ledger.lake.catalog import Lake
from retable.ledger.lake.data_files import is_whole
from retable.ledger.lake.error_translation import explained, spark_explained
from retable.ledger.read import read_ledger
from retable.ledger.retained import is_dropped, kept_from
from retable.ledger.rows import LedgerRow, StageReport
from retable.ledger.windows.recording import find_window, windows_with
from retable.ledger.write import append_rows
from retable.model.window import Window
from retable.settings.load import CATALOG
from retable.settings.sources import FilesSource, Source

_TASKS_PER_CORE = 4


def land_window(
    spark: SparkSession,
    lake: Lake,
    source: Source,
    window: str,
    run_id: str,
    now: datetime,
    *,
    again: bool = False,
    checks: bool = False,
) -> StageReport:
    """Land all messages of a recorded window in one commit. A window that is already landed does not change.

    If `again` is set, a landed window is read and written again. This is for messages whose end was cut off, because
    the setting `max_message` was lower then. If `checks` is set, a landed window is written again only if one of its
    files in bronze is damaged or missing. A window that retention dropped never changes. `run_id` and `now` are the ID
    of the run and the time to record. The column `landed_at` gets the time at which the window was recorded, so a
    window that is landed twice has the same rows. Raise NotFound if the window is not recorded. Raise PositionsLost if
    an object is gone or changed, or if the brokers no longer have the recorded offsets. Raise it with `again` also if
    the setting `source_epoch` was raised since then: bronze keeps the messages that the brokers lost.
    """
    started = perf_counter()
    recorded = find_window(lake, source.name, window)
    bronze = lake.ensure(f"bronze.{source.name}")
    landed = _landed(lake, bronze, window)
    row = next((row for row in read_ledger(lake, source.name, window) if row.stage == "land"), None)
    gone = is_dropped(window, kept_from(lake, "bronze", source.name))
    lost = (row.counts.get("lost", 0) if row else 0) if again and landed else None
    again = again or (checks and not gone and not is_whole(lake, bronze, {"window": window}))
    if row and (gone or (not again and (landed or row.counts["landed"] == 0))):
        return StageReport(
            source=source.name,
            window=window,
            stage="land",
            counts=row.counts,
            wrote=False,
            seconds=perf_counter() - started,
        )
    written = again or not landed
    if written:
        counts = _write(spark, lake, source, recorded, run_id, lost)
        counts["landed"] = _landed(lake, lake.load(f"bronze.{source.name}"), window)
    else:
        counts = {**_count_landed(spark, source, recorded, landed), "landed": landed}
    _check_positions(recorded, counts)
    if isinstance(source, FilesSource):
        close_outgrown(lake, source, recorded, now)
    seconds = perf_counter() - started
    append_rows(lake, [_ledger_row(lake, recorded, counts, run_id, seconds, now)])
    return StageReport(source=source.name, window=window, stage="land", counts=counts, wrote=written, seconds=seconds)


def land(spark: SparkSession, lake: Lake, source: Source, window: str, run_id: str, now: datetime) -> StageReport:
    """Record all due windows of a source up to and including `window`, then land `window` (`land_window`).

    If the window has just ended, first wait until the setting `delay` of the source has passed since its end.
    """
    record_due(lake, source, window, now)
    return land_window(spark, lake, source, window, run_id, now)


class _ByShare(AccumulatorParam[dict[int, dict[str, int]]]):
    """Counts by the number of the share, so that a share that is read twice is counted once."""

    def zero(self, value: dict[int, dict[str, int]]) -> dict[int, dict[str, int]]:
        return {}

    def addInPlace(  # noqa: N802  # Spark's name
        self, value1: dict[int, dict[str, int]], value2: dict[int, dict[str, int]]
    ) -> dict[int, dict[str, int]]:
        return {**value1, **value2}


def _write(
    spark: SparkSession, lake: Lake, source: Source, window: Window, run_id: str, lost: int | None
) -> dict[str, int]:
    """Overwrite the window's partition of bronze in one commit. Return the counts for the ledger.

    `lost` is how many positions bronze lacks of a landed window. PositionsLost if the brokers lack more of them now.
    """
    landing = open_landing(source, window, spark.sparkContext.defaultParallelism * _TASKS_PER_CORE)
    counts = landing.counts
    if lost is not None and counts.get("lost", 0) > lost:
        raise PositionsLost(
            f"{counts['lost']:,} positions of the window {window.name} are gone from the brokers of {source.name}, and "
            f"bronze still has their messages, so bronze is left as it is",
            source=source.name,
            window=window.name,
        )
    if window.objects:
        counts["new_versions"] = _new_versions(lake, window)
    if not landing.shares:
        return counts
    name = f"{CATALOG}.bronze.{source.name}"
    seen = spark.sparkContext.accumulator({}, _ByShare())
    rows = spark.range(0, landing.shares, 1, landing.shares)
    writer = rows.mapInArrow(_reader(landing, window, seen), spark.table(name).schema).writeTo(name)
    writer = writer.option("snapshot-property.retable.window", window.name)
    with spark_explained(lake.settings.lake):
        try:
            writer.option("snapshot-property.retable.run", run_id).overwrite(col("window") == window.name)
        except Exception:  # Spark may raise anything: what the source has lost is the better reason
            landing.check()
            raise
    for share in seen.value.values():
        for each, count in share.items():
            counts[each] += count
    return counts


def _reader(
    landing: Landing, window: Window, seen: "Accumulator[dict[int, dict[str, int]]]"
) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Return the function that reads the messages of shares, by the shares' numbers, as rows of bronze."""

    def read(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for share in batch.column(0).to_pylist():
                counts: Counter[str] = Counter()
                yield from to_batches(landing.read(share, counts), window.name, window.recorded_at)
                seen.add({share: dict(counts)})

    return read


def _count_landed(spark: SparkSession, source: Source, window: Window, landed: int) -> dict[str, int]:
    """Return the counts of a window that an earlier run landed but did not record in the ledger before it died."""
    if window.objects:
        return {"objects": len(window.objects), "bytes": sum(item.size for item in window.objects)}
    bronze = spark.table(f"{CATALOG}.bronze.{source.name}").where(col("window") == window.name)
    size = sum_of(octet_length("value")), sum_of(octet_length("key"))
    value, key = bronze.agg(*size).collect()[0]
    positions = sum(each.count for each in window.ranges)
    return {"positions": positions, "bytes": (value or 0) + (key or 0), "holes": positions - landed}


def _check_positions(window: Window, counts: dict[str, int]) -> None:
    """Check that each position was landed, has no message, or was lost before a higher source epoch was set."""
    if window.ranges and counts["positions"] != sum(counts.get(name, 0) for name in ("landed", "holes", "lost")):
        raise Unbalanced(
            f"the counts of the window {window.name} do not add up: {counts}; this is a bug of Retable, please report "
            f"it with these numbers",
            counts=counts,
        )


def _new_versions(lake: Lake, window: Window) -> int:
    """Return how many objects have the name of an object of an earlier window, but other content."""
    others = windows_with(lake, window.source, {item.key for item in window.objects})
    earlier = {item.key for other in others if other.ordinal < window.ordinal for item in other.objects}
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
