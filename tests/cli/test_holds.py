"""Held tables: listed with their reason, and released with words before deeds."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest
from typer.testing import Result

from feeding import Feed
from published import publish
from retable.cli.look_after import holds
from retable.gold.read import find_gold
from retable.ledger.lake.catalog import Lake
from retable.ledger.read import read_actions, read_decisions
from retable.ledger.rows import StageReport
from retable.model.event import TableName
from retable.model.sequence import Sequence
from retable.replay.inputs.decisions import decisions_of
from retable.schema_history.decisions import REMEDY_APPROVAL, Decision, DecisionKind
from retable.schema_history.history import Hold

Retable = Callable[..., Result]

HOLD = Hold("UNSUPPORTED_CHANGE", "it drops\na partition", Sequence(0, 7, 0), "t/0", "ALTER …", "rebuild it")


@pytest.fixture
def held(lake: Lake) -> str:
    publish(lake, TableName("shop", None, "fine"), {"id": "int"}, [])
    return publish(lake, TableName("shop", None, "orders"), {"id": "int"}, [], state="held", hold=HOLD)


def test_a_held_table_is_listed_with_its_reason(retable: Retable, held: str) -> None:
    assert json.loads(retable("hold", "list", "--json").stdout) == [
        {
            "name": held,
            "source": "dump",
            "code": "UNSUPPORTED_CHANGE",
            "reason": "it drops\na partition",
            "position": "0.7.0",
            "part": "t/0",
            "statement": "ALTER …",
            "remedy": "rebuild it",
        }
    ]
    assert "reason     it drops\\na partition\n" in retable("hold", "list").stdout


def test_where_nothing_is_held_the_list_is_empty(retable: Retable, lake: Lake) -> None:
    assert json.loads(retable("hold", "list", "--json").stdout) == []
    assert retable("hold", "list").stderr == "nothing is held\n"


def test_a_table_that_is_not_held_is_not_released(retable: Retable, held: str, lake: Lake) -> None:
    result = retable("hold", "release", "gold_shop.fine", "--retry", "--reason", "x")
    assert result.exit_code == 1
    assert "gold_shop.fine is not held" in result.stderr
    assert read_actions(lake, "dump") == []


def test_a_release_needs_one_way_and_a_reason(retable: Retable, held: str) -> None:
    assert "--retry, --skip" in retable("hold", "release", held, "--reason", "x").stderr
    assert "one of --retry" in retable("hold", "release", held, "--retry", "--skip", "--reason", "x").stderr
    assert "--reason" in retable("hold", "release", held, "--rebuild").stderr


@pytest.fixture
def still_held() -> tuple[str, ...]:
    return ()


@pytest.fixture
def counts() -> dict[str, int]:
    return {"rows": 3, "applied": 3}


@pytest.fixture
def asked(
    monkeypatch: pytest.MonkeyPatch, lake: Lake, still_held: tuple[str, ...], counts: dict[str, int]
) -> list[tuple[object, ...]]:
    """What the engine was asked for, which is not started here: the table, and whether it resumes."""
    found: list[tuple[object, ...]] = []

    @contextmanager
    def no_spark(_: object) -> Iterator[None]:
        yield None

    def rebuild(*args: object) -> StageReport:
        found.append((args[3], args[7]))
        assert read_actions(lake, "dump")[0].reason == "fixed; at the source"
        return StageReport(source="dump", window="20260301T0500Z", stage="replay", counts=counts, held=still_held)

    monkeypatch.setattr(holds, "running_spark", no_spark)
    monkeypatch.setattr(holds, "_rebuild_entry_point", lambda: rebuild)
    return found


@pytest.mark.parametrize(("still_held", "code"), [((), 0), (("gold_shop.orders",), 2)])
def test_a_release_says_first_what_it_will_do_and_keeps_who_and_why(
    retable: Retable, held: str, lake: Lake, asked: list[tuple[object, ...]], still_held: tuple[str, ...], code: int
) -> None:
    result = retable("hold", "release", held, "--rebuild", "--reason", "fixed; at the source", "--yes")
    assert result.exit_code == code, result.stderr
    assert asked == [(held, False)]
    words = result.stderr.splitlines()
    assert words[:2] == ["gold_shop.orders is held at 0.7.0: it drops\\na partition", "  ALTER …"]
    assert any("built again" in line for line in words)
    assert any("[1/1] gold_shop.orders rebuild" in line for line in words)
    assert ("is held again" in words[-1]) == bool(still_held)
    (action,) = read_actions(lake, "dump")
    assert (action.action, action.target) == ("release --rebuild", held)
    assert action.who
    assert read_decisions(lake, "dump") == []


@pytest.mark.parametrize(("still_held", "code"), [((), 0), (("gold_shop.items",), 2)])
def test_several_tables_go_on_by_one_command(
    retable: Retable, held: str, lake: Lake, asked: list[tuple[object, ...]], still_held: tuple[str, ...], code: int
) -> None:
    items = publish(lake, TableName("shop", None, "items"), {"id": "int"}, [], state="held", hold=HOLD)
    one_is_not = retable("hold", "release", held, "gold_shop.fine", "--retry", "--reason", "x", "--yes")
    assert (one_is_not.exit_code, asked, read_actions(lake, "dump")) == (1, [], [])
    of_one = retable("hold", "release", held, items, "--as", "alter table orders add c int", "--reason", "x")
    assert "name only that table" in of_one.stderr
    done = retable("rebuild", held, items, "--reason", "fixed; at the source", input="y\n")
    assert (done.exit_code, asked) == (code, [(held, False), (items, False)]), done.stderr
    assert done.stderr.count("Continue?") == 1
    assert "[1/2] gold_shop.orders rebuild" in done.stderr
    assert "[2/2] gold_shop.items rebuild" in done.stderr
    assert ("gold_shop.items is held again" in done.stderr) == bool(still_held)
    assert {action.target for action in read_actions(lake, "dump")} == {held, items}


@pytest.mark.parametrize(
    ("way", "decision", "statement", "words"),
    [
        (("--skip",), "skip", HOLD.statement, "The statement will have no effect: now, and in every later replay"),
        (("--as", "alter table orders add c int"), "replace", "alter table orders add c int", "(AddColumn)"),
        (("--retry",), None, None, "The replay will be tried again from there"),
    ],
)
def test_a_decision_is_kept_for_every_later_replay(
    retable: Retable,
    held: str,
    lake: Lake,
    asked: list[tuple[object, ...]],
    way: tuple[str, ...],
    decision: DecisionKind | None,
    statement: str | None,
    words: str,
) -> None:
    result = retable("hold", "release", held, *way, "--reason", "fixed; at the source", input="y\n")
    assert (result.exit_code, asked) == (0, [(held, True)]), result.stderr
    assert words in result.stderr
    assert "rows of the table are read" in result.stderr
    identity = find_gold(lake, held)[1].identity
    assert HOLD.position is not None
    kept = [Decision(identity, HOLD.position, HOLD.part, decision, statement)] if decision else []
    assert list(decisions_of(lake, "dump")) == kept
    (action,) = read_actions(lake, "dump")
    assert action.action.startswith(f"release {way[0]}")


def test_repeats_of_one_statement_are_offered_and_skipped_together(
    retable: Retable, held: str, lake: Lake, asked: list[tuple[object, ...]]
) -> None:
    feed, orders = Feed(lake), TableName("shop", None, "orders")
    assert HOLD.statement is not None
    feed.told(5, HOLD.statement, Sequence(0, 2, 0), Sequence(0, 7, 0), Sequence(0, 10, 0), table=orders)
    feed.told(6, HOLD.statement, Sequence(0, 90, 0), table=orders)
    feed.told(6, HOLD.statement, Sequence(0, 91, 0), table=TableName("shop", None, "fine"))
    feed.told(6, "ALTER another", Sequence(0, 92, 0), table=orders)
    hint = (
        "the same statement is also at 0.2.0, 0.10.0, 0.90.0; `hold release --skip --repeats` skips it after the hold"
    )
    assert hint in retable("hold", "list").stdout

    skip = ("hold", "release", held, "--skip", "--reason", "fixed; at the source", "--yes")
    alone = retable(*skip)
    assert alone.exit_code == 0, alone.stderr
    assert "The same statement is also at 0.10.0, 0.90.0: --repeats skips it there, too." in alone.stderr
    assert [row.position for row in read_decisions(lake, "dump")] == ["0.7.0"]

    together = retable(*skip, "--repeats")
    assert together.exit_code == 0, together.stderr
    assert "The same statement is also skipped at 0.10.0, 0.90.0." in together.stderr
    assert [row.position for row in read_decisions(lake, "dump")[1:]] == ["0.7.0", "0.10.0", "0.90.0"]
    assert {(row.decision, row.part, row.statement) for row in read_decisions(lake, "dump")} == {
        ("skip", "t/0", HOLD.statement)
    }
    assert read_actions(lake, "dump")[-1].action.endswith("ALTER … at 0.7.0, 0.10.0, 0.90.0")
    assert (
        "--repeats is only valid with --skip"
        in retable("hold", "release", held, "--retry", "--repeats", "--reason", "x").stderr
    )


def test_rows_that_did_not_fit_end_a_release_with_2(
    retable: Retable, held: str, lake: Lake, asked: list[tuple[object, ...]], counts: dict[str, int]
) -> None:
    counts["rejected"] = 2
    Feed(lake).quarantined(5, 2, TableName("shop", None, "orders"))
    result = retable("hold", "release", held, "--retry", "--reason", "fixed; at the source", "--yes")
    assert result.exit_code == 2
    assert "quarantined: 2 messages or rows; `retable quarantine list` says which" in result.stderr


def test_nothing_happens_unless_it_is_confirmed(
    retable: Retable, held: str, lake: Lake, asked: list[tuple[object, ...]]
) -> None:
    for answer in ("n\n", ""):
        assert retable("hold", "release", held, "--skip", "--reason", "x", input=answer).exit_code == 1
    assert (asked, read_actions(lake, "dump"), read_decisions(lake, "dump")) == ([], [], [])


@pytest.mark.parametrize(
    ("hold", "way", "words"),
    [
        (HOLD, ("--approve",), "--as, --skip, --retry, --rebuild"),
        (replace(HOLD, position=None, code="LATE_CHANGE"), ("--retry",), "valid here: --rebuild"),
        (replace(HOLD, position=None, code="KEY_UNKNOWN"), ("--skip",), "valid here: --retry, --rebuild"),
        (replace(HOLD, statement='{"id":"1"}'), ("--as", "drop table orders"), "valid here: --skip, --retry"),
        (replace(HOLD, statement=None), ("--skip",), "valid here: --retry, --rebuild"),
        (HOLD, ("--as", "frobnicate"), "is not understood"),
        (HOLD, ("--as", "alter table other add c int"), "is about shop.other"),
    ],
)
def test_a_release_that_does_not_fit_its_hold_is_refused(
    retable: Retable, lake: Lake, asked: list[tuple[object, ...]], hold: Hold, way: tuple[str, ...], words: str
) -> None:
    table = publish(lake, TableName("shop", None, "orders"), {"id": "int"}, [], state="held", hold=hold)
    result = retable("hold", "release", table, *way, "--reason", "x", "--yes")
    assert (result.exit_code, asked) == (1, [])
    assert words in result.stderr


def test_a_change_that_asked_is_approved_or_rejected(
    retable: Retable, lake: Lake, asked: list[tuple[object, ...]]
) -> None:
    hold = replace(HOLD, code="APPROVAL", remedy=REMEDY_APPROVAL)
    table = publish(lake, TableName("shop", None, "orders"), {"id": "int"}, [], state="held", hold=hold)
    for way in ("--approve", "--reject"):
        result = retable("hold", "release", table, way, "--reason", "fixed; at the source", "--yes")
        assert result.exit_code == 0, result.stderr
    assert [row.decision for row in read_decisions(lake, "dump")] == ["approve", "skip"]
    assert f"retable hold release {table} --approve" in retable("hold", "list").stdout
