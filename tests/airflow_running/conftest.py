"""A real Airflow for the tests of this folder: scheduler, DAG processor, triggerer and API, on loopback.

PostgreSQL is its database. Each of two processes that share the tests starts one, with what `make up` starts it with.
"""

import json
import secrets
import subprocess
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from xdist.scheduler import LoadScopeScheduling

import local_airflow
from airflow_running.database import free_port, postgres
from airflow_running.running import CANARY, HOOK_PORT, PATIENCE, RunningAirflow
from airflow_running.world import NIGHT, SHOP, SHOP_HOURS, World, make_victim, make_world

_APART = ("test_freshness", "test_what_is_held", "test_what_is_killed")
"""What needs no hour of the shop, and kills what others would miss."""


class _Halves(LoadScopeScheduling):
    """Two processes share the tests: those of the shop's hours go to one, and those apart to the other."""

    def _split_scope(self, nodeid: str) -> str:
        return "apart" if any(name in nodeid for name in _APART) else "shop"


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> _Halves:
    return _Halves(config, log)


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where this Airflow's settings, DAGs and database are."""
    found = tmp_path_factory.mktemp("airflow_running")
    (found / "dags").mkdir()
    return found


@pytest.fixture(scope="session")
def airflow(folder: Path) -> Iterator[RunningAirflow]:
    port, home = free_port(), folder / "airflow"
    with pytest.MonkeyPatch.context() as patch, postgres() as database:
        for name, path in {"HOME": home, "PIDS": home / "pids.json", "PASSWORD": home / "password.json"}.items():
            patch.setattr(local_airflow, name, path)
        env = local_airflow.environment(home, folder / "retable.toml", port) | {
            "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": database,
            "AIRFLOW__CORE__DAGS_FOLDER": str(folder / "dags"),
            "AIRFLOW__DAG_PROCESSOR__REFRESH_INTERVAL": "5",
            "AIRFLOW__DAG_PROCESSOR__MIN_FILE_PROCESS_INTERVAL": "5",
            # A killed process is missed soon.
            "AIRFLOW__SCHEDULER__TASK_INSTANCE_HEARTBEAT_TIMEOUT": "45",
            "AIRFLOW__SCHEDULER__TASK_INSTANCE_HEARTBEAT_TIMEOUT_DETECTION_INTERVAL": "3",
            "AIRFLOW__SCHEDULER__ORPHANED_TASKS_CHECK_INTERVAL": "10",
            "AIRFLOW__SCHEDULER__SCHEDULER_HEALTH_CHECK_THRESHOLD": "40",
            "AIRFLOW__TRIGGERER__TRIGGERER_HEALTH_CHECK_THRESHOLD": "30",
            "AIRFLOW__WORKERS__MIN_HEARTBEAT_INTERVAL": "2",
            "AIRFLOW__OPENLINEAGE__TRANSPORT": json.dumps(
                {"type": "file", "log_file_path": str(folder / "lineage.jsonl"), "append": True}
            ),
            "AIRFLOW__OPENLINEAGE__NAMESPACE": "tests",
            "AIRFLOW_CONN_CANARY": json.dumps(
                {"conn_type": "http", "host": "127.0.0.1", "schema": "http", "port": HOOK_PORT, "password": CANARY}
            ),
            "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_USERS": "admin:admin,grace:op",
            # A secret of the object storage, as a lake in a bucket has one in its environment.
            "LAKE_SECRET": CANARY,
        }
        _migrate(home, env)
        _write_passwords(home / "password.json")
        running = RunningAirflow(home, port, env)
        try:
            running.start(*local_airflow.COMPONENTS)
            local_airflow._wait_until_healthy(port, running.components)
            yield running
        finally:
            running.end_orphans()
            pids = {name: (each.pid, local_airflow._started(each.pid)) for name, each in running.components.items()}
            local_airflow.PIDS.write_text(json.dumps(pids), encoding="utf-8")
            local_airflow.down()
            for process in running.components.values():
                process.wait(PATIENCE)


def _migrate(home: Path, env: dict[str, str]) -> None:
    """Make the database, and no pool: the plugin makes what it needs."""
    home.mkdir(mode=0o700)
    subprocess.run(local_airflow._airflow("db", "migrate"), env=env, check=True, capture_output=True)


def _write_passwords(path: Path) -> None:
    path.touch(0o600)
    path.write_text(json.dumps({name: secrets.token_urlsafe(12) for name in ("admin", "grace")}), encoding="utf-8")


@pytest.fixture(scope="session")
def world(folder: Path) -> World:
    """The lake that the DAG file of a user replays."""
    return make_world(folder / "world", folder / "dags")


@pytest.fixture(scope="session")
def replayed(airflow: RunningAirflow, world: World) -> RunningAirflow:
    """Airflow, once all hours of the shop are replayed: the last one by the schedule, six before it by a backfill.

    The newest of those comes first. Beside them run the hours of a quiet night.
    """
    airflow.unpause(SHOP, NIGHT)
    first, *_ = airflow.until(lambda: airflow.runs(SHOP))
    # Where an hour ended meanwhile, the scheduler begins behind those of the shop.
    newest = 2 if datetime.fromisoformat(first["logical_date"]) == world.start(1) else 1
    airflow.backfill(SHOP, world.start(SHOP_HOURS), world.start(newest))
    airflow.wait_for_runs(SHOP, SHOP_HOURS)
    return airflow


@pytest.fixture(scope="session")
def victim(folder: Path) -> World:
    """The lake whose runs are killed."""
    return make_victim(folder / "victim", folder / "dags")
