"""A gold table that somebody dropped in the catalog: it is held and stays away, until a rebuild makes it whole."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from formats.events import canal
from laws import test_shards as shards
from laws.memory import Table
from laws.retaining import retain
from laws.story import SUPPORTED, differences
from laws.test_laws import LAW, stories
from laws.test_set_back import FIRST, SECOND, TABLE, THIRD, replayed, row, rows, statement
from laws.world import World
from retable.errors import NotKept
from retable.model.message import RawMessage
from retable.simulate import HELD_KINDS

FOURTH = [row(6, "INSERT", id="9", v="9")]


def lose(world: World, table: str = TABLE) -> Table:
    return world.catalog.tables.pop(table)


def hold_of(world: World, table: str = TABLE) -> str | None:
    return next(each.hold for each in world.tables.values() if each.gold == table)


@LAW
@given(st.data())
def test_whichever_tables_are_lost_a_rebuild_makes_each_whole(data: st.DataObject) -> None:
    story = data.draw(stories((*SUPPORTED, *HELD_KINDS)))
    world = story.world()
    for name in world.names[:-1]:
        world.replay(name)
    lost = data.draw(st.sets(st.sampled_from(sorted(world.catalog.tables)))) if world.catalog.tables else set()
    for table in lost:
        lose(world, table)
    world.replay(world.names[-1])
    gone = [each.gold for each in world.tables.values() if each.state != "dropped"]
    for table in gone:
        if table not in world.catalog.tables:
            world.rebuild(table)
    assert differences(story, world.gold()) == []
    for name in world.names:
        world.replay(name)
    assert differences(story, world.gold()) == []
    assert not any(world.replay(name) for name in world.names)


@pytest.mark.parametrize("window", range(3))
def test_any_window_of_the_table_holds_it_and_makes_nothing(window: int) -> None:
    world = replayed(FIRST, SECOND, THIRD)
    lose(world)
    world.replay(world.names[window])
    assert TABLE not in world.catalog.tables
    assert '"LOST"' in (hold_of(world) or "")
    world.rebuild(TABLE)
    assert (rows(world), hold_of(world)) == ({1: 3, 2: 2}, None)
    assert not any(world.replay(name) for name in world.names)


def test_windows_that_come_meanwhile_are_in_the_rebuilt_one() -> None:
    world = replayed(FIRST, SECOND, THIRD)
    lose(world)
    world.replay(world.deliver(FOURTH))
    assert TABLE not in world.catalog.tables
    world.rebuild(TABLE)
    assert rows(world) == {1: 3, 2: 2, 9: 9}


def test_one_that_is_put_back_is_held_until_it_is_tried_again() -> None:
    world = replayed(FIRST, SECOND, THIRD)
    found = lose(world)
    world.replay(world.deliver(FOURTH))
    world.catalog.tables[TABLE] = found
    world.replay(world.deliver([row(7, "INSERT", id="10", v="10")]))
    assert (rows(world), world.states()[TABLE].state) == ({1: 3, 2: 2}, "held")
    world.release(TABLE)
    assert (rows(world), world.states()[TABLE].state) == ({1: 3, 2: 2, 9: 9, 10: 10}, "live")


def test_one_that_is_put_back_before_any_run_goes_on() -> None:
    world = replayed(FIRST, SECOND, THIRD)
    world.catalog.tables[TABLE] = lose(world)
    world.replay(world.deliver(FOURTH))
    assert rows(world) == {1: 3, 2: 2, 9: 9}


def test_rows_without_a_key_are_all_there_once() -> None:
    def insert(offset: int, v: str) -> RawMessage:
        return canal(
            offset, type="INSERT", pkNames=None, data=[{"v": v}], old=None, mysqlType={"v": "int"}, sqlType=None
        )

    world = replayed([statement(1, "create table t (v int)"), insert(2, "1")], [insert(3, "1")])
    lose(world)
    world.replay(world.deliver([insert(4, "2")]))
    world.rebuild(TABLE)
    assert world.gold()[TABLE].rows == ('{"v": 1}', '{"v": 1}', '{"v": 2}')


@pytest.mark.parametrize("gone", [1, 2])
def test_one_of_which_silver_has_not_all_is_not_built_anew(gone: int) -> None:
    world = replayed(FIRST, SECOND, THIRD)
    retain(world, gone)
    lose(world)
    world.replay(world.deliver(FOURTH))
    with pytest.raises(NotKept, match="baseline"):
        world.rebuild(TABLE)
    assert TABLE not in world.catalog.tables
    assert '"LOST"' in (hold_of(world) or "")


def test_one_that_was_emptied_since_needs_nothing_that_silver_dropped() -> None:
    world = replayed(FIRST, SECOND, THIRD, [statement(6, "truncate table t"), row(7, "INSERT", id="7", v="7")])
    retain(world, 2)
    lose(world)
    world.rebuild(TABLE)
    assert rows(world) == {7: 7}


def test_a_table_that_the_source_dropped_is_not_missed() -> None:
    world = replayed(FIRST, SECOND, [statement(5, "drop table t")])
    lose(world)
    again = [statement(6, "create table t (id int primary key, v int)"), row(7, "INSERT", id="7", v="7")]
    world.replay(world.deliver(again))
    assert rows(world) == {7: 7}


def test_one_that_follows_a_dropped_one_by_its_name_is_the_one_that_is_rebuilt() -> None:
    again = [statement(6, "create table t (id int primary key, v int)"), row(7, "INSERT", id="7", v="7")]
    world = replayed(FIRST, SECOND, [statement(5, "drop table t")], again)
    world.rebuild(TABLE)
    assert rows(world) == {7: 7}
    lose(world)
    world.rebuild(TABLE)
    assert rows(world) == {7: 7}


def test_a_held_table_is_whole_up_to_its_hold() -> None:
    world = replayed(
        FIRST, [*SECOND, statement(5, "alter table t modify v geometry")], [row(6, "UPDATE", id="1", v="6")]
    )
    lose(world)
    world.rebuild(TABLE)
    assert (rows(world), world.states()[TABLE].state) == ({1: 2, 2: 2}, "held")
    world.release(TABLE, "skip")
    assert (rows(world), world.states()[TABLE].state) == ({1: 6, 2: 2}, "live")


def test_one_of_several_tables_is_made_whole_where_statements_tell_them_all() -> None:
    world = shards.run(shards.world_of(), shards.FIRST, [shards.insert(6, 0, id="3", v="30")])
    before = shards.rows(world)
    lose(world, shards.TABLE)
    world.replay(world.deliver([shards.insert(7, 1, id="4", v="40")]))
    assert '"LOST"' in (hold_of(world, shards.TABLE) or "")
    world.rebuild(shards.TABLE)
    assert [each["id"] for each in shards.rows(world)] == [*(each["id"] for each in before), 4]


def test_one_of_several_tables_is_not_made_of_those_that_statements_tell_alone() -> None:
    world = shards.run(
        shards.world_of(), [shards.FIRST[0], shards.insert(3, 0, id="1", v="10"), shards.insert(4, 1, id="2", v="20")]
    )
    assert len(shards.rows(world)) == 2
    lose(world, shards.TABLE)
    with pytest.raises(NotKept):
        world.rebuild(shards.TABLE)
    assert shards.TABLE not in world.catalog.tables
