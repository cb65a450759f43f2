"""Doors to Spark that start none: tests name them in the settings."""

from typing import Any

from airflow.sdk import BaseOperator, Context

from retable_airflow.doors import SparkJob

JOBS: list[SparkJob] = []
"""Every job that came through a door of this module."""


def recording(job: SparkJob) -> BaseOperator:
    """Keep the job, and give an operator that does nothing."""
    JOBS.append(job)
    return _Nothing(task_id=job.stage)


def failing(job: SparkJob) -> BaseOperator:
    """Give an operator that fails as Spark does."""
    return _Failing(task_id=job.stage)


class _Nothing(BaseOperator):
    def execute(self, context: Context) -> Any:
        return None


class _Failing(BaseOperator):
    def execute(self, context: Context) -> Any:
        raise RuntimeError("Cannot execute: spark-submit. Error code is: 1.")
