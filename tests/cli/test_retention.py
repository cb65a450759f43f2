"""Retention as far as it goes without Spark: what it would drop, what stands in its way, what is shown and refused."""

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest
from typer.testing import Result

from feeding import EACH, Feed, at, name
from lakes import SettingsWriter
from published import publish
from retable.errors import NotKept
from retable.ledger.lake.catalog import open_lake
from retable.ledger.lake.tables import BRONZE, OPS
from retable.ledger.leases import LENGTH, Lease, standing_leases
from retable.ledger.read import read_tables
from retable.ledger.retained import check_decodable, check_replayable, kept_from
from retable.ledger.rows import TableRow
from retable.ledger.write import append_rows
from retable.model.event import TableName
from retable.upkeep.dropping import drop_silver, drop_whole
from retable.upkeep.outlook import inspect_retention
from retable.upkeep.retention import Cut
from retable.upkeep.system import prune_leases

Retable = Callable[..., Result]
NOW = datetime(2026, 4, 1, tzinfo=UTC)
ORDERS = TableName("shop", None, "orders")


@pytest.fixture
def feed(write_settings: SettingsWriter) -> Feed:
    """Three windows with a message and a row each, all of them replayed."""
    feed = Feed(open_lake(write_settings(EACH + 'retention = { bronze = "7d", silver = "20d", quarantine = "7d" }\n')))
    feed.windows(8)
    for hour in (5, 6, 7):
        bronze = {"window": name(hour), "topic": "shop.t", "partition": 0, "offset": hour, "value": b"{}"}
        feed.lake.ensure("bronze.dump").append(pa.Table.from_pylist([bronze], schema=BRONZE.columns))
        feed.decoded_anew(hour)
        feed.done(hour, "land", "decode")
        feed.replayed_again(hour, at("20:00"))
    return feed


def test_a_layer_is_cut_where_nothing_waits_and_says_so_everywhere(retable: Retable, feed: Feed) -> None:
    lake, source = feed.lake, feed.lake.settings.source("dump")
    feed.quarantined(7)
    result = retable("upkeep", "--dry-run")
    assert (
        f"more windows are old enough to be dropped, but the window {name(7)} has something in quarantine"
        in result.stderr
    )
    dropped = f"silver.dump: windows before {name(7)} would be dropped; now it is kept from its first window on"
    assert dropped in result.stderr
    cuts = inspect_retention(lake, source, NOW).cuts
    assert drop_whole(lake, "bronze", "dump", cuts["bronze"], "run").windows == 2
    assert lake.load("bronze.dump").scan().to_arrow()["window"].to_pylist() == [name(7)]
    assert drop_whole(lake, "bronze", "dump", cuts["bronze"], "run").windows == 0
    dropped = drop_silver(lake, source, inspect_retention(lake, source, NOW), "run", lambda *_: None)
    assert (dropped.windows, dropped.rows) == (2, 2)
    assert [kept_from(lake, layer, "dump") for layer in ("bronze", "silver", "quarantine")] == [name(7), name(7), None]
    (status,) = json.loads(retable("status", "--json").stdout)
    assert status["kept_from"] == {"bronze": name(7), "silver": name(7)}
    assert f"dump is kept: bronze from {name(7)} on, silver from {name(7)} on" in retable("status").stderr
    (plan,) = json.loads(retable("plan", "--json").stdout)
    assert plan["kept_from"] == status["kept_from"]
    assert (plan["stale"], plan["behind"]) == ([], [])
    assert "it is the horizon" in retable("plan").stderr
    with pytest.raises(NotKept, match=f"is before the horizon {name(7)}"):
        check_decodable(lake, "dump", name(5))
    with pytest.raises(NotKept, match="cannot be decoded or replayed again"):
        check_replayable(lake, "dump", name(6))
    check_decodable(lake, "dump", name(7))
    result = retable("decode", "dump", "--window", name(5))
    assert result.exit_code == 1
    assert "cannot be decoded or replayed again" in result.stderr


def test_without_bronze_a_window_can_still_be_replayed(feed: Feed) -> None:
    drop_whole(feed.lake, "bronze", "dump", Cut(name(7)), "run")
    with pytest.raises(NotKept, match=f"`retable replay dump --window {name(6)}`"):
        check_decodable(feed.lake, "dump", name(6))
    check_replayable(feed.lake, "dump", name(6))


def test_a_window_that_was_decoded_anew_waits_and_rows_of_a_table_without_a_key_stay(
    retable: Retable, feed: Feed
) -> None:
    lake, source = feed.lake, feed.lake.settings.source("dump")
    gold = publish(lake, ORDERS, {"id": "int"}, [])
    append_rows(
        lake,
        [
            TableRow(
                source="dump",
                identity="shop.orders@base",
                gold=gold,
                **_parts(ORDERS),
                state="live",
                hold=None,
                recorded_at=NOW,
            )
        ],
    )
    assert read_tables(lake, "dump")
    feed.decoded_anew(6)
    cut = inspect_retention(lake, source, NOW).cuts["silver"]
    assert (cut.kept_from, cut.because) == (
        name(6),
        f"the window {name(6)} is not replayed with its present content in silver: "
        "`retable plan` shows the waiting windows",
    )
    (told,) = json.loads(retable("upkeep", "silver.dump", "--dry-run", "--json").stdout)
    assert (told["kept_from"], told["keep_from"], len(told["stays"])) == (None, name(6), 2)
    notes = drop_silver(lake, source, inspect_retention(lake, source, NOW), "run", lambda *_: None).notes
    assert f"silver keeps old rows of {gold}: the table has no key, so" in " ".join(notes)


def test_leases_that_ended_long_ago_are_forgotten_once_there_are_many(feed: Feed) -> None:
    lake = feed.lake
    old = [_lease(NOW - timedelta(days=9), f"run {number}") for number in range(1000)]
    fresh = _lease(NOW, "run now")
    table = lake.ensure("ops.leases")
    table.append(pa.Table.from_pylist([*old[1:], fresh], schema=OPS["ops.leases"].columns))
    assert prune_leases(lake, NOW, "run") == 0
    lake.load("ops.leases").append(pa.Table.from_pylist(old[:1], schema=OPS["ops.leases"].columns))
    assert prune_leases(lake, NOW, "run") == 1000
    assert [lease.holder for lease in standing_leases(lake, "dump", NOW)] == ["run now"]
    assert lake.load("ops.leases").scan().count() == 1


def _lease(began: datetime, holder: str) -> dict[str, object]:
    lease = Lease(
        source="dump", target="dump", purpose="replay", holder=holder, until=began + LENGTH, recorded_at=began
    )
    return {field: getattr(lease, field, None) for field in OPS["ops.leases"].columns.names}


def _parts(table: TableName) -> dict[str, Any]:
    return {"database": table.database, "schema": table.schema, "table": table.table}
