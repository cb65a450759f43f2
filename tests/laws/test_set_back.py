"""Gold that somebody rolled back: the next replay that looks at a table writes all of its rows again."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from formats.events import canal
from laws.retaining import retain
from laws.story import SUPPORTED, differences
from laws.test_laws import LAW, stories
from laws.world import World, make_settings
from retable.model.message import RawMessage
from retable.simulate import HELD_KINDS

TABLE = "gold_shop.t"


def row(offset: int, kind: str, **values: str) -> RawMessage:
    return canal(offset, type=kind, data=[values], old=None, mysqlType={"id": "int", "v": "int"}, sqlType=None)


def statement(offset: int, text: str) -> RawMessage:
    return canal(offset, isDdl=True, type=text.split()[0].upper(), data=None, sql=text)


FIRST = [statement(1, "create table t (id int primary key, v int)"), row(2, "INSERT", id="1", v="1")]
SECOND = [row(3, "UPDATE", id="1", v="2"), row(4, "INSERT", id="2", v="2")]
THIRD = [row(5, "UPDATE", id="1", v="3")]


def replayed(*windows: list[RawMessage]) -> World:
    world = World(make_settings("canal_json"))
    for window in windows:
        world.replay(world.deliver(window))
    return world


def rows(world: World) -> dict[int, int]:
    return {each["id"]: each["v"] for each in map(json.loads, world.gold()[TABLE].rows)}


@LAW
@given(st.data())
def test_wherever_gold_was_rolled_back_to_its_windows_make_it_whole(data: st.DataObject) -> None:
    story = data.draw(stories((*SUPPORTED, *HELD_KINDS)))
    world = story.world()
    for name in world.names:
        world.replay(name)
    before = world.gold()
    for table in world.catalog.tables.values():
        table.go_back(data.draw(st.sampled_from(sorted(table.past))))
    order = world.names if story.known.partial else data.draw(st.permutations(world.names))
    for name in order:
        world.replay(name)
    assert world.gold() == before
    assert differences(story, world.gold()) == []
    assert not any(world.replay(name) for name in world.names)


@pytest.mark.parametrize("window", range(3))
@pytest.mark.parametrize("snapshot", range(4))
def test_any_window_of_the_table_makes_it_whole(snapshot: int, window: int) -> None:
    world = replayed(FIRST, SECOND, THIRD)
    world.catalog.tables[TABLE].go_back(snapshot)
    assert world.replay(world.names[window]) == (snapshot < 3)
    assert rows(world) == {1: 3, 2: 2}
    assert not any(world.replay(name) for name in world.names)


def test_the_next_window_does_not_build_on_a_hole() -> None:
    world = replayed(FIRST, SECOND, THIRD)
    world.catalog.tables[TABLE].go_back(1)
    world.replay(world.deliver([row(6, "INSERT", id="9", v="9")]))
    assert rows(world) == {1: 3, 2: 2, 9: 9}


def test_what_silver_has_of_a_table_that_was_rolled_back_is_not_dropped() -> None:
    world = replayed(FIRST, SECOND, THIRD)
    world.catalog.tables[TABLE].go_back(1)
    retain(world, 3)
    world.replay(world.names[2])
    assert (rows(world), world.states()[TABLE].state) == ({1: 3, 2: 2}, "live")


def test_a_table_of_which_silver_has_not_all_is_held_as_it_was_rolled_back() -> None:
    world = replayed(FIRST, SECOND, THIRD)
    retain(world, 2)
    world.catalog.tables[TABLE].go_back(1)
    world.replay(world.names[2])
    hold = world.states()[TABLE].hold
    assert rows(world) == {1: 1}
    assert hold is not None
    assert hold.code == "BEHIND_HORIZON"
    assert "rolled back" in hold.reason


def test_a_held_table_is_whole_up_to_its_hold() -> None:
    world = replayed(
        FIRST, [*SECOND, statement(5, "alter table t modify v geometry")], [row(6, "UPDATE", id="1", v="6")]
    )
    assert world.states()[TABLE].state == "held"
    world.catalog.tables[TABLE].go_back(1)
    assert world.replay(world.names[2])
    assert (rows(world), world.states()[TABLE].state) == ({1: 2, 2: 2}, "held")
    world.catalog.tables[TABLE].go_back(1)
    world.release(TABLE, "skip")
    assert (rows(world), world.states()[TABLE].state) == ({1: 6, 2: 2}, "live")
