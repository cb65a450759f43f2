"""What Spark wrote into a table is there after its folder was moved, for Spark and without it, and is written on."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from moved_lakes import files_below, metadata_below, newest, registered, relocate
from retable.ledger.lake.catalog import Lake, connect
from retable.ledger.relocation.tables import addresses
from retable.session import build_session
from retable.settings.load import load_settings

TOML = '[lake]\ncatalog = "sqlite:///lake/catalog.db"\nwarehouse = "lake"\n'


@pytest.mark.parametrize("version", [2, 3])
def test_every_snapshot_branch_and_deleted_row_is_as_it_was(fresh_lake, tmp_path, version):
    spark, lake, _ = fresh_lake
    for statement in _life(version, lake.new_location("gold")):
        spark.sql(statement)
    table = lake.load("gold.orders")
    old, new = tmp_path / "lake", tmp_path / "moved" / "lake"
    shots = [shot.snapshot_id for shot in table.metadata.snapshots]
    before = {shot: _seen_by_spark(spark, f"VERSION AS OF {shot}") for shot in shots}
    before["audit"] = _seen_by_spark(spark, "VERSION AS OF 'audit'")
    before["kept"] = _seen_by_spark(spark, "VERSION AS OF 'kept'")
    kinds = {path.suffix for path in old.rglob("*-deletes.*") if path.suffix != ".crc"}
    assert kinds == ({".parquet"} if version == 2 else {".puffin"})
    assert set(addresses(table.io, table.metadata_location)) == {
        name for name in files_below(old) if "catalog.db" not in name and not name.endswith(".crc")
    }

    new.parent.mkdir()
    old.rename(new)
    for file in new.glob("catalog.db*"):
        file.unlink()
    assert relocate(table, old, new).missing == ()
    for name, text in metadata_below(new):
        assert f"{old}/".encode() not in text, name
    for path in new.rglob("*-deletes.parquet"):
        assert f"{old}/" not in repr(pq.read_table(path).to_pylist()), path
    assert relocate(table, old, new).written == 0

    metadata = newest(table, old, new)
    alone = registered(tmp_path, metadata)
    for shot in shots:
        assert _rows(alone.scan(snapshot_id=shot).to_arrow()) == before[shot]

    (tmp_path / "moved" / "retable.toml").write_text(TOML)
    settings = load_settings(tmp_path / "moved" / "retable.toml")
    lake, spark = Lake(settings, connect(settings.lake)), build_session(settings, "retable tests")
    lake.catalog.create_namespace("gold")
    lake.catalog.register_table("gold.orders", metadata)
    for shot, expected in before.items():
        name = f"'{shot}'" if isinstance(shot, str) else shot
        assert _seen_by_spark(spark, f"VERSION AS OF {name}") == expected
    spark.sql("INSERT INTO lake.gold.orders VALUES (900, 'new', 'b', 3), (901, 'new', 'a', 4)")
    spark.sql("DELETE FROM lake.gold.orders WHERE id = 900 OR id = 7 OR id = 19")
    expected = [row for row in before[shots[-1]] if row[0] not in (7, 19)] + [(901, "new", "a", 4)]
    assert _seen_by_spark(spark, "") == sorted(expected)
    assert _rows(lake.load("gold.orders").scan().to_arrow()) == sorted(expected)
    assert not old.exists()


def _life(version, location):
    """A table with deleted rows, columns that came, a branch, a tag, and manifests that were merged."""
    yield "CREATE NAMESPACE lake.gold"
    yield (
        "CREATE TABLE lake.gold.orders (id int, note string, part string) USING iceberg PARTITIONED BY (part)"
        f" LOCATION '{location}' TBLPROPERTIES ('format-version'='{version}',"
        " 'write.delete.mode'='merge-on-read', 'write.update.mode'='merge-on-read',"
        " 'commit.manifest.min-count-to-merge'='3', 'write.delete.granularity'='partition')"
    )
    for at in range(3):
        yield (
            "INSERT INTO lake.gold.orders SELECT cast(id as int), 'x', if(id % 2 = 0, 'a', 'b')"
            f" FROM range({at * 10}, {at * 10 + 10})"
        )
        yield f"DELETE FROM lake.gold.orders WHERE id % 10 = {at} OR id = {at}"
    yield "ALTER TABLE lake.gold.orders CREATE TAG kept"
    yield "ALTER TABLE lake.gold.orders CREATE BRANCH audit"
    yield "ALTER TABLE lake.gold.orders ADD COLUMN vip int"
    yield "INSERT INTO lake.gold.orders.branch_audit VALUES (500, 'branch', 'a', 1)"
    yield "ALTER TABLE lake.gold.orders ALTER COLUMN id TYPE bigint"
    yield "INSERT INTO lake.gold.orders VALUES (4294967296, 'wide', 'a', 2)"
    yield "DELETE FROM lake.gold.orders WHERE id = 25 OR id = 26"
    yield "CALL lake.system.rewrite_manifests('gold.orders')"
    yield "CALL lake.system.compute_table_stats('gold.orders')"


def _seen_by_spark(spark, version):
    rows = spark.sql(f"SELECT * FROM lake.gold.orders {version}").collect()
    return sorted(tuple(row) for row in rows)


def _rows(table: pa.Table):
    return sorted(tuple(row.values()) for row in table.to_pylist())
