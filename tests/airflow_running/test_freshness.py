"""The mart waits in a real Airflow until the last silent partition speaks, or fails with that partition's name.

The facts of the lake (windows, ledger, evidence, gold, cuts) are written through Retable's own writers, without Spark;
scheduler, DAG processor, triggerer and API are Airflow's own, and the DAG is the example that users copy.
"""

from decimal import Decimal
from pathlib import Path

import pytest

from airflow_running.running import RunningAirflow
from feeding import EACH, ORDERED, Feed, at, name
from published import publish
from retable.ledger.lake.catalog import open_lake
from retable.ledger.rows import CutRow, TableRow
from retable.ledger.write import append_rows
from retable.model.event import TableName
from retable.settings.load import load_settings

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "dags" / "build_marts.py"
SPREAD = '''\
"""A gate on a whole source."""
from airflow.sdk import DAG

from retable_airflow.freshness import FreshnessSensor

with DAG("spread_is_complete", schedule=None):
    FreshnessSensor(task_id="complete", tables="spread", deadline=1200, poke_interval=3, settings={settings!r})
'''
LAKE = '[lake]\ncatalog = "sqlite:///lake/catalog.db"\nwarehouse = "lake"\n'


@pytest.fixture(scope="module")
def feed(folder: Path) -> Feed:
    """A source whose partitions each need their own evidence; in the second of its two hours one of them is silent."""
    settings = folder / "marts" / "retable.toml"
    settings.parent.mkdir()
    spread = ORDERED.replace("sources.dump", "sources.spread").replace('path = "dump"', 'path = "spread"')
    settings.write_text(LAKE + EACH.replace("sources.dump", "sources.erp") + spread, encoding="utf-8")
    (folder / "dags" / "spread_is_complete.py").write_text(SPREAD.format(settings=str(settings)), encoding="utf-8")
    for dag_id, deadline in (("build_marts", "minutes=20"), ("build_marts_in_haste", "seconds=15")):
        text = EXAMPLE.read_text(encoding="utf-8")
        for old, new in (
            ('"build_marts"', f'"{dag_id}"'),
            ('schedule=CronDataIntervalTimetable("0 * * * *", timezone="UTC")', "schedule=None"),
            ('Path(os.environ.get("RETABLE_SETTINGS") or "retable.toml").absolute()', f'Path("{settings}")'),
            ("deadline=timedelta(hours=2)", f"deadline=timedelta({deadline}), poke_interval=3"),
        ):
            assert text.count(old) == 1
            text = text.replace(old, new)
        (folder / "dags" / f"{dag_id}.py").write_text(text, encoding="utf-8")
    feed = Feed(open_lake(load_settings(settings)), "erp")
    feed.windows(7)
    for hour in (5, 6):
        feed.done(hour)
        feed.proves(hour, 0, row=f"0{hour}:59")
    feed.proves(5, 1, row="05:50")
    tables = {
        "customers": ({"id": "long"}, [(1,), (2,)]),
        "orders": (
            {"order_no": "long", "cust_id": "long", "amount": "decimal(10,2)"},
            [(10, 1, Decimal("1.50")), (11, 1, Decimal("2.25"))],
        ),
    }
    for table, (columns, rows) in tables.items():
        gold = publish(feed.lake, TableName("shop", None, table), columns, rows, source="erp")
        append_rows(
            feed.lake,
            [
                TableRow(
                    source="erp",
                    identity=f"shop.{table}@base",
                    gold=gold,
                    database="shop",
                    schema=None,
                    table=table,
                    state="live",
                    hold=None,
                    recorded_at=at("06:00"),
                )
            ],
        )
    return feed


@pytest.fixture
def known(airflow: RunningAirflow, feed: Feed) -> RunningAirflow:
    """The Airflow, once it knows the DAGs."""
    airflow.unpause("build_marts", "build_marts_in_haste", "spread_is_complete")
    return airflow


def cut(feed: Feed, hour: int) -> None:
    """Make the cut behind a window of gold as it is now."""
    snapshots = {gold: feed.lake.load(gold).current_snapshot() for gold in ("gold_shop.customers", "gold_shop.orders")}
    rows = [
        CutRow(
            source="erp",
            window=name(hour),
            revision=0,
            table=gold,
            identity=gold,
            snapshot_id=snapshot and snapshot.snapshot_id,
            state="live",
            recorded_at=at("08:00"),
        )
        for gold, snapshot in snapshots.items()
    ]
    append_rows(feed.lake, rows)


def slots(airflow: RunningAirflow) -> dict[str, int]:
    pool = airflow.call("GET", "/pools/default_pool")
    return {name: pool[name] for name in ("deferred_slots", "running_slots", "occupied_slots")}


def test_the_mart_waits_for_the_silent_partition_without_a_slot_and_over_a_killed_triggerer(
    known: RunningAirflow, feed: Feed
) -> None:
    run = known.trigger("build_marts", "2026-03-01T05:00:00Z", "2026-03-01T06:00:00Z")
    known.wait_for("build_marts", run, "complete", "deferred")
    assert known.state("build_marts", run, "build") is None
    known.until(lambda: slots(known) == {"deferred_slots": 1, "running_slots": 0, "occupied_slots": 0})
    log = known.log("build_marts", run, "complete")
    assert "the partition shop.t/1 has no evidence since 2026-03-01T05:50:00Z" in log
    known.kill("triggerer")
    known.start("triggerer")
    assert known.state("build_marts", run, "complete") == "deferred"

    feed.windows(8)
    feed.proves(7, 0, row="07:10")
    feed.proves(7, 1, row="07:20")
    cut(feed, 7)
    feed.done(7)
    known.wait_for("build_marts", run, "build", "success")
    rows = feed.lake.load("mart_shop.orders_per_customer").scan().to_arrow().sort_by("id").to_pylist()
    assert [(row["id"], row["orders"], row["amount"], row["through"]) for row in rows] == [
        (1, 2, Decimal("3.75"), at("06:00")),
        (2, None, None, at("06:00")),
    ]


def test_a_deadline_fails_the_task_with_the_partition_that_it_waited_for(known: RunningAirflow, feed: Feed) -> None:
    feed.windows(9)
    feed.proves(8, 0, row="08:59")
    feed.done(8)
    run = known.trigger("build_marts_in_haste", "2026-03-01T07:00:00Z", "2026-03-01T08:00:00Z")
    known.wait_for("build_marts_in_haste", run, "complete", "failed")
    log = known.log("build_marts_in_haste", run, "complete")
    assert "AirflowSensorTimeout" in log
    words = (
        "gold_shop.orders is late: complete through 2026-03-01T07:20:00Z (row), not 2026-03-01T08:00:00Z: the "
        "partition shop.t/1 has no evidence since 2026-03-01T07:20:00Z: no heartbeat, canary or row with the "
        "time 2026-03-01T08:00:00Z or later"
    )
    assert words in log
    known.wait_for("build_marts_in_haste", run, "build", "upstream_failed")


def test_of_eight_partitions_in_order_the_heartbeat_of_one_proves_all(known: RunningAirflow, feed: Feed) -> None:
    spread = Feed(feed.lake, "spread")
    spread.windows(6)
    spread.done(5)
    for partition in range(8):
        spread.proves(5, partition, row=f"05:{10 + partition}")
    run = known.trigger("spread_is_complete", "2026-03-01T05:00:00Z", "2026-03-01T06:00:00Z")
    known.wait_for("spread_is_complete", run, "complete", "deferred")
    spread.windows(7)
    spread.proves(6, 3, heartbeat="06:00")
    spread.done(6)
    known.wait_for("spread_is_complete", run, "complete", "success")
    assert known.result("spread_is_complete", run, "complete")["grade"] == "heartbeat"
