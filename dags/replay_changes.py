"""Replay every source of the settings by the hour: land >> decode >> replay >> fresh, one DAG per source."""

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

from airflow.sdk import DAG, CronDataIntervalTimetable, Param

from retable.config import load_settings
from retable_airflow.freshness import fresh
from retable_airflow.stage import schedule, stage

SETTINGS = Path(os.environ.get("RETABLE_SETTINGS") or "retable.toml").absolute()

DOC = """\
Replays the source **{source}** into gold, one window a run: *land* keeps its messages, *decode* makes change events
of them, *replay* brings gold up to date, *fresh* keeps up to when it is complete. A run takes the window of its data
interval.

**By hand:** trigger it with a `window`, such as `20260301T0500Z`, to run that one again: a recorded window never
changes, so this is harmless at any time. Without one it takes the interval before the logical date.

**Green does not mean that no table is held:** the task's log and its return value name the held ones, and
`retable hold list` says why. Settings: `{settings}`.
"""

WINDOW = Param(
    None,
    type=["null", "string"],
    pattern=r"^\d{8}T\d{4}Z$",
    title="Window",
    description="Start of the window in UTC, as 20260301T0500Z; empty: the run's own data interval",
)

for source in load_settings(SETTINGS).sources.values():
    with DAG(
        f"replay_changes__{source.name}",
        schedule=CronDataIntervalTimetable(schedule(source), timezone="UTC"),
        start_date=source.start or datetime(2000, 1, 1, tzinfo=UTC),
        # A source that says where to start is caught up from there; else the first run is the next interval's.
        catchup=source.start is not None,
        max_active_runs=1,
        default_args={"retries": 2, "retry_delay": timedelta(minutes=1)},
        params={"window": WINDOW},
        tags=["retable", "replay_changes", source.name],
        doc_md=DOC.format(source=source.name, settings=SETTINGS),
    ):
        land = stage("land", source.name, SETTINGS)
        decode = stage("decode", source.name, SETTINGS)
        replay = stage("replay", source.name, SETTINGS)
        land >> decode >> replay >> fresh(source.name, SETTINGS)
