"""Late data in a real Airflow: told once, whoever looks and however often, and once that it is over."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import pytest

from airflow_running.running import CANARY, HOOK_PORT, RunningAirflow
from airflow_running.world import HOUR, World
from feeding import read_incidents

SLOW, WATCH = "replay_changes__slow", "watch_tables"


@pytest.fixture(scope="module")
def posted() -> Iterator[list[tuple[str, dict[str, Any]]]]:
    """What was posted to the address of the connection: its token, and the alert."""
    seen: list[tuple[str, dict[str, Any]]] = []

    class Hook(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            seen.append((self.headers["Authorization"], body))
            self.send_response(204)
            self.end_headers()

        def log_message(self, format: str, *arguments: object) -> None:
            return

    with ThreadingHTTPServer(("127.0.0.1", HOOK_PORT), Hook) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield seen
        server.shutdown()


def test_a_run_that_is_late_is_told_once_by_its_deadline_or_the_watch_and_once_that_it_is_over(
    airflow: RunningAirflow, world: World, posted: list[tuple[str, dict[str, Any]]]
) -> None:
    airflow.unpause(SLOW)
    # Nothing watches yet: it is the run's own deadline that tells.
    airflow.until(lambda: world.alerts("slow"))
    airflow.unpause(WATCH)
    for _ in range(2):
        run = airflow.call("POST", f"/dags/{WATCH}/dagRuns", {"logical_date": None})["dag_run_id"]
        airflow.wait_for_run(WATCH, run)
    (late,) = world.alerts("slow")
    assert late["event"] == "late"
    assert (late["owner"], late["severity"], late["names"]) == ("orders-team", "error", ["slow"])
    assert "is late" in str(late["why"])
    assert str(late["link"]).endswith(f"/dags/{SLOW}")

    (world.folder / "lake" / "slow.go").touch()
    # An hour that ended meanwhile is due too.
    airflow.wait_for_runs(SLOW, (datetime.now(UTC) - world.start(1)) // HOUR)
    for _ in range(2):
        run = airflow.call("POST", f"/dags/{WATCH}/dagRuns", {"logical_date": None})["dag_run_id"]
        airflow.wait_for_run(WATCH, run)
    assert [alert["event"] for alert in world.alerts("slow")] == ["late", "recovered"]
    assert [incident.state for incident in read_incidents(world.lake)] == ["closed"]
    assert [body["event"] for _, body in posted] == ["late", "recovered"]
    assert {token for token, _ in posted} == {f"Bearer {CANARY}"}
