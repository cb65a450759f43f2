"""A stage of a source as an Airflow task: the one door through which Airflow runs Spark."""

import os
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any

from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator
from airflow.sdk import Connection, Context
from airflow.sdk.exceptions import AirflowFailException, AirflowNotFoundException

from retable.config import load_settings
from retable.errors import InvalidSetting, SettingsError
from retable.ledger.catalog import open_lake
from retable.ledger.read import read_ledger, read_tables
from retable.ledger.rows import Stage
from retable.model.window import window_name, window_start
from retable.session import submit_conf
from retable.source_settings import SourceSettings

CONNECTION = "retable_spark"
"""The Airflow connection that names the Spark master; without it Spark runs on the worker itself."""

POOL = "retable_spark"
"""The Airflow pool whose slots are the Spark jobs that may run at once."""

_JOBS = Path(__file__).resolve().parents[2] / "jobs"
_LOCAL = '{"conn_type": "spark", "host": "local[*]"}'


def stage(name: Stage, source: str, settings: Path) -> SparkSubmitOperator:
    """Make the task that runs one stage of a source for the window of its DAG run."""
    return _StageOperator(task_id=name, stage=name, source=source, settings=settings, pool=POOL, conn_id=CONNECTION)


def schedule(source: SourceSettings) -> str:
    """Give the cron expression whose intervals are the source's windows."""
    minutes = source.every // timedelta(minutes=1)
    hours, rest = divmod(minutes, 60)
    if not 60 % minutes:
        return f"*/{minutes} * * * *" if minutes < 60 else "0 * * * *"
    if not rest and not 24 % hours:
        return f"0 */{hours} * * *" if hours < 24 else "0 0 * * *"
    raise InvalidSetting(
        f"sources.{source.name}.every: no cron expression starts a run every {minutes} minutes; "
        "take a part of an hour or a number of hours that divides a day"
    )


def window_of(context: Context) -> str:
    """Give the window of a run: the one it was asked for, else its data interval; a run with neither fails at once."""
    run = context["dag_run"]
    known = context["dag"].params
    if unknown := sorted(set(run.conf or {}) - set(known)):
        raise AirflowFailException(f"this run was given {', '.join(unknown)}; it takes {', '.join(known)} only")
    if window := context["params"].get("window"):
        try:
            return window_name(window_start(window))
        except SettingsError as error:
            raise AirflowFailException(str(error)) from error
    if start := context.get("data_interval_start"):
        return window_name(start)
    raise AirflowFailException(
        "this run has neither a window nor a data interval: trigger it again with a window, as 20260301T0500Z, "
        "or with a logical date"
    )


class _StageOperator(SparkSubmitOperator):
    def __init__(self, *, stage: Stage, source: str, settings: Path, **task: Any) -> None:
        super().__init__(application=str(_JOBS / f"{stage}.py"), name=f"retable_{stage}_{source}", **task)
        self.stage = stage
        self.source = source
        self.settings = settings

    def execute(self, context: Context) -> dict[str, object]:  # type: ignore[override]  # Airflow's own base gives Any
        """Run the stage, then say what the ledger has of it: a cluster's exit code gets lost."""
        window = window_of(context)
        run = context["run_id"]
        args = {"--settings": self.settings, "--source": self.source, "--window": window, "--run-id": run}
        self.application_args = [str(part) for pair in args.items() for part in pair]
        self.conf = submit_conf()
        self.env_vars = _local_environment() if _runs_here() else None
        super().execute(context)
        return self._report(window)

    def _report(self, window: str) -> dict[str, object]:
        lake = open_lake(load_settings(self.settings))
        rows = [row for row in read_ledger(lake, self.source, window) if row.stage == self.stage and row.table is None]
        if not rows:
            raise AirflowFailException(
                f"Spark ended, but the ledger has no {self.stage} of {window}: see Spark's own log"
            )
        held = [table.gold for table in read_tables(lake, self.source) if table.state == "held"]
        if held:
            self.log.warning("done, but held: %s; `retable hold list` says why", ", ".join(held))
        return {"window": window, "counts": rows[-1].counts, "held": held}


def _runs_here() -> bool:
    """Say whether Spark's driver and executors are this worker; true without a connection, which then says so."""
    try:
        master = Connection.get(CONNECTION).host
    except AirflowNotFoundException:
        os.environ[f"AIRFLOW_CONN_{CONNECTION.upper()}"] = _LOCAL
        return True
    return (master or "").startswith("local")


def _local_environment() -> dict[str, str]:
    """Spark's programs and Python are those beside this one; nothing listens beyond loopback."""
    programs = Path(sys.executable).parent
    return {
        "PATH": f"{programs}{os.pathsep}{os.environ.get('PATH', '')}",
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_LOCAL_IP": "127.0.0.1",
    }
