"""Writes to Airflow's database: the pool is created if it is missing, and a run that ends gets its note.

Tasks can write neither: only Airflow's own components have access to its database. Any error here is logged, and stops
no run.
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
    """Make the pool of Spark's slots when a component starts, with one slot; an existing pool stays unchanged.

    A task also starts as a component, of another kind, and has no database.
    """
    if not isinstance(component, Job):
        return
    try:
        _ensure_pool()
    except Exception:  # noqa: BLE001  # a scheduler must start, whatever its database says of pools
        _log.exception("the pool %s is missing: `airflow pools set %s 1 Spark`, or no stage will run", POOL, POOL)


@hookimpl
def on_dag_run_success(dag_run: "DagRun", msg: str) -> None:
    """Write into the run's note what it did."""
    _annotate(dag_run)


@hookimpl
def on_dag_run_failed(dag_run: "DagRun", msg: str) -> None:
    """Write into the run's note how far it came."""
    _annotate(dag_run)


def note(results: Mapping[str, Mapping[str, Any]]) -> str | None:
    """Put the results of a run's tasks into a line: messages, their outcome, the watermark, the seconds."""
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
    if not dag_run.dag_id.startswith("replay_changes__"):
        return
    try:
        words = note(_results(dag_run))
        if words:
            dag_run.note = words
    except Exception:  # noqa: BLE001  # a note is no reason to lose a run
        _log.exception("the run %s of %s has no note", dag_run.run_id, dag_run.dag_id)


def _results(dag_run: "DagRun") -> dict[str, Mapping[str, Any]]:
    from airflow.models.xcom import XComModel

    session = object_session(dag_run)
    if session is None:
        return {}
    mine = (XComModel.dag_id == dag_run.dag_id, XComModel.run_id == dag_run.run_id, XComModel.key == "return_value")
    found = {row.task_id: XComModel.deserialize_value(row) for row in session.scalars(select(XComModel).where(*mine))}
    return {name: value for name, value in found.items() if isinstance(value, Mapping)}


def _ensure_pool() -> None:
    from airflow.models.pool import Pool
    from airflow.utils.session import create_session

    # Components start at the same time, and only the first one creates the pool.
    with suppress(IntegrityError), create_session() as session:
        if session.scalar(select(Pool).where(Pool.pool == POOL)) is None:
            session.add(Pool(pool=POOL, slots=1, description="Spark jobs that may run at once", include_deferred=False))
