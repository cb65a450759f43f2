"""Freshness as a person and a script ask for it: `why`, `fresh`, and what a run says at its end."""

import json
from collections.abc import Callable
from types import SimpleNamespace

import pytest
from typer.testing import Result

from feeding import EACH, Feed, at, name
from lakes import SettingsWriter
from published import publish
from retable.cli.look import fresh, why
from retable.freshness.catalog import ask_why
from retable.ledger.lake.catalog import open_lake
from retable.model.event import TableName
from retable.model.sequence import Sequence
from retable.schema_history.history import Hold

Retable = Callable[..., Result]

ORDERS = "gold_shop.orders"
T = ("--through", "2026-03-01T06:00:00Z")


@pytest.fixture
def feed(write_settings: SettingsWriter, monkeypatch: pytest.MonkeyPatch) -> Feed:
    """Two replayed hours of a source that spoke at 05:50 last, and its table; it is 07:20."""
    for command in (fresh, why):
        monkeypatch.setattr(command, "now", lambda: at("07:20"))
    feed = Feed(open_lake(write_settings(EACH)))
    feed.windows(7)
    feed.done(5)
    feed.done(6)
    feed.proves(5, row="05:50")
    publish(feed.lake, TableName("shop", None, "orders"), {"id": "int"}, [])
    return feed


def test_a_table_that_is_late_ends_with_3_its_cause_and_the_next_step(retable: Retable, feed: Feed) -> None:
    result = retable("fresh", ORDERS, *T)
    assert result.exit_code == 3
    what, next_step, code = result.stderr.splitlines()
    assert code == "       [LATE]"
    assert what.startswith(
        "error: gold_shop.orders is late: complete through 2026-03-01T05:50:00Z (row), not 2026-03-01T06"
    )
    assert "the partition shop.t/0 has no evidence since 2026-03-01T05:50:00Z" in what
    assert next_step.startswith("       wait for the next message of that partition")
    assert result.stdout == ""


def test_a_table_that_is_complete_ends_with_0(retable: Retable, feed: Feed) -> None:
    feed.proves(6, row="06:00")
    result = retable("fresh", ORDERS, *T)
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr == "gold_shop.orders is fresh: complete through 2026-03-01T06:00:00Z (row)\n"


def test_a_weaker_grade_is_accepted_where_it_is_asked_for(retable: Retable, feed: Feed) -> None:
    assert retable("fresh", ORDERS, *T, "--grade", "drained").exit_code == 0
    assert retable("fresh", ORDERS, *T, "--grade", "heartbeat").exit_code == 3
    assert retable("fresh", ORDERS, *T, "--grade", "hearsay").exit_code == 1


def test_a_verdict_as_json_stands_alone_on_stdout(retable: Retable, feed: Feed) -> None:
    result = retable("fresh", "dump", *T, "--json")
    assert result.exit_code == 3
    verdict = json.loads(result.stdout)
    assert verdict["cause"].pop("reason")
    assert verdict["cause"].pop("next_step")
    assert verdict == {
        "name": "dump",
        "through": "2026-03-01T06:00:00Z",
        "fresh": False,
        "watermark": "2026-03-01T05:50:00Z",
        "grade": "row",
        "lag_seconds": 5400,
        "cause": {
            "code": "SILENT",
            "table": None,
            "partition": "shop.t/0",
            "window": name(6),
            "since": "2026-03-01T05:50:00Z",
        },
    }


def test_waiting_ends_when_the_evidence_comes_and_tells_each_cause_once(
    retable: Retable, feed: Feed, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = iter([lambda: None, lambda: feed.windows(8), lambda: feed.done(7), lambda: feed.proves(7, row="07:10")])
    # Only this module's: other threads of the process sleep, too.
    monkeypatch.setattr(fresh, "time", SimpleNamespace(sleep=lambda _: next(steps)()))
    feed.proves(7, row="07:10")
    result = retable("fresh", ORDERS, *T, "--wait")
    assert result.exit_code == 0, result.stderr
    told = [line.split(": ")[2].split(";")[0] for line in result.stderr.splitlines()[:-1]]
    assert [words[:40] for words in told] == [
        "the partition shop.t/0 has no evidence s",
        "the window 20260301T0700Z of dump is rec",
    ]


@pytest.mark.parametrize("through", ["2026-03-01T06:00:00", "yesterday"])
def test_a_time_without_a_zone_is_an_error_of_usage(retable: Retable, feed: Feed, through: str) -> None:
    assert retable("fresh", ORDERS, "--through", through).exit_code == 1


def test_an_unknown_table_is_named_with_the_nearest(retable: Retable, feed: Feed) -> None:
    result = retable("why", "gold_shop.order")
    assert result.exit_code == 1
    assert "did you mean 'gold_shop.orders'?" in result.stderr


def test_why_asks_for_the_last_full_window(retable: Retable, feed: Feed) -> None:
    result = retable("why", ORDERS)
    assert result.exit_code == 0
    facts = dict(line.split("  ", 1) for line in result.stdout.splitlines() if line)
    assert {fact: text.strip() for fact, text in facts.items()} == {
        "name": ORDERS,
        "asked": "complete through 2026-03-01T07:00:00Z",
        "verdict": "late",
        "watermark": "2026-03-01T05:50:00Z (row)",
        "cause": "SILENT: the partition shop.t/0 has no evidence since 2026-03-01T05:50:00Z: no heartbeat, canary or "
        "row with the time 2026-03-01T07:00:00Z or later",
        "next step": "wait for the next message of that partition; if the source seldom changes, let it update a "
        "canary row every minute (`canary` in the settings), or accept the grade `drained`",
    }


def test_why_of_a_source_names_the_table_that_delays_it(
    retable: Retable, feed: Feed, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert retable("why", ORDERS).stdout.splitlines()[0].split() == ["name", ORDERS]
    monkeypatch.setattr(why, "ask_why", lambda lake, _, *asked: ask_why(lake, ORDERS, *asked))
    assert retable("why", "dump").stdout.splitlines()[0].endswith(f" {ORDERS}, which delays dump")
    feed.proves(6, heartbeat="07:00")
    assert retable("why", "dump").stdout.splitlines()[0].split() == ["name", "dump"]


def test_why_says_so_when_nothing_is_wrong(retable: Retable, feed: Feed) -> None:
    feed.proves(6, heartbeat="07:00")
    assert json.loads(retable("why", "dump", "--json").stdout)["cause"] is None
    assert "verdict    fresh" in retable("why", ORDERS, *T).stdout


def test_why_names_other_causes_in_a_line_each(retable: Retable, feed: Feed) -> None:
    hold = Hold("LATE_CHANGE", "it came late", Sequence(0, 7, 0), None, "ALTER …", "rebuild it")
    held = publish(feed.lake, TableName("shop", None, "customers"), {"id": "int"}, [], hold=hold)
    result = retable("why", held)
    assert result.exit_code == 0
    assert any(line.startswith("cause      HELD: the table is held at 0.7.0") for line in result.stdout.splitlines())
    assert result.stderr.startswith("also SILENT: the partition shop.t/0 has no evidence since")
    assert len(result.stderr.splitlines()) == 1
    assert [each["code"] for each in json.loads(retable("why", held, "--json").stdout)["others"]] == ["SILENT"]
