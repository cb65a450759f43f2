"""Data files of gold: what Retable says of a file that it wrote is what Iceberg finds in the file."""

import json
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.io.pyarrow import schema_to_pyarrow

from lakes import FreshLake
from retable.gold.iceberg.data_file_writer import describe, write_parts
from retable.gold.iceberg.partition_spec import PartitionValues, part
from retable.gold.iceberg.table import IcebergCatalog
from retable.settings.load import CATALOG

ICEBERG = "org.apache.iceberg."
COLUMNS = (
    "b boolean, i int, l bigint, f float, d double, d1 decimal(9,2), d2 decimal(18,3), d3 decimal(38,10), dt date, "
    "ts timestamp, tn timestamp_ntz, s string, bi binary, sq struct<epoch:int,hi:decimal(38,0),lo:bigint,part:string>"
)
NAN = float("nan")
FULL: dict[str, Any] = {
    "b": True,
    "i": 1,
    "l": -5,
    "f": 1.5,
    "d": NAN,
    "d1": Decimal("-1.25"),
    "d2": Decimal("7.125"),
    "d3": Decimal("-3.0000000001"),
    "dt": date(1960, 1, 2),
    "ts": datetime(1969, 12, 31, 23, tzinfo=UTC),
    "tn": datetime.fromisoformat("2020-01-01"),
    "s": "a" * 15 + "\U0001f40dzz",
    "bi": b"\xff" * 20,
    "sq": {"epoch": 0, "hi": Decimal(10**30), "lo": 2, "part": "erp-0" * 9},
}
OTHER = FULL | {
    "b": False,
    "f": NAN,
    "d": 2.0,
    "d1": Decimal("99.99"),
    "d2": None,
    "d3": Decimal(5),
    "s": "é" * 30,
    "bi": b"abc",
    "sq": {"epoch": 1, "hi": Decimal(-3), "lo": -2, "part": None},
}
EMPTY: dict[str, Any] = dict.fromkeys(FULL)
ROWS = {
    "several": [FULL, OTHER, EMPTY],
    "nulls": [EMPTY, EMPTY],
    "zeros": [OTHER | {"f": 0.0, "d": -0.0, "s": "", "bi": b""}, OTHER | {"f": -0.0, "d": 0.0}],
    "last texts": [OTHER | {"s": "\U0010ffff" * 20, "bi": b"\xff" * 20, "d": float("inf")}],
    "one null struct": [OTHER | {"sq": None, "s": "\0"}],
}
PARTITIONS = [
    "b, i, dt, s",
    "bucket(7, s), truncate(10, l), truncate(50, d1), d3",
    "days(ts), years(dt), bucket(3, bi)",
    "hours(tn), months(dt), bucket(5, d2)",
]


def found_by_iceberg(catalog: IcebergCatalog, table: Any, path: str, values: PartitionValues) -> dict[str, Any]:
    """What Iceberg says of a file after it has read the file's footer."""
    file = table.io().newInputFile(path)
    kept = catalog.java(f"{ICEBERG}MetricsConfig.forTable")(table)
    metrics = catalog.java(f"{ICEBERG}parquet.ParquetUtil.fileMetrics")(file, kept)
    builder = catalog.java(f"{ICEBERG}DataFiles.builder")(table.spec()).withInputFile(file)
    if values:
        texts = catalog.java("java.util.ArrayList")()
        for value in values:
            text = value if isinstance(value, str) else json.dumps(value)
            texts.add("__HIVE_DEFAULT_PARTITION__" if value is None else text)
        builder = builder.withPartitionValues(texts)
    built = builder.withPath(path).withFormat("PARQUET").withMetrics(metrics).build()
    return facts_of(catalog, built, table)


def facts_of(catalog: IcebergCatalog, file: Any, table: Any) -> dict[str, Any]:
    facts: dict[str, Any] = json.loads(catalog.java(f"{ICEBERG}ContentFileParser.toJson")(file, table.spec()))
    return {
        name: dict(zip(value["keys"], value["values"], strict=True)) if isinstance(value, dict) else value
        for name, value in facts.items()
    }


def compare(lake: FreshLake, columns: str, more: str, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Write rows into a new table. Compare both descriptions of each file, and return them."""
    lake.spark.sql(f"CREATE NAMESPACE IF NOT EXISTS {CATALOG}.gold_x")
    lake.spark.sql(f"CREATE TABLE {CATALOG}.gold_x.t ({columns}) USING iceberg {more}")
    catalog = IcebergCatalog(lake.spark, lake.lake)
    table = catalog._catalog.loadTable(catalog._identifier("gold_x.t"))
    metadata = catalog.metadata("gold_x.t", table)
    kept = pa.Table.from_pylist(rows, schema=schema_to_pyarrow(metadata.schema()))
    facts = []
    for values, file in write_parts(catalog.io, metadata, part(kept, metadata)):
        told = json.dumps(describe(file, values, metadata))
        node = catalog.java(f"{ICEBERG}util.JsonUtil.mapper")().readTree(told)
        read = facts_of(catalog, catalog.java(f"{ICEBERG}ContentFileParser.fromJson")(node, table.spec()), table)
        assert read == found_by_iceberg(catalog, table, file.file_path, values)
        facts.append(read)
    return facts


@pytest.mark.parametrize("rows", ROWS.values(), ids=ROWS)
def test_a_file_is_described_as_iceberg_reads_it(fresh_lake: FreshLake, rows: list[dict[str, Any]]) -> None:
    (facts,) = compare(fresh_lake, COLUMNS, "", rows)
    assert facts["record-count"] == len(rows)
    assert all(facts[name] for name in ("column-sizes", "value-counts", "null-value-counts"))


@pytest.mark.parametrize("partition", PARTITIONS)
def test_a_file_has_the_partition_of_its_rows(fresh_lake: FreshLake, partition: str) -> None:
    facts = compare(fresh_lake, COLUMNS, f"PARTITIONED BY ({partition})", ROWS["several"] + ROWS["zeros"])
    assert len(facts) > 1
    assert [None] * len(facts[0]["partition"]) in [each["partition"] for each in facts]


@pytest.mark.parametrize(("width", "measured"), [(98, 100), (99, 101), (120, 101)])
def test_a_wide_table_has_metrics_of_its_first_columns_and_of_those_that_its_properties_name(
    fresh_lake: FreshLake, width: int, measured: int
) -> None:
    """The struct has two columns: 98 more are as many as have metrics."""
    columns = "sq struct<epoch:int,hi:decimal(38,0)>, " + ", ".join(f"c{at} int" for at in range(width))
    row = {"sq": {"epoch": 1, "hi": Decimal(3)}, **{f"c{at}": at for at in range(width)}}
    named = "sq.hi" if width < 120 else "c110"
    more = f"TBLPROPERTIES ('write.metadata.metrics.column.{named}' = 'full')"
    (facts,) = compare(fresh_lake, columns, more, [row])
    assert len(facts["lower-bounds"]) == len(facts["value-counts"]) == measured
