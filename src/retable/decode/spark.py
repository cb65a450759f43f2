"""Decode a window: its partition of bronze into its partitions of silver and quarantine."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache, reduce
from operator import and_
from time import perf_counter

import pyarrow as pa
from pyspark import StorageLevel
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import MapType

from retable.config import CATALOG, SourceSettings
from retable.decode.context import context_of
from retable.decode.evidence import Stamped, evidence_rows
from retable.decode.outcome import COLUMNS, QUARANTINED, STORED, decode_batches
from retable.decode.record import count_rows, record_decode, record_evidence
from retable.decode.registry import source_format
from retable.decode.tally import Group, tally_messages, tally_tables
from retable.errors import NotReady
from retable.ledger.catalog import Lake
from retable.ledger.counts import check_events, check_messages
from retable.ledger.faults import spark_explained
from retable.ledger.read import read_ledger
from retable.ledger.rows import StageReport
from retable.ledger.tables import QUARANTINE, SILVER
from retable.ledger.windows import find_window
from retable.model.event import TableName
from retable.model.sequence import Sequence
from retable.model.window import Window

_ORDER = ("window", "kind", "database", "schema", "table", "key_hash", "sequence")
_PLACE = ("stage", "window", "topic", "partition", "offset")
_STAMP = "quarantined_at"
_TABLES = 4096
"""Of so many tables a worker remembers what the settings say."""
_GROUP = ("outcome", "op", "database", "schema", "table", "part", "topic", "partition", "grade")


@dataclass(frozen=True, slots=True)
class _Run:
    """Which window is decoded, by which run, when, and with which decoder."""

    source: str
    window: str
    run_id: str
    now: datetime
    decoder: str


@dataclass(frozen=True, slots=True)
class _Partition:
    """The rows of a system table that have these values, and the order in which they are written."""

    table: str
    values: dict[str, str]
    order: tuple[str, ...]


def decode(
    spark: SparkSession, lake: Lake, source: SourceSettings, window: str, run_id: str, now: datetime
) -> StageReport:
    """Decode a landed window whole; where silver and quarantine hold the same already, they are left as they are.

    NotReady says that the window is not landed. A message that cannot be decoded is quarantined, the others go on.
    """
    started = perf_counter()
    found = find_window(lake, source.name, window)
    recorded = read_ledger(lake, source.name, window)
    landed = next((row for row in recorded if row.stage == "land"), None)
    if landed is None:
        raise NotReady(
            f"the window {window} of {source.name} is not landed: `retable land {source.name} --window {window}`",
            source=source.name,
            window=window,
        )
    run = _Run(source.name, window, run_id, now, source_format(source).version)
    with spark_explained(lake.settings.lake):
        decoded = _decoded(spark, lake, source, found).persist(StorageLevel.MEMORY_AND_DISK)
        try:
            grouped = _grouped(decoded).collect()
            groups = [_group(row) for row in grouped]
            counts, tables = tally_messages(groups, landed.counts["landed"]), tally_tables(groups)
            check_messages(counts)
            check_events(counts)
            wrote = _write(spark, lake, decoded, counts, run)
        finally:
            decoded.unpersist()
    seconds = perf_counter() - started
    seen = [Stamped(row.topic, row.partition, row.grade, row.latest, row.rows) for row in grouped]
    record_evidence(lake, evidence_rows(source.name, window, source.source_epoch, seen, now))
    record_decode(lake, recorded, landed, counts, tables, run_id, seconds, now)
    shown = {name: dict(table.counts) for name, table in tables.items()}
    return StageReport(source.name, window, "decode", counts, shown, wrote, seconds=seconds)


def _decoded(spark: SparkSession, lake: Lake, source: SourceSettings, window: Window) -> DataFrame:
    settings = lake.settings

    def decode_partition(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        keys_of = lru_cache(_TABLES)(lambda table: settings.rules(table).keys)
        context = context_of(source, keys_of, recorded_ms)
        return decode_batches(batches, window.name, context, lru_cache(_TABLES)(source.takes))

    recorded_ms = int(window.recorded_at.timestamp() * 1000)
    bronze = spark.table(f"{CATALOG}.bronze.{source.name}").where(sf.col("window") == window.name)
    return bronze.mapInArrow(decode_partition, from_arrow_schema(COLUMNS))


def _grouped(decoded: DataFrame) -> DataFrame:
    return decoded.groupBy(*_GROUP).agg(
        sf.count("*").alias("rows"),
        sf.count_if(sf.col("row_index") == 0).alias("messages"),
        sf.min("sequence").alias("lowest"),
        sf.max("sequence").alias("highest"),
        sf.max("event_time_ms").alias("latest"),
    )


def _group(row: Row) -> Group:
    table = TableName(row.database, row.schema, row.table) if row.database is not None and row.table else None
    return Group(
        row.outcome,
        row.op,
        table,
        row.part or "",
        row.rows,
        row.messages,
        _sequence(row.lowest),
        _sequence(row.highest),
    )


def _sequence(row: Row | None) -> Sequence | None:
    return None if row is None else Sequence(row.epoch, int(row.hi), row.lo)


def _write(spark: SparkSession, lake: Lake, decoded: DataFrame, counts: Mapping[str, int], run: _Run) -> bool:
    """Write what differs from the partitions as they stand; say whether anything did."""
    refused = decoded.where(sf.col("outcome") == QUARANTINED).withColumns(
        {
            "stage": sf.lit("decode"),
            "row_index": sf.lit(None).cast("int"),
            "decoder_version": sf.lit(run.decoder),
            _STAMP: sf.lit(run.now),
        }
    )
    silver = _Partition(f"silver.{run.source}", {"window": run.window}, _ORDER)
    quarantine = _Partition(f"quarantine.{run.source}", {"stage": "decode", "window": run.window}, _PLACE)
    stored = decoded.where(sf.col("outcome") == STORED).select(*SILVER.columns.names)
    return any(
        [
            _replace(spark, lake, silver, stored, counts["events"] - counts.get("excluded", 0), run),
            _replace(spark, lake, quarantine, refused.select(*QUARANTINE.columns.names), counts["quarantined"], run),
        ]
    )


def _replace(spark: SparkSession, lake: Lake, partition: _Partition, rows: DataFrame, count: int, run: _Run) -> bool:
    """Put these rows in place of a partition, atomically, also where there are none; equal rows write nothing."""
    name = f"{CATALOG}.{partition.table}"
    here = reduce(and_, (sf.col(column) == value for column, value in partition.values.items()))
    standing = count_rows(lake, lake.ensure(partition.table), partition.values)
    if standing == count == 0:
        return False
    if standing == count and _digest(spark.table(name).where(here).select(*rows.columns)) == _digest(rows):
        return False
    sorted_rows = rows.repartitionByRange(*partition.order).sortWithinPartitions(*partition.order)
    # A window is one partition: distributing by partition would write it through a single task.
    writer = sorted_rows.writeTo(name).option("distribution-mode", "none")
    for key, value in {"window": run.window, "run": run.run_id, "decoder": run.decoder}.items():
        writer = writer.option(f"snapshot-property.retable.{key}", value)
    writer.overwrite(here)
    return True


def _digest(rows: DataFrame) -> Row | None:
    """Digest rows in no order, by their number and the sum of their hashes; when a row was written does not count.

    A hash passes over nulls, so it is told of each.
    """
    values = [
        sf.map_entries(field.name) if isinstance(field.dataType, MapType) else sf.col(field.name)
        for field in rows.drop(_STAMP).schema
    ]
    digest = sf.xxhash64(*(part for value in values for part in (value, value.isNull())))
    return rows.agg(sf.count("*"), sf.sum(digest.cast("decimal(38,0)"))).first()
