"""A separate Airflow for this folder, on loopback: `local_airflow.py up` starts it, `local_airflow.py down` ends it."""

import json
import math
import os
import secrets
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import psutil
from rich.console import Console

import demo_source

ROOT = Path(__file__).resolve().parent.parent
HOME = ROOT / "var" / "airflow"
PIDS = HOME / "pids.json"
PASSWORD = HOME / "password.json"

COMPONENTS = {
    "api-server": [],
    "dag-processor": [],
    # The log servers would listen on every address; the UI reads the logs from the disk.
    "scheduler": ["--skip-serve-logs"],
    "triggerer": ["--skip-serve-logs"],
}
PATIENCE = 120
GRACE = 20

console = Console()


class AirflowError(Exception):
    """Airflow did not start. The message says why, and what to do."""


def environment(home: Path, settings: Path, port: int = 8080) -> dict[str, str]:
    """Return the environment variables for an Airflow in `home`. It uses only loopback and no other Airflow."""
    address = f"http://127.0.0.1:{port}"
    own = {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "RETABLE_SETTINGS": str(settings),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "AIRFLOW_HOME": str(home),
        "AIRFLOW__API__BASE_URL": address,
        "AIRFLOW__API__HOST": "127.0.0.1",
        "AIRFLOW__API__PORT": str(port),
        "AIRFLOW__CORE__DAGS_FOLDER": str(ROOT / "dags"),
        "AIRFLOW__CORE__EXECUTION_API_SERVER_URL": f"{address}/execution/",
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "AIRFLOW__CORE__PARALLELISM": "4",
        "AIRFLOW__CORE__PLUGINS_FOLDER": str(ROOT / "plugins"),
        "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_PASSWORDS_FILE": str(home / PASSWORD.name),
        "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_USERS": "admin:admin",
        # On a busy machine the API answers late, and a task that does not wait for it fails before it begins.
        "AIRFLOW__WORKERS__EXECUTION_API_TIMEOUT": "60",
    }
    return {name: value for name, value in os.environ.items() if not name.startswith("AIRFLOW")} | own


def prepare(home: Path, env: Mapping[str, str]) -> None:
    """Make the metadata database, and the pool with one slot for Spark jobs. Raise AirflowError if this fails."""
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    with (home / "prepare.log").open("w") as log:
        for command in (["db", "migrate"], ["pools", "set", "retable_spark", "1", "Spark jobs that may run at once"]):
            result = subprocess.run(_airflow(*command), env=env, stdout=log, stderr=log, check=False)
            if result.returncode:
                raise AirflowError(f"`airflow {' '.join(command)}` failed; {log.name} says why")


def up(port: int) -> None:
    if running():
        raise AirflowError("Airflow is running already; `make down` stops it")
    _check_port(port)
    settings = Path(os.environ.get("RETABLE_SETTINGS") or demo_source.prepare()).absolute()
    env = environment(HOME, settings, port) | {"AIRFLOW__CORE__DAGS_ARE_PAUSED_AT_CREATION": "False"}
    with console.status("the metadata database …"):
        prepare(HOME, env)
        _write_password()
    started = {name: _start(name, options, env) for name, options in COMPONENTS.items()}
    PIDS.write_text(json.dumps({name: (process.pid, _started(process.pid)) for name, process in started.items()}))
    try:
        _wait_until_healthy(port, started)
    except AirflowError:
        down()
        raise
    print(f"Airflow is up: http://127.0.0.1:{port} (user admin, password in {PASSWORD.relative_to(ROOT)})")
    print(f"It replays the sources of {settings}; `make down` stops it")


def down() -> None:
    """Ask the components of Airflow to end. Then kill all that still run, including a running Spark job."""
    ours = running()
    with console.status("stopping Airflow …"):
        for process in ours:
            if process.pid in _sessions():
                _signal(process, signal.SIGTERM)
        _, left = psutil.wait_procs(ours, timeout=GRACE)
        for process in {*left, *running()}:
            _signal(process, signal.SIGKILL)
        psutil.wait_procs(left, timeout=GRACE)
    PIDS.unlink(missing_ok=True)
    print("Airflow is down" if ours else "Airflow was not running")


def running() -> list[psutil.Process]:
    """Return every process that `up` started, and their children. Sessions identify them, also without their parent."""
    sessions, found = _sessions(), []
    for process in psutil.process_iter():
        with suppress(psutil.Error, OSError):
            session = os.getsid(process.pid)
            if process.status() != psutil.STATUS_ZOMBIE and process.create_time() >= sessions.get(session, math.inf):
                found.append(process)
    return found


def _sessions() -> dict[int, float]:
    """Return the start times of recorded components by process ID. An ID that another process has now is left out."""
    if not PIDS.exists():
        return {}
    recorded: dict[str, tuple[int, float]] = json.loads(PIDS.read_text())
    return {pid: at for pid, at in recorded.values() if not psutil.pid_exists(pid) or _started(pid) == at}


def _started(pid: int) -> float:
    return float(psutil.Process(pid).create_time())


def _signal(process: psutil.Process, number: int) -> None:
    with suppress(psutil.NoSuchProcess):
        process.send_signal(number)


def _airflow(*arguments: str) -> list[str]:
    return [str(Path(sys.executable).with_name("airflow")), *arguments]


def _check_port(port: int) -> None:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            raise AirflowError(
                f"port {port} of 127.0.0.1 is taken; choose another one: make up RETABLE_PORT={port + 1}"
            ) from error


def _write_password() -> None:
    """Choose the admin's password once. Airflow itself would write it to a file that all users can read."""
    if not PASSWORD.exists():
        PASSWORD.touch(mode=0o600)
        PASSWORD.write_text(json.dumps({"admin": secrets.token_urlsafe(12)}))


def _start(name: str, options: list[str], env: Mapping[str, str]) -> subprocess.Popen[bytes]:
    with (HOME / f"{name}.log").open("w") as log:
        return subprocess.Popen(
            _airflow(name, *options), env=env, stdout=log, stderr=log, stdin=subprocess.DEVNULL, start_new_session=True
        )


def _wait_until_healthy(port: int, started: Mapping[str, subprocess.Popen[bytes]]) -> None:
    deadline = time.monotonic() + PATIENCE
    with console.status("") as status:
        while waiting := _unhealthy(port):
            status.update(f"waiting for {', '.join(waiting)} …")
            for name, process in started.items():
                if process.poll() is not None:
                    raise AirflowError(f"the {name} ended at once; {HOME / name}.log says why")
            if time.monotonic() > deadline:
                raise AirflowError(f"not healthy after {PATIENCE} s: {', '.join(waiting)}; the logs are in {HOME}")
            time.sleep(1)


def _unhealthy(port: int) -> list[str]:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/api/v2/monitor/health", timeout=5) as answer:
            health: dict[str, dict[str, str | None]] = json.load(answer)
    except (OSError, ValueError):
        return ["api-server"]
    return [name for name, state in health.items() if state["status"] != "healthy"]


def main() -> None:
    try:
        down() if sys.argv[1:] == ["down"] else up(int(os.environ.get("RETABLE_PORT") or 8080))
    except AirflowError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
