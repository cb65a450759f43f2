"""`make up`: what it refuses, and what it never listens on."""

import json
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import local_airflow


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(local_airflow, "HOME", tmp_path)
    monkeypatch.setattr(local_airflow, "PIDS", tmp_path / "pids.json")
    monkeypatch.setattr(local_airflow, "PASSWORD", tmp_path / "password.json")
    monkeypatch.setattr(local_airflow, "GRACE", 0.5)
    return tmp_path


@pytest.fixture
def component(home: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A process with a child, recorded as `up` records a component."""
    program = "import subprocess, sys, time; subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)']); "
    with subprocess.Popen([sys.executable, "-c", program + "time.sleep(60)"], start_new_session=True) as process:
        record = {"scheduler": (process.pid, local_airflow._started(process.pid))}
        (home / "pids.json").write_text(json.dumps(record), encoding="utf-8")
        while len(local_airflow.running()) < 2:
            assert process.poll() is None
        yield process
        process.kill()


def test_a_taken_port_is_said_with_the_way_to_another_one() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(local_airflow.AirflowError, match=f"port {port} .* is taken.*RETABLE_PORT={port + 1}"):
            local_airflow._check_port(port)


def test_another_airflows_settings_do_not_leak_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIRFLOW__DATABASE__SQL_ALCHEMY_CONN", "postgresql://production")
    env = local_airflow.environment(tmp_path, tmp_path / "retable.toml", 8090)
    assert "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN" not in env
    assert env["AIRFLOW__API__HOST"] == env["SPARK_LOCAL_IP"] == "127.0.0.1"
    assert env["AIRFLOW__CORE__EXECUTION_API_SERVER_URL"] == "http://127.0.0.1:8090/execution/"


def test_no_component_opens_a_log_server() -> None:
    assert local_airflow.COMPONENTS["scheduler"] == local_airflow.COMPONENTS["triggerer"] == ["--skip-serve-logs"]


def test_the_password_is_generated_once_for_its_owners_eyes_only(home: Path) -> None:
    local_airflow._write_password()
    first = (home / "password.json").read_text(encoding="utf-8")
    local_airflow._write_password()
    assert (home / "password.json").read_text(encoding="utf-8") == first
    assert stat.S_IMODE((home / "password.json").stat().st_mode) == 0o600
    assert len(json.loads(first)["admin"]) >= 16


def test_down_ends_a_component_and_its_children(component: subprocess.Popen[bytes]) -> None:
    local_airflow.down()
    assert local_airflow.running() == []
    assert component.wait(5) is not None


def test_a_number_that_another_process_got_since_is_left_alone(home: Path, component: subprocess.Popen[bytes]) -> None:
    (home / "pids.json").write_text(json.dumps({"scheduler": (component.pid, 1.0)}), encoding="utf-8")
    local_airflow.down()
    assert component.poll() is None


def test_down_without_up_does_nothing(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    local_airflow.down()
    assert "was not running" in capsys.readouterr().out
