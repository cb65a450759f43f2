"""Gold as a reader without a JVM sees it."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest

from lakes import FreshLake
from published import publish
from retable.errors import DamagedFile, NotFound, NotReady
from retable.gold.read import (
    PublishedColumn,
    columns,
    find_gold,
    list_gold,
    read_as_of,
    read_cut,
    read_rows,
    snapshot_of_cut,
)
from retable.gold.render import json_rows
from retable.ledger.lake.catalog import Lake, open_lake
from retable.ledger.lake.tables import OPS
from retable.ledger.rows import CutRow
from retable.ledger.write import append_rows
from retable.model.event import TableName
from retable.model.sequence import Sequence
from retable.schema_history.history import Hold
from retable.settings.load import Settings

ORDERS = TableName("Shop", None, "Orders")
NOW = datetime(2026, 3, 1, 5, tzinfo=UTC)


@pytest.fixture
def lake(lake_settings: Settings) -> Lake:
    return open_lake(lake_settings)


def _rows(lake: Lake, name: str, **options: object) -> Iterator[dict[str, object]]:
    for batch in read_rows(lake, name, **options):  # type: ignore[arg-type]  # options by name
        yield from map(json.loads, json_rows(batch))


def test_rows_leave_out_what_is_retables_own(lake: Lake) -> None:
    name = publish(lake, ORDERS, {"Id": "int", "a.b": "string"}, [(1, "x"), (2, None)], keys=("Id",))
    assert list(_rows(lake, name)) == [{"id": 1, "a_b__2e7336dc": "x"}, {"id": 2, "a_b__2e7336dc": None}]
    assert [list(row) for row in _rows(lake, name, all_columns=True)] == [
        ["id", "a_b__2e7336dc", "_retable_sequence"]
    ] * 2


def test_a_limit_is_the_most_rows_that_come(lake: Lake) -> None:
    name = publish(lake, ORDERS, {"id": "int"}, [(number,) for number in range(10)])
    assert len(list(_rows(lake, name, limit=3))) == 3
    assert len(list(_rows(lake, name, limit=30))) == 10


def test_a_table_without_a_snapshot_has_no_rows(lake: Lake) -> None:
    name = publish(lake, ORDERS, {"id": "int"}, [])
    assert list(_rows(lake, name)) == []
    assert [table.rows for table in list_gold(lake)] == [0]


def test_a_snapshot_shows_its_rows_with_the_columns_of_its_time(lake: Lake) -> None:
    name = publish(lake, ORDERS, {"id": "int"}, [(1,)])
    table = lake.load(name)
    before = table.current_snapshot()
    assert before is not None
    table.delete("id = 1")
    with table.update_schema() as update:
        update.rename_column("id", "number")
    assert list(_rows(lake, name, snapshot_id=before.snapshot_id)) == [{"id": 1}]
    assert list(_rows(lake, name)) == []


def test_an_expired_snapshot_is_named(lake: Lake) -> None:
    name = publish(lake, ORDERS, {"id": "int"}, [(1,)])
    with pytest.raises(NotFound, match="the snapshot 12 has expired"):
        list(read_rows(lake, name, snapshot_id=12))


def test_the_list_of_gold_spells_tables_as_the_source_does(lake: Lake) -> None:
    hold = Hold("UNSUPPORTED_CHANGE", "it drops a partition", Sequence(0, 7, 0), None, "ALTER …", "rebuild it")
    publish(lake, TableName("shop", "Eu", "t"), {"id": "int"}, [], state="held", hold=hold)
    publish(lake, ORDERS, {"Id": "int", "Note": "string"}, [(1, "x")], keys=("Id",))
    lake.ensure("bronze.dump")
    orders, held = list_gold(lake)
    assert (orders.name, orders.rows, orders.state.table, orders.state.state) == ("gold_shop.orders", 1, ORDERS, "live")
    assert orders.columns == (
        PublishedColumn("id", "int", "Id", "source int", None, True),
        PublishedColumn("note", "string", "Note", "source string", None, False),
    )
    assert orders.columns == columns(lake, "gold_shop.orders")
    assert (held.name, held.state.hold) == ("gold_shop__eu.t", hold)


def test_a_table_that_is_not_retables_is_no_gold(lake: Lake) -> None:
    publish(lake, ORDERS, {"id": "int"}, [])
    lake.load("gold_shop.orders").transaction().remove_properties("retable.identity").commit_transaction()
    assert list_gold(lake) == []
    with pytest.raises(NotFound, match="the lake has no gold tables yet; `retable run SOURCE` creates them"):
        find_gold(lake, "gold_shop.orders")


@pytest.mark.parametrize("name", ["gold_shop.order", "shop.orders", "Gold_Shop.Orders", "Shop.Orders"])
def test_an_unknown_name_gives_the_nearest(lake: Lake, name: str) -> None:
    publish(lake, ORDERS, {"id": "int"}, [])
    with pytest.raises(NotFound, match="did you mean 'gold_shop.orders'?"):
        find_gold(lake, name)


@pytest.mark.parametrize("name", ["ops.windows", "orders", "a.b.c", "", ".", "gold_shop."])
def test_what_is_no_name_of_gold_is_not_found(lake: Lake, name: str) -> None:
    lake.ensure("ops.windows")
    publish(lake, ORDERS, {"id": "int"}, [])
    with pytest.raises(NotFound, match="`retable tables` lists all 1"):
        find_gold(lake, name)


def _cut(lake: Lake, window: str, revision: int, snapshot: int | None, identity: str = "Shop.Orders@base") -> None:
    append_rows(
        lake,
        [
            CutRow(
                source="dump",
                window=window,
                revision=revision,
                table="gold_shop.orders",
                identity=identity,
                snapshot_id=snapshot,
                state="live",
                recorded_at=NOW,
            )
        ],
    )


def _record_window(lake: Lake, start: datetime) -> None:
    """Record the window of a source without objects, as `ops.windows` has it."""
    row = {
        "source": "dump",
        "ordinal": 0,
        "window": f"{start:%Y%m%dT%H%MZ}",
        "start": start,
        "end": start.replace(hour=start.hour + 1),
        "objects": [],
        "recorded_at": start,
    }
    table = lake.ensure("ops.windows")
    table.append(pa.Table.from_pylist([row], schema=OPS["ops.windows"].columns))


def test_the_newest_revision_of_a_cut_gives_the_snapshot(lake: Lake) -> None:
    name = publish(lake, ORDERS, {"id": "int"}, [(1,)])
    _record_window(lake, NOW)
    with pytest.raises(NotReady, match="20260301T0500Z of dump has no cut"):
        snapshot_of_cut(lake, name, "20260301T0500Z")
    _cut(lake, "20260301T0500Z", 0, 11)
    _cut(lake, "20260301T0500Z", 1, 12)
    _cut(lake, "20260301T0500Z", 1, 99, identity="Shop.Other@base")
    assert snapshot_of_cut(lake, name, "20260301T0500Z") == 12


def test_a_table_that_came_after_the_cut_is_named(lake: Lake) -> None:
    name = publish(lake, ORDERS, {"id": "int"}, [(1,)])
    _record_window(lake, NOW)
    _cut(lake, "20260301T0500Z", 0, 99, identity="Shop.Other@base")
    with pytest.raises(NotFound, match="is not in the cut of 20260301T0500Z: the table was created in a later"):
        snapshot_of_cut(lake, name, "20260301T0500Z")


def test_a_cut_of_a_window_that_was_never_recorded_names_the_window(lake: Lake) -> None:
    name = publish(lake, ORDERS, {"id": "int"}, [(1,)])
    with pytest.raises(NotFound, match="the source dump has no window 20260301T0500Z"):
        snapshot_of_cut(lake, name, "20260301T0500Z")


def test_a_consistent_cut_gives_every_table_at_its_newest_revision(lake: Lake) -> None:
    _record_window(lake, NOW)
    with pytest.raises(NotReady, match="20260301T0500Z of dump has no cut"):
        read_cut(lake, "dump", "20260301T0500Z")
    rows = [
        CutRow(
            source="dump",
            window="20260301T0500Z",
            revision=revision,
            table=f"gold_shop.{table}",
            identity=table,
            snapshot_id=snapshot,
            state="live",
            recorded_at=NOW,
        )
        for revision, table, snapshot in [(0, "a", 1), (0, "b", None), (1, "a", 2), (1, "b", None)]
    ]
    append_rows(lake, rows)
    assert read_cut(lake, "dump", "20260301T0500Z") == {"gold_shop.a": 2, "gold_shop.b": None}


def test_rows_as_of_a_cut_are_those_of_its_snapshot(lake: Lake) -> None:
    name = publish(lake, ORDERS, {"id": "int"}, [(1,)])
    table = lake.load(name)
    then = table.current_snapshot()
    assert then is not None
    table.append(table.scan().to_arrow())
    assert read_as_of(lake, name, {name: then.snapshot_id}).to_pylist() == [{"id": 1}]
    assert read_as_of(lake, name, {name: None}).to_pylist() == []
    assert read_as_of(lake, name, {name: None}).column_names == ["id"]
    with pytest.raises(NotFound, match="gold_shop.orders is not in this cut; the cut has gold_shop.items"):
        read_as_of(lake, name, {"gold_shop.items": 1})


def test_a_window_that_was_replayed_after_later_ones_is_in_the_cut_of_the_next(lake: Lake) -> None:
    _record_window(lake, NOW)
    for window, snapshot in (("20260301T0400Z", 1), ("20260301T0700Z", 3), ("20260301T0600Z", 2)):
        _cut(lake, window, 0, snapshot)
    with pytest.raises(NotReady):
        snapshot_of_cut(lake, publish(lake, ORDERS, {"id": "int"}, []), "20260301T0500Z")
    assert read_cut(lake, "dump", "20260301T0500Z") == {"gold_shop.orders": 2}


def test_a_file_that_is_gone_is_named(lake: Lake) -> None:
    name = publish(lake, ORDERS, {"id": "int"}, [(1,)])
    (file,) = Path(lake.load(name).location()).rglob("*.parquet")
    file.unlink()
    with pytest.raises(DamagedFile, match="is missing") as caught:
        list(read_rows(lake, name))
    assert caught.value.facts == {"path": str(file)}


def test_what_spark_deleted_defaulted_and_widened_is_read_right_without_a_jvm(fresh_lake: FreshLake) -> None:
    spark, lake, _ = fresh_lake
    publish(lake, ORDERS, {"id": "int", "note": "string"}, [(number, "x") for number in range(100)])
    told = lake.load("gold_shop.orders").properties
    lake.catalog.drop_table("gold_shop.orders")
    spark.sql(
        "CREATE TABLE lake.gold_shop.orders (id int, note string,"
        " `_retable_sequence` struct<epoch int, hi decimal(38,0), lo bigint>)"
        " USING iceberg TBLPROPERTIES ('format-version'='3', 'write.delete.mode'='merge-on-read')"
        f" LOCATION '{lake.new_location('gold')}'"
    )
    insert = "INSERT INTO lake.gold_shop.orders SELECT cast(id as int), 'x', struct(0, cast(id as decimal(38,0)), 0L)"
    spark.sql(f"{insert} FROM range(100)")
    spark.sql("DELETE FROM lake.gold_shop.orders WHERE id % 10 = 3")
    spark.sql("DELETE FROM lake.gold_shop.orders WHERE id % 10 = 4")
    jvm = spark._jvm
    assert jvm is not None
    iceberg = jvm.org.apache.iceberg
    types, seven = iceberg.types.Types, iceberg.expressions.Expressions.lit(7)
    table = iceberg.spark.Spark3Util.loadIcebergTable(spark._jsparkSession, "lake.gold_shop.orders")
    update = table.updateSchema().updateColumn("id", types.LongType.get())
    update.addColumn("vip", types.IntegerType.get(), None, seven).commit()
    spark.sql("INSERT INTO lake.gold_shop.orders SELECT 4294967296, 'y', struct(0, cast(1 as decimal(38,0)), 0L), null")
    properties = table.updateProperties()
    for key, value in told.items():
        properties.set(key, value)
    properties.commit()
    rows = {row["id"]: row for row in _rows(lake, "gold_shop.orders")}
    assert len(rows) == 81
    assert rows[99] == {"id": 99, "note": "x", "vip": 7}
    assert rows[2**32] == {"id": 2**32, "note": "y", "vip": None}
    assert [table.rows for table in list_gold(lake)] == [81]
