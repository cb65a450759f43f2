"""A stage as an Airflow task: what it asks of Spark, and what it says when Spark has ended."""

import os
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from airflow.sdk import Connection
from airflow.sdk.exceptions import AirflowFailException, AirflowNotFoundException, AirflowSkipException

import doors as test_doors
from lakes import SettingsWriter
from retable.land.objects.files import list_objects
from retable.ledger.lake.catalog import Lake, open_lake
from retable.ledger.read import read_ledger
from retable.ledger.rows import LedgerRow, Stage, TableRow
from retable.ledger.windows.recording import read_windows, record_windows
from retable.ledger.write import append_rows
from retable.settings.load import load_settings
from retable_airflow import doors
from retable_airflow.stage import stage

NOW = datetime(2026, 3, 1, 6, tzinfo=UTC)
WINDOW = "20260301T0500Z"
CONTEXT: Any = {
    "dag": SimpleNamespace(params={"window": None}),
    "dag_run": SimpleNamespace(conf=None),
    "params": {"window": None},
    "data_interval_start": datetime(2026, 3, 1, 5, tzinfo=UTC),
    "run_id": "scheduled__2026-03-01T06:00:00+00:00",
}
SOURCE = """
[sources.erp]
kind = "files"
format = "canal_json"
path = "landing"
layout = "kafka_dump"
hour = '(\\d{{4}}-\\d{{2}}-\\d{{2}}T\\d{{2}})'
start = "2026-03-01T05:00:00Z"
spark_door = "doors:{door}"
"""


@pytest.fixture
def lake(write_settings: SettingsWriter, monkeypatch: pytest.MonkeyPatch) -> Lake:
    """A lake whose one window of an object is recorded, and a door that starts no Spark."""
    monkeypatch.setenv("AIRFLOW_CONN_RETABLE_SPARK", doors._LOCAL)
    lake = open_lake(write_settings(SOURCE.format(door="recording")))
    source = lake.settings.source("erp")
    Path(str(source.path)).mkdir()
    (Path(str(source.path)) / "2026-03-01T05.jsonl").write_text("{}\n", encoding="utf-8")
    found = list_objects(source)
    record_windows(lake, source, lambda: found, NOW, NOW)
    return lake


@pytest.fixture(autouse=True)
def _no_jobs_before() -> None:
    test_doors.JOBS.clear()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "retable.toml"


def done(*stages: Stage, window: str = WINDOW) -> list[LedgerRow]:
    return [
        LedgerRow(
            source="erp",
            window=window,
            stage=each,
            table=None,
            counts={f"{each}ed": 7},
            lowest={},
            highest={},
            snapshot_id=None,
            identity=None,
            run_id="run",
            seconds=1.5,
            bytes=0,
            recorded_at=NOW,
        )
        for each in stages
    ]


def test_a_stage_is_its_job_for_the_window_of_the_run(lake: Lake, path: Path) -> None:
    append_rows(lake, done("decode"))
    told = stage("decode", "erp", path).execute(CONTEXT)
    assert told == {"window": WINDOW, "counts": {"decodeed": 7}, "held": [], "seconds": 1.5}
    (job,) = test_doors.JOBS
    assert job.application == Path(__file__).resolve().parents[2] / "jobs" / "decode.py"
    assert dict(zip(job.arguments[::2], job.arguments[1::2], strict=True)) == {
        "--settings": str(path),
        "--source": "erp",
        "--window": WINDOW,
        "--run-id": "scheduled__2026-03-01T06:00:00+00:00",
    }


def test_a_window_may_be_one_job_that_is_done_when_all_its_stages_are(lake: Lake, path: Path) -> None:
    append_rows(lake, done("land", "decode"))
    with pytest.raises(AirflowFailException, match=f"no result of the stage replay for the window {WINDOW}"):
        stage("window", "erp", path).execute(CONTEXT)
    append_rows(lake, done("replay"))
    told = stage("window", "erp", path).execute(CONTEXT)
    assert told["counts"] == {"landed": 7, "decodeed": 7, "replayed": 7}
    assert told["seconds"] == 4.5
    assert {job.application.name for job in test_doors.JOBS} == {"window.py"}


def test_a_window_in_which_nothing_arrived_starts_no_spark(lake: Lake, path: Path) -> None:
    quiet = {**CONTEXT, "data_interval_start": datetime(2026, 3, 1, 6, tzinfo=UTC)}
    told = stage("land", "erp", path).execute(quiet)
    assert told["counts"] == {"objects": 0, "bytes": 0, "landed": 0}
    assert stage("replay", "erp", path).execute(quiet)["counts"] == {"rows": 0}
    assert test_doors.JOBS == []
    assert {row.stage for row in read_ledger(lake, "erp", "20260301T0600Z")} == {"land", "decode", "replay"}


def test_a_run_of_a_paused_source_is_skipped_and_one_that_is_recorded_is_not(
    lake: Lake, path: Path, write_settings: SettingsWriter
) -> None:
    write_settings(SOURCE.format(door="recording") + 'paused = "it moves"\n')
    with pytest.raises(AirflowSkipException, match="erp is paused, and 20260301T0600Z is not recorded: it moves"):
        stage("land", "erp", path).execute({**CONTEXT, "data_interval_start": datetime(2026, 3, 1, 6, tzinfo=UTC)})
    append_rows(lake, done("land"))
    assert stage("land", "erp", path).execute(CONTEXT)["window"] == WINDOW
    assert [window.name for window in read_windows(lake, "erp")] == [WINDOW]


def test_a_held_table_leaves_the_task_green_and_is_named(lake: Lake, path: Path) -> None:
    held = TableRow(
        source="erp",
        identity="id",
        gold="gold_shop.orders",
        database="shop",
        schema=None,
        table="orders",
        state="held",
        hold='{"code": "ZERO_DATE"}',
        recorded_at=NOW,
    )
    append_rows(lake, [*done("decode"), held])
    assert stage("decode", "erp", path).execute(CONTEXT)["held"] == ["gold_shop.orders"]


def test_a_stage_that_the_ledger_does_not_know_has_failed_whatever_spark_says(lake: Lake, path: Path) -> None:
    append_rows(lake, done("decode", window="20260301T0400Z"))
    with pytest.raises(AirflowFailException, match=f"no result of the stage decode for the window {WINDOW}"):
        stage("decode", "erp", path).execute(CONTEXT)


def test_a_job_that_fails_fails_its_task(lake: Lake, path: Path, write_settings: SettingsWriter) -> None:
    write_settings(SOURCE.format(door="failing"))
    append_rows(lake, done("decode"))
    with pytest.raises(RuntimeError, match="spark-submit"):
        stage("decode", "erp", path).execute(CONTEXT)


@pytest.mark.parametrize(
    ("door", "words"),
    [
        ("nowhere:door", "No module named 'nowhere'"),
        ("doors:none", "no attribute 'none'"),
        ("doors:JOBS", "not callable"),
        ("doors:words", "returns a str and not an operator"),
    ],
)
def test_a_door_that_is_not_there_fails_at_once_with_its_name(door: str, words: str, job: doors.SparkJob) -> None:
    with pytest.raises(doors.InvalidSetting, match=words):
        doors.open_door(door, job)


# --- the doors ---------------------------------------------------------------------------------------------------
@pytest.fixture
def job(path: Path) -> doors.SparkJob:
    return doors.SparkJob("replay", "erp", WINDOW, "run", str(path), {"spark.sql.x": "1", "spark.jars": "a.jar"})


def test_without_a_connection_spark_runs_on_this_machine_and_loopback(
    job: doors.SparkJob, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("AIRFLOW_CONN_RETABLE_SPARK", raising=False)
    monkeypatch.setattr(Connection, "get", _no_connection)
    operator: Any = doors.spark_submit(job)
    assert operator.env_vars["SPARK_LOCAL_IP"] == "127.0.0.1"
    assert operator.env_vars["RETABLE_LIFELINE"] == f"{os.getpid()},{os.getppid()}"
    assert os.environ["AIRFLOW_CONN_RETABLE_SPARK"] == doors._LOCAL
    assert operator.application_args == job.arguments


def test_on_a_cluster_the_workers_own_environment_stays_here(
    job: doors.SparkJob, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Connection, "get", _cluster)
    operator: Any = doors.spark_submit(job)
    assert operator.env_vars is None


def test_on_kubernetes_the_job_fills_the_template_that_the_user_keeps(job: doors.SparkJob) -> None:
    template = {"metadata": {"namespace": "spark"}, "spec": {"image": "retable:1", "sparkConf": {"spark.a": "b"}}}
    made = doors.spark_application(job, template)["spark"]
    assert made["kind"] == "SparkApplication"
    assert made["metadata"] == {"namespace": "spark"}
    assert made["spec"]["image"] == "retable:1"
    assert made["spec"]["mainApplicationFile"] == "local:///opt/retable/jobs/replay.py"
    assert made["spec"]["arguments"] == job.arguments
    # The jars are those of the image.
    assert made["spec"]["sparkConf"] == {"spark.sql.x": "1", "spark.a": "b"}


def test_kubernetes_without_its_provider_says_what_to_install(job: doors.SparkJob) -> None:
    with pytest.raises(AirflowFailException, match="install this package next to Airflow"):
        doors.kubernetes(job, template={})


def test_settings_that_a_task_opens_are_those_that_the_job_gets(lake: Lake, path: Path) -> None:
    append_rows(lake, done("decode"))
    stage("decode", "erp", path).execute(CONTEXT)
    assert load_settings(test_doors.JOBS[0].settings) == lake.settings


def _cluster(name: str) -> Connection:
    return Connection(conn_id=name, conn_type="spark", host="spark://master:7077")


def _no_connection(name: str) -> Connection:
    raise AirflowNotFoundException(f"The conn_id `{name}` isn't defined")
