"""Airflow's DAGs that replay: one for each source of $RETABLE_SETTINGS. Your own DAG file may look like this."""

from retable_airflow.replay_changes import replay_changes

replay_changes()
