"""The Airflow task of a stage: it starts the Spark job, and reads its result from the ledger."""

import time
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Literal

from airflow.sdk import BaseOperator, Context
from airflow.sdk.exceptions import AirflowFailException, AirflowSkipException

from retable.errors import EnvironmentFault, InvalidSetting, SettingsError
from retable.model.window import window_name, window_start
from retable_airflow.doors import SparkJob, open_door, run_door, runs_here
from retable_airflow.lakes import Reference, address_of, lake_of, settings_of

if TYPE_CHECKING:
    from airflow.providers.openlineage.extractors import OperatorLineage

    from retable.ledger.lake.catalog import Lake
    from retable.ledger.rows import Stage
    from retable.settings.sources import Source, SourceSettings

POOL = "retable_spark"
"""The Airflow pool for Spark jobs. Its slots limit how many Spark jobs run at once."""

Job = Literal["land", "decode", "replay", "window"]
STAGES: dict[Job, tuple["Stage", ...]] = {
    "land": ("land",),
    "decode": ("decode",),
    "replay": ("replay",),
    "window": ("land", "decode", "replay"),
}
"""The stages that each job runs, in one Spark application."""

_SHORT = timedelta(seconds=10)
"""For a wait up to this time a task is not deferred, because Airflow may miss a trigger that fires right after the
deferral."""


def stage(job: Job, source: str, settings: Reference | None = None, **task: Any) -> BaseOperator:
    """Return the task that runs a Spark job of a source for the window of its DAG run.

    `job` is a stage, or `window` for all three stages. `task` are further arguments of the operator.
    """
    return _StageOperator(**{"task_id": job, "pool": POOL, **task}, job=job, source=source, settings=settings)


def schedule(source: "SourceSettings") -> str:
    """Return the cron expression whose intervals are the source's windows (the setting `every`).

    InvalidSetting if there is no such expression.
    """
    minutes = source.every // timedelta(minutes=1)
    hours, rest = divmod(minutes, 60)
    if not 60 % minutes:
        return f"*/{minutes} * * * *" if minutes < 60 else "0 * * * *"
    if not rest and not 24 % hours:
        return f"0 */{hours} * * *" if hours < 24 else "0 0 * * *"
    raise InvalidSetting(
        f"sources.{source.name}.every: no cron expression starts a run every {minutes} minutes; "
        "use a divisor of an hour or a number of hours that divides a day"
    )


def window_of(context: Context) -> str:
    """Return the name of the window of a run: the parameter `window`, or else the start of the run's data interval.

    AirflowFailException if the run has neither, or has an unknown parameter.
    """
    run = context["dag_run"]
    known = context["dag"].params
    if unknown := sorted(set(run.conf or {}) - set(known)):
        raise AirflowFailException(
            f"this run has unknown parameters: {', '.join(unknown)}; the DAG takes only {', '.join(known)}"
        )
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


class _StageOperator(BaseOperator):
    def __init__(self, *, job: Job, source: str, settings: Reference | None, **task: Any) -> None:
        super().__init__(**task)
        self.job = job
        self.source = source
        self.settings = settings
        self._running: BaseOperator | None = None

    def execute(self, context: Context) -> dict[str, object]:
        """Run the job, then return its result from the ledger, because a cluster does not return an exit code.

        For a window without messages Spark is not started.
        """
        from retable.session import submit_conf

        window = window_of(context)
        self._skip_paused(window)
        self._await_delay(window)
        try:
            with lake_of(self.settings) as lake:
                source = lake.settings.source(self.source)
                if self._closes_quiet(lake, source, window, context["run_id"]):
                    return self._report(lake, window)
                conf = submit_conf(lake.settings)
                job = SparkJob(self.job, self.source, window, context["run_id"], str(address_of(self.settings)), conf)
                self._running = open_door(source.spark_door, job)
        except EnvironmentFault:
            raise
        except SettingsError as error:
            raise AirflowFailException(str(error)) from error
        run_door(self._running, context)
        with lake_of(self.settings) as lake:
            return self._report(lake, window)

    def after_delay(self, context: Context, event: object) -> dict[str, object]:
        """Continue when the delay of the window is over."""
        return self.execute(context)

    def on_kill(self) -> None:
        """End the running Spark job. Airflow calls this if the task is marked, is cleared, or exceeds its timeout."""
        if self._running is not None:
            self._running.on_kill()

    def get_openlineage_facets_on_start(self) -> "OperatorLineage[Any, Any]":
        """Return the datasets that the stages read and write."""
        from retable_airflow.lineage import lineage_of

        return lineage_of(self.settings, self.source, STAGES[self.job])

    def get_openlineage_facets_on_complete(self, task_instance: Any) -> "OperatorLineage[Any, Any]":
        """Return the datasets that the stages read and write, with the gold tables that the window changed."""
        from retable_airflow.lineage import lineage_of

        return lineage_of(self.settings, self.source, STAGES[self.job], window_of(task_instance.get_template_context()))

    def _skip_paused(self, window: str) -> None:
        """Skip the run if the settings pause the source and the window is not recorded yet."""
        from retable.ledger.windows.recording import find_recorded

        source = settings_of(self.settings).source(self.source)
        if source.paused is None or "land" not in STAGES[self.job]:
            return
        with lake_of(self.settings) as lake:
            recorded = find_recorded(lake, source.name, window) is not None
        if not recorded:
            raise AirflowSkipException(
                f"{source.name} is paused, and {window} is not recorded: {source.paused}. Remove `paused` from the "
                f"settings when the source may continue, then clear this run"
            )

    def _await_delay(self, window: str) -> None:
        """Wait, without a worker slot, until the setting `delay` has passed since the end of the window."""
        from airflow.providers.standard.triggers.temporal import DateTimeTrigger

        source = settings_of(self.settings).source(self.source)
        if "land" not in STAGES[self.job] or source.kind != "kafka":
            return
        ready = window_start(window) + source.every + source.delay
        if (left := ready - datetime.now(UTC)) > _SHORT:
            self.log.info("waiting until %s: %s (`delay`) after the end of the window", ready.isoformat(), source.delay)
            self.defer(trigger=DateTimeTrigger(ready), method_name="after_delay")
        time.sleep(max(left, timedelta()).total_seconds())

    def _closes_quiet(self, lake: "Lake", source: "Source", window: str, run_id: str) -> bool:
        """If the window is recorded and has no messages, write its ledger rows and return True. Otherwise return False.

        It records due windows first, but only if Spark's driver runs on this worker: otherwise the worker may have no
        access to the source.
        """
        from retable.land.due import record_due
        from retable.ledger.windows.empty import close_empty
        from retable.ledger.windows.recording import find_recorded

        now = datetime.now(UTC)
        if runs_here() and "land" in STAGES[self.job]:
            record_due(lake, source, window, now)
        found = find_recorded(lake, source.name, window)
        if found is None or not found.is_empty:
            return False
        self.log.info("no messages arrived in the window %s, so Spark is not started", window)
        close_empty(lake, [found], run_id, now)
        return True

    def _report(self, lake: "Lake", window: str) -> dict[str, object]:
        from retable.ledger.read import read_ledger, read_tables

        rows = {row.stage: row for row in read_ledger(lake, self.source, window) if row.table is None}
        mine = _found(rows, STAGES[self.job], window)
        held = [table.gold for table in read_tables(lake, self.source) if table.state == "held"]
        if held:
            self.log.warning("done, but these tables are held: %s; `retable hold list` says why", ", ".join(held))
        counts = {name: count for row in mine for name, count in row.counts.items()}
        return {"window": window, "counts": counts, "held": held, "seconds": round(sum(row.seconds for row in mine), 1)}


def _found(rows: "dict[Stage, Any]", stages: "Sequence[Stage]", window: str) -> list[Any]:
    missing = [stage for stage in stages if stage not in rows]
    if missing:
        raise AirflowFailException(
            f"Spark ended, but the ledger has no result of the stage {', '.join(missing)} for the window {window}: see "
            f"Spark's own log"
        )
    return [rows[stage] for stage in stages]
