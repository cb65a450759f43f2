"""A stage as an Airflow task: what it asks of Spark, and what it says when Spark has ended."""

import os
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator
from airflow.sdk import Connection
from airflow.sdk.exceptions import AirflowFailException, AirflowNotFoundException

from lakes import SettingsWriter
from retable.ledger.catalog import Lake, open_lake
from retable.ledger.rows import LedgerRow, TableRow
from retable.ledger.write import append_rows
from retable_airflow import stage as stages
from retable_airflow.stage import stage

NOW = datetime(2026, 3, 1, 6, tzinfo=UTC)
CONTEXT: Any = {
    "dag": SimpleNamespace(params={"window": None}),
    "dag_run": SimpleNamespace(conf=None),
    "params": {"window": None},
    "data_interval_start": datetime(2026, 3, 1, 5, tzinfo=UTC),
    "run_id": "scheduled__2026-03-01T06:00:00+00:00",
}


@pytest.fixture
def lake(write_settings: SettingsWriter) -> Lake:
    return open_lake(write_settings(""))


@pytest.fixture
def spark_ends_well(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SparkSubmitOperator, "execute", lambda self, context: None)
    monkeypatch.setenv("AIRFLOW_CONN_RETABLE_SPARK", stages._LOCAL)


def _done(window: str) -> LedgerRow:
    return LedgerRow("erp", window, "decode", None, {"decoded": 7}, {}, {}, None, None, "run", 1.0, 0, NOW)


def test_a_stage_is_its_job_for_the_window_of_the_run(lake: Lake, tmp_path: Path, spark_ends_well: None) -> None:
    append_rows(lake, [_done("20260301T0500Z")])
    task = stage("decode", "erp", tmp_path / "retable.toml")
    assert task.execute(CONTEXT) == {"window": "20260301T0500Z", "counts": {"decoded": 7}, "held": []}
    assert Path(task.application) == Path(__file__).resolve().parents[2] / "jobs" / "decode.py"
    asked = dict(zip(task.application_args[::2], task.application_args[1::2], strict=True))
    assert asked == {
        "--settings": str(tmp_path / "retable.toml"),
        "--source": "erp",
        "--window": "20260301T0500Z",
        "--run-id": "scheduled__2026-03-01T06:00:00+00:00",
    }


def test_a_held_table_leaves_the_task_green_and_is_named(lake: Lake, tmp_path: Path, spark_ends_well: None) -> None:
    held = TableRow("erp", "id", "gold_shop.orders", "shop", None, "orders", "held", '{"code": "ZERO_DATE"}', NOW)
    append_rows(lake, [_done("20260301T0500Z"), held])
    assert stage("decode", "erp", tmp_path / "retable.toml").execute(CONTEXT)["held"] == ["gold_shop.orders"]


def test_a_stage_that_the_ledger_does_not_know_has_failed_whatever_spark_says(
    lake: Lake, tmp_path: Path, spark_ends_well: None
) -> None:
    append_rows(lake, [_done("20260301T0400Z")])
    with pytest.raises(AirflowFailException, match="the ledger has no decode of 20260301T0500Z"):
        stage("decode", "erp", tmp_path / "retable.toml").execute(CONTEXT)


def test_without_a_connection_spark_runs_on_this_machine_and_loopback(
    lake: Lake, tmp_path: Path, spark_ends_well: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("AIRFLOW_CONN_RETABLE_SPARK")
    monkeypatch.setattr(Connection, "get", _no_connection)
    append_rows(lake, [_done("20260301T0500Z")])
    task = stage("decode", "erp", tmp_path / "retable.toml")
    task.execute(CONTEXT)
    assert task.env_vars["SPARK_LOCAL_IP"] == "127.0.0.1"
    assert os.environ["AIRFLOW_CONN_RETABLE_SPARK"] == stages._LOCAL


def test_on_a_cluster_the_workers_own_environment_stays_here(
    lake: Lake, tmp_path: Path, spark_ends_well: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Connection, "get", _cluster)
    append_rows(lake, [_done("20260301T0500Z")])
    task = stage("decode", "erp", tmp_path / "retable.toml")
    task.execute(CONTEXT)
    assert task.env_vars is None


def _cluster(name: str) -> Connection:
    return Connection(conn_id=name, conn_type="spark", host="spark://master:7077")


def _no_connection(name: str) -> Connection:
    raise AirflowNotFoundException(f"The conn_id `{name}` isn't defined")
