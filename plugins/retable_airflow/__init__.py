"""The DAGs of Retable in Airflow.

Your own DAG file needs two lines: `from retable_airflow import dags`, and `dags("s3://bucket/retable.toml")`.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from airflow.sdk import DAG

    from retable_airflow.lakes import Reference


def dags(settings: "Reference | None" = None) -> "list[DAG]":
    """Return the DAGs of these settings: one DAG for each source, and DAGs for decisions, upkeep and the SLA watch.

    `settings` is a path, `s3://bucket/key`, or `var:NAME` for an Airflow variable that holds the TOML. If it is None,
    $RETABLE_SETTINGS is used. Airflow finds the DAGs by itself if a DAG file calls this function.
    """
    # Airflow imports this package while Airflow itself is still loading, so these imports are not at the top.
    from retable_airflow.decide import decide_hold
    from retable_airflow.replay_changes import replay_changes
    from retable_airflow.upkeep import keep_tables
    from retable_airflow.watch_tables import watch_tables
    from retable_airflow.window import replay_window

    made = (replay_changes, replay_window, decide_hold, keep_tables, watch_tables)
    return [dag for make in made for dag in make(settings)]
