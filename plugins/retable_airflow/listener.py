"""A listener that creates the Airflow pool if it is missing, and writes a note into each run that ends.

A task cannot do this, because only Airflow's own components have access to Airflow's database. Errors here are logged,
and do not stop a run.
"""

import logging
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from airflow.jobs.job import Job
from airflow.listeners import hookimpl
from sqlalchemy import select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import object_session

from retable_airflow.form import REFUSED, REPLAY_WINDOW
from retable_airflow.stage import POOL

if TYPE_CHECKING:
    from airflow.models.dagrun import DagRun

_log = logging.getLogger(__name__)
_COUNTED = {
    "landed": "messages",
    "events": "events",
    "applied": "applied",
    "held": "held",
    "quarantined": "quarantined",
    "rejected": "rejected",
}


@hookimpl
def on_starting(component: Any) -> None:
    """Create the pool for Spark jobs, with one slot, when a component of Airflow starts. An existing pool stays.

    Airflow calls this also when a task starts. Then nothing is done, because a task has no access to the database.
    """
    if not isinstance(component, Job):
        return
    try:
        _ensure_pool()
    except Exception:  # noqa: BLE001  # a scheduler must start also if this fails
        _log.exception("the pool %s is missing: `airflow pools set %s 1 Spark`, or no stage will run", POOL, POOL)


@hookimpl
def on_dag_run_success(dag_run: "DagRun", msg: str) -> None:
    """Write the results of the run into its note."""
    _annotate(dag_run)


@hookimpl
def on_dag_run_failed(dag_run: "DagRun", msg: str) -> None:
    """Write the results of the stages that ended before the failure into the note of the run.

    If it is a run of `replay_window` that was refused, write the reason of the refusal instead.
    """
    _annotate(dag_run)


def note(results: Mapping[str, Mapping[str, Any]]) -> str | None:
    """Return the note for a run of `replay_changes__…`: one line with its counts, held tables, watermark and seconds.

    `results` has the return value of each task, by task ID. Return None if no stage has ended.
    """
    stages = {name: result for name, result in results.items() if "counts" in result}
    if not stages:
        return None
    counts: dict[str, int] = {}
    for result in stages.values():
        counts |= result["counts"]
    window = next(iter(stages.values()))["window"]
    parts = [f"{counts[name]:,} {word}" for name, word in _COUNTED.items() if counts.get(name)]
    held = sorted({table for result in stages.values() for table in result["held"]})
    seconds = sum(result.get("seconds", 0) for result in stages.values())
    words = [f"{window}: {', '.join(parts) or 'no messages'}"]
    if held:
        words.append(f"held: {', '.join(held)}")
    if "fresh" in results:
        watermark, grade = results["fresh"]["watermark"], results["fresh"]["grade"]
        words.append(f"complete through {watermark} ({grade})" if watermark else "no watermark yet")
    return "; ".join([*words, f"{seconds:.0f} s"])


def _annotate(dag_run: "DagRun") -> None:
    try:
        if dag_run.dag_id.startswith("replay_changes__"):
            words = note({name: value for name, value in _results(dag_run).items() if isinstance(value, Mapping)})
        elif dag_run.dag_id == REPLAY_WINDOW:
            words = _results(dag_run, REFUSED).get("check")
        else:
            return
        if words:
            dag_run.note = words
    except Exception:  # noqa: BLE001  # a run must not fail because of its note
        _log.exception("the note of the run %s of %s could not be written", dag_run.run_id, dag_run.dag_id)


def _results(dag_run: "DagRun", key: str = "return_value") -> dict[str, Any]:
    """Return the XCom value of each task of a run that has one under this key."""
    from airflow.models.xcom import XComModel

    session = object_session(dag_run)
    if session is None:
        return {}
    mine = (XComModel.dag_id == dag_run.dag_id, XComModel.run_id == dag_run.run_id, XComModel.key == key)
    return {row.task_id: XComModel.deserialize_value(row) for row in session.scalars(select(XComModel).where(*mine))}


def _ensure_pool() -> None:
    from airflow.models.pool import Pool
    from airflow.utils.session import create_session

    # Components may start at the same time; only the first component creates the pool.
    with suppress(IntegrityError), create_session() as session:
        if session.scalar(select(Pool).where(Pool.pool == POOL)) is None:
            session.add(Pool(pool=POOL, slots=1, description="Spark jobs that may run at once", include_deferred=False))
