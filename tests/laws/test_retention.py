"""The laws of retention: what was dropped is missed by no later window; what only it would decide is held."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from laws.retaining import retain
from laws.story import FORMATS, ROW_KINDS, Story, differences, tell
from laws.test_laws import LAW, replay_all, seeds, sizes, stories
from laws.test_policies import TABLE, ddl, row
from laws.world import World, make_settings
from retable.errors import NotKept
from retable.gold.state import GoldState, RetentionFloor, from_properties, to_properties
from retable.model.event import TableName
from retable.model.message import RawMessage
from retable.model.sequence import Sequence
from retable.replay.release import Waiting, fitting_ways, plan_release
from retable.simulate import FORMATS as SIMULATED
from retable.simulate import Delivery

CODE = "BEHIND_HORIZON"


def cut_and_go_on(data: st.DataObject, story: Story) -> tuple[World, list[str]]:
    """Replay some windows, drop some of these, replay the others; gives the names of those that came after."""
    world, count = story.world(), len(story.windows)
    before = data.draw(st.integers(1, count))
    for name in world.names[:before]:
        world.replay(name)
    cut = data.draw(st.integers(1, before))
    retain(world, cut)
    rest = world.names[before:]
    order = rest if story.known.partial else data.draw(st.permutations(rest))
    again = data.draw(st.lists(st.sampled_from(world.names[cut:]), max_size=3)) if count > cut else []
    for name in (*order, *again):
        world.replay(name)
    return world, world.names[cut:]


@LAW
@given(st.data())
def test_after_retention_gold_is_as_without_it_or_held(data: st.DataObject) -> None:
    story = data.draw(stories())
    whole = replay_all(story, list(range(len(story.windows))))
    world, _ = cut_and_go_on(data, story)
    wanted, found = whole.gold(), world.gold()
    for name, table in found.items():
        assert table == wanted.get(name) if table.hold is None else table.hold.code in (CODE, "LATE_CHANGE"), name
    assert wanted.keys() <= found.keys() or any(table.hold for table in found.values())


@LAW
@given(st.data())
def test_what_comes_in_order_misses_nothing(data: st.DataObject) -> None:
    source_format = data.draw(st.sampled_from(FORMATS))
    delivery = Delivery(windows=data.draw(st.integers(2, 6)))
    story = tell(data.draw(seeds), source_format, delivery, data.draw(sizes), ROW_KINDS)
    world = story.empty_world()
    for number in range(len(story.windows)):
        world.replay(story.deliver(world, number))
        retain(world, data.draw(st.integers(0, number + 1)))
    assert differences(story, world.gold()) == []
    assert [name for name, state in world.states().items() if state.hold] == []


@LAW
@given(st.data())
def test_whatever_came_late_and_was_dropped_meanwhile_gold_is_right_or_held(data: st.DataObject) -> None:
    source_format = data.draw(st.sampled_from([name for name in FORMATS if not SIMULATED[name].by_offset]))
    delivery = Delivery(windows=data.draw(st.integers(2, 6)))
    story = tell(data.draw(seeds), source_format, delivery, data.draw(sizes), ROW_KINDS)
    order = data.draw(st.permutations(range(len(story.windows))))
    world, whole = story.empty_world(), story.empty_world()
    for number in order:
        world.replay(story.deliver(world, number))
        retain(world, data.draw(st.integers(0, len(world.names))))
        story.deliver(whole, number)
    for name in whole.names:
        whole.replay(name)
    for name, state in whole.states().items():
        if state.hold is not None:
            whole.rebuild(name)
    wanted = whole.gold()
    for name, table in world.gold().items():
        if world.states()[name].hold is None and whole.states()[name].hold is None:
            assert table == wanted[name], name


# --- late rows ---------------------------------------------------------------------------------------------------
CREATE = ddl(1, "create table t (id int primary key, a int)")


def kept_after(first: list[RawMessage], *more: list[RawMessage], count: int = 1, **told: object) -> World:
    """Replay a window, drop it, replay the others."""
    world = World(make_settings("canal_json", {"shop.*": told} if told else None))
    world.replay(world.deliver(first))
    retain(world, count)
    for window in more:
        world.replay(world.deliver(window))
    return world


def rows_of(world: World) -> dict[int, object]:
    return {each["id"]: each["a"] for each in map(json.loads, world.gold()[TABLE].rows)}


def code_of(world: World) -> str | None:
    hold = world.states()[TABLE].hold
    return hold and hold.code


def release(world: World) -> None:
    """Let a table go on without the rows that nothing decides."""
    state = world.states()[TABLE]
    assert state.hold is not None
    assert fitting_ways(state.hold) == ("skip", "rebuild")
    plan = plan_release(TABLE, state, state.hold, "skip", None, Waiting(1, 1, world.names[-1]), lambda: "mysql")
    assert plan.decision is not None
    world.decisions.append(plan.decision)
    world.release(TABLE)


DELETED = [CREATE, row(2, "INSERT", id="1", a="1"), row(3, "INSERT", id="2", a="1"), row(9, "DELETE", id="1", a="1")]


def test_a_row_that_was_deleted_behind_the_horizon_does_not_come_back() -> None:
    world = kept_after(DELETED, [row(5, "UPDATE", id="1", a="5")], [row(20, "INSERT", id="3", a="3")])
    assert (rows_of(world), code_of(world)) == ({2: 1}, CODE)
    release(world)
    assert (rows_of(world), code_of(world)) == ({2: 1, 3: 3}, None)
    assert world.counts[world.names[1], world.states()[TABLE].identity] == {"rows": 1, "excluded": 1}
    # What comes behind the horizon later is not what somebody decided about.
    world.replay(world.deliver([row(6, "UPDATE", id="1", a="6")]))
    assert (rows_of(world), code_of(world)) == ({2: 1, 3: 3}, CODE)


def test_a_late_row_is_decided_by_what_gold_has_of_its_key() -> None:
    first = [
        CREATE,
        row(2, "INSERT", id="1", a="1"),
        row(3, "INSERT", id="2", a="1"),
        row(9, "UPDATE", id="2", a="9"),
        row(10, "INSERT", id="3", a="1"),
    ]
    late = [row(5, "UPDATE", id="1", a="5"), row(6, "UPDATE", id="2", a="6"), row(10, "INSERT", id="3", a="1")]
    late.append(row(7, "DELETE", id="4", a="1"))
    world = kept_after(first, late)
    assert (rows_of(world), code_of(world)) == ({1: 5, 2: 9, 3: 1}, None)
    assert world.counts[world.names[1], world.states()[TABLE].identity] == {"rows": 4, "applied": 3, "superseded": 1}
    before = world.digest()
    assert not world.replay(world.names[1])
    assert world.digest() == before


def test_what_is_above_the_floor_is_decided_as_ever() -> None:
    world = kept_after(
        DELETED,
        [row(30, "DELETE", id="2", a="1"), row(31, "INSERT", id="5", a="5"), row(32, "DELETE", id="5", a="5")],
        [row(20, "UPDATE", id="2", a="20"), row(21, "INSERT", id="6", a="6"), row(22, "INSERT", id="5", a="7")],
    )
    assert (rows_of(world), code_of(world)) == ({6: 6}, None)


# --- what needs all rows -----------------------------------------------------------------------------------------
def test_a_change_that_writes_all_rows_anew_holds_at_its_statement_and_nothing_is_lost() -> None:
    change = ddl(20, "alter table t modify a decimal(12,2)")
    world = kept_after(
        DELETED, [row(19, "INSERT", id="7", a="7"), change, row(21, "INSERT", id="8", a=("8.50", "decimal(12,2)"))]
    )
    hold = world.states()[TABLE].hold
    assert hold is not None
    assert (hold.code, hold.statement) == (CODE, "alter table t modify a decimal(12,2)")
    assert rows_of(world) == {2: 1, 7: 7}
    with pytest.raises(
        NotKept, match=r"gold_shop\.t: the table cannot be built again .* up to 0\..*`retable baseline gold_shop"
    ):
        world.rebuild(TABLE)
    assert rows_of(world) == {2: 1, 7: 7}


def test_a_truncate_makes_a_table_whole_again() -> None:
    world = kept_after(DELETED, [ddl(20, "truncate table t"), row(21, "INSERT", id="8", a="8")])
    assert (rows_of(world), code_of(world), world.states()[TABLE].missing) == ({8: 8}, None, None)
    world.rebuild(TABLE)
    world.replay(world.deliver([ddl(30, "alter table t modify a decimal(12,2)")]))
    assert (rows_of(world), code_of(world)) == ({8: "8.00"}, None)


def test_a_table_that_starts_anew_above_its_floor_leaves_its_hold_by_a_rebuild() -> None:
    world = kept_after(DELETED, [row(5, "UPDATE", id="1", a="5")])
    with pytest.raises(NotKept):
        world.rebuild(TABLE)
    world.replay(world.deliver([ddl(20, "truncate table t"), row(21, "INSERT", id="8", a="8")]))
    assert (rows_of(world), code_of(world)) == ({2: 1}, CODE)
    world.rebuild(TABLE)
    assert (rows_of(world), code_of(world)) == ({8: 8}, None)
    retain(world, 3)
    state = world.states()[TABLE]
    assert state.missing == RetentionFloor(state.high_water, 2)


def test_a_hold_above_the_horizon_is_released_as_ever() -> None:
    odd = ddl(20, "alter table t strange words")
    world = kept_after(DELETED, [odd, row(21, "UPDATE", id="2", a="2")], [row(25, "INSERT", id="8", a="8")])
    assert (rows_of(world), code_of(world)) == ({2: 1}, "UNSUPPORTED_CHANGE")
    world.release(TABLE, "skip")
    assert (rows_of(world), code_of(world)) == ({2: 2, 8: 8}, None)


def test_another_key_by_the_settings_holds_and_the_former_one_lets_go_on() -> None:
    world = kept_after(DELETED)
    settings = world.settings
    world.settings = make_settings("canal_json", {"shop.*": {"keys": ["a"]}})
    world.replay(world.deliver([row(20, "INSERT", id="3", a="3")]))
    assert (rows_of(world), code_of(world)) == ({2: 1}, CODE)
    world.settings = settings
    world.release(TABLE)
    assert (rows_of(world), code_of(world)) == ({2: 1, 3: 3}, None)


# --- whose rows stay ---------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("messages", "why"),
    [
        ([ddl(1, "create table t (id int, a int)"), row(2, "INSERT", keys=(), id="1", a="1")], "no key"),
        ([*DELETED, ddl(20, "alter table t strange words"), row(21, "INSERT", id="8", a="8")], "held"),
        ([*DELETED, ddl(20, "alter table t drop primary key, add primary key (id, a)")], "its key changed"),
        ([*DELETED, ddl(20, "alter table t rename to u"), ddl(21, "create table t (b int primary key)")], "same name"),
    ],
    ids=("keyless", "held", "keyed anew", "shared name"),
)
def test_rows_that_are_needed_stay(messages: list[RawMessage], why: str) -> None:
    world = World(make_settings("canal_json"))
    world.replay(world.deliver(messages))
    before = world.gold()
    floors = retain(world, 1)
    assert floors.raised == {}
    assert any(why in stay.reason for stay in floors.stays.values())
    for name in sorted(before):
        world.rebuild(name)
    assert world.gold() == before


def test_a_floor_is_part_of_what_a_table_says_of_itself() -> None:
    floor = RetentionFloor({"": Sequence(0, 5, 1), "t/1": Sequence(1, -3, 0)}, 7, True)
    state = GoldState(source="shop", identity="i", table=TableName("shop", None, "t"), floor=floor)
    assert from_properties(to_properties(state)) == state
    assert floor.covers(None, Sequence(0, 5, 0))
    assert not floor.covers(None, Sequence(0, 5, 1))
    assert not floor.covers("t/2", Sequence(0, 0, 0))
    assert floor.above(Sequence(0, 6, 0)) == RetentionFloor({"t/1": Sequence(1, -3, 0)}, 7, True)
    assert floor.above(Sequence(1, 0, 0)) is None
