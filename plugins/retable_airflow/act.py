"""Spark jobs of people and upkeep besides a window's stages: one job, through the same callables and the same pool."""

from collections.abc import Callable
from typing import Any

from airflow.sdk import BaseOperator, Context
from airflow.sdk.exceptions import AirflowFailException

from retable.errors import EnvironmentFault, SettingsError
from retable_airflow.doors import SparkJob, open_door, run_door
from retable_airflow.lakes import Reference, address_of, lake_of
from retable_airflow.stage import POOL

Words = Callable[[Context], tuple[str, list[str]]]
"""The source whose `spark_door` is used (empty: the first source's), and the arguments of the job."""


class ActOperator(BaseOperator):
    """Runs the job `upkeep`, or `command` for a command of `retable`, and returns what `report` reads from the lake.

    An Airflow task decides from the lake, never from the job's output, because a cluster loses that.
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
        """Run the job, then read its result."""
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
        """End what runs: marking the task, clearing it and a timeout all call this."""
        if self._running is not None:
            self._running.on_kill()


def check_conf(context: Context) -> None:
    """Fail at once if a run was given a key that its form does not have: Airflow accepts any key without an error."""
    run, known = context["dag_run"], context["dag"].params
    if unknown := sorted(set(run.conf or {}) - set(known)):
        raise AirflowFailException(f"this run was given {', '.join(unknown)}; it takes only {', '.join(known)}")
