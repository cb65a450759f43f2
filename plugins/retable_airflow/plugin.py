"""Retable as Airflow finds it: by its entry points, or in the plugins folder."""

from airflow.plugins_manager import AirflowPlugin

from retable_airflow import listener


class RetablePlugin(AirflowPlugin):
    """The pool that the DAGs need, and the notes of their runs."""

    name = "retable"
    listeners = [listener]  # noqa: RUF012  # Airflow's own form
