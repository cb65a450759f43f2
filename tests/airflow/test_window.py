"""The form of `replay_window`: what it refuses, what it asks of Spark, and how a run ends."""

import json
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from airflow.dag_processing.dagbag import DagBag
from airflow.sdk import DAG
from airflow.sdk.exceptions import AirflowFailException
from hypothesis import given
from hypothesis import strategies as st

import doors as test_doors
from feeding import DAY, EACH, Feed, name
from lakes import SettingsWriter
from published import publish
from retable.ledger.lake.catalog import Lake, open_lake
from retable.model.event import TableName
from retable.shadow.lake import shadow_lake
from retable_airflow import doors, form, window
from retable_airflow.differences import code, inline, to_markdown, without_values

# Airflow reads .airflowignore by a class that its own dependency calls old.
pytestmark = pytest.mark.filterwarnings("ignore:GitWildMatchPattern:DeprecationWarning")

ROOT = Path(__file__).resolve().parents[2]
TABLE = "gold_shop.orders"
ASKED: dict[str, Any] = {
    "source": "dump",
    "tables": [],
    "from": f"{DAY:%Y-%m-%d}T05:00:00Z",
    "to": f"{DAY:%Y-%m-%d}T07:00:00Z",
    "window": None,
    "mode": "in place",
    "reason": "the zone was wrong",
}


def clock(hour: int, minute: int = 0) -> str:
    return f"{DAY:%Y-%m-%d}T{hour:02}:{minute:02}:00Z"


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("RETABLE_SETTINGS", str(tmp_path / "retable.toml"))
    monkeypatch.setenv("AIRFLOW_CONN_RETABLE_SPARK", doors._LOCAL)
    test_doors.JOBS.clear()
    return tmp_path / "retable.toml"


@pytest.fixture
def lake(path: Path, write_settings: SettingsWriter) -> Lake:
    """A lake with a table and two replayed windows, 05 and 06, whose door starts no Spark."""
    lake = open_lake(write_settings(f'{EACH}spark_door = "doors:recording"\n'))
    feed = Feed(lake)
    feed.windows(7)
    for hour in (5, 6):
        feed.done(hour, landed=0)
    publish(lake, TableName("shop", None, "orders"), {"id": "int"}, [])
    return lake


@pytest.fixture
def dag(lake: Lake) -> DAG:
    bag = DagBag(str(ROOT / "dags"))
    assert bag.import_errors == {}
    return bag.dags["replay_window"]


def asked(dag: DAG | None = None, **told: Any) -> Any:
    known = dag.params if dag is not None else dict.fromkeys(ASKED)
    return {
        "params": {**ASKED, **told},
        "dag": SimpleNamespace(params=known),
        "dag_run": SimpleNamespace(conf=told, triggering_user_name=told.get("by", "eve")),
        "run_id": "manual",
        "ti": SimpleNamespace(xcom_pull=lambda task_ids: told.get("answer")),
    }


@pytest.mark.parametrize(
    ("told", "words"),
    [
        ({"mode": "shadow", "tables": [TABLE], "reason": ""}, "fill in `reason`"),
        ({"from": None, "to": None}, "fill in `from` and `to`, or `window`"),
        ({"to": None}, "fill in `from` and `to`, or `window`"),
        ({"window": name(5)}, "but not both"),
        ({"from": None, "window": name(5)}, "but not both"),
        ({"tables": [TABLE]}, "in place replays all tables of its windows"),
        ({"to": clock(5)}, "is not before"),
        ({"to": clock(9)}, "are recorded up to 20260301T0700Z"),
        ({"from": clock(4, 59)}, "its recorded windows are 20260301T0500Z to 20260301T0600Z"),
        ({"from": None, "to": None, "window": "20260301T9900Z"}, "no such time"),
        ({"mode": "shadow"}, f"name the gold tables to rebuild in `tables`; dump has {TABLE}"),
        ({"mode": "shadow", "tables": None}, f"name the gold tables to rebuild in `tables`; dump has {TABLE}"),
        ({"mode": "shadow", "tables": ["gold_shop.order"]}, f"did you mean '{TABLE}'"),
        ({"table": TABLE}, "unknown parameters: table; the DAG takes only"),
    ],
)
def test_a_wrong_form_is_refused_before_anything_begins(lake: Lake, path: Path, told: Any, words: str) -> None:
    with pytest.raises(AirflowFailException, match=words):
        window._check(path, asked(**told))
    assert test_doors.JOBS == []


def test_a_right_form_is_let_through(lake: Lake, path: Path) -> None:
    window._check(path, asked())
    window._check(path, asked(reason=None, tables=None))
    window._check(path, asked(mode="shadow", tables=[TABLE]))


@pytest.mark.parametrize(
    ("told", "first", "end"),
    [
        ({}, 5, 7),
        ({"from": clock(5, 59), "to": clock(6, 1)}, 5, 7),
        ({"from": f"{DAY:%Y-%m-%d}T13:30:00+08:00", "to": clock(6)}, 5, 6),
        ({"from": None, "to": None, "window": name(6)}, 6, 7),
    ],
)
def test_the_windows_that_times_touch_are_replayed(lake: Lake, path: Path, told: Any, first: int, end: int) -> None:
    words = window._run_words(path, asked(**told))[1]
    assert words == ["run", "dump", "--from", f"{DAY:%Y-%m-%d}T{first:02}:00:00+00:00", "--to", words[-1]]
    assert words[-1] == f"{DAY:%Y-%m-%d}T{end:02}:00:00+00:00"
    assert window._range(lake.settings, asked(**told)["params"]) == (name(first), name(end))


def test_the_form_has_a_picker_of_times_and_requires_no_field_that_a_mode_does_not_need(dag: DAG) -> None:
    fields = {field: dag.params.get_param(field) for field in ASKED}
    assert {name for name, field in fields.items() if field.schema.get("format") == "date-time"} == {"from", "to"}
    required = {name for name, field in fields.items() if "null" not in field.schema.get("type", ())}
    assert required == {"source", "mode"}
    assert all("shadow" in (fields[name].description or "") for name in ("tables", "reason"))


def test_the_form_offers_the_tables_and_the_recorded_time(
    lake: Lake, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept: dict[str, str] = {form.VARIABLE: '{"another lake": {"tables": ["gold_a.b"], "recorded": {}}}'}
    written: list[str] = []
    monkeypatch.setattr(form.Variable, "get", lambda key, default=None: kept.get(key, default))
    monkeypatch.setattr(form.Variable, "set", lambda key, value: (kept.update({key: value}), written.append(value)))
    assert form.offers_of(path) == form.Offers()
    for _ in range(2):
        form.write_offers(path)
    assert len(written) == 1
    (made,) = window.replay_window(path)
    assert made.params.get_param("tables").schema["examples"] == [TABLE]
    told = made.params.get_param("from").description
    assert (told or "").endswith(f"Recorded: dump: {DAY:%Y-%m-%d}T05:00Z to {DAY:%Y-%m-%d}T07:00Z")
    assert form.offers_of("another lake").tables == ["gold_a.b"]
    kept[form.VARIABLE] = "not JSON"
    assert form.offers_of(path) == form.Offers()


def test_a_refusal_fails_the_run_before_anything_begins(
    dag: DAG,
) -> None:
    run = dag.test(logical_date=datetime(2026, 3, 2, tzinfo=UTC), run_conf={**ASKED, "to": clock(5)})
    assert str(run.state) == "failed"
    states = {each.task_id: str(each.state) for each in run.get_task_instances()}
    assert (states["check"], states["refuse"], states["in_place"]) == ("success", "failed", "skipped")
    assert test_doors.JOBS == []


def test_the_form_offers_the_sources_and_refuses_what_is_no_time(dag: DAG) -> None:
    dag.params["from"] = clock(5)
    wrongs = (("from", "yesterday"), ("from", name(5)), ("window", "5"), ("mode", "otherwise"), ("source", "other"))
    for field, wrong in wrongs:
        with pytest.raises(ValueError, match="Invalid input|is not|does not match"):
            dag.params[field] = wrong


def test_windows_run_again_in_place_are_told_as_the_ledger_has_them(dag: DAG) -> None:
    run = dag.test(logical_date=datetime(2026, 3, 2, tzinfo=UTC), run_conf=ASKED)
    assert str(run.state) == "success"
    states = {each.task_id: str(each.state) for each in run.get_task_instances()}
    assert states["in_place"] == "success"
    assert {states[task] for task in ("build", "compare", "approve", "promote", "drop")} == {"skipped"}
    (job,) = test_doors.JOBS
    words = ["run", "dump", "--from", f"{DAY:%Y-%m-%d}T05:00:00+00:00", "--to", f"{DAY:%Y-%m-%d}T07:00:00+00:00"]
    assert job.application == ROOT / "jobs" / "command.py"
    assert job.arguments[-len(words) - 1 :] == ["--", *words]
    assert job.name == "retable_command_dump"


def test_a_shadow_is_built_and_promoted_by_commands_that_say_who_and_why(lake: Lake, path: Path) -> None:
    context = asked(mode="shadow", tables=[TABLE], answer={"responded_by_user": {"id": "1", "name": "ann"}})
    assert window._build_words(path, context) == (
        "dump",
        *[
            [
                "shadow",
                "build",
                "dump",
                "--tables",
                TABLE,
                "--from",
                name(5),
                "--to",
                name(7),
                "--reason",
                ASKED["reason"],
            ]
        ],
    )
    promote = window._promote_words(path, context)[1]
    why = "the zone was wrong (asked for by eve, approved by ann)"
    assert promote == ["shadow", "promote", "dump", "--reason", why]


def test_who_asked_for_a_shadow_does_not_approve_it_alone_where_the_settings_say_so(
    lake: Lake, path: Path, write_settings: SettingsWriter
) -> None:
    write_settings(f"{EACH}[airflow]\nsecond_person = true\n")
    ann = {"responded_by_user": {"id": "1", "name": "ann"}}
    assert window._promote_words(path, asked(answer=ann))[1][1] == "promote"
    with pytest.raises(AirflowFailException, match="clear the task 'approve'"):
        window._promote_words(path, asked(answer=ann, by="ann"))
    with pytest.raises(AirflowFailException, match="does not name both"):
        window._promote_words(path, asked(answer=ann, by=None))


def test_a_shadow_is_dropped_however_the_run_went_and_the_run_ends_as_it_went(dag: DAG) -> None:
    drop, approve = dag.get_task("drop"), dag.get_task("approve")
    assert drop.is_teardown
    assert not drop.on_failure_fail_dagrun
    assert dag.get_task("build").is_setup
    assert approve.downstream_task_ids == {"promote"}
    assert approve.defaults == ["Reject"]
    assert {dag.get_task(task).pool for task in ("build", "promote", "in_place")} == {"retable_spark"}
    assert dag.get_task("compare").retries == 2


@pytest.mark.parametrize(("chosen", "stands"), [(["Approve"], True), (["Reject"], False), (None, False)])
def test_a_shadow_whose_promotion_failed_stands_so_that_the_task_can_be_cleared(
    lake: Lake, path: Path, chosen: list[str] | None, stands: bool
) -> None:
    beside = publish(
        shadow_lake(lake, "dump"), TableName("shop", None, "orders"), {"id": "int"}, [], source="shadow_dump"
    )
    dropped = window._drop(path, asked(mode="shadow", answer=chosen and {"chosen_options": chosen}))
    assert (dropped, lake.find(beside) is not None) == ([] if stands else [beside], stands)


DIFFERENCE: dict[str, Any] = {
    "table": TABLE,
    "equal": False,
    "key": ["id"],
    "held": "ZERO_DATE at 0.7.0",
    "moved": True,
    "rejected": [{"code": "BAD_VALUE", "changes": 33, "reason": "it has a time of day"}],
    "columns": [{"gold": None, "shadow": {"name": "price", "type": "decimal(18,4)"}}],
    "rows": {
        "gold": 3,
        "shadow": 4,
        "only_in_gold": 0,
        "only_in_shadow": 1,
        "different": 2,
        "columns": {"at": 2},
        "samples": [{"key": {"id": 1}, "gold": {"at": "a"}, "shadow": {"at": "b"}}],
    },
}


def test_a_difference_is_told_with_its_counts_and_columns_and_without_a_value() -> None:
    found = without_values(DIFFERENCE)
    text = to_markdown([found], "shop")
    for part in (
        "only in the shadow",
        "**2** different",
        "price decimal&#40;18,4&#41;",
        "at in 2",
        "**33 changes do not fit the shadow**: BAD_VALUE",
        "held",
        "`retable shadow diff shop`",
    ):
        assert part in text
    for told in (text, json.dumps(found)):
        assert '"at": "b"' not in told
        assert "time of day" not in told


@given(st.text())
def test_nothing_that_a_table_holds_is_more_than_text(value: str) -> None:
    line = inline(value)
    assert not set(line) & set("<>`|*[]()\\\n\"'{}")
    block = code(value)
    fence = block.partition("text\n")[0]
    assert fence not in block[len(fence) : -len(fence)]
