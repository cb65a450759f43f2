"""Engines that read gold: each gives a table's published rows, now or at a snapshot, as Arrow."""

from collections.abc import Callable
from pathlib import Path

import duckdb
import duckdb_extension_avro
import duckdb_extension_iceberg
import pyarrow as pa

from lakes import FreshLake

Engine = Callable[[FreshLake, str, int | None], pa.Table]


def with_spark(place: FreshLake, gold: str, snapshot: int | None) -> pa.Table:
    namespace, table = gold.split(".", 1)
    at = "" if snapshot is None else f" VERSION AS OF {snapshot}"
    return _published(place.spark.sql(f"SELECT * FROM lake.`{namespace}`.`{table}`{at}").toArrow())


def with_pyiceberg(place: FreshLake, gold: str, snapshot: int | None) -> pa.Table:
    return _published(place.lake.load(gold).scan(snapshot_id=snapshot).to_arrow())


def with_duckdb(place: FreshLake, gold: str, snapshot: int | None) -> pa.Table:
    """Through the table's newest metadata file: DuckDB has no catalog of this kind.

    Its extensions come as packages here, so that nothing is fetched while it runs; it checks their signatures.
    """
    metadata = place.lake.load(gold).metadata_location.removeprefix("file:")
    at = "" if snapshot is None else f", snapshot_from_id => {snapshot}"
    config = {"autoinstall_known_extensions": "false", "autoload_known_extensions": "false"}
    with duckdb.connect(config=config) as connection:
        for package in (duckdb_extension_avro, duckdb_extension_iceberg):
            (extension,) = Path(package.__file__).parent.rglob("*.duckdb_extension")
            connection.execute(f"LOAD '{extension}'")
        connection.execute("SET TimeZone = 'UTC'")
        return _published(connection.execute(f"SELECT * FROM iceberg_scan('{metadata}'{at})").to_arrow_table())


ENGINES: dict[str, Engine] = {"spark": with_spark, "pyiceberg": with_pyiceberg, "duckdb": with_duckdb}


def _published(rows: pa.Table) -> pa.Table:
    return rows.select([name for name in rows.column_names if not name.startswith("_retable_")])
