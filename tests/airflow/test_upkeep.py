"""`keep_tables`: a task for each source and one for the record, all behind the pool of replays."""

from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from airflow.dag_processing.dagbag import DagBag
from airflow.sdk import DAG
from airflow.sdk.exceptions import AirflowFailException, AirflowSkipException

import doors as test_doors
from feeding import EACH, Feed
from lakes import SettingsWriter
from published import publish
from retable.ledger.lake.catalog import Lake, open_lake
from retable.ledger.rows import UpkeepRow
from retable.ledger.write import append_rows
from retable.model.event import TableName
from retable_airflow import doors
from retable_airflow.act import check_conf
from retable_airflow.upkeep import _chosen, _effect

# Airflow reads .airflowignore by a class that its own dependency calls old.
pytestmark = pytest.mark.filterwarnings("ignore:GitWildMatchPattern:DeprecationWarning")

ROOT = Path(__file__).resolve().parents[2]
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.fixture
def lake(tmp_path: Path, write_settings: SettingsWriter, monkeypatch: pytest.MonkeyPatch) -> Lake:
    monkeypatch.setenv("RETABLE_SETTINGS", str(tmp_path / "retable.toml"))
    monkeypatch.setenv("AIRFLOW_CONN_RETABLE_SPARK", doors._LOCAL)
    test_doors.JOBS.clear()
    lake = open_lake(write_settings(f'{EACH}spark_door = "doors:recording"\n'))
    publish(lake, TableName("shop", None, "orders"), {"id": "int"}, [])
    Feed(lake).windows(6)
    return lake


@pytest.fixture
def dag(lake: Lake) -> DAG:
    bag = DagBag(str(ROOT / "dags"))
    assert bag.import_errors == {}
    return bag.dags["keep_tables"]


def context(**conf: Any) -> Any:
    return {
        "params": {"tables": [], **conf},
        "dag": SimpleNamespace(params={"tables": []}),
        "dag_run": SimpleNamespace(conf=conf),
    }


def test_every_source_and_the_record_are_kept(dag: DAG) -> None:
    assert {task.pool for task in dag.tasks if task.task_id != "check"} == {"retable_spark"}
    run = dag.test(logical_date=NOON)
    states = {each.task_id: str(each.state) for each in run.get_task_instances()}
    assert states == {"check": "success", "keep__dump": "success", "keep__ops": "success"}
    assert sorted(job.more for job in test_doors.JOBS) == [("dump",), ("ops",)]
    assert {job.application for job in test_doors.JOBS} == {ROOT / "jobs" / "upkeep.py"}


def test_only_the_tables_that_were_asked_for_are_kept(lake: Lake, tmp_path: Path) -> None:
    settings, asked = tmp_path / "retable.toml", context(tables=["gold_shop.orders"])
    assert _chosen("dump", settings, asked) == ["gold_shop.orders"]
    with pytest.raises(AirflowSkipException, match="belongs to ops"):
        _chosen("ops", settings, asked)
    with pytest.raises(AirflowFailException, match="did you mean 'gold_shop.orders'"):
        _chosen("dump", settings, context(tables=["gold_shop.order"]))


def test_a_key_that_the_form_does_not_have_starts_nothing() -> None:
    with pytest.raises(AirflowFailException, match="unknown parameters: table; the DAG takes only tables"):
        check_conf(context(table="gold_shop.orders"))


def test_the_effect_of_a_run_is_what_ops_tells_of_it(lake: Lake) -> None:
    counts, now = {"before": {"files": 9}, "after": {"files": 1}, "done": {"files": 9}}, datetime.now(UTC)
    rows = [
        UpkeepRow(source="dump", table="gold_shop.orders", **counts, run_id=run, seconds=1.5, recorded_at=now)
        for run in ("mine", "other")
    ]
    append_rows(lake, rows)
    mine: Any = {"run_id": "mine"}
    assert _effect(lake, mine) == [
        {"table": "gold_shop.orders", "before": {"files": 9}, "after": {"files": 1}, "done": {"files": 9}}
    ]
