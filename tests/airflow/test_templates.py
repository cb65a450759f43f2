"""What a person, a message or a table says is never a template: every field comes out as it was typed."""

from contextlib import nullcontext
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from airflow.sdk import DAG

import doors as test_doors
from retable.settings.airflow import AirflowSettings
from retable_airflow import decide, doors, window
from retable_airflow.stage import stage

WORDS = "{{ 6 * 7 }} {% for x in range(3) %}{{ params }}{% endfor %} {{ conn.shop_db.password }} {# gone #} {{ 12 }"
"""What Jinja would calculate, repeat, look up, leave out, or fail at."""

FORM: dict[str, Any] = {
    "source": "dump",
    "tables": [f"gold_shop.{WORDS}"],
    "from": "2026-03-01T05:00:00Z",
    "to": "2026-03-01T06:00:00Z",
    "window": None,
    "mode": "shadow",
    "reason": WORDS,
}
ANSWER = {"chosen_options": ["Try again"], "responded_by_user": {"name": WORDS}}


def context(params: dict[str, Any], **xcoms: Any) -> Any:
    ti = SimpleNamespace(xcom_pull=lambda task_ids: xcoms.get(task_ids))
    run = SimpleNamespace(triggering_user_name=WORDS)
    return {"params": params, "ti": ti, "run_id": f"manual__{WORDS}", "dag_run": run}


def passed(words: list[str], told: Any) -> list[str]:
    """The arguments with which the operator of a door is run."""
    test_doors.ARGUMENTS.clear()
    job = doors.SparkJob("command", "dump", "", told["run_id"], "settings", {}, tuple(words))
    doors.run_door(test_doors.templated(job), told)
    (arguments,) = test_doors.ARGUMENTS
    return arguments


@pytest.fixture(autouse=True)
def settings(monkeypatch: pytest.MonkeyPatch) -> None:
    source = SimpleNamespace(every=timedelta(hours=1))
    loaded = SimpleNamespace(airflow=AirflowSettings(second_person=False), source=lambda _: source)
    for module in (window, decide):
        monkeypatch.setattr(module, "settings_of", lambda _: loaded)


@pytest.mark.parametrize("words", [window._run_words, window._build_words, window._promote_words])
def test_every_field_of_the_form_reaches_the_command_as_it_was_typed(words: Any) -> None:
    told = context(FORM, approve=ANSWER)
    _, asked = words("settings", told)
    arguments = passed(asked, told)
    assert arguments[arguments.index("--run-id") + 1] == f"manual__{WORDS}"
    assert arguments[arguments.index("--") + 1 :] == asked
    if words is window._build_words:
        assert asked[asked.index("--tables") + 1] == f"gold_shop.{WORDS}"
        assert asked[asked.index("--reason") + 1] == WORDS
    if words is window._promote_words:
        assert asked[asked.index("--reason") + 1] == f"{WORDS} (asked for by {WORDS}, approved by {WORDS})"


def test_the_name_of_a_table_and_of_who_answers_reach_the_release_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decide, "lake_of", lambda _: nullcontext())
    monkeypatch.setattr(decide, "_standing", lambda *_: None)
    told = context({"table": WORDS, "hold": WORDS}, explain={"hold": WORDS, "source": "dump"}, ask=ANSWER)
    _, asked = decide._release_words("settings", told)
    assert asked == ["hold", "release", WORDS, "--retry", "--yes", "--reason", f"decided in Airflow by {WORDS}"]
    arguments = passed(asked, told)
    assert arguments[arguments.index("--") + 1 :] == asked


def test_a_question_shows_the_words_and_does_nothing_with_them() -> None:
    with DAG("asks", params={"table": WORDS}):
        ask = decide.AskOperator(
            task_id="ask",
            subject="{{ params.table }} is held: how does it continue?",
            body="{{ ti.xcom_pull(task_ids='explain')['markdown'] }}",
        )
    ask.render_template_fields(context({"table": WORDS}, explain={"markdown": WORDS}))
    assert ask.subject == f"{WORDS} is held: how does it continue?"
    assert ask.body == WORDS


def test_a_stage_passes_its_window_and_its_run_as_they_are() -> None:
    made = stage("decode", "erp", "settings")
    assert not made.template_fields
