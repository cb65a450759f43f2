"""Airflow's DAGs that ask a person about each held table of $RETABLE_SETTINGS."""

from retable_airflow.decide import decide_hold

decide_hold()
