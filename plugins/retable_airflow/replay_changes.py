"""Replays the windows of every source into gold: land >> decode >> replay >> fresh, one DAG per source."""

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from airflow.sdk import DAG, CronDataIntervalTimetable, Param
from airflow.sdk.bases.operator import BaseOperator, chain
from airflow.sdk.definitions.callback import AsyncCallback
from airflow.sdk.definitions.deadline import DeadlineAlert, DeadlineReference

from retable_airflow.access import access_control
from retable_airflow.alerts import LateRun
from retable_airflow.freshness import fresh
from retable_airflow.lakes import Reference, reference_of, settings_of
from retable_airflow.stage import Job, schedule, stage

if TYPE_CHECKING:
    from retable.settings.sources import SourceSettings

DOC = """\
Replays the source **{source}** into gold, one window per run: *land* stores its messages, *decode* turns them into
change events, *replay* brings gold up to date (or *window* does all three in one Spark application), *fresh* records
the watermark. A run replays the window of its data interval.

**By hand:** trigger it with a `window`, such as `20260301T0500Z`, to run that window again. A recorded window never
changes, so this is harmless at any time. Without a `window`, it uses the interval before the logical date.

**Green does not mean that no table is held:** the run's note and the task's log name the held tables, and
`retable hold list` says why. Settings: `{settings}`.
"""

PAUSED = """
**The settings pause this source:** {reason}. Its runs record no new window and are skipped; a recorded window may
still be run. When `paused` is removed from the settings, clear the skipped runs.
"""

WINDOW = Param(
    None,
    type=["null", "string"],
    pattern=r"^\d{8}T\d{4}Z$",
    title="Window",
    description="Start of the window in UTC, as 20260301T0500Z; empty: the run's own data interval",
)


def replay_changes(settings: Reference | None = None) -> list[DAG]:
    """Return the DAGs `replay_changes__SOURCE`, one for each source of the settings."""
    reference = reference_of(settings)
    loaded = settings_of(reference)
    return [_dag(source, reference, access_control(loaded)) for source in loaded.sources.values()]


def _dag(source: "SourceSettings", settings: Reference, access: dict[str, dict[str, set[str]]] | None) -> DAG:
    with DAG(
        f"replay_changes__{source.name}",
        schedule=CronDataIntervalTimetable(schedule(source), timezone="UTC"),
        start_date=source.first or datetime(2000, 1, 1, tzinfo=UTC),
        # If `start` is a time, Airflow makes runs from there on; otherwise the first run is of the next interval.
        catchup=source.first is not None,
        # Scheduled runs run one after another; Airflow counts the runs of a backfill separately.
        max_active_runs=1,
        access_control=access,
        default_args={"retries": 2, "retry_delay": timedelta(minutes=1), "owner": source.owner or "retable"},
        params={"window": WINDOW},
        tags=["retable", "replay_changes", source.name, *(["paused"] if source.paused is not None else [])],
        deadline=_deadline(source, settings),
        doc_md=DOC.format(source=source.name, settings=settings)
        + (PAUSED.format(reason=source.paused) if source.paused is not None else ""),
    ) as dag:
        chain(*_stages(source, settings), fresh(source.name, settings))
    return dag


def _stages(source: "SourceSettings", settings: Reference) -> list[BaseOperator]:
    if source.applications == "window":
        return [stage("window", source.name, settings)]
    jobs: tuple[Job, ...] = ("land", "decode", "replay")
    return [stage(job, source.name, settings) for job in jobs]


def _deadline(source: "SourceSettings", settings: Reference) -> DeadlineAlert | None:
    """Return an alert that checks the watermarks when the SLA of a run is over, also if the run has not ended."""
    if source.sla is None:
        return None
    return DeadlineAlert(
        name=f"{source.name} is late",
        reference=DeadlineReference.DAGRUN_QUEUED_AT,
        interval=source.sla,
        callback=AsyncCallback(LateRun, kwargs={"settings": str(settings), "source": source.name}),
    )
