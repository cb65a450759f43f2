"""The contestants that apply changes to a table. Retable reads silver. The others get typed rows at no cost."""

from dataclasses import dataclass
from time import perf_counter
from typing import Protocol

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.types import StructField

from bench.replay.feed import Feed, Replayed
from bench.replay.measure import location
from bench.replay.orders import COLUMNS
from retable.settings.load import CATALOG

NAMES = ", ".join(COLUMNS)
LAST = f"""
SELECT op, {NAMES} FROM (SELECT *, row_number() OVER (PARTITION BY id ORDER BY position DESC) AS turn FROM {{changes}})
WHERE turn = 1
"""
"""A query for the last change of each key, for contestants that cannot apply several changes of one key."""
_SETTINGS = {"spark.sql.join.preferSortMergeJoin": "false"}
"""Use shuffle hash joins: merge-on-read then needs a quarter less processor time, the other statements no more."""
_MERGE = """
MERGE INTO {table} AS t USING ({changes}) AS s ON t.id = s.id
WHEN MATCHED AND s.op = 'D' THEN DELETE
WHEN MATCHED THEN UPDATE SET {sets}
WHEN NOT MATCHED AND s.op <> 'D' THEN INSERT ({names}) VALUES ({values})
"""
_UPSERT = """
MERGE INTO {table} AS t USING (SELECT * FROM ({changes}) WHERE op <> 'D') AS s ON t.id = s.id
WHEN MATCHED THEN UPDATE SET {sets} WHEN NOT MATCHED THEN INSERT ({names}) VALUES ({values})
"""
_DELETE = """
MERGE INTO {table} AS t USING (SELECT id FROM ({changes}) WHERE op = 'D') AS s ON t.id = s.id
WHEN MATCHED THEN DELETE
"""
_PARTS = {
    "names": NAMES,
    "values": ", ".join(f"s.{name}" for name in COLUMNS),
    "sets": ", ".join(f"t.{name} = s.{name}" for name in COLUMNS),
}


@dataclass(frozen=True, slots=True)
class Batch:
    """Changes of one table, as a window of silver and as a view of typed rows. `once`: no key occurs twice."""

    window: str
    view: str
    once: bool = True

    @property
    def sql(self) -> str:
        return f"SELECT op, {NAMES} FROM {self.view}" if self.once else LAST.format(changes=self.view)


class Contestant(Protocol):
    """A method that applies one batch after another to its own table."""

    name: str

    @property
    def table(self) -> str: ...

    def apply(self, batch: Batch) -> float:
        """Apply a batch and return the wall seconds."""


@dataclass(slots=True)
class Retable:
    """Retable's replay, from silver. A CREATE TABLE message makes its table; the first rows are written directly."""

    feed: Feed
    orders: str
    name: str = "Retable"
    last: Replayed | None = None

    @property
    def table(self) -> str:
        return self.feed.gold(self.orders)

    def start(self, base: str) -> None:
        self.feed.seed(self.orders, base)

    def apply(self, batch: Batch) -> float:
        self.last = self.feed.replay(batch.window)
        return self.last.seconds


@dataclass(slots=True)
class Stock:
    """Iceberg's own SQL statements on a table of format v3, without any part of Retable."""

    spark: SparkSession
    orders: str
    name: str
    statements: tuple[str, ...]
    mode: str

    @property
    def table(self) -> str:
        kind = "".join(letter if letter.isalnum() else "_" for letter in self.name.lower())
        return f"{CATALOG}.stock.`{self.orders}_{kind}`"

    def start(self, base: str) -> None:
        self._create(f" AS {base}")

    def start_like(self, other: "Stock") -> None:
        """Make the table from the data files of another table. These files must stay."""
        columns = ", ".join(f"{field.name} {field.dataType.simpleString()}" for field in self._fields(other))
        self._create("", f" ({columns})")
        files = f"`parquet`.`{location(self.spark, other.table)}/data`"
        self.spark.sql(f"CALL {CATALOG}.system.add_files(table => '{self.table}', source_table => '{files}')")

    def _fields(self, other: "Stock") -> list[StructField]:
        return self.spark.table(other.table).schema.fields

    def _create(self, query: str, columns: str = "") -> None:
        modes = "".join(f", 'write.{act}.mode' = '{self.mode}'" for act in ("delete", "update", "merge"))
        self.spark.sql(f"CREATE NAMESPACE IF NOT EXISTS {CATALOG}.stock")
        self.spark.sql(
            f"CREATE TABLE {self.table}{columns} USING iceberg TBLPROPERTIES ('format-version' = '3', "
            f"'write.distribution-mode' = 'none', 'write.parquet.compression-codec' = 'zstd'{modes}){query}"
        )

    def apply(self, batch: Batch) -> float:
        for name, value in _SETTINGS.items():
            self.spark.conf.set(name, value)
        began = perf_counter()
        for statement in self.statements:
            self.spark.sql(statement.format(table=self.table, changes=batch.sql, **_PARTS))
        seconds = perf_counter() - began
        for name in _SETTINGS:
            self.spark.conf.unset(name)
        return seconds


@dataclass(slots=True)
class Floor(Stock):
    """The least that a method must do that looks keys up: read and join all keys once, write the new rows once.

    It deletes nothing, so the content of its table is not correct.
    """

    def apply(self, batch: Batch) -> float:
        began = perf_counter()
        changes = self.spark.sql(batch.sql)
        here = self.spark.table(self.table).select("id")
        found = here.join(sf.broadcast(changes.select("id")), "id", "left_semi")
        found.write.format("noop").mode("overwrite").save()
        changes.where("op <> 'D'").select(*COLUMNS).coalesce(1).writeTo(self.table).append()
        return perf_counter() - began


def copy_on_write(spark: SparkSession, orders: str) -> Stock:
    return Stock(spark, orders, "MERGE copy-on-write", (_MERGE,), "copy-on-write")


def merge_on_read(spark: SparkSession, orders: str) -> Stock:
    return Stock(spark, orders, "MERGE merge-on-read", (_MERGE,), "merge-on-read")


def two_merges(spark: SparkSession, orders: str) -> Stock:
    return Stock(spark, orders, "two MERGEs", (_UPSERT, _DELETE), "copy-on-write")


def floor(spark: SparkSession, orders: str) -> Floor:
    return Floor(spark, orders, "floor", (), "merge-on-read")


def content(spark: SparkSession, table: str) -> tuple[int, ...]:
    """Return a digest of the rows of a table."""
    return content_of(spark.table(table))


def content_of(rows: DataFrame) -> tuple[int, ...]:
    """Return a digest that does not depend on the order of rows: their number, and two sums of their hashes."""
    digest = sf.xxhash64(*(sf.col(name) for name in COLUMNS))
    row = rows.agg(sf.count("*"), sf.sum(digest.cast("decimal(38,0)")), sf.bit_xor(digest)).collect()[0]
    return tuple(int(value or 0) for value in row)
