"""The comparison with the source's tables finds what is wrong, and nothing else."""

import base64
import gzip
import json
from collections.abc import Callable
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from published import publish
from retable.ledger.lake.catalog import Lake, open_lake
from retable.model.event import TableName
from retable.settings.load import Settings
from truth import KNOWN, Known, differences

CAPTURE = Path(__file__).parent / "captures" / "truth_mariadb"
EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001  # wall clocks have no zone

ORDERS = TableName("shop", None, "orders")
EVENTS = TableName("shop", None, "events")
ORDERS_TYPES = {"id": "int", "amount": "decimal(10,2)", "last seen": "timestamp"}
ORDERS_ROWS = [(1, Decimal("12.30"), 0), (2, None, 1_500_000)]
EVENTS_ROWS = [("a", 1.5), ("a", 1.5), ("b", None)]


@pytest.fixture
def lake(lake_settings: Settings) -> Lake:
    return open_lake(lake_settings)


@pytest.fixture
def truth(tmp_path: Path) -> Path:
    """The truth at a checkpoint `cp` of two tables, one of them without a key."""
    folder = tmp_path / "truth" / "cp"
    folder.mkdir(parents=True)
    schema = {
        "shop.orders": _facts(("id",), id="int", Amount="decimal", **{"last seen": "datetime"}),
        "shop.events": _facts((), kind="varchar", v="double"),
    }
    (folder / "schema.json.gz").write_bytes(gzip.compress(json.dumps(schema).encode()))
    orders = [
        {"id": 1, "Amount": "12.3", "last seen": "1970-01-01 00:00:00"},
        {"id": 2, "Amount": None, "last seen": "1970-01-01 00:00:01.500"},
    ]
    _write(folder / "shop.orders.jsonl.gz", orders)
    _write(folder / "shop.events.jsonl.gz", [{"kind": kind, "v": v} for kind, v in EVENTS_ROWS])
    return folder.parent


def _facts(keys: tuple[str, ...], **columns: str) -> dict[str, Any]:
    return {
        "columns": [{"name": name, "data_type": kind} for name, kind in columns.items()],
        "primary_key": keys,
        "create": "",
    }


def _write(path: Path, rows: list[dict[str, Any]]) -> None:
    path.write_bytes(gzip.compress("".join(json.dumps(row) + "\n" for row in rows).encode()))


def _orders(lake: Lake, rows: list[Any] = ORDERS_ROWS, **columns: str) -> None:
    publish(lake, ORDERS, columns or ORDERS_TYPES, rows, keys=("id",))


def _events(lake: Lake, rows: list[Any] = EVENTS_ROWS) -> None:
    publish(lake, EVENTS, {"kind": "string", "v": "double"}, rows)


def test_gold_that_has_the_rows_of_the_source_does_not_differ(lake: Lake, truth: Path) -> None:
    _orders(lake)
    _events(lake)
    assert differences(lake, truth, "cp") == {}


@pytest.mark.parametrize(
    ("rows", "lines"),
    [
        ([(1, Decimal("12.31"), 0), ORDERS_ROWS[1]], ['id 1: Amount: gold "12.31", truth "12.3"']),
        ([(1, None, 0), ORDERS_ROWS[1]], ['id 1: Amount: gold null, truth "12.3"']),
        (
            [(1, Decimal("12.30"), 1), ORDERS_ROWS[1]],
            ['id 1: last seen: gold "1970-01-01T00:00:00.000001", truth "1970-01-01 00:00:00"'],
        ),
        (ORDERS_ROWS[:1], ["id 2: gold has no such row"]),
        ([*ORDERS_ROWS, (3, None, None)], ["id 3: only gold has the row"]),
        ([*ORDERS_ROWS, ORDERS_ROWS[0]], ["id 1: gold has the row more than once"]),
    ],
)
def test_a_row_with_a_key_that_is_not_the_sources_is_named(
    lake: Lake, truth: Path, rows: list[Any], lines: list[str]
) -> None:
    _orders(lake, rows)
    _events(lake)
    assert differences(lake, truth, "cp") == {"gold_shop.orders": lines}


@pytest.mark.parametrize(
    ("rows", "lines"),
    [
        ([*EVENTS_ROWS, EVENTS_ROWS[0]], ['{"kind": "a", "v": 1.5}: gold has 3, truth 2']),
        (EVENTS_ROWS[1:], ['{"kind": "a", "v": 1.5}: gold has 1, truth 2']),
        (
            [*EVENTS_ROWS[:2], ("b", 0.0)],
            ['{"kind": "b", "v": 0.0}: gold has 1, truth 0', '{"kind": "b", "v": null}: gold has 0, truth 1'],
        ),
    ],
)
def test_a_row_without_a_key_is_counted(lake: Lake, truth: Path, rows: list[Any], lines: list[str]) -> None:
    _orders(lake)
    _events(lake, rows)
    assert differences(lake, truth, "cp") == {"gold_shop.events": lines}


def test_a_column_too_few_or_too_many_is_named(lake: Lake, truth: Path) -> None:
    _orders(lake, [(1, 0, "x"), (2, 1_500_000, "y")], id="int", **{"last seen": "timestamp"}, extra="string")
    _events(lake)
    assert differences(lake, truth, "cp") == {
        "gold_shop.orders": ["gold has no column 'Amount'", "only gold has the column 'extra'"]
    }


def test_a_missing_table_and_one_too_many_are_named(lake: Lake, truth: Path) -> None:
    _orders(lake)
    publish(lake, TableName("shop", None, "gone"), {"id": "int"}, [], state="dropped")
    publish(lake, TableName("shop", None, "left"), {"id": "int"}, [(1,)], state="dropped")
    assert differences(lake, truth, "cp") == {
        "gold_shop.events": ["gold has no such table"],
        "gold_shop.left": ["only gold has this table (dropped, 1 rows)"],
    }


def test_a_long_list_is_cut_and_counted(lake: Lake, truth: Path) -> None:
    _orders(lake, [*ORDERS_ROWS, *((number, None, None) for number in range(3, 33))])
    _events(lake)
    lines = differences(lake, truth, "cp")["gold_shop.orders"]
    assert len(lines) == 20
    assert lines[-1] == "and 11 more"


def test_a_known_difference_excuses_its_own_column_only(lake: Lake, truth: Path) -> None:
    _orders(lake, [(1, Decimal("12.31"), 7), ORDERS_ROWS[1], (9, None, None)])
    _events(lake)
    known = [
        Known("shop.orders", "Amount", "for this test", lambda gold, truth: True),
        Known("shop.orders", None, "for this test", lambda row, _: row["id"] == 9),
        Known("shop.events", None, "for this test", lambda row, _: True),
    ]
    (line,) = differences(lake, truth, "cp", known)["gold_shop.orders"]
    assert line.startswith("id 1: last seen: ")


# --- the genuine truth ------------------------------------------------------------------------------------------------


def _gold_type(column: dict[str, Any]) -> str:
    kind, declared = column["data_type"], column["column_type"]
    match kind:
        case "bit":
            return "boolean" if declared == "bit(1)" else "decimal(20,0)"
        case "tinyint" | "smallint" | "mediumint" | "int" | "year":
            return "long" if "unsigned" in declared else "int"
        case "bigint":
            return "decimal(20,0)" if "unsigned" in declared else "long"
        case "decimal":
            digits = declared.removeprefix("decimal").split()[0]
            return "string" if digits == "(65,30)" else f"decimal{digits}"
        case "float" | "double" | "date":
            return str(kind)
        case "datetime":
            return "timestamp"
        case "timestamp":
            return "timestamptz"
        case "binary" | "varbinary" | "blob" | "point" | "geometry":
            return "binary"
    return "string"


def _value(value: Any, kind: str) -> Any:
    if value is None:
        return None
    if kind.startswith("decimal"):
        return Decimal(value)
    match kind:
        case "boolean":
            return bool(value)
        case "date":
            return (datetime.fromisoformat(value) - EPOCH).days
        case "timestamp" | "timestamptz":
            since = datetime.fromisoformat(value) - EPOCH
            return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds
        case "binary":
            return base64.b64decode(value)
    return value


@pytest.fixture
def publish_truth(lake: Lake) -> Callable[[str, str, Callable[[dict[str, Any]], None]], None]:
    """Make one gold table of a checkpoint's rows, each changed by the given function first."""

    def make(checkpoint: str, source: str, change: Callable[[dict[str, Any]], None]) -> None:
        folder = CAPTURE / checkpoint
        facts = json.loads(gzip.decompress((folder / "schema.json.gz").read_bytes()))[source]
        kinds = {column["name"]: _gold_type(column) for column in facts["columns"]}
        lines = gzip.decompress((folder / f"{source}.jsonl.gz").read_bytes()).decode().split("\n")
        rows = [json.loads(line) for line in lines if line]
        for row in rows:
            change(row)
        values = [[_value(row[name], kind) for name, kind in kinds.items()] for row in rows]
        database, table = source.split(".")
        publish(lake, TableName(database, None, table), kinds, values)

    return make


def test_every_type_and_odd_name_of_the_genuine_truth_compares_equal_to_itself(
    lake: Lake, publish_truth: Callable[..., None]
) -> None:
    sources = ["shop.all_types", "shop.order-items", "shop.geo", "shop.events_nopk", "shop.customers"]
    for source in sources:
        publish_truth("final", source, lambda row: None)
    names = {f"gold_{source}" for source in sources}
    found = differences(lake, CAPTURE, "final", known=())
    assert names & found.keys() == set()
    assert len(found) == 20 - len(sources)
    assert set(map(tuple, found.values())) == {("gold has no such table",)}


def test_what_the_binlog_reader_loses_is_excused_and_nothing_more(
    lake: Lake, publish_truth: Callable[..., None]
) -> None:
    def as_canal(row: dict[str, Any]) -> None:
        if row["id"] == 1:
            row["c_vbin"] = "AA=="

    def destroyed(row: dict[str, Any]) -> None:
        row["memo"] = row["memo"] and ("����" if row["id"] != 2 else "wrong")

    publish_truth("cp1_dml", "shop.all_types", as_canal)
    publish_truth("cp1_dml", "shop.legacy_gbk", destroyed)
    found = differences(lake, CAPTURE, "cp1_dml")
    assert found["gold_shop.all_types"] == ['id 1: c_vbin: gold "AA==", truth ""']
    assert len(found["gold_shop.legacy_gbk"]) == 1
    assert {item.table for item in KNOWN} == {"shop.legacy_gbk", "shop.wl_marker"}
