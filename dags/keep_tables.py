"""Airflow's DAG that keeps the tables of $RETABLE_SETTINGS small and quick to read, daily."""

from retable_airflow.upkeep import keep_tables

keep_tables()
