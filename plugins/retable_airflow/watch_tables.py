"""Checks the SLAs of all tables every few minutes, and sends alerts when a table is late or complete again."""

from datetime import UTC, datetime, timedelta
from typing import Any

from airflow.sdk import DAG, BaseOperator, Context, CronTriggerTimetable

from retable_airflow.access import access_control
from retable_airflow.alerts import watch
from retable_airflow.lakes import Reference, reference_of, settings_of

EVERY_MINUTES = 5

DOC = """\
Looks at the watermark of every table that has an SLA (`sla` in the settings). Reports what is late and what is complete
again, through the notifiers that the settings name (`notify`): once for each cause, however many tables it makes late.
The incidents are in `ops.incidents`. Settings: `{settings}`.
"""


def watch_tables(settings: Reference | None = None) -> list[DAG]:
    """Return the DAG `watch_tables`; [] if the settings have no SLA."""
    reference = reference_of(settings)
    loaded = settings_of(reference)
    if not any(each.sla for each in (*loaded.sources.values(), *loaded.tables.values())):
        return []
    with DAG(
        "watch_tables",
        schedule=CronTriggerTimetable(f"*/{EVERY_MINUTES} * * * *", timezone="UTC"),
        start_date=datetime(2000, 1, 1, tzinfo=UTC),
        catchup=False,
        max_active_runs=1,
        access_control=access_control(loaded),
        dagrun_timeout=timedelta(minutes=15),
        # The next check comes soon, and an error of this check is in its log.
        default_args={"retries": 0},
        tags=["retable", "watch_tables"],
        doc_md=DOC.format(settings=reference),
    ) as dag:
        _WatchOperator(task_id="watch", settings=reference)
    return [dag]


class _WatchOperator(BaseOperator):
    def __init__(self, *, settings: Reference, **task: Any) -> None:
        super().__init__(**task)
        self.settings = settings

    def execute(self, context: Context) -> list[dict[str, object]]:
        """Check once, and return the alerts that were sent."""
        return [alert.facts() for alert in watch(self.settings)]
