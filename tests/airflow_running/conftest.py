"""A real Airflow for the tests of this folder: scheduler, DAG processor, triggerer and API, on loopback, in a folder
of its own. It is started once, with what `make up` starts it with."""

import json
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

import local_airflow
from airflow_running.running import PATIENCE, RunningAirflow


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where this Airflow's settings and DAGs are."""
    found = tmp_path_factory.mktemp("airflow_running")
    (found / "dags").mkdir()
    return found


@pytest.fixture(scope="session")
def airflow(folder: Path) -> Iterator[RunningAirflow]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    home = folder / "airflow"
    with pytest.MonkeyPatch.context() as patch:
        for name, path in {"HOME": home, "PIDS": home / "pids.json", "PASSWORD": home / "password.json"}.items():
            patch.setattr(local_airflow, name, path)
        env = local_airflow.environment(home, folder / "retable.toml", port) | {
            "AIRFLOW__CORE__DAGS_FOLDER": str(folder / "dags"),
            "AIRFLOW__CORE__DAGS_ARE_PAUSED_AT_CREATION": "False",
            "AIRFLOW__DAG_PROCESSOR__REFRESH_INTERVAL": "5",
            # Only what a test asks for runs.
            "AIRFLOW__SCHEDULER__USE_JOB_SCHEDULE": "False",
        }
        local_airflow.prepare(home, env)
        local_airflow._write_password()
        running = RunningAirflow(home, port, env)
        try:
            running.start(*local_airflow.COMPONENTS)
            local_airflow._wait_until_healthy(port, running.components)
            yield running
        finally:
            pids = {name: (each.pid, local_airflow._started(each.pid)) for name, each in running.components.items()}
            local_airflow.PIDS.write_text(json.dumps(pids), encoding="utf-8")
            local_airflow.down()
            for process in running.components.values():
                process.wait(PATIENCE)
