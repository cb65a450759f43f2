"""The Airflow plugin of Retable. Airflow finds it by its entry point or in the plugins folder."""

from airflow.plugins_manager import AirflowPlugin

from retable_airflow import listener


class RetablePlugin(AirflowPlugin):
    """Registers the listener that creates the pool of the DAGs and writes the notes of their runs."""

    name = "retable"
    listeners = [listener]  # noqa: RUF012  # Airflow's own form
