"""Gold is read equal by Spark, pyiceberg and DuckDB: odd names, columns renamed, dropped and added with a default."""

import json
from collections.abc import Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from lakes import FreshLake
from reading.engines import ENGINES
from retable.decode.spark import decode
from retable.gold.names import gold_column
from retable.gold.read import list_gold, snapshot_of_cut
from retable.land.objects.files import list_objects
from retable.land.spark import land_window
from retable.ledger.lake.catalog import open_lake
from retable.ledger.windows.recording import record_windows
from retable.replay.spark import replay
from retable.session import build_session
from retable.settings.load import load_settings

NOW = datetime(2026, 3, 2, tzinfo=UTC)
W5, W6 = "20260301T0500Z", "20260301T0600Z"
VERSIONS = (2, 3)
SETTINGS = """
[lake]
catalog = "sqlite:///lake/catalog.db"
warehouse = "lake"

[sources.erp]
kind = "files"
format = "canal_json"
path = "in"
layout = "lines"
hour = '(\\d{{4}}-\\d\\d-\\d\\dT\\d\\d)'

[tables."shop.*"]
format_version = {version}
"""
TYPES = {
    "id": "int",
    "naïve 名": "varchar(20)",
    "_file": "bigint",
    "Preis €": "decimal(12,2)",
    "gone": "int",
    "at": "datetime(6)",
    "ts": "timestamp(6)",
    "on": "date",
    "raw": "varbinary(8)",
}
CREATE = "create table `Order Items` ({}, primary key (`id`))".format(
    ", ".join(f"`{name}` {kind}" for name, kind in TYPES.items())
)
CHANGES = (
    "alter table `Order Items` rename column `Preis €` to `price`",
    "alter table `Order Items` drop column `gone`",
    "alter table `Order Items` add column `state` varchar(8) not null default 'new', "
    "add column `n` decimal(5,1) default 1.5",
)
"""After the first window; what was there before the last of them has its defaults."""


def row(key: int, price: str, **more: str | None) -> dict[str, str | None]:
    """A row before the changes, in Canal's texts."""
    return {
        "id": str(key),
        "naïve 名": None if key == 4 else f"nº {key}",
        "_file": str(2**40 + key),
        "Preis €": price,
        "gone": "0",
        "at": f"1969-12-31 23:59:59.00000{key}",
        "ts": f"2026-03-01 05:00:00.{key}",
        "on": f"2024-02-2{key}",
        "raw": "\x00ÿ",
    } | more


def later(key: int, price: str, state: str) -> dict[str, str | None]:
    """A row after the changes."""
    found = {name: value for name, value in row(key, price).items() if name not in ("Preis €", "gone")}
    return found | {"price": price, "state": state, "n": None}


def seen(key: int, price: str, **added: object) -> dict[str, object]:
    """The row of a key as a reader of gold has it, by the source's names."""
    return {
        "id": key,
        "naïve 名": None if key == 4 else f"nº {key}",
        "_file": 2**40 + key,
        "at": datetime(1969, 12, 31, 23, 59, 59, key, tzinfo=UTC).replace(tzinfo=None),
        "ts": datetime(2026, 3, 1, 5, 0, 0, key * 100_000, tzinfo=UTC),
        "on": date(2024, 2, 20 + key),
        "raw": b"\x00\xff",
    } | {"price": Decimal(price), **added}


@pytest.fixture(scope="module", params=VERSIONS, ids=lambda version: f"v{version}")
def shop(request: pytest.FixtureRequest, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> FreshLake:
    """A lake of one table in this format version: rows, then statements, then an update, a delete and an insert."""
    folder = tmp_path_factory.mktemp("shop")
    (folder / "retable.toml").write_text(SETTINGS.format(version=request.param), encoding="utf-8")
    (folder / "in").mkdir()
    for hour, lines in ((5, _first()), (6, _second())):
        (folder / "in" / f"2026-03-01T{hour:02}.jsonl").write_text("\n".join(lines), encoding="utf-8")
    settings = load_settings(folder / "retable.toml")
    place = FreshLake(build_session(settings, "retable tests"), open_lake(settings), settings)
    source = settings.source("erp")
    record_windows(place.lake, source, lambda: list_objects(source), datetime(2026, 3, 1, 7, tzinfo=UTC), NOW)
    for window in (W5, W6):
        for stage in (land_window, decode, replay):
            stage(place.spark, place.lake, source, window, "run", NOW)
    return place


def _first() -> Iterator[str]:
    yield _statement(CREATE)
    yield from _rows(
        "INSERT", TYPES, *(row(key, price) for key, price in enumerate(("1.10", "2.20", "-3.00", "4.00"), 1))
    )


def _second() -> Iterator[str]:
    types = {name: kind for name, kind in TYPES.items() if name not in ("Preis €", "gone")}
    types |= {"price": "decimal(12,2)", "state": "varchar(8)", "n": "decimal(5,1)"}
    yield from map(_statement, CHANGES)
    yield from _rows("UPDATE", types, later(2, "20.00", "paid"))
    yield from _rows("DELETE", types, {**later(3, "-3.00", "new"), "n": "1.5"})
    yield from _rows("INSERT", types, later(5, "5.55", "sent"))


def _statement(text: str) -> str:
    return _message(type="ALTER", isDdl=True, sql=text, data=None)


def _rows(kind: str, types: dict[str, str], *rows: dict[str, str | None]) -> Iterator[str]:
    for each in rows:
        old = {"old": [{"state": "new"}]} if kind == "UPDATE" else {}
        yield _message(type=kind, isDdl=False, pkNames=["id"], mysqlType=types, data=[each], **old)


def _message(**fields: object) -> str:
    return json.dumps({"database": "shop", "table": "Order Items", "es": 1772341200000, **fields}, ensure_ascii=False)


def test_every_engine_reads_the_same_rows(shop: FreshLake) -> None:
    (table,) = list_gold(shop.lake)
    assert table.state.hold is None
    names = {column.name: column.source_name for column in table.columns}
    told = {"state": "new", "n": Decimal("1.5")}
    expected = [
        seen(1, "1.10", **told),
        seen(2, "20.00", state="paid", n=None),
        seen(4, "4.00", **told),
        seen(5, "5.55", state="sent", n=None),
    ]
    for name, read in ENGINES.items():
        assert _by_source_name(read(shop, table.name, None), names) == expected, name


def test_every_engine_reads_an_older_cut_with_the_columns_of_its_time(shop: FreshLake) -> None:
    (table,) = list_gold(shop.lake)
    snapshot = snapshot_of_cut(shop.lake, table.name, W5)
    names = {gold_column(name): name for name in TYPES}
    prices = {1: "1.10", 2: "2.20", 3: "-3.00", 4: "4.00"}
    for name, read in ENGINES.items():
        rows = _by_source_name(read(shop, table.name, snapshot), names)
        assert {row["id"]: str(row["Preis €"]) for row in rows} == prices, name
        assert [list(row) for row in rows] == [list(TYPES)] * 4, name


def test_a_table_has_the_format_version_that_its_settings_say(shop: FreshLake) -> None:
    (table,) = list_gold(shop.lake)
    assert shop.lake.load(table.name).format_version == shop.settings.rules(table.state.table).format_version


def _by_source_name(rows: pa.Table, names: dict[str, str]) -> list[dict[str, Any]]:
    found = [{names[name]: value for name, value in each.items()} for each in rows.to_pylist()]
    return sorted(found, key=lambda each: int(each["id"]))
