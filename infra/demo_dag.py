"""Run DAGs of the demo in one process. An argument DAG@END names a DAG and the end of its interval. demo.py starts it.

Airflow's own output goes to stderr; stdout has one JSON line for every task that begins or ends.
"""

import json
import os
import sys
from datetime import datetime
from typing import Any

PROGRESS = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)

from airflow.dag_processing.bundles.manager import DagBundlesManager  # noqa: E402  # Airflow prints while it is imported
from airflow.dag_processing.dagbag import DagBag  # noqa: E402  # Airflow prints while it is imported
from airflow.sdk import DAG  # noqa: E402  # Airflow prints while it is imported


def tell(event: str, task: str) -> None:
    PROGRESS.write(json.dumps([event, task]) + "\n")
    PROGRESS.flush()


def watch(dag: DAG) -> None:
    def begin(context: Any) -> None:
        tell("began", context["ti"].task_id)

    def end(context: Any) -> None:
        tell("done", context["ti"].task_id)

    for task in dag.tasks:
        task.on_execute_callback = [begin]
        task.on_success_callback = [end]
        task.retries = 0


def main() -> None:
    dags: dict[str, DAG] = {}
    for bundle in DagBundlesManager().get_all_dag_bundles():  # type: ignore[no-untyped-call]  # Airflow leaves it untyped
        dags |= DagBag(bundle.path).dags
    for dag in dags.values():
        watch(dag)
    for asked in sys.argv[1:]:
        dag_id, _, end = asked.partition("@")
        run = dags[dag_id].test(logical_date=datetime.fromisoformat(end))
        if run.state != "success":
            sys.exit(f"the run of {dag_id} for {end} ended as {run.state}")


if __name__ == "__main__":
    main()
