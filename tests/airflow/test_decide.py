"""`decide_hold`: one question for each hold, with the answers that fit it."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from airflow.dag_processing.dagbag import DagBag
from airflow.sdk.exceptions import AirflowFailException, AirflowSkipException

from feeding import EACH, Feed
from lakes import SettingsWriter
from published import publish
from retable.gold.read import find_gold
from retable.ledger.lake.catalog import Lake, open_lake
from retable.model.event import TableName
from retable.model.sequence import Sequence
from retable.schema_history.decisions import REMEDY_APPROVAL
from retable.schema_history.history import Hold
from retable_airflow import decide
from retable_airflow.decide import ANSWERS, LEAVE, held_tables, hold_id

# Airflow 4 will have another way than DAG(access_control=…).
pytestmark = pytest.mark.filterwarnings("ignore:The airflow.security.permissions module is deprecated")

ROOT = Path(__file__).resolve().parents[2]
STATEMENT = "DROP TABLE orders -- ``` {{ 7 * 7 }} <script>"
HOLD = Hold("APPROVAL", "the source drops the table", Sequence(0, 7, 0), "t/0", STATEMENT, REMEDY_APPROVAL)
TABLE = "gold_shop.orders"


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("RETABLE_SETTINGS", str(tmp_path / "retable.toml"))
    return tmp_path / "retable.toml"


@pytest.fixture
def lake(path: Path, write_settings: SettingsWriter) -> Lake:
    lake = open_lake(write_settings(EACH))
    publish(lake, TableName("shop", None, "fine"), {"id": "int"}, [])
    publish(lake, TableName("shop", None, "orders"), {"id": "int"}, [], state="held", hold=HOLD)
    feed = Feed(lake)
    feed.windows(6)
    feed.held(5, TABLE, rows=3)
    return lake


def context(hold: str | None = None, table: str | None = TABLE, **pulled: Any) -> Any:
    asked = {"table": table, "hold": hold}
    return {
        "params": asked,
        "dag": SimpleNamespace(params=asked),
        "dag_run": SimpleNamespace(conf=asked),
        "ti": SimpleNamespace(xcom_pull=lambda task_ids: pulled[task_ids]),
    }


def answer(chosen: str) -> dict[str, Any]:
    return {"chosen_options": [chosen], "responded_by_user": {"id": "1", "name": "ann"}}


def test_a_hold_is_asked_about_by_one_run_whose_name_is_the_holds(lake: Lake, path: Path) -> None:
    (run,) = held_tables(path)
    name = hold_id(find_gold(lake, TABLE)[1])
    assert run == {"trigger_run_id": f"hold__{name}", "conf": {"table": TABLE, "hold": name}}
    assert held_tables(path) == [run]
    watch = DagBag(str(ROOT / "dags")).dags["watch_holds"]
    assert watch.get_task("ask").partial_kwargs["skip_when_already_exists"]


def test_nobody_is_asked_about_a_table_that_is_retired(lake: Lake, path: Path, write_settings: SettingsWriter) -> None:
    write_settings(EACH + 'exclude = ["shop.orders"]\n')
    assert held_tables(path) == []


def test_the_question_says_what_stopped_the_table_and_what_each_answer_does(lake: Lake, path: Path) -> None:
    told = decide._explain(path, context())
    assert told["ways"] == ["approve", "reject", "skip", "retry", "rebuild"]
    text = told["markdown"]
    for words in ("the source drops the table", "0.7.0", "The statement is applied as it is", "3 rows waited", LEAVE):
        assert words in text
    assert f"````text\n{STATEMENT}\n````" in text
    assert "**Approve**" in text


def test_of_a_row_that_stops_a_table_the_question_has_no_value(path: Path, write_settings: SettingsWriter) -> None:
    image = '{"id": 1, "card": "4111-1111"}'
    hold = Hold("ZERO_DATE", "'0000-00-00' is no date", Sequence(0, 7, 0), "t/0", image, "set zero_date")
    made = open_lake(write_settings(EACH))
    publish(made, TableName("shop", None, "orders"), {"id": "int"}, [], state="held", hold=hold)
    Feed(made).windows(6)
    told = decide._explain(path, context())
    assert "ZERO_DATE" in told["markdown"]
    assert "`retable hold list` shows the value" in told["markdown"]
    assert not any(value in str(told) for value in ("4111", "0000-00-00"))


@pytest.mark.parametrize(("way", "words"), list(ANSWERS.items()))
def test_an_answer_is_the_release_that_it_names(lake: Lake, path: Path, way: str, words: str) -> None:
    explained = decide._explain(path, context())
    asked = context(explain=explained, ask=answer(words))
    source, command = decide._release_words(path, asked)
    assert (source, command[:5]) == ("dump", ["hold", "release", TABLE, f"--{way}", "--yes"])
    assert command[-1] == "decided in Airflow by ann"


PAIR = '[airflow]\nmay_read = ["analysts"]\nmay_run = ["oncall"]\nmay_decide = ["ann", "7:bob"]\nsecond_person = true\n'


def test_the_settings_say_who_may_see_run_and_answer(lake: Lake, path: Path, write_settings: SettingsWriter) -> None:
    assert {dag.access_control for dag in DagBag(str(ROOT / "dags")).dags.values()} == {None}
    write_settings(EACH + 'sla = "1h"\n' + PAIR)
    dags = DagBag(str(ROOT / "dags")).dags
    assert set(dags) == {
        *("decide_hold", "keep_tables", "replay_changes__dump", "replay_window", "watch_holds", "watch_tables"),
    }
    for dag in dags.values():
        assert dag.access_control == {
            "analysts": {"DAGs": {"can_read"}},
            "oncall": {"DAGs": {"can_read", "can_edit"}, "DAG Runs": {"can_read", "can_create"}},
        }
    for dag_id, task in (("decide_hold", "ask"), ("decide_hold", "confirm"), ("replay_window", "approve")):
        users = dags[dag_id].get_task(task).assigned_users
        assert users == [{"id": "ann", "name": "ann"}, {"id": "7", "name": "bob"}]


def test_an_answer_for_good_needs_a_second_person_where_the_settings_say_so(
    lake: Lake, path: Path, write_settings: SettingsWriter
) -> None:
    explained = decide._explain(path, context())
    write_settings(EACH + PAIR)
    confirmed = {"chosen_options": ["Approve"], "responded_by_user": {"id": "7", "name": "bob"}}
    for way in ("approve", "skip"):
        told = {"explain": explained, "ask": answer(ANSWERS[way])}
        _, command = decide._release_words(path, context(**told, confirm=confirmed))
        assert command[-1] == "decided in Airflow by ann, confirmed by bob"
        with pytest.raises(AirflowFailException, match="clear the task 'confirm'"):
            decide._release_words(path, context(**told, confirm=answer("Approve")))
        with pytest.raises(AirflowFailException, match="does not name both"):
            decide._release_words(path, context(**told, confirm={"chosen_options": ["Approve"]}))
    told = context(explain=explained, ask=answer(ANSWERS["rebuild"]), confirm=None)
    assert decide._release_words(path, told)[1][-1] == "decided in Airflow by ann"


def test_a_second_person_is_asked_only_about_what_is_for_good(lake: Lake, write_settings: SettingsWriter) -> None:
    write_settings(EACH + PAIR)
    confirm = DagBag(str(ROOT / "dags")).dags["decide_hold"].get_task("confirm")
    for chosen in (LEAVE, ANSWERS["retry"], ANSWERS["rebuild"], ANSWERS["reject"]):
        assert confirm.execute(context(ask=answer(chosen))) is None
    assert DagBag(str(ROOT / "dags")).dags["decide_hold"].get_task("act").upstream_task_ids == {"ask", "confirm"}


def test_a_table_that_is_left_stays_held_and_the_run_ends_well(lake: Lake, path: Path) -> None:
    explained = decide._explain(path, context())
    with pytest.raises(AirflowSkipException, match="stays held"):
        decide._release_words(path, context(explain=explained, ask=answer(LEAVE)))


def test_a_hold_that_is_gone_is_not_asked_about_and_not_released(lake: Lake, path: Path) -> None:
    with pytest.raises(AirflowSkipException, match="nothing to decide"):
        decide._explain(path, context("of another"))
    with pytest.raises(AirflowSkipException, match="nothing to decide"):
        decide._explain(path, context(table="gold_shop.fine"))
    explained = {**decide._explain(path, context()), "hold": "of another"}
    with pytest.raises(AirflowSkipException, match="nothing to decide"):
        decide._release_words(path, context(explain=explained, ask=answer("Approve")))


def test_a_run_without_a_table_or_with_an_unknown_one_says_so(lake: Lake, path: Path) -> None:
    with pytest.raises(AirflowFailException, match="name the held table"):
        decide._explain(path, context(table=None))
    with pytest.raises(AirflowFailException, match=f"did you mean '{TABLE}'"):
        decide._explain(path, context(table="gold_shop.order"))


def test_no_answer_leaves_the_table_and_a_run_never_stands_in_one_that_replays(lake: Lake) -> None:
    bag = DagBag(str(ROOT / "dags"))
    assert bag.import_errors == {}
    dag = bag.dags["decide_hold"]
    assert [each.task_id for each in dag.topological_sort()] == ["explain", "ask", "act"]
    assert dag.get_task("ask").defaults == [LEAVE]
    assert set(dag.get_task("ask").options) == {*ANSWERS.values(), LEAVE}
    assert dag.get_task("act").pool == "retable_spark"
