"""Decode a window with Spark: from its messages in bronze to its rows in silver and quarantine."""

import gc
import pickle
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache, reduce
from itertools import chain
from operator import and_
from time import perf_counter

import pyarrow as pa
from pyiceberg.table import FileScanTask, Table
from pyspark.sql import SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.pandas.types import from_arrow_schema

from retable.decode.context import context_of
from retable.decode.evidence import evidence_rows
from retable.decode.files import LayerFiles, TaskOutput, TaskResult, digest_rows, join_digests, store
from retable.decode.imported import imported_keys, known_keys
from retable.decode.outcome import READ, decode_batches
from retable.decode.record import record_decode, record_evidence
from retable.decode.statements import keep_statements
from retable.decode.tally import tally_messages, tally_tables
from retable.errors import DamagedFile, NotReady, QuarantineFull
from retable.formats.registry import find_format
from retable.ledger.counts import check_events, check_messages
from retable.ledger.lake.catalog import Lake
from retable.ledger.lake.damage import damaged_bronze
from retable.ledger.lake.data_files import (
    FileReader,
    PartitionWriter,
    remove_files,
    replace_files,
    standing_files,
    worker_io,
)
from retable.ledger.lake.error_translation import spark_explained
from retable.ledger.read import read_ledger
from retable.ledger.retained import check_decodable
from retable.ledger.rows import StageReport
from retable.ledger.windows.recording import as_recorded, find_window
from retable.model.window import Window
from retable.session import ready_worker
from retable.settings.load import CATALOG
from retable.settings.sources import SourceSettings

_TABLES = 4096
"""The number of tables for which a worker caches the settings."""


@dataclass(frozen=True, slots=True)
class _Run:
    """The window, run, time and decoder of a decode run."""

    source: str
    window: str
    run_id: str
    now: datetime
    decoder: str


@dataclass(frozen=True, slots=True)
class _Standing:
    """The window's partition of silver or of quarantine, as it was before the run."""

    table: Table
    values: dict[str, str]
    files: list[FileScanTask]

    @property
    def rows(self) -> int:
        return sum(task.file.record_count for task in self.files)


_TASK_RESULT = pa.schema({"task_result": pa.binary()})
_DIGEST = pa.schema({"digest": pa.string()})


def decode(
    spark: SparkSession, lake: Lake, source: SourceSettings, window: str, run_id: str, now: datetime
) -> StageReport:
    """Decode a whole landed window. If silver and quarantine already have the same rows, do not write them again.

    A message that cannot be decoded is quarantined, and the other messages are decoded. Raise QuarantineFull if more
    messages than the setting `quarantine_limit` cannot be decoded. Raise NotReady if the window is not landed. Raise
    NotKept if retention dropped it.
    """
    started = perf_counter()
    found = find_window(lake, source.name, window)
    check_decodable(lake, source.name, window)
    source = as_recorded(source, found)
    recorded = read_ledger(lake, source.name, window)
    landed = next((row for row in recorded if row.stage == "land"), None)
    if landed is None:
        raise NotReady(
            f"the window {window} of {source.name} is not landed; run `retable land {source.name} --window {window}`",
            source=source.name,
            window=window,
        )
    spoken = find_format(source.format)
    run = _Run(source.name, window, run_id, now, spoken.version)
    with spark_explained(lake.settings.lake):
        layers = _layers(lake, run)
        try:
            with spark_explained(lake.settings.lake):
                task_result = _decoded(spark, lake, source, found, _output(run, layers, source.quarantine_limit))
        except DamagedFile as error:
            raise damaged_bronze(error, source.name, window) from error
        counts, tables = tally_messages(task_result.tally, landed.counts["landed"]), tally_tables(task_result.tally)
        check_messages(counts)
        check_events(counts)
        if counts["quarantined"] > source.quarantine_limit:
            is_decoded = any(row.stage == "decode" for row in recorded)
            _put_back(spark, lake, layers, task_result, run, with_sample=not is_decoded)
            raise _too_many(source, window, counts)
        wrote = [
            _replace(spark, lake, layer, made, run)
            for layer, made in zip(layers, (task_result.silver, task_result.quarantine), strict=True)
        ]
        if wrote[0]:
            keep_statements(lake, source.name, source.source_system)
    seconds = perf_counter() - started
    evidence = evidence_rows(
        source.name, window, source.source_epoch, task_result.tally, now, topic_a_table=spoken.topic_per_table
    )
    record_evidence(lake, evidence)
    record_decode(lake, recorded, landed, counts, tables, run.decoder, run_id, seconds, now)
    shown = {name: dict(table.counts) for name, table in tables.items()}
    return StageReport(
        source=source.name,
        window=window,
        stage="decode",
        counts=counts,
        tables=shown,
        wrote=any(wrote),
        seconds=seconds,
    )


def _layers(lake: Lake, run: _Run) -> tuple[_Standing, _Standing]:
    """The window's current partitions of silver and of quarantine."""
    silver, quarantine = {"window": run.window}, {"stage": "decode", "window": run.window}
    return _standing(lake, f"silver.{run.source}", silver), _standing(lake, f"quarantine.{run.source}", quarantine)


def _standing(lake: Lake, name: str, values: dict[str, str]) -> _Standing:
    table = lake.ensure(name)
    return _Standing(table, values, standing_files(lake, table, values))


def _output(run: _Run, layers: tuple[_Standing, _Standing], limit: int) -> TaskOutput:
    silver, quarantine = (PartitionWriter(worker_io(layer.table), layer.table.metadata) for layer in layers)
    return TaskOutput(run.window, silver, quarantine, run.decoder, run.now, any(layer.files for layer in layers), limit)


def _decoded(spark: SparkSession, lake: Lake, source: SourceSettings, window: Window, output: TaskOutput) -> TaskResult:
    """Decode a window's files of bronze in the workers. They write the files too; only counts return to the driver."""
    settings, recorded_ms = lake.settings, int(window.recorded_at.timestamp() * 1000)
    bronze = lake.load(f"bronze.{source.name}")
    files = standing_files(lake, bronze, {"window": window.name})
    reader = FileReader(worker_io(bronze), bronze.metadata, READ)
    imported = imported_keys(lake, source.name)

    def decode_share(numbers: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        keys_of = lru_cache(_TABLES)(known_keys(settings, imported))
        context = context_of(source, keys_of, recorded_ms)
        mine = (files[number] for batch in numbers for number in batch.column(0).to_pylist())
        batches = chain.from_iterable(map(reader.read, mine))
        # A batch creates a million objects without a cycle. By default Python would scan them again and again.
        gc.set_threshold(100_000, 50, 100)
        ready_worker()
        task_result = store(decode_batches(batches, context, lru_cache(_TABLES)(source.takes)), output)
        yield pa.RecordBatch.from_pydict({"task_result": [pickle.dumps(task_result)]}, schema=_TASK_RESULT)

    whole = TaskResult()
    if files:
        shares = spark.range(0, len(files), 1, len(files)).mapInArrow(decode_share, from_arrow_schema(_TASK_RESULT))
        for row in shares.collect():
            whole.join(pickle.loads(row.task_result))  # noqa: S301  # our own workers wrote it
    return whole


def _replace(spark: SparkSession, lake: Lake, standing: _Standing, made: LayerFiles, run: _Run) -> bool:
    """Replace the partition by the new files, in one commit. If the rows are equal, write nothing and return False."""
    if standing.rows == made.rows == 0:
        return False
    if standing.rows == made.rows and _digest(spark, lake, standing) == made.digest:
        remove_files(standing.table.io, made.files)
        return False
    named = {"retable.window": run.window, "retable.run": run.run_id, "retable.decoder": run.decoder}
    replace_files(lake, standing.table, standing.values, made.files, named)
    return True


def _put_back(
    spark: SparkSession,
    lake: Lake,
    layers: tuple[_Standing, _Standing],
    task_result: TaskResult,
    run: _Run,
    *,
    with_sample: bool,
) -> None:
    """Remove the new files of a window; `with_sample` keeps the first of its quarantine files, as a sample."""
    silver, quarantine = layers
    sample = task_result.quarantine.files[:1] if with_sample else []
    remove_files(silver.table.io, task_result.silver.files)
    remove_files(quarantine.table.io, task_result.quarantine.files[len(sample) :])
    if sample:
        _replace(spark, lake, quarantine, LayerFiles(sample), run)


def _too_many(source: SourceSettings, window: str, counts: dict[str, int]) -> QuarantineFull:
    return QuarantineFull(
        f"{counts['quarantined']:,} of {counts['landed']:,} messages of the window {window} of {source.name} cannot be "
        f"decoded, but quarantine_limit is {source.quarantine_limit:,}; so the window is not replayed, and no table is "
        f"complete after it. `retable quarantine list --source {source.name} --window {window}` shows some of them; "
        f"correct the settings of the source, or raise quarantine_limit, and run the window again",
        source=source.name,
        window=window,
    )


def _digest(spark: SparkSession, lake: Lake, standing: _Standing) -> int | None:
    """Return the digest of the existing rows. Return None if one of their files is damaged: it equals no digest."""

    def digest(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield pa.RecordBatch.from_pydict({"digest": [str(digest_rows(batch))]}, schema=_DIGEST)

    here = reduce(and_, (sf.col(column) == value for column, value in standing.values.items()))
    rows = spark.table(".".join((CATALOG, *standing.table.name()))).where(here)
    try:
        with spark_explained(lake.settings.lake):
            digests = rows.mapInArrow(digest, from_arrow_schema(_DIGEST)).collect()
    except DamagedFile:
        return None
    return join_digests(int(row.digest) for row in digests)
