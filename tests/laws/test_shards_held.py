"""What stops a gold table that several of a source go into, and how it goes on."""

import pytest

from laws.test_replays_found import row
from laws.test_shards import (
    FIRST,
    KEYED,
    TABLE,
    alter,
    create,
    ddl,
    delete,
    held,
    in_partition,
    insert,
    rows,
    run,
    update,
    world_of,
)
from retable.model.message import RawMessage
from retable.replay.release import Waiting, plan_release
from retable.schema_history.decisions import DecisionKind

DATED = "v int, d date"


def odd(offset: int, shard: int, key: str) -> RawMessage:
    """A row that holds its table: what its date comes to is a person's to say."""
    return row(offset, "INSERT", {"id": "int", "d": "date"}, table=f"orders_{shard}", id=key, d="0000-00-00")


def test_types_that_no_column_holds_both_of_stop_the_table_until_all_have_one() -> None:
    world = run(world_of(), FIRST, [alter(10, 0, "modify v varchar(20)"), insert(11, 1, id="6", v="2")])
    assert held(world) == (
        "SHARDS_DIFFER at 0.10.0: column 'v' is int in the source table shop.orders_1, but string in others; one gold "
        "column cannot hold both types"
    )
    run(world, [insert(12, 0, id="8", v="4")])
    assert [each["id"] for each in rows(world)] == [1, 2]
    run(world, [alter(13, 1, "modify v varchar(20)"), insert(14, 1, id="7", v="3")])
    assert held(world) is None
    assert rows(world)[-2:] == [{"id": 7, "v": "3"}, {"id": 8, "v": "4"}]
    assert world.counts[world.names[1], world.states()[TABLE].identity]["applied"] == 1
    before = world.gold()
    world.rebuild(TABLE)
    assert world.gold() == before


def test_holds_that_nothing_orders_stop_all_of_it_until_one_has_ended() -> None:
    first = [*in_partition(0, create(1, 0), insert(3, 0, id="1", v="10")), *in_partition(1, create(1, 1))]
    odd = [
        *in_partition(0, alter(10, 0, "modify v varchar(20)"), insert(11, 0, id="3", v="30")),
        *in_partition(1, alter(5, 1, "frobnicate"), insert(6, 1, id="4", v="40")),
    ]
    world = run(world_of(), first, odd)
    assert "SHARDS_DIFFER at None" in str(held(world))
    assert rows(world) == [{"id": 1, "v": 10}]
    hold = world.states()[TABLE].hold
    assert hold is not None
    assert hold.place is not None
    assert "another partition of the table is held too" in hold.reason


def test_statements_of_two_that_are_not_understood_are_settled_one_by_one() -> None:
    first = [*in_partition(0, create(1, 0)), *in_partition(1, create(1, 1))]
    odd = [
        *in_partition(0, alter(10, 0, "frobnicate"), insert(11, 0, id="3", v="30")),
        *in_partition(1, alter(5, 1, "frobnicate"), insert(6, 1, id="4", v="40")),
    ]
    world = run(world_of(), first, odd)
    assert rows(world) == []
    for shard, there in ((0, {3}), (1, {3, 4})):
        hold = world.states()[TABLE].hold
        assert hold is not None
        assert str(hold.part).startswith(f"shop.orders_{shard}|")
        world.release(TABLE, "skip")
        assert {each["id"] for each in rows(world)} == there
    assert held(world) is None


def test_a_row_that_stops_one_partition_and_a_type_that_stops_another_do_not_wait_for_each_other_for_ever() -> None:
    world = run(world_of(KEYED), [create(1, 0), create(2, 1), create(3, 2)])
    window = [
        *in_partition(0, update(11, 0, id="2", v="1")),
        *in_partition(1, insert(12, 2, id="1", v="1"), alter(13, 1, "add column w int default 5")),
        *in_partition(0, alter(14, 0, "modify v varchar(9)")),
    ]
    run(world, window)
    assert "SHARDS_DIFFER at None" in str(held(world))
    assert rows(world) == []


@pytest.mark.parametrize("kind", ["skip", "replace"])
def test_what_stops_one_of_them_is_decided_for_it_alone(kind: DecisionKind) -> None:
    odd = ddl(10, "alter table orders_1 frobnicate", "orders_1")
    world = run(world_of(), FIRST, [odd, insert(11, 1, id="6", v="2"), insert(12, 0, id="7", v="3")])
    assert "UNSUPPORTED_CHANGE at 0.10.0" in str(held(world))
    assert rows(world) == [{"id": 1, "v": 10}, {"id": 2, "v": 20}]
    world.release(TABLE, kind, "alter table orders_1 add column w int" if kind == "replace" else None)
    assert held(world) is None
    assert [each["id"] for each in rows(world)] == [1, 2, 6, 7]
    before = world.gold()
    world.rebuild(TABLE)
    assert world.gold() == before


@pytest.mark.parametrize("cut", range(1, 7))
def test_a_table_that_is_held_at_a_row_may_be_renamed_behind_it(cut: int) -> None:
    story = [
        create(1, 0, DATED),
        create(2, 1, DATED),
        insert(3, 0, id="1", v="10"),
        odd(4, 1, "2"),
        ddl(5, "rename table orders_1 to orders_9", "orders_1"),
        insert(6, 9, id="9", v="90"),
    ]
    world = run(world_of(), story[:cut], story[cut:])
    assert "ZERO_DATE" in str(held(world))
    assert [each["id"] for each in rows(world)] == [1]
    world.release(TABLE, "skip")
    assert (held(world), [each["id"] for each in rows(world)]) == (None, [1, 9])


@pytest.mark.parametrize("what", ["modify v varchar(9)", "drop primary key, add primary key (v)"])
def test_what_tables_that_go_into_one_do_not_take_is_a_person_s_to_decide(what: str) -> None:
    world = run(world_of(), FIRST, [alter(10, 0, what), alter(11, 1, what), insert(12, 0, id="5", v="5")])
    assert "UNSUPPORTED_CHANGE at 0.10.0" in str(held(world))
    world.release(TABLE, "skip")
    assert " at 0.11.0" in str(held(world))
    world.release(TABLE, "skip")
    assert (held(world), [each["id"] for each in rows(world)]) == (None, [1, 2, 5])


def test_a_statement_in_another_s_place_is_about_the_table_that_stands_still() -> None:
    world = run(world_of(), FIRST, [alter(10, 1, "frobnicate"), insert(12, 1, id="5", v="5", w="6")])
    state = world.states()[TABLE]
    assert state.hold is not None
    text = "alter table orders_1 add column w int"
    release = plan_release(TABLE, state, state.hold, "as", text, Waiting(1, 1), lambda: "mysql")
    assert release.decision is not None
    world.release(TABLE, "replace", release.decision.statement)
    assert (held(world), rows(world)[-1]) == (None, {"id": 5, "v": 5, "w": 6})


@pytest.mark.parametrize("cut", range(1, 8))
def test_rows_that_stop_two_partitions_are_settled_one_by_one(cut: int) -> None:
    story = [
        *in_partition(0, create(1, 0, DATED), create(2, 1, DATED), insert(3, 0, id="1", v="1"), odd(10, 1, "3")),
        *in_partition(1, create(1, 2, DATED), create(2, 3, DATED), insert(3, 2, id="2", v="1"), odd(5, 3, "4")),
    ]
    world = run(world_of(), story[:cut], story[cut:])
    for _ in range(2):
        assert "ZERO_DATE" in str(held(world))
        world.release(TABLE, "skip")
    assert (held(world), [each["id"] for each in rows(world)]) == (None, [1, 2])


def test_a_decision_about_a_table_counts_under_the_name_that_it_has_behind_another_decision() -> None:
    first = [create(1, 0), create(2, 1), alter(3, 1, "frobnicate")]
    world = run(world_of(), first)
    world.release(TABLE, "skip")
    run(world, [ddl(4, "rename table orders_1 to orders_5", "orders_1"), alter(8, 5, "frobnicate")])
    world.release(TABLE, "skip")
    run(world, [insert(9, 5, id="1", v="1")])
    assert (held(world), rows(world)) == (None, [{"id": 1, "v": 1}])


@pytest.mark.parametrize("cut", range(1, 7))
def test_a_change_of_all_in_two_partitions_is_decided_for_one_after_the_other(cut: int) -> None:
    story = [
        *in_partition(0, create(1, 0), insert(2, 0, id="1", v="1"), alter(11, 0, "modify v varchar(9)")),
        *in_partition(1, create(1, 1), insert(2, 1, id="2", v="2"), alter(12, 1, "modify v varchar(9)")),
    ]
    world = run(world_of(), story[:cut], story[cut:])
    for _ in range(2):
        assert held(world) is not None
        world.release(TABLE, "skip")
    assert (held(world), rows(world)) == (None, [{"id": 1, "v": 1}, {"id": 2, "v": 2}])


def test_tables_in_two_partitions_go_on_by_themselves_once_they_are_alike() -> None:
    wide = "modify v varchar(20)"
    world = run(world_of(), [*in_partition(0, create(1, 0)), *in_partition(1, create(1, 1), create(2, 2))])
    there = in_partition(0, alter(11, 0, wide), insert(12, 0, id="1", v="7"))
    run(world, [*in_partition(1, alter(5, 2, wide)), *there])
    assert "SHARDS_DIFFER" in str(held(world))
    run(world, in_partition(1, alter(7, 1, wide), insert(8, 1, id="2", v="8")))
    assert (held(world), rows(world)) == (None, [{"id": 1, "v": "7"}, {"id": 2, "v": "8"}])


# --- keys that move ----------------------------------------------------------------------------------------------
@pytest.mark.parametrize("number", [0, 1], ids=["one partition", "two partitions"])
@pytest.mark.parametrize("cut", range(2, 8))
def test_what_stops_a_key_half_way_from_one_to_another_is_what_a_person_is_told(cut: int, number: int) -> None:
    story = [
        create(1, 0),
        create(2, 1),
        insert(3, 0, id="1", v="10"),
        *in_partition(number, insert(4, 1, id="1", v="11"), insert(5, 1, id="2", v="20")),
        alter(6, 0, "frobnicate"),
        delete(7, 0, id="1", v="10"),
        insert(8, 0, id="3", v="30"),
    ]
    world = run(world_of(), story[:cut], story[cut:])
    assert "UNSUPPORTED_CHANGE" in str(held(world))
    world.release(TABLE, "skip")
    right = [{"id": 1, "v": 11}, {"id": 2, "v": 20}, {"id": 3, "v": 30}]
    assert (held(world), rows(world)) == (None, right)
    world.rebuild(TABLE)
    assert (held(world), rows(world)) == (None, right)


@pytest.mark.parametrize("cut", range(1, 6))
def test_a_decision_about_a_table_counts_under_the_name_that_it_takes_later(cut: int) -> None:
    world = run(
        world_of(), [create(1, 0, DATED), create(2, 1, DATED), *FIRST[2:], odd(5, 1, "6"), alter(6, 0, "frobnicate")]
    )
    world.release(TABLE, "skip")
    world.release(TABLE, "skip")
    story = [
        ddl(7, "rename table orders_0 to orders_8, orders_1 to orders_0", "orders_0"),
        insert(8, 8, id="3", v="30"),
        ddl(9, "create table orders_1 (id int primary key, v int, d date)", "orders_1"),
        insert(10, 1, id="4", v="40"),
        ddl(11, "rename table orders_0 to orders_7", "orders_0"),
        insert(12, 7, id="5", v="50"),
    ]
    run(world, story[:cut], story[cut:])
    assert held(world) is None
    assert [each["id"] for each in rows(world)] == [1, 2, 3, 4, 5]
    assert rows(world)[0] == {"id": 1, "v": 10, "d": None}
    before = world.gold()
    world.rebuild(TABLE)
    assert world.gold() == before
