"""Doors to Spark that start none: tests name them in the settings."""

from typing import Any

from airflow.sdk import BaseOperator, Context

from retable_airflow.doors import SparkJob

JOBS: list[SparkJob] = []
"""Every job that came through a door of this module."""

ARGUMENTS: list[list[str]] = []
"""The arguments of each operator of `templated` when it was run."""


def recording(job: SparkJob) -> BaseOperator:
    """Keep the job, and give an operator that does nothing."""
    JOBS.append(job)
    return _Nothing(task_id=job.stage)


def templated(job: SparkJob) -> BaseOperator:
    """Give an operator whose arguments are templates to Airflow, as those of SparkSubmitOperator are."""
    return _Templated(task_id=job.stage, arguments=job.arguments)


def failing(job: SparkJob) -> BaseOperator:
    """Give an operator that fails as Spark does."""
    return _Failing(task_id=job.stage)


def words(job: SparkJob) -> str:
    """Give what is no operator."""
    return job.name


class _Nothing(BaseOperator):
    def execute(self, context: Context) -> Any:
        return None


class _Templated(BaseOperator):
    template_fields = ("arguments",)

    def __init__(self, *, arguments: list[str], **task: Any) -> None:
        super().__init__(**task)
        self.arguments = arguments

    def execute(self, context: Context) -> Any:
        ARGUMENTS.append(self.arguments)


class _Failing(BaseOperator):
    def execute(self, context: Context) -> Any:
        raise RuntimeError("Cannot execute: spark-submit. Error code is: 1.")
