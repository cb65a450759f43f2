"""Rows, tables, columns and schema changes, as a person and as a script read them."""

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pyarrow as pa
import pytest
from typer.testing import Result

from published import publish
from retable.gold import read
from retable.ledger.lake.catalog import Lake
from retable.ledger.lake.tables import OPS
from retable.ledger.rows import CutRow, SchemaChangeRow
from retable.ledger.write import append_rows
from retable.model.event import TableName
from retable.model.sequence import Sequence
from retable.schema_history.history import Hold

Retable = Callable[..., Result]

ORDERS = TableName("Shop", None, "Orders")
NOW = datetime(2026, 3, 1, 5, tzinfo=UTC)
HOLD = Hold("UNSUPPORTED_CHANGE", "it drops a partition", Sequence(0, 7, 0), None, "ALTER …", "rebuild it")


@pytest.fixture
def orders(lake: Lake) -> str:
    columns = {"Id": "int", "price": "decimal(9,2)", "note": "string"}
    return publish(lake, ORDERS, columns, [(1, Decimal("0.10"), "é\x1b[2J"), (2, None, None)], keys=("Id",))


def test_rows_are_one_json_object_a_line(retable: Retable, orders: str) -> None:
    result = retable("rows", orders)
    assert result.exit_code == 0
    assert result.stderr == ""
    assert result.stdout == (
        '{"id": 1, "price": "0.10", "note": "é\\u001b[2J"}\n{"id": 2, "price": null, "note": null}\n'
    )
    assert len(retable("rows", orders, "--limit", "1").stdout.splitlines()) == 1
    assert retable("rows", orders, "--limit", "0").stdout == ""
    first = json.loads(retable("rows", orders, "--all-columns").stdout.splitlines()[0])
    assert first["_retable_sequence"] == {"epoch": 0, "hi": "0", "lo": 0}


def test_rows_come_in_the_order_of_their_key(retable: Retable, lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    columns = {"region": "string", "id": "int", "note": "string"}
    rows = [("b", 2, "x"), ("a", 10, "y"), ("b", 1, "z"), ("a", 9, "w")]
    name = publish(lake, ORDERS, columns, rows, keys=("region", "id"))
    shown = [(row["region"], row["id"]) for row in map(json.loads, retable("rows", name).stdout.splitlines())]
    assert shown == [("a", 9), ("a", 10), ("b", 1), ("b", 2)]
    first = map(json.loads, retable("rows", name, "--limit", "2").stdout.splitlines())
    assert [row["id"] for row in first] == [9, 10]
    monkeypatch.setattr(read, "MOST_IN_ORDER", 3)
    assert [json.loads(line)["id"] for line in retable("rows", name).stdout.splitlines()] == [2, 10, 1, 9]


def test_rows_as_a_table_never_command_the_terminal(retable: Retable, orders: str) -> None:
    assert retable("rows", orders, "--format", "table").stdout.splitlines() == [
        "id  price  note",
        "1   0.10   é\\x1b[2J",
        "2   null   null",
    ]


def test_an_empty_table_still_shows_its_columns(retable: Retable, lake: Lake) -> None:
    name = publish(lake, ORDERS, {"id": "int"}, [])
    assert retable("rows", name, "--format", "table").stdout == "id\n"
    assert retable("rows", name).stdout == ""


def test_rows_as_of_a_window_are_those_of_its_cut(retable: Retable, lake: Lake, orders: str) -> None:
    table = lake.load(orders)
    before = table.current_snapshot()
    assert before is not None
    table.delete("id = 1")
    window = {"source": "dump", "ordinal": 0, "window": "20260301T0500Z", "start": NOW, "objects": []}
    row = {**window, "end": NOW + timedelta(hours=1), "recorded_at": NOW}
    lake.ensure("ops.windows").append(pa.Table.from_pylist([row], schema=OPS["ops.windows"].columns))
    cut = CutRow(
        source="dump",
        window="20260301T0500Z",
        revision=0,
        table=orders,
        identity=f"{ORDERS}@base",
        snapshot_id=before.snapshot_id,
        state="live",
        recorded_at=NOW,
    )
    append_rows(lake, [cut])
    assert len(retable("rows", orders).stdout.splitlines()) == 1
    assert len(retable("rows", orders, "--as-of", "20260301T0500Z").stdout.splitlines()) == 2
    assert "the source dump has no window 20260301T0600Z" in retable("rows", orders, "--as-of", "20260301T0600Z").stderr
    assert "write the start of a window in UTC" in retable("rows", orders, "--as-of", "yesterday").stderr


def test_rows_of_a_held_table_come_with_a_word(retable: Retable, lake: Lake) -> None:
    name = publish(lake, ORDERS, {"id": "int"}, [(1,)], state="held", hold=HOLD)
    result = retable("rows", name)
    assert result.stdout == '{"id": 1}\n'
    assert "gold_shop.orders is held: it shows its last state before 0.7.0" in result.stderr


@pytest.mark.parametrize("command", ["rows", "schema", "history"])
def test_an_unknown_table_gives_the_nearest(retable: Retable, orders: str, command: str) -> None:
    result = retable(command, "gold_shop.order")
    assert result.exit_code == 1
    assert "did you mean 'gold_shop.orders'?" in result.stderr
    assert result.stdout == ""


def test_tables_are_one_json_array(retable: Retable, lake: Lake, orders: str) -> None:
    publish(lake, TableName("shop", "Eu", "t"), {"id": "int"}, [], state="dropped")
    result = retable("tables", "--json")
    assert result.stderr == ""
    assert json.loads(result.stdout) == [
        {"name": orders, "database": "Shop", "schema": None, "table": "Orders", "rows": 2, "state": "live"},
        {"name": "gold_shop__eu.t", "database": "shop", "schema": "Eu", "table": "t", "rows": 0, "state": "dropped"},
    ]
    assert retable("tables").stdout.splitlines() == [
        "TABLE             SOURCE             ROWS  STATE",
        "gold_shop.orders  dump: Shop.Orders     2  live",
        "gold_shop__eu.t   dump: shop.Eu.t       0  dropped",
    ]


def test_an_empty_lake_has_no_tables(retable: Retable, lake: Lake) -> None:
    assert retable("tables", "--json").stdout == "[]\n"
    result = retable("tables")
    assert (result.exit_code, result.stdout) == (0, "")
    assert "`retable run SOURCE` makes them" in result.stderr


def test_a_schema_tells_what_each_column_is_at_the_source(retable: Retable, orders: str) -> None:
    told = json.loads(retable("schema", orders, "--json").stdout)
    assert (told["name"], told["database"], told["schema"], told["table"]) == (orders, "Shop", None, "Orders")
    assert told["columns"][0] == {
        "name": "id",
        "type": "int",
        "source_name": "Id",
        "source_type": "source int",
        "default": None,
        "key": True,
    }
    assert [column["type"] for column in told["columns"]] == ["int", "decimal(9,2)", "string"]
    assert retable("schema", orders).stdout.splitlines()[1].split() == ["id", "int", "Id", "source", "int", "key"]


def _change(position: str, statement: str, identity: str = f"{ORDERS}@base") -> SchemaChangeRow:
    told = {
        "window": "20260301T0500Z",
        "statement": statement,
        "meaning": '[{"kind": "add_column"}]',
        "status": "applied",
        "reason": None,
        "columns": "{}",
        "recorded_at": NOW,
    }
    return SchemaChangeRow(
        source="dump",
        identity=identity,
        table="gold_shop.orders",
        position=position,
        part="topic/0",
        event_time_ms=1772323256000,
        **told,
    )


def test_a_history_is_in_the_order_of_the_source(retable: Retable, lake: Lake, orders: str) -> None:
    other = _change("0.5.0", "of another table", identity="Shop.other@base")
    append_rows(lake, [_change("0.10.0", "ALTER\n2"), other, _change("0.9.0", "ALTER 1")])
    told = json.loads(retable("history", orders, "--json").stdout)
    assert [(change["position"], change["statement"]) for change in told] == [
        ("0.9.0", "ALTER 1"),
        ("0.10.0", "ALTER\n2"),
    ]
    assert told[0]["meaning"] == [{"kind": "add_column"}]
    assert told[0]["time"] == "2026-03-01T00:00:56.000+00:00"
    lines = retable("history", orders).stdout.splitlines()
    assert len(lines) == 3
    assert "ALTER\\n2" in lines[2]


def test_verify_of_a_source_without_a_table_is_no_success(retable: Retable, lake: Lake) -> None:
    result = retable("verify", "dump")
    assert result.exit_code == 1
    assert "dump has no gold table to verify yet\n       `retable run dump` makes them\n" in result.stderr
