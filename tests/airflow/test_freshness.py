"""The task that keeps watermarks, and the sensor that waits; tests/airflow_running has both in a real Airflow."""

import asyncio
from collections import defaultdict
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from airflow.sdk.exceptions import AirflowFailException, AirflowSensorTimeout, TaskDeferred

from feeding import EACH, Feed, at, name
from lakes import SettingsWriter
from published import publish
from retable.freshness import catalog
from retable.ledger.lake.catalog import open_lake
from retable.ledger.read import read_watermarks
from retable.model.event import TableName
from retable_airflow import freshness
from retable_airflow.freshness import FreshnessSensor, FreshnessTrigger, fresh
from retable_airflow.looks import Looks

ORDERS = "gold_shop.orders"


@pytest.fixture
def feed(write_settings: SettingsWriter) -> Feed:
    """Two replayed hours of a source with two partitions, of which the second spoke at 05:50 last; and its table."""
    feed = Feed(open_lake(write_settings(EACH)))
    feed.windows(7)
    feed.done(5)
    feed.done(6)
    feed.proves(5, 0, row="05:40")
    feed.proves(5, 1, row="05:50")
    feed.proves(6, 0, row="06:20")
    publish(feed.lake, TableName("shop", None, "orders"), {"id": "int"}, [])
    return feed


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "retable.toml"


def context(end: str | None = "06:00") -> Any:
    return {"data_interval_end": end and at(end)}


def sensor(path: Path, **more: Any) -> FreshnessSensor:
    return FreshnessSensor(task_id="complete", settings=path, **{"tables": ORDERS, **more})


def deferred(sensor: FreshnessSensor, **more: Any) -> TaskDeferred:
    with pytest.raises(TaskDeferred) as caught:
        sensor.execute(context(**more))
    return caught.value


def events(trigger: FreshnessTrigger) -> list[Any]:
    async def collect() -> list[Any]:
        return [event.payload async for event in trigger.run()]

    return asyncio.run(collect())


def again(deferral: TaskDeferred, **more: Any) -> FreshnessTrigger:
    """The trigger as a triggerer makes it: of its class's path and its arguments, hastier than it was."""
    where, arguments = deferral.trigger.serialize()
    assert where == "retable_airflow.freshness.FreshnessTrigger"
    return FreshnessTrigger(**{**arguments, "poll": 0.01, **more})


# --- the sensor --------------------------------------------------------------------------------------------------
def test_what_is_complete_is_told_at_once_with_the_window_that_proved_it(feed: Feed, path: Path) -> None:
    feed.proves(6, 1, heartbeat="06:10")
    assert sensor(path).execute(context()) == {
        "through": "2026-03-01T06:00:00+00:00",
        "watermark": "2026-03-01T06:10:00+00:00",
        "grade": "row",
        "windows": {"dump": name(6)},
    }


def test_what_is_late_is_left_to_the_triggerer(feed: Feed, path: Path) -> None:
    deferral = deferred(sensor(path, tables=[ORDERS, "dump"], poke_interval=7, deadline=timedelta(minutes=3)))
    assert deferral.method_name == "look_again"
    _, arguments = deferral.trigger.serialize()
    until = datetime.fromisoformat(arguments.pop("until"))
    assert arguments == {
        "settings": str(path),
        "names": [ORDERS, "dump"],
        "through": "2026-03-01T06:00:00+00:00",
        "grade": "row",
        "poll": 7.0,
    }
    assert timedelta(0) < until - datetime.now(UTC) <= timedelta(minutes=3)


def test_evidence_that_comes_ends_the_wait(feed: Feed, path: Path) -> None:
    waiting = sensor(path)
    deferral = deferred(waiting)
    feed.proves(6, 1, row="06:00")
    assert events(again(deferral)) == [{}]
    assert waiting.look_again(context(), {}, **deferral.kwargs)["windows"] == {"dump": name(6)}


def test_a_deadline_fails_the_task_with_what_it_waited_for(feed: Feed, path: Path) -> None:
    waiting = sensor(path)
    over = datetime.now(UTC).isoformat()
    assert events(again(deferred(waiting), until=over)) == [{}]
    with pytest.raises(
        AirflowSensorTimeout,
        match="gold_shop.orders is late: complete through 2026-03-01T05:50:00Z .row., not 2026-03-01T06:00:00Z: the "
        "partition shop.t/1 has no evidence since 2026-03-01T05:50:00Z",
    ):
        waiting.look_again(context(), {}, until=over)


def test_what_the_trigger_saw_may_be_gone_again_and_the_wait_goes_on(feed: Feed, path: Path) -> None:
    waiting = sensor(path)
    deferral = deferred(waiting)
    with pytest.raises(TaskDeferred) as caught:
        waiting.look_again(context(), {}, **deferral.kwargs)
    assert caught.value.trigger.serialize()[1]["until"] == deferral.trigger.serialize()[1]["until"]


def test_a_wait_that_only_the_scheduler_ended_names_its_cause_too(feed: Feed, path: Path) -> None:
    waiting = sensor(path)
    with pytest.raises(AirflowSensorTimeout, match="the partition shop.t/1 has no evidence"):
        waiting.resume_execution("__fail__", {"error": "Trigger timeout"}, context())


def test_a_trigger_that_starts_anew_waits_for_the_same(feed: Feed, path: Path) -> None:
    trigger = again(deferred(sensor(path)))
    where, arguments = trigger.serialize()
    assert FreshnessTrigger(**arguments).serialize() == (where, arguments)


def test_a_table_that_is_not_there_yet_is_waited_for(feed: Feed, path: Path) -> None:
    waiting = sensor(path, tables="gold_shop.items")
    over = datetime.now(UTC).isoformat()
    assert events(again(deferred(waiting), until=over)) == [{}]
    with pytest.raises(AirflowSensorTimeout, match="there is no gold table 'gold_shop.items'"):
        waiting.look_again(context(), {}, until=over)


def test_a_source_that_is_not_there_fails_at_once(feed: Feed, path: Path) -> None:
    with pytest.raises(AirflowFailException, match="no source is called 'dmup'; did you mean 'dump'?"):
        sensor(path, tables="dmup").execute(context())


def test_settings_that_break_while_a_sensor_waits_end_the_wait(feed: Feed, path: Path) -> None:
    waiting = sensor(path)
    deferral = deferred(waiting)
    path.write_text("[sources", encoding="utf-8")
    (event,) = events(again(deferral))
    assert "is not TOML" in event["error"]
    with pytest.raises(AirflowFailException, match="is not TOML"):
        waiting.look_again(context(), event, **deferral.kwargs)


def test_a_catalog_that_is_away_for_a_while_is_asked_again(
    feed: Feed, path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    waiting = sensor(path)
    deferral = deferred(waiting)
    feed.proves(6, 1, row="06:00")
    away = tmp_path / "away"
    (tmp_path / "lake").rename(away)
    (tmp_path / "lake").write_text("in the way", encoding="utf-8")
    asked = []

    def is_answered(question: freshness.Question) -> bool:
        asked.append(1)
        if len(asked) == 3:
            (tmp_path / "lake").unlink()
            away.rename(tmp_path / "lake")
        return ask(question)

    ask = freshness.Question.is_answered
    monkeypatch.setattr(freshness.Question, "is_answered", is_answered)
    assert events(again(deferral)) == [{}]
    assert len(asked) == 3


def test_hundreds_of_sensors_that_wait_for_one_source_look_at_it_once(
    feed: Feed, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks: list[str] = []
    monkeypatch.setattr(freshness, "_looks", Looks(kept=3600))
    read = catalog.read_line
    monkeypatch.setattr(catalog, "read_line", lambda lake, source: looks.append(source.name) or read(lake, source))
    publish(feed.lake, TableName("shop", None, "items"), {"id": "int"}, [])
    until = (datetime.now(UTC) + timedelta(seconds=2)).isoformat()
    waiting = [
        FreshnessTrigger(str(path), [table], at(f"07:{minute:02}").isoformat(), "row", until, 0.01)
        for table in (ORDERS, "gold_shop.items")
        for minute in range(60)
        for _ in range(2)
    ]

    async def told(trigger: FreshnessTrigger) -> list[Any]:
        return [event.payload async for event in trigger.run()]

    async def all_of_them() -> list[list[Any]]:
        return await asyncio.gather(*map(told, waiting))

    assert len(waiting) == 240
    assert asyncio.run(all_of_them()) == [[{}]] * 240
    assert looks == ["dump"]


@pytest.mark.parametrize("through", ["2026-03-01 06:00:00+00:00", "2026-03-01T14:00:00+08:00", at("06:00")])
def test_a_time_may_be_given(feed: Feed, path: Path, through: object) -> None:
    feed.proves(6, 1, row="06:10")
    found = sensor(path, through=through).execute(context(None))
    assert datetime.fromisoformat(str(found["through"])) == at("06:00")


@pytest.mark.parametrize(
    ("through", "words"),
    [(None, "has no data interval"), ("2026-03-01T06:00:00", "a time with a zone"), ("soon", "a time with a zone")],
)
def test_a_run_without_a_time_fails_at_once(feed: Feed, path: Path, through: object, words: str) -> None:
    with pytest.raises(AirflowFailException, match=words):
        sensor(path, through=through).execute(context(None))


def test_tables_and_time_are_templates_and_a_grade_is_checked_where_it_is_written() -> None:
    assert FreshnessSensor.template_fields == ("tables", "through")
    with pytest.raises(ValueError, match="grade is 'hearsay', .*give one of heartbeat, canary, row, drained"):
        FreshnessSensor(task_id="complete", tables="dump", grade="hearsay")  # type: ignore[arg-type]  # the wrong grade is the test
    with pytest.raises(AirflowFailException, match="no table to wait for"):
        FreshnessSensor(task_id="complete", tables=[]).execute(context())


# --- the task ----------------------------------------------------------------------------------------------------
RUN: Any = {
    "dag": SimpleNamespace(params={"window": None}),
    "dag_run": SimpleNamespace(conf=None, start_date=at("07:00")),
    "outlet_events": defaultdict(SimpleNamespace),
    "params": {"window": None},
    "data_interval_start": at("06:00"),
    "run_id": "scheduled",
}


def test_the_task_keeps_watermarks_and_stays_green_where_something_is_late(feed: Feed, path: Path) -> None:
    assert fresh("dump", path).execute(RUN) == {
        "window": name(6),
        "fresh": False,
        "watermark": "2026-03-01T05:50:00+00:00",
        "grade": "row",
        "changed": [],
    }
    assert {row.window for row in read_watermarks(feed.lake, "dump")} == {name(5), name(6)}


def test_the_task_says_when_its_window_is_complete(feed: Feed, path: Path) -> None:
    feed.windows(8)
    feed.done(7)
    for partition in (0, 1):
        feed.proves(7, partition, heartbeat="07:00")
    assert fresh("dump", path).execute(RUN)["fresh"] is True
