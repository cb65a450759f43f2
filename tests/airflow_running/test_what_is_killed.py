"""What people and machines do to runs: each ends its JVM, and the next go gives the rows of the source."""

from contextlib import suppress
from urllib.parse import quote

import psutil
import pytest

from airflow_running.running import RunningAirflow, processes_of
from airflow_running.world import World
from retable.land.due import record_due
from retable.ledger.read import read_ledger


@pytest.fixture(scope="module")
def known(airflow: RunningAirflow, victim: World) -> RunningAirflow:
    airflow.unpause("victim_again", "victim_once", "victim_in_haste")
    return airflow


def begin(airflow: RunningAirflow, dag_id: str, window: str) -> str:
    """Start a run of a window, and give its id once its JVM is there."""
    run = ask(airflow, dag_id, window)
    airflow.until(lambda: jvms(run) or airflow.run(dag_id, run)["state"] == "failed")
    assert jvms(run), airflow.log(dag_id, run, "window")
    return run


def begin_and_halt(airflow: RunningAirflow, dag_id: str, window: str) -> str:
    """Start a run whose JVM then stands still: however fast the machine, it does not end by itself."""
    run = begin(airflow, dag_id, window)
    for jvm in jvms(run):
        jvm.suspend()
    return run


def ask(airflow: RunningAirflow, dag_id: str, window: str) -> str:
    body = {"logical_date": None, "conf": {"window": window}}
    return str(airflow.call("POST", f"/dags/{dag_id}/dagRuns", body)["dag_run_id"])


def jvms(run_id: str) -> list[psutil.Process]:
    """The JVMs in which a run's Spark is; the one that only finds out how to start it is none of them."""
    found = []
    for process in processes_of(run_id):
        with suppress(psutil.Error):
            if process.name() == "java" and "org.apache.spark.launcher.Main" not in process.cmdline():
                found.append(process)
    return found


def is_replayed(world: World, window: str) -> bool:
    return any(row.stage == "replay" for row in read_ledger(world.lake, "shop", window))


def test_marking_a_run_failed_ends_its_jvm_and_clearing_it_replays_the_hour(
    known: RunningAirflow, victim: World
) -> None:
    run = begin_and_halt(known, "victim_once", victim.window(4))
    known.mark("victim_once", run, "window", "failed")
    known.until(lambda: not processes_of(run))
    known.wait_for_run("victim_once", run, "failed")
    known.clear("victim_once", run)
    known.wait_for_run("victim_once", run)
    assert is_replayed(victim, victim.window(4))


def test_a_timeout_ends_the_jvm(known: RunningAirflow, victim: World) -> None:
    run = begin_and_halt(known, "victim_in_haste", victim.window(3))
    known.wait_for_run("victim_in_haste", run, "failed")
    known.until(lambda: not processes_of(run))
    assert "AirflowTaskTimeout" in known.log("victim_in_haste", run, "window")


def test_a_killed_task_runner_takes_its_jvm_with_it_and_the_next_go_replays_the_hour(
    known: RunningAirflow, victim: World
) -> None:
    run = begin_and_halt(known, "victim_again", victim.window(3))
    (jvm,) = jvms(run)
    runner = jvm.parent()
    assert runner is not None
    assert "airflow worker" in " ".join(runner.cmdline())
    runner.kill()
    known.until(lambda: not jvm.is_running() or jvm.status() == psutil.STATUS_ZOMBIE)
    known.wait_for_run("victim_again", run)
    place = f"/dags/victim_again/dagRuns/{quote(run, safe='')}/taskInstances/window"
    assert known.call("GET", place)["try_number"] == 2
    assert is_replayed(victim, victim.window(3))


def test_a_killed_scheduler_leaves_a_run_that_the_next_one_ends(known: RunningAirflow, victim: World) -> None:
    run = begin(known, "victim_again", victim.window(2))
    known.kill("scheduler")
    known.start("scheduler")
    known.wait_for_run("victim_again", run)
    known.until(lambda: not processes_of(run))
    assert is_replayed(victim, victim.window(2))


def test_an_hour_whose_object_is_gone_fails_and_once_it_is_back_clearing_replays_it(
    known: RunningAirflow, victim: World
) -> None:
    lake = victim.lake
    record_due(lake, lake.settings.source("shop"), victim.window(1), victim.now)
    (there,) = (victim.folder / "shop").glob(f"*{victim.start(1):%Y-%m-%dT%H}*")
    away = there.rename(victim.folder / there.name)
    run = ask(known, "victim_once", victim.window(1))
    known.wait_for_run("victim_once", run, "failed")
    assert "POSITIONS_LOST" in known.log("victim_once", run, "window")
    away.rename(there)
    known.clear("victim_once", run)
    known.wait_for_run("victim_once", run)
    assert victim.differences() == {}
