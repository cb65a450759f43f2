"""Replay with Spark: run tasks, read rows of gold, and write deletes on a branch."""

import time
from collections.abc import Callable
from collections.abc import Sequence as Seq
from datetime import datetime
from functools import reduce
from operator import and_
from weakref import WeakKeyDictionary

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.pandas.types import from_arrow_schema

from retable.decode.spark import decode
from retable.errors import DamagedFile, NotFound, NotKept
from retable.fold.fold import Values
from retable.gold.damage import damaged_window
from retable.gold.iceberg.locate_rows import ends
from retable.gold.iceberg.table import IcebergCatalog
from retable.gold.rows import to_column, to_values
from retable.gold.state import SEQUENCE_COLUMN
from retable.gold.store import Columns, CurrentRow, R, SessionSlot
from retable.ledger.lake.catalog import Lake
from retable.ledger.lake.error_translation import spark_explained
from retable.ledger.leases import LENGTH, PATIENCE_SECONDS, Lease, leased
from retable.ledger.retained import check_replayable
from retable.ledger.rows import StageReport
from retable.ledger.windows.recording import find_window
from retable.model.sequence import Sequence
from retable.replay.files.lake_rows import LakeRows, WindowSize
from retable.replay.replayed import Replayed
from retable.replay.report import RunRecord
from retable.replay.run import Run
from retable.schema_history.shards.parts import join_part
from retable.session import build_session, ready_worker
from retable.settings.load import CATALOG
from retable.settings.sources import SourceSettings

_TASKS_HERE = 16
"""If there are more tasks than this, executors run them, because each task reads files of gold."""
_KEY = "_retable_key_"


def replay(
    spark: SparkSession,
    lake: Lake,
    source: SourceSettings,
    window: str,
    run_id: str,
    now: datetime,
    on_progress: Callable[[str], None] = lambda _: None,
) -> StageReport:
    """Replay one decoded window into gold, record the result, and return the report of the run.

    A window that was already replayed with the same result changes nothing. `on_progress` gets lines for the log. Raise
    NotKept if the window is older than the horizon (the oldest window of which silver still has all rows).
    """
    find_window(lake, source.name, window)
    check_replayable(lake, source.name, window)

    def replay_once() -> StageReport:
        return _record(spark, lake, source, run_id, now, on_progress, lambda run: run.replay(window), window)

    return _mending(spark, lake, source, run_id, now, on_progress, replay_once, window)


def replay_piece(
    spark: SparkSession,
    lake: Lake,
    source: SourceSettings,
    window: str,
    run_id: str,
    now: datetime,
    on_progress: Callable[[str], None] = lambda _: None,
) -> StageReport:
    """Replay one piece of a baseline (full copy of a table). Silver stores the piece like a window named `window`."""
    return _record(spark, lake, source, run_id, now, on_progress, lambda run: run.replay(window), window)


def rebuild(
    spark: SparkSession,
    lake: Lake,
    source: SourceSettings,
    table: str,
    run_id: str,
    now: datetime,
    on_progress: Callable[[str], None] = lambda _: None,
    resumes: bool = False,
) -> StageReport:
    """Build one gold table again from all of silver up to the last replayed window, and publish it in one step.

    If `resumes` is True, only lift the table's hold: gold keeps its rows, and gets the changes that waited.
    """

    def rebuild_once() -> StageReport:
        return _record(spark, lake, source, run_id, now, on_progress, lambda run: run.rebuild(table, resumes))

    return _mending(spark, lake, source, run_id, now, on_progress, rebuild_once)


def _mending(
    spark: SparkSession,
    lake: Lake,
    source: SourceSettings,
    run_id: str,
    now: datetime,
    on_progress: Callable[[str], None],
    act: Callable[[], StageReport],
    window: str | None = None,
) -> StageReport:
    """Call `act`. If a file of silver is damaged, decode and replay its window again from bronze, then retry.

    Raise the error of the damaged file if bronze does not have the window either.
    """
    mended: set[str] = set()
    while True:
        try:
            return act()
        except DamagedFile as error:
            damaged = damaged_window(lake, source.name, error)
            if damaged is None or damaged in mended:
                raise
            mended.add(damaged)
            on_progress(f"{damaged}: a file of silver is damaged, the window is decoded again")
            try:
                decode(spark, lake, source, damaged, run_id, now)
            except (NotFound, NotKept):
                raise error from None
        if damaged != window:
            replay(spark, lake, source, damaged, run_id, now, on_progress)


def _record(
    spark: SparkSession,
    lake: Lake,
    source: SourceSettings,
    run_id: str,
    now: datetime,
    on_progress: Callable[[str], None],
    act: Callable[[Run], Replayed],
    window: str | None = None,
) -> StageReport:
    began = time.perf_counter()
    lease = Lease(
        source=source.name,
        target=source.name,
        purpose="replay",
        holder=run_id,
        until=now + LENGTH,
        recorded_at=now,
        window=window,
    )
    with spark_explained(lake.settings.lake), leased(lake, lease, PATIENCE_SECONDS):
        report = RunRecord(lake, source.name, run_id, now, on_progress)
        places = slots(spark, lake, source.name)
        run = Run(
            places, report.recorded(), lake.settings, source, run_id, lambda: lake.new_location("gold"), on_progress
        )
        return report.record(act(run), time.perf_counter() - began)


def slots(spark: SparkSession, lake: Lake, source: str) -> Callable[[int], list[SessionSlot]]:
    """Return a function that takes a number and returns so many slots, to replay tables in parallel.

    A slot reads and writes the tables of the lake with its own Spark session. The first slot uses `spark`. Other
    sessions are made when they are needed, and live as long as `spark` does. `source` is the name of the source.
    """
    size = WindowSize()
    own, others = (
        SessionSlot(SparkRows(spark, lake, source, size), IcebergCatalog(spark, lake)),
        _BESIDE.setdefault(spark, []),
    )

    def take(count: int) -> list[SessionSlot]:
        while len(others) + 1 < count:
            session = build_session(lake.settings, "retable")
            others.append((session, IcebergCatalog(session, lake)))
        beside = (SessionSlot(SparkRows(session, lake, source, size), catalog) for session, catalog in others)
        return [own, *beside][:count]

    return take


_BESIDE: WeakKeyDictionary[SparkSession, list[tuple[SparkSession, IcebergCatalog]]] = WeakKeyDictionary()


class SparkRows(LakeRows):
    """Reads rows of silver and gold, runs tasks and deletes rows of gold, with Spark (implements `RowStore`)."""

    def __init__(self, spark: SparkSession, lake: Lake, source: str, size: WindowSize | None = None) -> None:
        super().__init__(lake, source, size)
        self.spark = spark

    # --- tasks ---------------------------------------------------------------------------------------------------
    def run(self, tasks: Seq[Callable[[], R]], are_long: bool = False) -> list[R]:
        if not tasks:
            return []
        if self.slots_here(are_long) and len(tasks) <= _TASKS_HERE:
            # In parallel threads, these tasks would take as long: most of their time is Python code.
            return [task() for task in tasks]

        def run_one(task: Callable[[], R]) -> R:
            ready_worker()
            return task()

        # This is an RDD because a data frame would compile a plan first, and keep its results as Arrow data in the JVM.
        return self.spark.sparkContext.parallelize(tasks, len(tasks)).map(run_one).collect()

    def slots(self, are_long: bool = False) -> int:
        return self.slots_here(are_long) or self.spark.sparkContext.defaultParallelism

    # --- gold ----------------------------------------------------------------------------------------------------
    def matching(self, gold: str, columns: Columns, on: list[int], keys: list[Values]) -> list[CurrentRow]:
        table = self.spark.table(_quoted(gold))
        parts = [name for name in ("epoch", "hi", "lo", "part") if f"{SEQUENCE_COLUMN}.{name}" in _paths(table)]
        found = table.join(sf.broadcast(self._keys(columns, on, keys)), self._equal(columns, on), "left_semi")
        sequence = [sf.col(SEQUENCE_COLUMN)[name].alias(f"_retable_{name}") for name in parts]
        rows = to_values(found.select(*(_column(name) for name, _ in columns), *sequence).toArrow())
        width = len(columns)
        return [
            CurrentRow(
                row[:width], _sequence(row[width : width + 3]), _text(row[width + 3]) if len(parts) == 4 else None
            )
            for row in rows
        ]

    def of_keys(self, gold: str, columns: list[str], keys: pa.Table) -> pa.Table:
        wanted, same = self._wanted(keys)
        found = self.spark.table(_quoted(gold)).join(sf.broadcast(wanted), same, "left_semi")
        return found.select(*map(_column, columns)).toArrow()

    def clashes(self, gold: str, branch: str | None, columns: list[str]) -> int:
        counts = self.spark.table(_quoted(gold, branch)).groupBy(*map(_column, columns)).count()
        return counts.where(sf.col("count") > 1).count()

    def delete_all(self, gold: str, branch: str) -> None:
        self.spark.sql(f"DELETE FROM {_quoted(gold, branch)} WHERE true")

    def delete_below(self, gold: str, branch: str, truncated_at: Sequence, shard: str | None = None) -> None:
        path = SEQUENCE_COLUMN
        epoch, hi, lo = int(truncated_at.epoch), int(truncated_at.hi), int(truncated_at.lo)
        older = f"{path}.hi < {hi} OR ({path}.hi = {hi} AND {path}.lo < {lo})"
        below = f"({path}.epoch < {epoch} OR ({path}.epoch = {epoch} AND ({older})))"
        if shard is not None:
            below += f" AND startswith({path}.part, :shard)"
        args = {"shard": join_part(shard or "", None)}
        self.spark.sql(f"DELETE FROM {_quoted(gold, branch)} WHERE {below}", args=args)

    def delete_keys(self, gold: str, branch: str, keys: pa.Table) -> None:
        # An inner join: only the key columns are read, and the target is not shuffled.
        wanted, same = self._wanted(keys)
        sf.broadcast(wanted).mergeInto(_quoted(gold, branch), same).whenMatched().delete().merge()

    def _wanted(self, keys: pa.Table) -> tuple[DataFrame, Column]:
        """Return the keys as a data frame, and the condition that a row of gold has one of the keys.

        The condition includes the range of the keys, so that Spark skips files by their bounds.
        """
        wanted = self._frame(keys.rename_columns([f"{_KEY}{at}" for at in range(keys.num_columns)]))
        pairs = ((_column(name), sf.col(f"{_KEY}{at}")) for at, name in enumerate(keys.column_names))
        return wanted, reduce(and_, _between(keys), reduce(and_, (one.eqNullSafe(other) for one, other in pairs)))

    def _keys(self, columns: Columns, on: list[int], keys: list[Values]) -> DataFrame:
        arrays = [to_column([key[i] for key in keys], columns[index][1]) for i, index in enumerate(on)]
        return self._frame(pa.Table.from_arrays(arrays, names=[f"{_KEY}{i}" for i in range(len(on))]))

    def _frame(self, rows: pa.Table) -> DataFrame:
        return self.spark.createDataFrame(rows, from_arrow_schema(rows.schema, prefer_timestamp_ntz=True))

    @staticmethod
    def _equal(columns: Columns, on: list[int]) -> Column:
        pairs = (_column(columns[index][0]).eqNullSafe(sf.col(f"{_KEY}{i}")) for i, index in enumerate(on))
        return reduce(and_, pairs)


def _between(keys: pa.Table) -> list[Column]:
    """Return the conditions that each key column is in the range of the keys."""
    return [_column(name).between(sf.lit(lowest), sf.lit(highest)) for name, lowest, highest in ends(keys)]


def _paths(table: DataFrame) -> set[str]:
    struct = table.schema[SEQUENCE_COLUMN].dataType
    return {f"{SEQUENCE_COLUMN}.{name}" for name in getattr(struct, "names", [])}


def _text(value: object) -> str | None:
    return None if value is None else str(value)


def _sequence(values: Values) -> Sequence:
    epoch, hi, lo = (int(str(value)) for value in values)
    return Sequence(epoch, hi, lo)


def _column(name: str) -> Column:
    return sf.col("`" + name.replace("`", "``") + "`")


def _quoted(table: str, branch: str | None = None) -> str:
    """Return the full name of a table for Spark. Each part is quoted, so that no name of a source is run as SQL."""
    namespace, name = table.split(".", 1)
    parts = [CATALOG, namespace, name] + ([f"branch_{branch}"] if branch else [])
    return ".".join("`" + part.replace("`", "``") + "`" for part in parts)
