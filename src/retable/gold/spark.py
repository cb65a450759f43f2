"""Gold's door to Spark: reads silver and gold's own rows, writes deletes and appends on a branch."""

from collections.abc import Callable, Iterable
from datetime import datetime
from functools import reduce
from operator import and_, or_

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from retable.config import SourceSettings
from retable.gold.iceberg import Catalog
from retable.gold.rows import to_column, to_values
from retable.gold.run import Run
from retable.gold.state import SEQUENCE_COLUMN
from retable.gold.store import Columns, Record, Standing
from retable.ledger.catalog import Lake
from retable.ledger.rows import StageReport
from retable.model.event import TableName
from retable.model.sequence import Sequence
from retable.replay.fold import Values
from retable.session import CATALOG

_TABLE = ("database", "schema", "table")
_ADDRESS = ("window", "topic", "partition", "offset", "row_index")
_STATEMENT_COLUMNS = (*_TABLE, "window", "source_system", "op", "ddl_text", "sequence", "part", "event_time_ms")
_IMAGES = ("op", "before", "after", "column_types", "keys", "sequence", "part", "key_hash", "old_key_hash")
_KEY = "_retable_key_"


def replay(
    spark: SparkSession,
    lake: Lake,
    source: SourceSettings,
    window: str,
    run_id: str,
    now: datetime,
    step: Callable[[str], None] = lambda _: None,
) -> StageReport:
    """Replay one decoded window into gold; a window that was replayed with the same outcome changes nothing."""
    return Run(SparkRows(spark, source.name), Catalog(spark), lake, source, run_id, now, step).replay(window)


def rebuild(
    spark: SparkSession,
    lake: Lake,
    source: SourceSettings,
    table: str,
    run_id: str,
    now: datetime,
    step: Callable[[str], None] = lambda _: None,
) -> StageReport:
    """Build one gold table anew from all of silver up to the last replayed window, and swap it in."""
    return Run(SparkRows(spark, source.name), Catalog(spark), lake, source, run_id, now, step).rebuild(table)


class SparkRows:
    """The rows of silver and gold, through one Spark session."""

    def __init__(self, spark: SparkSession, source: str) -> None:
        self.spark = spark
        self._silver = _quoted(f"silver.{source}")

    # --- silver --------------------------------------------------------------------------------------------------
    def statements(self) -> list[Record]:
        silver = self.spark.table(self._silver).where(F.col("kind") == "schema")
        return _pylist(silver.select(*_STATEMENT_COLUMNS))

    def rows(
        self, windows: Iterable[str], names: Iterable[TableName] | None = None, hashes: Iterable[int] | None = None
    ) -> list[Record]:
        silver = self.spark.table(self._silver).where((F.col("kind") == "row") & F.col("window").isin(list(windows)))
        if names is not None:
            silver = silver.where(reduce(or_, map(_is_table, names)))
        if hashes is not None:
            wanted = self.spark.createDataFrame(pa.table({"_hash": pa.array(list(hashes), pa.int64())}))
            each = F.explode(F.array_compact(F.array("key_hash", "old_key_hash")))
            silver = silver.withColumn("_hash", each).join(F.broadcast(wanted), "_hash", "left_semi")
            silver = silver.dropDuplicates(list(_ADDRESS))
        return _pylist(silver.select(*_TABLE, *_ADDRESS, *_IMAGES))

    # --- gold ----------------------------------------------------------------------------------------------------
    def matching(self, gold: str, columns: Columns, on: list[int], keys: list[Values]) -> list[Standing]:
        table = self.spark.table(_quoted(gold))
        parts = [name for name in ("epoch", "hi", "lo", "part") if f"{SEQUENCE_COLUMN}.{name}" in _paths(table)]
        found = table.join(F.broadcast(self._keys(columns, on, keys)), self._equal(columns, on), "left_semi")
        sequence = [F.col(SEQUENCE_COLUMN)[name].alias(f"_retable_{name}") for name in parts]
        rows = to_values(found.select(*(_column(name) for name, _ in columns), *sequence).toArrow())
        width = len(columns)
        return [
            Standing(row[:width], _sequence(row[width : width + 3]), _text(row[width + 3]) if len(parts) == 4 else None)
            for row in rows
        ]

    def delete_all(self, gold: str, branch: str) -> None:
        self.spark.sql(f"DELETE FROM {_quoted(gold, branch)} WHERE true")

    def delete_below(self, gold: str, branch: str, void: Sequence) -> None:
        path = SEQUENCE_COLUMN
        epoch, hi, lo = int(void.epoch), int(void.hi), int(void.lo)
        older = f"{path}.hi < {hi} OR ({path}.hi = {hi} AND {path}.lo < {lo})"
        below = f"{path}.epoch < {epoch} OR ({path}.epoch = {epoch} AND ({older}))"
        self.spark.sql(f"DELETE FROM {_quoted(gold, branch)} WHERE {below}")

    def delete_keys(self, gold: str, branch: str, columns: Columns, on: list[int], keys: list[Values]) -> None:
        # An inner join: only the key columns are read, and the target is not shuffled.
        wanted = F.broadcast(self._keys(columns, on, keys))
        merge = wanted.mergeInto(_quoted(gold, branch), self._equal(columns, on))
        merge.whenMatched().delete().merge()

    def append(self, gold: str, branch: str, rows: pa.Table, run_id: str, window: str) -> None:
        frame = self._frame(rows).coalesce(1)
        writer = frame.writeTo(_quoted(gold, branch)).option("snapshot-property.retable.run", run_id)
        writer.option("snapshot-property.retable.window", window).append()

    def _keys(self, columns: Columns, on: list[int], keys: list[Values]) -> DataFrame:
        arrays = [to_column([key[i] for key in keys], columns[index][1]) for i, index in enumerate(on)]
        return self._frame(pa.Table.from_arrays(arrays, names=[f"{_KEY}{i}" for i in range(len(on))]))

    def _frame(self, rows: pa.Table) -> DataFrame:
        return self.spark.createDataFrame(rows, from_arrow_schema(rows.schema, prefer_timestamp_ntz=True))

    @staticmethod
    def _equal(columns: Columns, on: list[int]) -> Column:
        pairs = (_column(columns[index][0]).eqNullSafe(F.col(f"{_KEY}{i}")) for i, index in enumerate(on))
        return reduce(and_, pairs)


def _paths(table: DataFrame) -> set[str]:
    struct = table.schema[SEQUENCE_COLUMN].dataType
    return {f"{SEQUENCE_COLUMN}.{name}" for name in getattr(struct, "names", [])}


def _text(value: object) -> str | None:
    return None if value is None else str(value)


def _sequence(values: Values) -> Sequence:
    epoch, hi, lo = (int(str(value)) for value in values)
    return Sequence(epoch, hi, lo)


def _pylist(frame: DataFrame) -> list[Record]:
    rows: list[Record] = frame.toArrow().to_pylist()
    return rows


def _is_table(name: TableName) -> Column:
    same = (F.col("database") == name.database) & (F.col("table") == name.table)
    return same & (F.col("schema").isNull() if name.schema is None else F.col("schema") == name.schema)


def _column(name: str) -> Column:
    return F.col("`" + name.replace("`", "``") + "`")


def _quoted(table: str, branch: str | None = None) -> str:
    """A table's full name for Spark, each part quoted: no name of a source can become SQL."""
    namespace, name = table.split(".", 1)
    parts = [CATALOG, namespace, name] + ([f"branch_{branch}"] if branch else [])
    return ".".join("`" + part.replace("`", "``") + "`" for part in parts)
