"""An Airflow that runs, as a test drives it: through its API, and by ending its components."""

import json
import signal
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from subprocess import Popen
from typing import Any
from urllib.parse import quote
from urllib.request import Request, urlopen

import local_airflow

PATIENCE = 240
"""Seconds after which something that should have happened has not."""


@dataclass
class RunningAirflow:
    """An Airflow that runs: its API as the admin sees it, and its components."""

    home: Path
    port: int
    env: Mapping[str, str]
    components: dict[str, Popen[bytes]] = field(default_factory=dict)
    _token: str = ""

    def start(self, *names: str) -> None:
        for name in names:
            self.components[name] = local_airflow._start(name, local_airflow.COMPONENTS[name], self.env)

    def restart(self, name: str) -> None:
        """End a component and start it anew, as a deployment does."""
        process = self.components[name]
        process.send_signal(signal.SIGTERM)
        process.wait(PATIENCE)
        self.start(name)

    def call(self, method: str, path: str, body: object = None) -> Any:
        """Ask the API; `path` begins behind /api/v2."""
        self._token = self._token or self._sign_in()
        return self._ask(method, f"/api/v2{path}", body, {"Authorization": f"Bearer {self._token}"})

    def trigger(self, dag_id: str, start: str, end: str) -> str:
        """Run a DAG for a data interval; give the run's id."""
        interval = {"logical_date": start, "data_interval_start": start, "data_interval_end": end}
        return str(self.call("POST", f"/dags/{dag_id}/dagRuns", interval)["dag_run_id"])

    def state(self, dag_id: str, run_id: str, task_id: str) -> str | None:
        run = quote(run_id, safe="")
        found = self.call("GET", f"/dags/{dag_id}/dagRuns/{run}/taskInstances/{task_id}")
        return None if found["state"] is None else str(found["state"])

    def wait_for(self, dag_id: str, run_id: str, task_id: str, wanted: str) -> None:
        """Wait until a task has a state; another final state ends the wait at once."""
        final = {"success", "failed", "upstream_failed", "skipped", wanted}
        state = self.until(lambda: found if (found := self.state(dag_id, run_id, task_id)) in final else None)
        assert state == wanted, self.log(dag_id, run_id, task_id)

    def log(self, dag_id: str, run_id: str, task_id: str) -> str:
        """What stands in the log of a task's last try, as the UI shows it."""
        run = quote(run_id, safe="")
        place = f"/dags/{dag_id}/dagRuns/{run}/taskInstances/{task_id}"
        number = self.call("GET", place)["try_number"]
        return json.dumps(self.call("GET", f"{place}/logs/{number}?full_content=true"), ensure_ascii=False)

    def until(self, happened: Callable[[], Any]) -> Any:
        """Wait until something is the case, and give it."""
        last = time.monotonic() + PATIENCE
        while not (found := happened()):
            assert time.monotonic() < last, f"it did not happen; Airflow's own words are in {self.home}"
            time.sleep(1)
        return found

    def _sign_in(self) -> str:
        password = json.loads((self.home / "password.json").read_text(encoding="utf-8"))["admin"]
        return str(self._ask("POST", "/auth/token", {"username": "admin", "password": password}, {})["access_token"])

    def _ask(self, method: str, path: str, body: object, headers: dict[str, str]) -> Any:
        data = None if body is None else json.dumps(body).encode()
        sent = {"Content-Type": "application/json", "Accept": "application/json", **headers}
        request = Request(f"http://127.0.0.1:{self.port}{path}", data, sent, method=method)
        with urlopen(request, timeout=60) as answer:
            return json.load(answer)
