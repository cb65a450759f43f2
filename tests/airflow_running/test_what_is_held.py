"""A held table that people are asked about: approved, left as it is, not answered in time."""

import time
from pathlib import Path
from typing import Any

import pytest

from airflow_running.running import RunningAirflow
from feeding import EACH, Feed
from published import publish
from retable.ledger.lake.catalog import open_lake
from retable.model.event import TableName
from retable.model.sequence import Sequence
from retable.schema_history.decisions import REMEDY_APPROVAL
from retable.schema_history.history import Hold
from retable.settings.load import load_settings

TABLE = "gold_shop.orders"
READING_SECONDS = 8
HOLD = Hold(
    "APPROVAL", "the source drops the table", Sequence(0, 7, 0), "t/0", "DROP TABLE {{ 7 * 7 }}", REMEDY_APPROVAL
)
LAKE = '[lake]\ncatalog = "sqlite:///lake/catalog.db"\nwarehouse = "lake"\n'
DOOR = '''\
"""A door behind which nothing happens; what it was asked for is kept beside the settings."""
from pathlib import Path

from airflow.sdk import BaseOperator


def quiet(job):
    return Quiet(task_id=job.stage, job=job)


class Quiet(BaseOperator):
    def __init__(self, *, job, **task):
        super().__init__(**task)
        self.job = job

    def execute(self, context):
        with (Path(self.job.settings).parent / "asked.txt").open("a") as file:
            file.write(" ".join(self.job.more) + "\\n")
'''
DAGS = '''\
"""The DAGs of a second lake, under names of their own; one of them waits for seconds only."""
from datetime import timedelta
from functools import partial

from airflow.sdk import DAG

from retable_airflow import decide

for prefix, patience in (("asked__", timedelta(days=3)), ("hurried__", timedelta(seconds=30))):
    decide.ANSWER_WITHIN = patience
    decide.DAG = lambda dag_id, prefix=prefix, **rest: DAG(prefix + dag_id, **rest)
    decide.decide_hold({settings!r})
decide.ANSWER_WITHIN = timedelta(days=3)
decide.DAG = lambda dag_id, **rest: DAG("paired__" + dag_id, **rest)
decide.decide_hold({paired!r})
'''


@pytest.fixture(scope="module")
def settings(folder: Path) -> Path:
    """A lake with a held table."""
    path = folder / "deciding" / "retable.toml"
    path.parent.mkdir()
    path.write_text(f'{LAKE}{EACH}spark_door = "deciding_door:quiet"\n', encoding="utf-8")
    lake = open_lake(load_settings(path))
    publish(lake, TableName("shop", None, "orders"), {"id": "int"}, [], state="held", hold=HOLD)
    Feed(lake).windows(6)
    (folder / "dags" / "deciding_door.py").write_text(DOOR, encoding="utf-8")
    paired = path.with_name("paired.toml")
    paired.write_text(path.read_text("utf-8") + "[airflow]\nsecond_person = true\n", encoding="utf-8")
    dags = DAGS.format(settings=str(path), paired=str(paired))
    (folder / "dags" / "deciding.py").write_text(dags, encoding="utf-8")
    return path


def ask(airflow: RunningAirflow, dag_id: str) -> str:
    airflow.unpause(dag_id)
    body = {"logical_date": None, "conf": {"table": TABLE}}
    return str(airflow.call("POST", f"/dags/{dag_id}/dagRuns", body)["dag_run_id"])


def question(airflow: RunningAirflow, dag_id: str, run: str) -> dict[str, Any]:
    airflow.wait_for(dag_id, run, "explain", "success")
    airflow.wait_for(dag_id, run, "ask", "awaiting_input")
    found: dict[str, Any] = airflow.call("GET", f"/dags/{dag_id}/dagRuns/{run}/taskInstances/ask/-1/hitlDetails")
    return found


def answer(airflow: RunningAirflow, dag_id: str, run: str, chosen: str, task: str = "ask", user: str = "admin") -> None:
    """Answer as a person does, who reads before."""
    time.sleep(READING_SECONDS)
    place = f"/dags/{dag_id}/dagRuns/{run}/taskInstances/{task}/-1/hitlDetails"
    airflow.call("PATCH", place, {"chosen_options": [chosen], "params_input": {}}, user)


def test_an_answer_is_carried_out_and_no_answer_leaves_the_table_held(airflow: RunningAirflow, settings: Path) -> None:
    hurried = ask(airflow, "hurried__decide_hold")
    approved, rejected, left = (ask(airflow, "asked__decide_hold") for _ in range(3))
    told = question(airflow, "asked__decide_hold", approved)
    assert told["options"] == ["Approve", "Reject", "Leave it out", "Try again", "Rebuild", "Leave it"]
    assert told["subject"] == f"{TABLE} is held: how does it continue?"
    assert "DROP TABLE {{ 7 * 7 }}" in told["body"]
    assert "The statement is applied as it is" in told["body"]
    for run, chosen in ((approved, "Approve"), (rejected, "Reject"), (left, "Leave it")):
        question(airflow, "asked__decide_hold", run)
        answer(airflow, "asked__decide_hold", run, chosen)
        airflow.wait_for_run("asked__decide_hold", run)
    airflow.wait_for_run("hurried__decide_hold", hurried)
    assert airflow.state("asked__decide_hold", left, "act") == "skipped"
    assert airflow.state("hurried__decide_hold", hurried, "act") == "skipped"
    assert airflow.result("asked__decide_hold", approved, "act") == {"state": "held", "held_again": "APPROVAL"}
    asked = (settings.parent / "asked.txt").read_text("utf-8").splitlines()
    assert asked == [
        f"hold release {TABLE} --{way} --yes --reason decided in Airflow by admin" for way in ("approve", "reject")
    ]


def test_what_is_for_good_needs_a_second_person(airflow: RunningAirflow, settings: Path) -> None:
    dag_id = "paired__decide_hold"
    run = ask(airflow, dag_id)
    question(airflow, dag_id, run)
    answer(airflow, dag_id, run, "Approve")
    airflow.wait_for(dag_id, run, "confirm", "awaiting_input")
    place = f"/dags/{dag_id}/dagRuns/{run}/taskInstances/confirm/-1/hitlDetails"
    assert "admin answered “Approve”" in airflow.call("GET", place)["subject"]
    answer(airflow, dag_id, run, "Approve", "confirm")
    airflow.wait_for(dag_id, run, "act", "failed")
    assert "admin requested this and also approved it" in airflow.log(dag_id, run, "act")
    # A scheduler that ends the run while it is cleared leaves it ended.
    airflow.wait_for_run(dag_id, run, "failed")
    airflow.clear_task(dag_id, run, "confirm")
    airflow.wait_for(dag_id, run, "confirm", "awaiting_input")
    answer(airflow, dag_id, run, "Approve", "confirm", "grace")
    airflow.wait_for_run(dag_id, run)
    asked = (settings.parent / "asked.txt").read_text("utf-8").splitlines()
    assert asked[-1].endswith("--reason decided in Airflow by admin, confirmed by grace")
