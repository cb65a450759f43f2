"""Airflow's DAG that watches the SLAs of $RETABLE_SETTINGS, and sends what is late."""

from retable_airflow.watch_tables import watch_tables

watch_tables()
