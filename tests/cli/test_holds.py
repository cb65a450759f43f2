"""Held tables: listed with their reason, and released with words before deeds."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from typer.testing import Result

from published import publish
from retable.cli import holds
from retable.ledger.catalog import Lake
from retable.ledger.read import read_actions
from retable.ledger.rows import StageReport
from retable.model.event import TableName
from retable.model.sequence import Sequence
from retable.replay.history import Hold

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
    result = retable("hold", "release", "gold_shop.fine", "--rebuild", "--reason", "x")
    assert result.exit_code == 1
    assert "gold_shop.fine is not held" in result.stderr
    assert read_actions(lake, "dump") == []


def test_a_release_needs_a_way_and_a_reason(retable: Retable, held: str) -> None:
    assert "--rebuild builds it anew" in retable("hold", "release", held, "--reason", "x").stderr
    assert "--reason" in retable("hold", "release", held, "--rebuild").stderr


@pytest.mark.parametrize(("still_held", "code"), [((), 0), (("gold_shop.orders",), 2)])
def test_a_release_says_first_what_it_will_do_and_keeps_who_and_why(
    retable: Retable, held: str, lake: Lake, monkeypatch: pytest.MonkeyPatch, still_held: tuple[str, ...], code: int
) -> None:
    asked: list[object] = []

    @contextmanager
    def no_spark(_: object) -> Iterator[None]:
        yield None

    def rebuild(*args: object) -> StageReport:
        asked.append(args[3])
        assert read_actions(lake, "dump")[0].reason == "fixed; at the source"
        return StageReport("dump", "20260301T0500Z", "replay", {"rows": 3, "applied": 3}, held=still_held)

    monkeypatch.setattr(holds, "running_spark", no_spark)
    monkeypatch.setattr(holds, "_rebuild_door", lambda: rebuild)
    result = retable("hold", "release", held, "--rebuild", "--reason", "fixed; at the source")
    assert result.exit_code == code, result.stderr
    assert asked == [held]
    words = result.stderr.splitlines()
    assert words[0] == "gold_shop.orders is held at 0.7.0: it drops\\na partition"
    assert "[1/1] gold_shop.orders rebuild" in words[3]
    assert ("is held again" in words[-1]) == bool(still_held)
    (action,) = read_actions(lake, "dump")
    assert (action.action, action.target) == ("release --rebuild", held)
    assert action.who
