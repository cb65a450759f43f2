"""A window that is replayed before its turn takes nothing of those that still wait for theirs."""

import json

import pytest

from laws.test_bulk import in_tasks
from laws.test_partial_rows import told
from laws.test_same_either_way import row, statement
from laws.world import World, make_settings
from retable.model.message import RawMessage


@pytest.mark.parametrize("way", ["one process", "tasks"])
@pytest.mark.parametrize(
    ("skipped", "wanted"),
    [
        # Key 6 is taken by a new row, from which the moved one must not take what it does not tell.
        (
            [told(10, "upd", {"id": 6}, id=19), told(12, "ins", id=6, a=65, b=66)],
            {(1, 11, 13), (19, 61, 62), (6, 65, 66)},
        ),
        # Key 6 has no row any more.
        ([told(10, "upd", {"id": 6}, id=19)], {(1, 11, 13), (19, 61, 62)}),
        ([told(10, "upd", {"id": 6}, id=19), told(11, "upd", {"id": 1}, id=6)], {(19, 61, 62), (6, 11, 13)}),
    ],
    ids=["another row came", "none came", "another row moved there"],
)
def test_what_waits_is_not_taken_for_what_gold_has(
    way: str, skipped: list[RawMessage], wanted: set[tuple[int, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows that tell only some columns; the late one of the last window needs all events of its key."""
    first = [told(1, "ins", id=1, a=11, b=12), told(2, "ins", id=6, a=61, b=62)]
    last = [first[1], told(9, "upd", {"id": 1}, b=13)]
    tables = {"shop.SHOP.t": {"keys": ["id"], "types": dict.fromkeys(("id", "a", "b"), "int")}}
    world = World(make_settings("shareplex_json", tables, database="shop", binary_encoding="hex"))
    if way == "tasks":
        in_tasks(monkeypatch, 1)
    world.replay(world.deliver(first))
    waiting = world.deliver(skipped)
    world.replay(world.deliver(last))
    world.replay(waiting)
    (gold,) = world.gold().values()
    assert gold.hold is None
    assert {tuple(json.loads(text).values()) for text in gold.rows} == wanted


@pytest.mark.parametrize("way", ["one process", "tasks"])
def test_a_row_without_a_key_is_counted_once(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def insert(offset: int, number: int) -> RawMessage:
        return row(offset, "INSERT", None, {"id": "int"}, id=str(number))

    if way == "tasks":
        in_tasks(monkeypatch, 1)
    world = World(make_settings("canal_json"))
    world.replay(world.deliver([statement(1, "create table t (id int)"), insert(2, 1), insert(20, 7)]))
    waiting = world.deliver([insert(30, 3)])
    world.replay(world.deliver([insert(10, 3), insert(25, 4)]))
    world.replay(waiting)
    (gold,) = world.gold().values()
    assert sorted(json.loads(text)["id"] for text in gold.rows) == [1, 3, 3, 4, 7]
