"""Rows that Spark deletes without writing their file anew are gone for whoever has read that file before."""

from pathlib import Path

from pyiceberg.expressions import AlwaysTrue
from pyspark.sql import SparkSession

from captures.test_expected import messages_of
from laws.spark_world import open_lake_in
from retable.ledger.lake.small_files import read_rows


def test_deletes_beside_a_file_that_is_kept_are_seen(tmp_path: Path, spark: SparkSession) -> None:
    world = open_lake_in(tmp_path, "debezium_json", "")
    world.deliver(messages_of("debezium_postgres")[:50])
    before = read_rows(world.lake.load("ops.ledger"), AlwaysTrue())
    world.session.sql("ALTER TABLE lake.ops.ledger SET TBLPROPERTIES ('write.delete.mode' = 'merge-on-read')")
    world.session.sql("DELETE FROM lake.ops.ledger WHERE stage = 'decode' AND table IS NULL")

    ledger = world.lake.load("ops.ledger")
    assert any(task.delete_files for task in ledger.scan().plan_files())
    after = read_rows(ledger, AlwaysTrue())
    columns = ["stage", "table", "window", "run_id"]
    places = [("stage", "ascending"), ("table", "ascending")]
    scanned = ledger.scan(selected_fields=tuple(columns)).to_arrow().select(columns)
    assert after.select(columns).sort_by(places).to_pylist() == scanned.sort_by(places).to_pylist()
    assert after.num_rows == before.num_rows - 1
