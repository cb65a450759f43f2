"""Hours in a real Airflow: scheduled, backfilled out of order beside live ones, and quiet."""

from pathlib import Path

from airflow_running.running import RunningAirflow
from airflow_running.world import NIGHT, QUIET_HOURS, SHOP, SHOP_HOURS, World
from retable.ledger.cuts import read_cuts
from retable.ledger.read import read_ledger


def test_hours_backfilled_out_of_order_beside_a_live_one_give_the_rows_of_the_source(
    replayed: RunningAirflow, world: World
) -> None:
    """The newest hour comes first: a statement of an older one that comes behind holds its table until a rebuild."""
    runs = replayed.runs(SHOP)
    kinds = [run["run_type"] for run in runs]
    assert kinds.count("backfill") >= SHOP_HOURS - 1
    assert "scheduled" in kinds
    begun = [run["logical_date"] for run in runs if run["run_type"] == "backfill"]
    assert begun == sorted(begun, reverse=True)
    assert set(world.held().values()) <= {"LATE_CHANGE"}
    world.release()
    assert world.differences() == {}


def test_the_pool_was_made_by_the_plugin_and_holds_one_spark(replayed: RunningAirflow) -> None:
    assert replayed.call("GET", "/pools/retable_spark")["slots"] == 1


def test_a_runs_note_says_what_happened(replayed: RunningAirflow, world: World) -> None:
    for run in replayed.runs(SHOP)[:SHOP_HOURS]:
        counts = replayed.result(SHOP, run["dag_run_id"], "window")["counts"]
        # An hour that ends while the tests run is one more, in which nothing arrived.
        assert (f"{counts['landed']:,} messages" if counts["landed"] else "no messages") in run["note"]
        assert run["note"].endswith(" s")
    last = next(run for run in replayed.runs(SHOP) if run["run_type"] == "scheduled")
    assert "complete through" in last["note"] or "no watermark yet" in last["note"]


def test_the_cut_is_an_asset_of_every_window_and_a_table_is_one_only_where_it_changed(
    replayed: RunningAirflow, world: World
) -> None:
    events = replayed.events(SHOP)
    assert {event["source_dag_id"] for event in events} == {SHOP}
    cuts = [event for event in events if event["name"] == "retable_cut_shop"]
    assert {event["extra"]["window"] for event in cuts} >= {world.window(ago) for ago in range(1, SHOP_HOURS + 1)}
    assert all({"counts", "watermark", "late"} <= set(event["extra"]) for event in cuts)
    snapshots = {(cut.table, str(cut.snapshot_id)) for cut in read_cuts(world.lake, "shop").rows}
    tables = [event for event in events if event["name"].startswith("gold_shop.")]
    assert tables
    for event in tables:
        assert (event["name"], event["extra"]["snapshot_id"]) in snapshots
        assert event["extra"]["late"] in (True, False)
    pairs = [(event["name"], event["extra"]["snapshot_id"]) for event in tables]
    assert len(pairs) == len(set(pairs))


def test_a_quiet_night_starts_no_spark_and_is_complete_in_the_ledger(replayed: RunningAirflow, world: World) -> None:
    runs = replayed.wait_for_runs(NIGHT, QUIET_HOURS)
    for run in runs[:QUIET_HOURS]:
        assert "Spark is not started" in replayed.log(NIGHT, run["dag_run_id"], "window")
        assert "no messages" in run["note"]
    rows = {(row.window, row.stage) for row in read_ledger(world.lake, "night") if row.table is None}
    for ago in range(1, QUIET_HOURS + 1):
        assert {stage for window, stage in rows if window == world.window(ago)} == {"land", "decode", "replay"}


def test_a_dag_file_of_a_user_is_two_lines(airflow: RunningAirflow, folder: Path, world: World) -> None:
    lines = (folder / "dags" / "retable_dags.py").read_text("utf-8").splitlines()
    assert [line for line in lines[1:] if line] == [
        "from retable_airflow import dags",
        f"dags({str(world.folder / 'retable.toml')!r})",
    ]
    known = {dag["dag_id"] for dag in airflow.call("GET", "/dags?limit=100")["dags"]}
    assert {SHOP, NIGHT, "replay_changes__slow", "watch_tables"} <= known
    assert airflow.call("GET", "/importErrors")["total_entries"] == 0
