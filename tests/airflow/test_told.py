"""What Airflow and others are told of a run: its note, its lineage, its assets."""

from collections import defaultdict
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from airflow.jobs.job import Job
from airflow.models.pool import Pool
from airflow.utils.session import create_session
from sqlalchemy import select, update

from feeding import EACH, Feed, at, name
from lakes import SettingsWriter
from published import publish
from retable.freshness.catalog import read_facts, tables_of
from retable.ledger.lake.catalog import open_lake
from retable.ledger.rows import LedgerRow, TableRow
from retable.ledger.write import append_rows
from retable.model.event import TableName
from retable_airflow import listener
from retable_airflow.assets import announce, cut_asset, table_asset, tables_alias
from retable_airflow.lineage import lineage_of
from retable_airflow.listener import note
from retable_airflow.stage import POOL


# --- the note ----------------------------------------------------------------------------------------------------
def stage(counts: dict[str, int], held: tuple[str, ...] = ()) -> dict[str, Any]:
    return {"window": name(5), "counts": counts, "held": list(held), "seconds": 1.6}


def test_a_note_says_what_came_what_became_of_it_and_how_far_the_source_is() -> None:
    fresh = {"window": name(5), "watermark": "2026-03-01T06:00:10+00:00", "grade": "heartbeat"}
    landed, decoded = {"landed": 1204}, {"landed": 1204, "events": 1190, "quarantined": 3}
    results = {
        "land": stage(landed),
        "decode": stage(decoded),
        "replay": stage({"applied": 1150, "held": 7}, ("gold_shop.orders",)),
        "fresh": fresh,
    }
    assert note(results) == (
        "20260301T0500Z: 1,204 messages, 1,190 events, 1,150 applied, 7 held, 3 quarantined; held: gold_shop.orders; "
        "complete through 2026-03-01T06:00:10+00:00 (heartbeat); 5 s"
    )


def test_a_note_of_a_run_that_failed_says_how_far_it_came() -> None:
    assert note({"land": stage({"landed": 4})}) == "20260301T0500Z: 4 messages; 2 s"
    assert note({}) is None


def test_a_quiet_window_is_called_one() -> None:
    results = {"window": stage({"landed": 0, "rows": 0}), "fresh": {"watermark": None, "grade": None}}
    assert note(results) == "20260301T0500Z: no messages; no watermark yet; 2 s"


# --- lineage -----------------------------------------------------------------------------------------------------
@pytest.fixture
def feed(write_settings: SettingsWriter) -> Feed:
    feed = Feed(open_lake(write_settings(EACH)))
    feed.windows(6)
    feed.done(5)
    feed.held(5, "gold_shop.orders", rows=0)
    return feed


def test_lineage_goes_from_the_folder_over_bronze_and_silver_to_the_gold_tables_of_the_window(
    feed: Feed, tmp_path: Path
) -> None:
    settings, lake = tmp_path / "retable.toml", f"file:{tmp_path / 'lake'}"
    decode = lineage_of(settings, "dump", ["decode"])
    assert [(each.namespace, each.name) for each in decode.inputs] == [(lake, "bronze.dump")]
    assert [each.name for each in decode.outputs] == ["silver.dump", "quarantine.dump"]
    whole = lineage_of(settings, "dump", ["land", "decode", "replay"], name(5))
    assert [(each.namespace, each.name) for each in whole.inputs] == [("file", str(tmp_path / "dump"))]
    names = ["bronze.dump", "silver.dump", "quarantine.dump", "gold_shop.orders"]
    assert [each.name for each in whole.outputs] == names


# --- assets ------------------------------------------------------------------------------------------------------
class _Events(defaultdict[object, Any]):
    """What a task may tell of its outlets, by asset and alias."""

    def __init__(self) -> None:
        super().__init__(_Told)


class _Told:
    def __init__(self) -> None:
        self.extra: dict[str, Any] = {}
        self.added: list[tuple[object, dict[str, Any]]] = []

    def add(self, asset: object, extra: dict[str, Any]) -> None:
        self.added.append((asset, extra))


def test_a_table_is_told_of_only_where_this_run_changed_it(feed: Feed) -> None:
    lake, began = feed.lake, at("05:00")
    for table, run in (("orders", "mine"), ("items", "another")):
        gold = publish(lake, TableName("shop", None, table), {"id": "int"}, [], source="dump")
        rows = pa.Table.from_pylist([{"id": 1}], schema=pa.schema({"id": pa.int32()}))
        found = lake.load(gold)
        rows = rows.cast(pa.schema([pa.field("id", pa.int32())]))
        found.append(_fitted(rows, found), snapshot_properties={"retable.run": run, "retable.window": name(5)})
        rest = {
            "counts": {"rows": 1, "applied": 1},
            "lowest": {},
            "highest": {},
            "snapshot_id": None,
            "identity": None,
            "run_id": "mine",
            "seconds": 1.0,
            "bytes": 0,
            "recorded_at": at("06:00"),
        }
        append_rows(
            lake,
            [
                LedgerRow(source="dump", window=name(5), stage="replay", table=gold, **rest),
                TableRow(
                    source="dump",
                    identity=f"shop.{table}@base",
                    gold=gold,
                    database="shop",
                    schema=None,
                    table=table,
                    state="live",
                    hold=None,
                    recorded_at=at("06:00"),
                ),
            ],
        )
    source = lake.settings.source("dump")
    facts = read_facts(lake, source, tables_of(lake, "dump"))
    events = _Events()
    context: Any = {"outlet_events": events, "run_id": "mine", "dag_run": SimpleNamespace(start_date=began)}
    assert announce(context, lake, "dump", name(5), at("06:00"), facts) == ["gold_shop.orders"]
    ((asset, extra),) = events[tables_alias("dump")].added
    assert asset == table_asset("gold_shop.orders")
    snapshot = lake.load("gold_shop.orders").current_snapshot()
    assert snapshot is not None
    assert extra["snapshot_id"] == str(snapshot.snapshot_id)
    assert (extra["window"], extra["counts"], extra["late"]) == (name(5), {"rows": 1, "applied": 1}, True)
    cut = events[cut_asset("dump")].extra
    assert (cut["window"], cut["late"], cut["counts"]["landed"]) == (name(5), True, 1)
    # The same run again, which found all of it done.
    context["dag_run"].start_date = at("05:00") + timedelta(days=3650)
    assert announce(context, lake, "dump", name(5), at("06:00"), facts) == []


def _fitted(rows: pa.Table, table: Any) -> pa.Table:
    """Give the rows the columns that a gold table has beside its own."""
    schema = table.schema().as_arrow()
    return pa.Table.from_pylist([{"id": row["id"]} for row in rows.to_pylist()], schema=schema)


def test_a_name_that_no_address_can_hold_is_spelled_for_it() -> None:
    asset = table_asset("gold_shop.bücher")
    assert asset.uri == "retable://gold/gold_shop.b%C3%BCcher"


# --- the pool ----------------------------------------------------------------------------------------------------
def pools() -> list[tuple[str, int]]:
    with create_session() as session:
        return [(pool.pool, pool.slots) for pool in session.scalars(select(Pool)) if pool.pool == POOL]


def test_the_pool_is_made_once_when_a_component_starts_and_one_that_is_there_stays() -> None:
    listener.on_starting(SimpleNamespace())
    assert pools() == []
    listener.on_starting(Job())
    assert pools() == [(POOL, 1)]
    with create_session() as session:
        session.execute(update(Pool).where(Pool.pool == POOL).values(slots=4))
    listener.on_starting(Job())
    assert pools() == [(POOL, 4)]
