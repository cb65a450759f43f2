"""The DAG of every source, and the window that a run takes."""

from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from airflow.dag_processing.dagbag import DagBag
from airflow.sdk import DAG
from airflow.sdk.exceptions import AirflowFailException

from lakes import SettingsWriter
from retable.errors import InvalidSetting
from retable.ledger.lake.catalog import open_lake
from retable.ledger.read import read_ledger
from retable.settings.load import load_settings
from retable_airflow.stage import schedule, window_of

ROOT = Path(__file__).resolve().parents[2]

SOURCE = """
[sources.{name}]
kind = "files"
format = "canal_json"
path = "landing"
layout = "kafka_dump"
every = "{every}"
"""


@pytest.fixture
def dags(tmp_path: Path, write_settings: SettingsWriter, monkeypatch: pytest.MonkeyPatch) -> dict[str, DAG]:
    """The DAGs of a lake with an hourly source that says where to start, and a daily one that does not."""
    hourly = SOURCE.format(name="erp", every="1h") + 'start = "2026-03-01T05:00:00Z"\n'
    write_settings(hourly + SOURCE.format(name="dump", every="1d"))
    monkeypatch.setenv("RETABLE_SETTINGS", str(tmp_path / "retable.toml"))
    bag = DagBag(str(ROOT / "dags"))
    assert bag.import_errors == {}
    return bag.dags


def test_every_source_has_its_dag(dags: dict[str, DAG]) -> None:
    assert sorted(name for name in dags if name.startswith("replay_")) == [
        "replay_changes__dump",
        "replay_changes__erp",
        "replay_window",
    ]


def test_stages_run_one_after_the_other_on_one_spark(dags: dict[str, DAG]) -> None:
    dag = dags["replay_changes__erp"]
    assert [task.task_id for task in dag.topological_sort()] == ["land", "decode", "replay", "fresh"]
    assert dag.get_task("decode").upstream_task_ids == {"land"}
    assert dag.get_task("replay").upstream_task_ids == {"decode"}
    assert dag.get_task("fresh").upstream_task_ids == {"replay"}
    assert {task.pool for task in dag.tasks if task.task_id != "fresh"} == {"retable_spark"}
    assert dag.max_active_runs == 1


def test_a_source_is_caught_up_from_the_start_that_it_names(dags: dict[str, DAG]) -> None:
    assert dags["replay_changes__erp"].catchup
    assert dags["replay_changes__erp"].start_date == datetime(2026, 3, 1, 5, tzinfo=UTC)
    assert not dags["replay_changes__dump"].catchup


def test_the_form_refuses_what_is_no_window(dags: dict[str, DAG]) -> None:
    params = dags["replay_changes__erp"].params
    params["window"] = "20260301T0500Z"
    with pytest.raises(ValueError, match="does not match"):
        params["window"] = "yesterday"


@pytest.mark.parametrize(
    ("every", "cron"),
    [("15m", "*/15 * * * *"), ("60m", "0 * * * *"), ("1h", "0 * * * *"), ("6h", "0 */6 * * *"), ("1d", "0 0 * * *")],
)
def test_runs_follow_the_windows_of_the_source(write_settings: SettingsWriter, every: str, cron: str) -> None:
    assert schedule(write_settings(SOURCE.format(name="erp", every=every)).source("erp")) == cron


def test_windows_that_no_cron_can_follow_are_refused(write_settings: SettingsWriter) -> None:
    source = write_settings(SOURCE.format(name="erp", every="45m")).source("erp")
    with pytest.raises(InvalidSetting, match=r"sources\.erp\.every"):
        schedule(source)


def _context(conf: dict[str, Any] | None = None, start: datetime | None = None) -> Any:
    params = {"window": None}
    context = {
        "dag": SimpleNamespace(params=params),
        "dag_run": SimpleNamespace(conf=conf),
        "params": {**params, **(conf or {})},
    }
    return context | ({"data_interval_start": start} if start else {})


def test_a_scheduled_run_takes_the_window_of_its_interval() -> None:
    assert window_of(_context(start=datetime(2026, 3, 1, 5, tzinfo=UTC))) == "20260301T0500Z"


def test_a_run_that_was_asked_for_a_window_takes_that_one() -> None:
    asked = _context({"window": "20260301T0400Z"}, start=datetime(2026, 3, 1, 5, tzinfo=UTC))
    assert window_of(asked) == "20260301T0400Z"


def test_a_run_without_window_and_interval_fails_with_what_to_do() -> None:
    with pytest.raises(AirflowFailException, match="trigger it again with a window"):
        window_of(_context())


def test_a_window_that_no_clock_shows_fails_at_once() -> None:
    with pytest.raises(AirflowFailException, match="no such time"):
        window_of(_context({"window": "20260301T9900Z"}))


def test_a_key_that_the_run_does_not_know_fails_before_it_starts() -> None:
    with pytest.raises(AirflowFailException, match="unknown parameters: windw; the DAG takes only window"):
        window_of(_context({"windw": "20260301T0500Z"}, start=datetime(2026, 3, 1, 5, tzinfo=UTC)))


@pytest.mark.filterwarnings("ignore:GitWildMatchPattern:DeprecationWarning")
def test_a_quiet_hour_goes_through_all_of_its_tasks(dags: dict[str, DAG], tmp_path: Path) -> None:
    (tmp_path / "landing").mkdir()
    run = dags["replay_changes__erp"].test(logical_date=datetime(2026, 3, 1, 6, tzinfo=UTC))
    assert run.state == "success"
    rows = read_ledger(open_lake(load_settings(tmp_path / "retable.toml")), "erp", "20260301T0500Z")
    assert {row.stage for row in rows} == {"land", "decode", "replay"}
