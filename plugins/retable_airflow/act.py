"""The operator for Spark jobs that are not stages of a window: commands that a person starts, and upkeep."""

from collections.abc import Callable
from typing import Any

from airflow.sdk import BaseOperator, Context
from airflow.sdk.exceptions import AirflowFailException

from retable.errors import EnvironmentFault, SettingsError
from retable_airflow.doors import SparkJob, open_door, run_door
from retable_airflow.lakes import Reference, address_of, lake_of
from retable_airflow.stage import POOL

Words = Callable[[Context], tuple[str, list[str]]]
"""A function that returns the name of a source, and the command-line arguments of the job.

The job starts through the setting `spark_door` of this source, or of the first source if the name is empty."""


class ActOperator(BaseOperator):
    """Runs a Spark job that is not a stage of a window: `job` is `upkeep`, or `command` for a command of `retable`.

    `words` returns the name of the job's source, and the job's arguments. If the name is empty, the first source of the
    settings is used. After the job, the task calls `report` with the lake, and returns its result. The job's own output
    is not used, because a cluster does not return it.
    """

    def __init__(
        self,
        *,
        job: str,
        words: Words,
        settings: Reference | None,
        report: Callable[[Any, Context], object] = lambda _, __: None,
        **task: Any,
    ) -> None:
        super().__init__(**{"pool": POOL, **task})
        self.job = job
        self.words = words
        self.settings = settings
        self.report = report
        self._running: BaseOperator | None = None

    def execute(self, context: Context) -> object:
        """Run the Spark job, then return the result of `report`."""
        from retable.session import submit_conf

        name, words = self.words(context)
        try:
            with lake_of(self.settings) as lake:
                settings = lake.settings
                source = settings.source(name) if name else next(iter(settings.sources.values()))
        except EnvironmentFault:
            raise
        except SettingsError as error:
            raise AirflowFailException(str(error)) from error
        conf = submit_conf(settings)
        address = str(address_of(self.settings))
        job = SparkJob(self.job, source.name, "", context["run_id"], address, conf, tuple(words))
        self._running = open_door(source.spark_door, job)
        run_door(self._running, context)
        with lake_of(self.settings) as lake:
            return self.report(lake, context)

    def on_kill(self) -> None:
        """End the running Spark job.

        Airflow calls this if a person sets the task's state or clears the task, or if it exceeds its timeout.
        """
        if self._running is not None:
            self._running.on_kill()


def check_conf(context: Context) -> None:
    """Raise AirflowFailException if a run has a parameter that its DAG does not have. Airflow accepts any parameter."""
    run, known = context["dag_run"], context["dag"].params
    if unknown := sorted(set(run.conf or {}) - set(known)):
        raise AirflowFailException(
            f"this run has unknown parameters: {', '.join(unknown)}; the DAG takes only {', '.join(known)}"
        )
