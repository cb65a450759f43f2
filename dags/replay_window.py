"""Airflow's DAG that replays windows of $RETABLE_SETTINGS on demand, in place or next to gold."""

from retable_airflow.window import replay_window

replay_window()
