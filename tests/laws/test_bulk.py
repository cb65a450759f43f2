"""Rows that are folded many at a time come to what they come to one by one."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from formats.events import canal
from laws.story import ROW_KINDS
from laws.test_laws import LAW, orders, stories
from laws.world import World, make_settings
from retable.model.message import RawMessage
from retable.replay.batch import ranges
from retable.replay.table.deciding import Deciding


@LAW
@given(st.data())
def test_a_bulk_comes_to_what_its_rows_come_to_one_by_one(data: st.DataObject) -> None:
    story = data.draw(stories((*ROW_KINDS, "add_column", "change_primary_key")))
    order = data.draw(orders(story))
    found = []
    at_once = data.draw(st.integers(1, 5))
    ways = [(Deciding._decide_vectorized, 1000), (Deciding._decide_vectorized, at_once), (lambda *_: None, 1000)]
    for decide, rows_at_once in ways:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Deciding, "_decide_vectorized", decide)
            patch.setattr(ranges, "ROWS_AT_ONCE", rows_at_once)
            world = story.world()
            for number in order:
                world.replay(world.names[number])
        found.append((world.gold(), world.counts, world.rejected))
    assert found[0] == found[1] == found[2]


def row(offset: int, kind: str, ident: str, value: str, old: dict[str, str] | None = None) -> RawMessage:
    data = [{"id": ident, "v": value}]
    return canal(offset, type=kind, data=data, old=old and [old], mysqlType={"id": "int", "v": "int"}, sqlType=None)


def test_only_the_keys_that_are_not_plain_are_looked_at_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(make_settings("canal_json"))
    create = canal(1, isDdl=True, type="CREATE", data=None, sql="create table t (id int primary key, v int)")
    world.replay(world.deliver([create, row(2, "INSERT", "1", "1"), row(3, "INSERT", "2", "2")]))
    looked_at = []
    one_by_one = "retable.replay.table.deciding.to_events"
    real = Deciding._decide_vectorized.__globals__["to_events"]
    monkeypatch.setattr(one_by_one, lambda rows, *rest: looked_at.append(rows.num_rows) or real(rows, *rest))
    rows = [
        row(4, "UPDATE", "1", "10", {"v": "1"}),
        row(5, "INSERT", "3", "3"),
        row(6, "UPDATE", "4", "3", {"id": "3"}),
        row(7, "INSERT", "5", "none"),
        row(8, "INSERT", "6", "6"),
        row(9, "DELETE", "6", "gone"),
        row(10, "DELETE", "2", "2"),
        row(11, "INSERT", "7", "7"),
    ]
    name = world.deliver(rows)
    world.replay(name)
    assert looked_at == [3]
    assert [json.loads(text) for text in world.gold()["gold_shop.t"].rows] == [
        {"id": 1, "v": 10},
        {"id": 4, "v": 3},
        {"id": 7, "v": 7},
    ]
    assert [counts for (window, _), counts in world.counts.items() if window == name] == [
        {"rows": 8, "applied": 5, "rejected": 1, "superseded": 2}
    ]


@pytest.mark.parametrize("negative", ["-0", "-0.0", "-0.00"])
@pytest.mark.parametrize("positive", ["0", "0.0", "0.00"])
def test_the_two_zeros_of_a_floating_key_are_one_key(
    positive: str, negative: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ranges, "ROWS_AT_ONCE", 1)
    world = World(make_settings("canal_json"))
    create = canal(1, isDdl=True, type="CREATE", data=None, sql="create table t (id double primary key, v int)")
    world.replay(world.deliver([create]))
    kinds = {"id": "double", "v": "int"}
    zeros = [
        canal(at, type="INSERT", data=[{"id": zero, "v": str(at)}], old=None, mysqlType=kinds, sqlType=None)
        for at, zero in enumerate([positive, negative], 2)
    ]
    world.replay(world.deliver(zeros))
    assert [json.loads(text)["v"] for text in world.gold()["gold_shop.t"].rows] == [3]
