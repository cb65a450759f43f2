"""An Airflow that runs, as a test drives it: through its API, and by ending its components."""

import json
import os
import signal
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from subprocess import Popen
from typing import Any
from urllib.parse import quote
from urllib.request import Request, urlopen

import psutil

import local_airflow
from airflow_running.database import free_port

PATIENCE = 300
"""Seconds after which something that should have happened has not."""

CANARY = "c4nary-5ecret-of-the-tests"
"""A secret in a connection and in the environment: nothing that Airflow keeps or shows may have it."""

HOOK_PORT = free_port()
"""Where the tests listen for what Airflow posts."""

_FINAL = {"success", "failed", "upstream_failed", "skipped", "removed"}


@dataclass
class RunningAirflow:
    """An Airflow that runs: its API as the admin sees it, and its components."""

    home: Path
    port: int
    env: Mapping[str, str]
    components: dict[str, Popen[bytes]] = field(default_factory=dict)
    killed: list[int] = field(default_factory=list)
    """The sessions of components that were killed: what they had started may live on."""
    _tokens: dict[str, str] = field(default_factory=dict)

    def start(self, *names: str) -> None:
        for name in names:
            self.components[name] = local_airflow._start(name, local_airflow.COMPONENTS[name], self.env)

    def kill(self, name: str) -> None:
        """End a component and all that it started as a machine does that dies: at once, without a word.

        Workers of a scheduler that were left would keep its connections to the database, and their locks.
        """
        process = self.components[name]
        process.send_signal(signal.SIGKILL)
        process.wait(PATIENCE)
        self.killed.append(process.pid)
        self.end_orphans()

    def end_orphans(self) -> None:
        """End what killed components left behind, as the machine does that died with them."""
        for process in psutil.process_iter():
            with suppress(psutil.Error, ProcessLookupError):
                if os.getsid(process.pid) in self.killed:
                    process.kill()

    def call(self, method: str, path: str, body: object = None, user: str = "admin") -> Any:
        """Ask the API; `path` begins behind /api/v2."""
        if user not in self._tokens:
            self._tokens[user] = self._sign_in(user)
        return self._ask(method, f"/api/v2{path}", body, {"Authorization": f"Bearer {self._tokens[user]}"})

    def trigger(self, dag_id: str, start: str, end: str) -> str:
        """Run a DAG for a data interval; give the run's id."""
        interval = {"logical_date": start, "data_interval_start": start, "data_interval_end": end}
        return str(self.call("POST", f"/dags/{dag_id}/dagRuns", interval)["dag_run_id"])

    def wait_until_known(self, *dag_ids: str) -> None:
        self.until(lambda: set(dag_ids) <= {dag["dag_id"] for dag in self.call("GET", "/dags?limit=100")["dags"]})

    def unpause(self, *dag_ids: str) -> None:
        self.wait_until_known(*dag_ids)
        for dag_id in dag_ids:
            self.call("PATCH", f"/dags/{dag_id}", {"is_paused": False})

    def backfill(self, dag_id: str, start: datetime, end: datetime, at_once: int = 2) -> None:
        """Ask for the runs whose data intervals begin from `start` to `end`, both included, the last one first."""
        asked = {"from_date": start.isoformat(), "to_date": end.isoformat(), "max_active_runs": at_once}
        self.call("POST", "/backfills", {"dag_id": dag_id, "run_backwards": True, "dag_run_conf": {}, **asked})

    def runs(self, dag_id: str) -> list[dict[str, Any]]:
        """Every run of a DAG, in the order in which they began."""
        found = self.call("GET", f"/dags/{dag_id}/dagRuns?limit=100")["dag_runs"]
        return sorted(found, key=lambda run: run["start_date"] or "9")

    def run(self, dag_id: str, run_id: str) -> dict[str, Any]:
        found: dict[str, Any] = self.call("GET", f"/dags/{dag_id}/dagRuns/{quote(run_id, safe='')}")
        return found

    def events(self, dag_id: str) -> list[dict[str, Any]]:
        """What a DAG's runs told of assets, oldest first."""
        found: list[dict[str, Any]] = []
        while True:
            asked = f"source_dag_id={dag_id}&order_by=timestamp&limit=100&offset={len(found)}"
            page = self.call("GET", f"/assets/events?{asked}")
            found += page["asset_events"]
            if not page["asset_events"] or len(found) >= page["total_entries"]:
                return found

    def wait_for_runs(self, dag_id: str, count: int) -> list[dict[str, Any]]:
        """Wait until a DAG has so many runs, and all of them have ended well."""

        def ended() -> list[dict[str, Any]]:
            runs = self.runs(dag_id)
            assert not [run["dag_run_id"] for run in runs if run["state"] == "failed"]
            return runs if len(runs) >= count and all(run["state"] == "success" for run in runs) else []

        found: list[dict[str, Any]] = self.until(ended, count * PATIENCE)
        return found

    def wait_for_run(self, dag_id: str, run_id: str, wanted: str = "success") -> dict[str, Any]:
        """Wait until a run has ended; one that ended otherwise is told with the logs of its failed tasks."""
        self.until(lambda: self.run(dag_id, run_id)["state"] in ("success", "failed"))
        run = self.run(dag_id, run_id)
        place = f"/dags/{dag_id}/dagRuns/{quote(run_id, safe='')}/taskInstances"
        failed = [] if run["state"] == wanted else self.call("GET", place)["task_instances"]
        said = [self.log(dag_id, run_id, each["task_id"]) for each in failed if each["state"] == "failed"]
        assert run["state"] == wanted, said
        return run

    def clear(self, dag_id: str, run_id: str) -> None:
        """Let a run go again, as the UI's Clear does."""
        self.call("POST", f"/dags/{dag_id}/dagRuns/{quote(run_id, safe='')}/clear", {"dry_run": False})

    def clear_task(self, dag_id: str, run_id: str, task_id: str) -> None:
        """Let a task go again, and what comes behind it."""
        asked = {"dry_run": False, "task_ids": [task_id], "include_downstream": True, "only_failed": False}
        self.call("POST", f"/dags/{dag_id}/clearTaskInstances", {**asked, "dag_run_id": run_id, "reset_dag_runs": True})

    def mark(self, dag_id: str, run_id: str, task_id: str, state: str) -> None:
        place = f"/dags/{dag_id}/dagRuns/{quote(run_id, safe='')}/taskInstances/{task_id}"
        self.call("PATCH", place, {"new_state": state})

    def result(self, dag_id: str, run_id: str, task_id: str) -> Any:
        place = f"/dags/{dag_id}/dagRuns/{quote(run_id, safe='')}/taskInstances/{task_id}"
        return self.call("GET", f"{place}/xcomEntries/return_value?deserialize=true")["value"]

    def state(self, dag_id: str, run_id: str, task_id: str) -> str | None:
        run = quote(run_id, safe="")
        found = self.call("GET", f"/dags/{dag_id}/dagRuns/{run}/taskInstances/{task_id}")
        return None if found["state"] is None else str(found["state"])

    def wait_for(self, dag_id: str, run_id: str, task_id: str, wanted: str) -> None:
        """Wait until a task has a state; another final state ends the wait at once."""
        final = {*_FINAL, wanted}
        state = self.until(lambda: found if (found := self.state(dag_id, run_id, task_id)) in final else None)
        assert state == wanted, self.log(dag_id, run_id, task_id)

    def log(self, dag_id: str, run_id: str, task_id: str) -> str:
        """What stands in the log of a task's last try, as the UI shows it."""
        run = quote(run_id, safe="")
        place = f"/dags/{dag_id}/dagRuns/{run}/taskInstances/{task_id}"
        number = self.call("GET", place)["try_number"]
        return json.dumps(self.call("GET", f"{place}/logs/{number}?full_content=true"), ensure_ascii=False)

    def until(self, happened: Callable[[], Any], patience: float = PATIENCE) -> Any:
        """Wait until something is the case, and give it."""
        last = time.monotonic() + patience
        while not (found := happened()):
            assert time.monotonic() < last, f"it did not happen; Airflow's own words are in {self.home}"
            time.sleep(1)
        return found

    def _sign_in(self, user: str) -> str:
        password = json.loads((self.home / "password.json").read_text(encoding="utf-8"))[user]
        return str(self._ask("POST", "/auth/token", {"username": user, "password": password}, {})["access_token"])

    def _ask(self, method: str, path: str, body: object, headers: dict[str, str]) -> Any:
        data = None if body is None else json.dumps(body).encode()
        sent = {"Content-Type": "application/json", "Accept": "application/json", **headers}
        request = Request(f"http://127.0.0.1:{self.port}{path}", data, sent, method=method)
        with urlopen(request, timeout=60) as answer:
            return json.load(answer)


def processes_of(words: str) -> list[psutil.Process]:
    """The processes, other than this one, whose command line has these words."""
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            alive = process.status() != psutil.STATUS_ZOMBIE
            if alive and process.pid != os.getpid() and any(words in part for part in process.cmdline()):
                found.append(process)
    return found
