"""The demo's streams: the genuine one, cut into hours, and the shop's, with its truth and its mart."""

import json
import re
import tomllib
from collections import Counter, defaultdict
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import demo_shop
import demo_source
from lakes import SettingsWriter
from published import publish
from retable.ledger.lake.catalog import Lake, open_lake
from retable.model.event import TableName
from retable.settings.load import Settings, load_settings
from retable.simulate import Truth, type_settings
from retable.simulate.columns import Column, ColumnType
from retable.simulate.database import Table
from retable.simulate.history import StatementRun


def _line(table: str, **row: str) -> str:
    change = {"table": table, "data": [row] if row else None}
    return json.dumps({"value": json.dumps(change)}) + "\n"


STREAM = [
    _line("orders", id="1"),
    _line("wl_marker", id="1", label="one"),
    _line("notes", text="one two"),
    _line("wl_marker", id="2", label="two"),
    _line("wl_marker"),
]


def test_an_hour_ends_with_the_marker_of_its_checkpoint() -> None:
    assert list(demo_source.cut(STREAM, ["one", "two"])) == [STREAM[:2], STREAM[2:]]


def test_another_table_that_says_a_checkpoints_name_ends_nothing() -> None:
    assert list(demo_source.cut(STREAM, ["two", "three"])) == [STREAM[:4], STREAM[4:]]


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """The demo's settings, in a folder of this test's own; the hours of both sources are written."""
    folder = tmp_path_factory.mktemp("demo") / "demo"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(demo_source, "FOLDER", folder)
        patch.setattr(demo_source, "SETTINGS", folder / "retable.toml")
        return load_settings(demo_source.prepare())


def _records(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").split("\n") if line]


def test_every_line_of_the_real_stream_is_in_one_hour_of_the_last_full_ones(settings: Settings) -> None:
    source = settings.source("demo")
    objects = sorted(source.path.iterdir())
    assert len(objects) == len(demo_source.HOURS) >= 3
    assert objects[0].stem == f"{source.start:%Y-%m-%dT%H}"
    offsets = [record["offset"] for path in objects for record in _records(path)]
    assert offsets == list(range(len(offsets)))
    assert len(offsets) > 1000


def test_the_demo_shows_the_settings_that_a_user_would_write() -> None:
    template = (demo_source.ROOT / "infra" / "settings" / "demo.toml").read_text("utf-8")
    assert tomllib.loads(template)["sources"]["demo"]["path"] == "landing"


# --- the shop --------------------------------------------------------------------------------------------------------
FIRST = datetime(2026, 3, 1, tzinfo=UTC)


def test_the_shops_hours_end_with_those_of_the_log(settings: Settings) -> None:
    log, shop = settings.source("demo"), settings.source("shop")
    assert log.start is not None
    assert shop.start is not None
    assert log.start + timedelta(hours=len(demo_source.HOURS)) == shop.start + timedelta(hours=demo_shop.HOURS)
    names = [f"shop-{shop.start + timedelta(hours=hour):%Y-%m-%dT%H}.jsonl" for hour in range(demo_shop.HOURS)]
    assert sorted(path.name for path in shop.path.iterdir()) == names


def test_the_shops_messages_come_late_and_twice_and_the_halves_of_an_update_apart(settings: Settings) -> None:
    hours = [_records(path) for path in sorted(settings.source("shop").path.iterdir())]
    assert {record["partition"] for hour in hours for record in hour} == set(range(demo_shop.DELIVERY.partitions))
    seen: Counter[tuple[str, str]] = Counter()
    places: dict[str, dict[str, set[tuple[int, int]]]] = defaultdict(lambda: defaultdict(set))
    for number, hour in enumerate(hours):
        for record in hour:
            payload = json.loads(record["value"])["payload"]
            if payload["op"].startswith("UPDATE"):
                seen[payload["sequenceId"], payload["op"]] += 1
                places[payload["sequenceId"]][payload["op"]].add((number, record["partition"]))
    assert max(seen.values()) > 1
    halves = [(min(each["UPDATE_BEFOR"]), min(each["UPDATE_AFTER"])) for each in places.values()]
    assert any(one[1] != other[1] for one, other in halves)
    assert any(one[0] != other[0] for one, other in halves)


def test_the_shops_last_message_is_the_heartbeat_that_proves_the_last_hour(settings: Settings) -> None:
    source = settings.source("shop")
    assert source.start is not None
    payload = json.loads(_records(max(source.path.iterdir()))[-1]["value"])["payload"]
    assert payload["op"] == "MHEARTBEAT"
    end = source.start + timedelta(hours=demo_shop.HOURS)
    assert payload["timestamp"]["eventTime"] == int(end.timestamp()) * 1000


def test_the_settings_tell_the_types_that_messages_leave_open(settings: Settings) -> None:
    told = {name: rules.types for name, rules in settings.tables.items()}
    written = {name: {column: str(kind) for column, kind in types.items()} for name, types in told.items()}
    assert written == type_settings(demo_shop.play(FIRST))


def test_the_shop_shows_schema_changes_but_none_that_the_mart_would_miss_or_that_holds() -> None:
    history = demo_shop.play(FIRST)
    truth = history.truth()
    assert sum(history.kinds[kind] for kind in demo_shop.SCHEMA_CHANGES) >= 3
    assert history.holds() == {}
    assert {"id", "customer", "total"} <= {name for name, _ in truth.columns("orders")}
    assert sum(orders is not None for _, orders, _ in demo_shop.mart_truth(truth)) >= 5


def test_a_statement_names_the_shops_own_database_or_none() -> None:
    texts = [entry.text for entry in demo_shop.play(FIRST).entries if isinstance(entry, StatementRun)]
    databases = {found[1] for text in texts for found in re.finditer(r"(\w*shop)\b", text)}
    assert databases == {demo_shop.DATABASE}


def test_the_shop_is_the_same_at_any_hour() -> None:
    truths = [demo_shop.play(FIRST + timedelta(hours=hour)).truth() for hour in (0, 7000)]
    assert truths[0] == truths[1]


# --- gold and mart beside the shop -----------------------------------------------------------------------------------
COLUMNS = (Column("id", ColumnType("bigint")), Column("customer", ColumnType("bigint")))
TRUTH = Truth({"orders": Table(COLUMNS, (), {1: (1, 5), 2: (1, 5), 3: (2, None)})}, frozenset({"gone"}))


@pytest.fixture
def lake(write_settings: SettingsWriter) -> Lake:
    return open_lake(write_settings(""))


def _publish(lake: Lake, table: str, *rows: tuple[int, int | None]) -> None:
    publish(lake, TableName("webshop", None, table), {"id": "long", "customer": "long"}, rows, source="shop")


def test_gold_that_has_every_row_as_often_as_the_shop_does_not_differ(lake: Lake) -> None:
    _publish(lake, "orders", (2, None), (1, 5), (1, 5))
    _publish(lake, "gone")
    publish(lake, TableName("other", None, "orders"), {"id": "long"}, [(9,)], source="demo")
    assert demo_shop.differences(lake, TRUTH) == {}


def test_a_row_or_a_table_that_only_one_of_them_has_is_a_difference(lake: Lake) -> None:
    _publish(lake, "orders", (2, 7), (1, 5))
    _publish(lake, "more")
    assert demo_shop.differences(lake, TRUTH) == {
        "gold_webshop.orders": [
            'gold has 1, the shop 2: {"id": 1, "customer": 5}',
            'gold has 1, the shop 0: {"id": 2, "customer": 7}',
            'gold has 0, the shop 1: {"id": 2, "customer": null}',
        ],
        "gold_webshop.gone": ["gold has no such table"],
        "gold_webshop.more": ["only gold has this table"],
    }


def test_the_mart_is_counted_from_the_shops_own_rows() -> None:
    money = ColumnType("decimal", (12, 2))
    orders = Table((*COLUMNS, Column("total", money)), ("id",))
    orders.rows.update(
        {1: (1, 5, Decimal("1.50")), 2: (2, 5, Decimal("2.25")), 3: (3, 8, Decimal(1)), 4: (4, None, Decimal(1))}
    )
    customers = Table(COLUMNS[:1], ("id",), {7: (7,), 5: (5,)})
    truth = Truth({"orders": orders, "customers": customers}, frozenset())
    assert demo_shop.mart_truth(truth) == [(Decimal(5), 2, Decimal("3.75")), (Decimal(7), None, None)]


def test_the_marts_dag_is_the_example_with_the_shops_names(tmp_path: Path) -> None:
    demo_shop.write_mart_dag(tmp_path / "dags")
    text = (tmp_path / "dags" / "build_marts.py").read_text("utf-8")
    compile(text, "build_marts.py", "exec")
    example = demo_shop.EXAMPLE.read_text("utf-8")
    assert len(text.splitlines()) == len(example.splitlines())
    assert "erp" not in text
    assert "gold_shop" not in text
    assert f'MART = "{demo_shop.MART}"' in text
