"""Hostile names, words and settings go through every DAG and notifier of a real Airflow's tables."""

import json
import sqlite3
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from airflow.dag_processing.dagbag import DagBag
from airflow.sdk import DAG
from airflow.sdk.exceptions import AirflowFailException, ParamValidationError

import doors as test_doors
from feeding import DAY, EACH, Feed, at, name
from hostile.corpus import CANARY, NAMES, RENDERED, TEMPLATE, WORDS, is_obeyed
from lakes import SettingsWriter
from published import publish
from retable.ledger.lake.catalog import Lake, open_lake
from retable.ledger.rows import TableRow
from retable.ledger.write import append_rows
from retable.model.event import TableName
from retable.model.sequence import Sequence
from retable.schema_history.history import Hold
from retable.settings.types import Notify
from retable_airflow import decide, doors
from retable_airflow.alerts import Alert, make_notifier, watch

pytestmark = pytest.mark.filterwarnings("ignore:GitWildMatchPattern:DeprecationWarning")

ROOT = Path(__file__).resolve().parents[2]
STAMP = datetime(2026, 3, 2, tzinfo=UTC)
FILE = "retable_airflow.notify.FileNotifier"
HOLD = Hold("APPROVAL", WORDS, Sequence(0, 7, 0), WORDS, WORDS, WORDS)


@pytest.fixture
def lake(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, write_settings: SettingsWriter, caplog: pytest.LogCaptureFixture
) -> Lake:
    """A lake whose tables have hostile names, one of them held by a hostile statement, and late by their SLA."""
    monkeypatch.setenv("RETABLE_SETTINGS", str(tmp_path / "retable.toml"))
    monkeypatch.setenv("AIRFLOW_CONN_RETABLE_SPARK", doors._LOCAL)
    monkeypatch.setenv("AIRFLOW_CONN_SHOP_DB", json.dumps({"conn_type": "mysql", "password": CANARY}))
    caplog.set_level("DEBUG")
    alerts = f'notify = [{{ notifier = "{FILE}", path = "{tmp_path}/told.jsonl" }}]\n[tables."*"]\nsla = "20m"\n'
    owner = f"owner = {json.dumps(TEMPLATE)}\n"
    made = open_lake(write_settings(f'{EACH}spark_door = "doors:templated"\n{owner}{alerts}'))
    feed = Feed(made)
    feed.windows(7)
    for hour in (5, 6):
        feed.done(hour, landed=0)
    for each in NAMES:
        held: dict[str, Any] = {"state": "held", "hold": HOLD} if each == NAMES[3] else {}
        gold = publish(made, TableName("shop", None, each), {"id": "int"}, [], **held)
        append_rows(
            made,
            [
                TableRow(
                    source="dump",
                    identity=f"shop.{each}@base",
                    gold=gold,
                    database="shop",
                    schema=None,
                    table=each,
                    state="live",
                    hold=None,
                    recorded_at=at("06:00"),
                )
            ],
        )
    return made


@pytest.fixture
def dags(lake: Lake) -> dict[str, DAG]:
    bag = DagBag(str(ROOT / "dags"))
    assert bag.import_errors == {}
    return dict(bag.dags)


@pytest.fixture(autouse=True)
def nothing_comes_out(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> Iterator[None]:
    """After each test: neither in a log nor in Airflow's tables is a secret, or what a template would make."""
    yield
    said = caplog.text + "".join(capfd.readouterr())
    kept = "\n".join(airflow_tables())
    for text in (said, kept):
        assert CANARY not in text
        assert RENDERED not in text
    lines = (tmp_path / "told.jsonl").read_text("utf-8") if (tmp_path / "told.jsonl").exists() else ""
    assert [char for char in lines if is_obeyed(char)] == []


def airflow_tables() -> Iterator[str]:
    """Every row of Airflow's database, XCom and rendered fields among them."""
    from airflow.settings import SQL_ALCHEMY_CONN

    with sqlite3.connect(str(SQL_ALCHEMY_CONN).removeprefix("sqlite:///")) as database:
        tables = [row[0] for row in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        assert {"xcom", "rendered_task_instance_fields"} <= set(tables)
        for table in tables:
            yield from (f"{table}: {row}" for row in database.execute(f'SELECT * FROM "{table}"'))


def test_every_dag_is_run_here(dags: dict[str, DAG]) -> None:
    assert set(dags) == {
        *("replay_changes__dump", "replay_window", "decide_hold", "watch_holds", "keep_tables", "watch_tables"),
    }


def test_a_reason_in_the_form_reaches_the_job_as_it_was_typed(dags: dict[str, DAG]) -> None:
    test_doors.ARGUMENTS.clear()
    form = {"source": "dump", "window": name(5), "mode": "in place", "reason": WORDS}
    run = dags["replay_window"].test(logical_date=STAMP, run_conf=form)
    assert str(run.state) == "success"
    assert len(test_doors.ARGUMENTS) == 1


@pytest.mark.parametrize("field", ["source", "from", "to", "window", "mode", "tables"])
def test_hostile_words_in_another_field_are_refused(dags: dict[str, DAG], field: str) -> None:
    form = {"source": "dump", "window": name(5), "mode": "shadow", "reason": WORDS}
    try:
        run = dags["replay_window"].test(
            logical_date=STAMP, run_conf={**form, field: [WORDS] if field == "tables" else WORDS}
        )
    except (ParamValidationError, ValueError):
        return
    assert str(run.state) == "failed"


def test_a_window_of_a_run_by_hand_is_refused(dags: dict[str, DAG]) -> None:
    with pytest.raises((ParamValidationError, ValueError)):
        dags["replay_changes__dump"].test(logical_date=STAMP + timedelta(hours=1), run_conf={"window": WORDS})


def test_a_quiet_hour_of_a_lake_with_hostile_names_goes_through(dags: dict[str, DAG], tmp_path: Path) -> None:
    run = dags["replay_changes__dump"].test(logical_date=DAY + timedelta(hours=6))
    assert str(run.state) == "success"


def test_a_held_table_is_asked_about_in_words_that_do_nothing(dags: dict[str, DAG], lake: Lake, tmp_path: Path) -> None:
    (run,) = decide.held_tables(tmp_path / "retable.toml")
    context: Any = {"params": run["conf"], "dag": dags["decide_hold"], "dag_run": SimpleNamespace(conf=run["conf"])}
    told = decide._explain(tmp_path / "retable.toml", context)
    assert [char for char in told["markdown"] if is_obeyed(char)] == []
    ask = dags["decide_hold"].get_task("ask")
    ask.render_template_fields({**context, "ti": SimpleNamespace(xcom_pull=lambda task_ids: told)})
    assert RENDERED not in ask.subject + ask.body


def test_upkeep_of_hostile_tables_is_refused_or_done(dags: dict[str, DAG]) -> None:
    run = dags["keep_tables"].test(logical_date=STAMP, run_conf={"tables": [WORDS]})
    assert str(run.state) == "failed"
    run = dags["keep_tables"].test(logical_date=STAMP + timedelta(days=1), run_conf={"tables": []})
    assert str(run.state) == "success"


def test_late_tables_are_told_in_words_that_do_nothing(lake: Lake, tmp_path: Path) -> None:
    watch(tmp_path / "retable.toml", now=at("09:00"))
    (told,) = [json.loads(line) for line in (tmp_path / "told.jsonl").read_text("utf-8").split("\n") if line]
    assert len(told["names"]) >= len(NAMES) - 1
    assert RENDERED not in json.dumps(told)


@pytest.mark.parametrize("kind", ["File", "Webhook"])
def test_a_notifier_of_hostile_words_renders_none(tmp_path: Path, kind: str) -> None:
    alert = Alert(
        event="late",
        incident="id",
        source=WORDS,
        names=[*NAMES],
        severity="error",
        owner=WORDS,
        late_seconds=60,
        cause="HELD",
        why=WORDS,
        next_step=WORDS,
        link=WORDS,
    )
    given = {"path": str(tmp_path / "told.jsonl")} if kind == "File" else {"conn_id": "shop_db"}
    notifier = make_notifier(Notify.model_validate({"notifier": f"retable_airflow.notify.{kind}Notifier", **given}))
    notifier.render_template_fields({"alert": alert})
    shown = {name: getattr(notifier, name) for name in notifier.template_fields}
    assert RENDERED not in str(shown)
    assert CANARY not in str(shown)
    if kind == "File":
        notifier.notify({"alert": alert})
        assert (tmp_path / "told.jsonl").exists()


def test_a_name_that_is_no_table_is_refused(lake: Lake, tmp_path: Path) -> None:
    context: Any = {
        "params": {"table": WORDS, "hold": WORDS},
        "dag": type("D", (), {"params": {"table": 0, "hold": 0}}),
    }
    context["dag_run"] = type("Run", (), {"conf": {}})
    with pytest.raises(AirflowFailException) as refused:
        decide._explain(tmp_path / "retable.toml", context)
    assert RENDERED not in str(refused.value)
