"""Airflow's DAGs that replay: one for each source of $RETABLE_SETTINGS. A DAG file of your own may be just this."""

from retable_airflow.replay_changes import replay_changes

replay_changes()
