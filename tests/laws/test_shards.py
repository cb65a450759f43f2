"""Several tables of a source that go into one of gold."""

import json
from collections import Counter
from functools import partial
from itertools import permutations

import msgspec
import pytest

from laws.test_replays_found import NUMBERS, ddl, row
from laws.world import World, make_settings
from retable.model.message import RawMessage

TABLE = "gold_shop.orders"
RULES = {"to": "shop.orders"}
KEYED = {**RULES, "shard_in_key": True}


def world_of(rules: dict[str, object] = RULES, **options: object) -> World:
    return World(make_settings("canal_json", {"shop.orders_*": rules}, **options))


def create(offset: int, shard: int, columns: str = "v int") -> RawMessage:
    return ddl(offset, f"create table orders_{shard} (id int primary key, {columns})", f"orders_{shard}")


def alter(offset: int, shard: int, what: str) -> RawMessage:
    return ddl(offset, f"alter table orders_{shard} {what}", f"orders_{shard}")


def change(op: str, offset: int, shard: int, **values: str) -> RawMessage:
    types = {name.removeprefix("old_"): NUMBERS.get(name, "int") for name in values}
    return row(offset, op, types, table=f"orders_{shard}", **values)


insert, update, delete = (partial(change, op) for op in ("INSERT", "UPDATE", "DELETE"))


def run(world: World, *windows: list[RawMessage]) -> World:
    for window in windows:
        world.replay(world.deliver(window))
    return world


def rows(world: World, table: str = TABLE) -> list[dict[str, object]]:
    found = [json.loads(each) for each in world.gold()[table].rows]
    return sorted(found, key=lambda each: (str(each["id"]), str(each.get("source_table"))))


def held(world: World) -> str | None:
    hold = world.states()[TABLE].hold
    return None if hold is None else f"{hold.code} at {hold.position}: {hold.reason}"


def settle(world: World) -> None:
    """Rebuild what is held as its rows are elsewhere."""
    for name, state in world.states().items():
        if state.hold is not None and state.hold.code == "MOVED":
            world.rebuild(name)


FIRST = [create(1, 0), create(2, 1), insert(3, 0, id="1", v="10"), insert(4, 1, id="2", v="20")]


def test_rows_of_all_come_together() -> None:
    world = run(world_of(), FIRST, [update(5, 1, id="2", v="21", old_v="20"), insert(6, 0, id="3", v="30")])
    assert held(world) is None
    assert rows(world) == [{"id": 1, "v": 10}, {"id": 2, "v": 21}, {"id": 3, "v": 30}]
    assert list(world.gold()) == [TABLE]


def test_the_table_tells_them_apart_where_its_name_is_in_the_key() -> None:
    same = [create(1, 0), create(2, 1), insert(3, 0, id="1", v="10"), insert(4, 1, id="1", v="20")]
    world = run(world_of(KEYED), same, [delete(5, 0, id="1", v="10")])
    assert rows(world) == [{"source_table": "shop.orders_1", "id": 1, "v": 20}]
    assert world.states()[TABLE].keys == ("id", "source_table")


@pytest.mark.parametrize("cut", range(3, 5))
def test_a_key_of_two_tables_is_two_rows_and_is_counted(cut: int) -> None:
    same = [create(1, 0), create(2, 1), insert(3, 0, id="1", v="10"), insert(4, 1, id="1", v="20")]
    world = run(world_of(), same[:cut], same[cut:])
    assert (held(world), rows(world)) == (None, [{"id": 1, "v": 10}, {"id": 1, "v": 20}])
    assert world.states()[TABLE].keys == ("id", "_retable_source_table")
    assert world.states()[TABLE].clashes == 1
    run(world, [delete(5, 0, id="1", v="10")])
    assert (rows(world), world.states()[TABLE].clashes) == ([{"id": 1, "v": 20}], 0)


@pytest.mark.parametrize(("before", "after"), [(RULES, KEYED), (KEYED, RULES)], ids=["shown", "hidden"])
def test_readers_see_of_which_table_a_row_is_as_the_settings_say_now(
    before: dict[str, object], after: dict[str, object]
) -> None:
    same = [create(1, 0), create(2, 1), insert(3, 0, id="1", v="10"), insert(4, 1, id="1", v="20")]
    world = run(world_of(before), same)
    world.settings = make_settings("canal_json", {"shop.orders_*": after})
    run(world, [insert(5, 0, id="2", v="30"), insert(6, 1, id="2", v="40")])
    right = run(world_of(after), same, [insert(5, 0, id="2", v="30"), insert(6, 1, id="2", v="40")])
    assert world.gold() == right.gold()
    assert world.states()[TABLE].clashes == right.states()[TABLE].clashes == (2 if after is RULES else 0)
    assert world.counts[world.names[1], world.states()[TABLE].identity]["applied"] == 2


def test_keys_are_counted_also_where_the_column_is_hidden_by_a_run_that_changes_no_row() -> None:
    same = [create(1, 0), create(2, 1), insert(3, 0, id="1", v="10"), insert(4, 1, id="1", v="20")]
    world = run(world_of(KEYED), same)
    world.settings = make_settings("canal_json", {"shop.orders_*": RULES})
    run(world, [insert(3, 0, id="1", v="10")])
    assert rows(world) == [{"id": 1, "v": 10}, {"id": 1, "v": 20}]
    assert world.states()[TABLE].clashes == 1
    run(world, [delete(5, 0, id="1", v="10")])
    assert world.states()[TABLE].clashes == 0


# --- statements --------------------------------------------------------------------------------------------------
ADDED = [
    *FIRST,
    alter(10, 0, "add column w int default 7"),
    insert(11, 0, id="5", v="1", w="9"),
    insert(12, 1, id="6", v="2"),
    alter(13, 1, "add column w int default 7"),
    insert(14, 1, id="7", v="3", w="8"),
]
RENAMED = [
    *FIRST,
    alter(10, 0, "change v amount int"),
    insert(11, 0, id="5", amount="1"),
    insert(12, 1, id="6", v="2"),
    alter(13, 1, "change v amount int"),
    insert(14, 1, id="7", amount="3"),
]
DROPPED = [
    *FIRST,
    alter(10, 0, "drop column v"),
    insert(11, 0, id="5"),
    insert(12, 1, id="6", v="2"),
    alter(13, 1, "drop column v"),
    insert(14, 1, id="7"),
]
WIDENED = [
    *FIRST,
    alter(10, 0, "modify v bigint"),
    insert(11, 0, id="5", v="5000000000"),
    insert(12, 1, id="6", v="2"),
    alter(13, 1, "modify v bigint"),
]
EMPTIED = [
    *FIRST,
    ddl(10, "truncate table orders_0", "orders_0"),
    insert(11, 0, id="5", v="1"),
    insert(12, 1, id="6", v="2"),
    ddl(13, "drop table orders_1", "orders_1"),
]
SWAPPED = [
    create(1, 0, "v int, w int"),
    create(2, 1, "v int, w int"),
    insert(3, 0, id="1", v="10", w="11"),
    insert(4, 1, id="2", v="20", w="21"),
    alter(10, 0, "rename column v to w, rename column w to v"),
    insert(11, 0, id="5", v="1", w="2"),
    alter(13, 1, "rename column v to w, rename column w to v"),
    insert(14, 1, id="7", v="3", w="4"),
]
STORIES = {
    "added": ADDED,
    "renamed": RENAMED,
    "dropped": DROPPED,
    "widened": WIDENED,
    "emptied": EMPTIED,
    "swapped": SWAPPED,
}


@pytest.mark.parametrize("rules", [RULES, KEYED], ids=["plain", "keyed"])
@pytest.mark.parametrize("story", STORIES)
def test_any_cut_gives_one_gold(story: str, rules: dict[str, object]) -> None:
    messages = STORIES[story]
    whole = run(world_of(rules), messages)
    assert held(whole) is None
    for first in range(1, len(messages)):
        for second in (first + 1, first + 2, len(messages)):
            world = run(world_of(rules), messages[:first], messages[first:second], messages[second:])
            assert (held(world), world.gold()) == (None, whole.gold()), (first, second)
            world.rebuild(TABLE)
            assert world.gold() == whole.gold(), (first, second)
            before = world.digest()
            for name in world.names:
                world.replay(name)
            assert world.digest() == before, (first, second)


def apart(messages: list[RawMessage]) -> list[RawMessage]:
    """The same with a partition for each shard, inside which alone its messages have an order."""
    last: Counter[int] = Counter()
    found = []
    for message in messages:
        shard = 1 if b"orders_1" in (message.value or b"") else 0
        last[shard] += 1 + 10 * shard
        found.append(msgspec.structs.replace(message, partition=shard, offset=last[shard]))
    return found


@pytest.mark.parametrize("rules", [RULES, KEYED], ids=["plain", "keyed"])
@pytest.mark.parametrize("story", STORIES)
def test_tables_in_partitions_of_their_own_need_no_common_order(story: str, rules: dict[str, object]) -> None:
    messages = apart(STORIES[story])
    whole = run(world_of(rules), messages)
    assert (held(whole), rows(whole)) == (None, rows(run(world_of(rules), STORIES[story])))
    for first in range(1, len(messages)):
        world = run(world_of(rules), messages[:first], messages[first:])
        assert (held(world), world.gold()) == (None, whole.gold()), first
        world.rebuild(TABLE)
        assert world.gold() == whole.gold(), first


def test_what_the_stories_come_to() -> None:
    found = {name: rows(run(world_of(), story)) for name, story in STORIES.items()}
    assert found["added"][:2] == [{"id": 1, "v": 10, "w": 7}, {"id": 2, "v": 20, "w": 7}]
    assert found["renamed"][0] == {"id": 1, "amount": 10}
    assert found["dropped"] == [{"id": 1}, {"id": 2}, {"id": 5}, {"id": 6}, {"id": 7}]
    assert found["widened"][2] == {"id": 5, "v": 5000000000}
    assert found["emptied"] == [{"id": 5, "v": 1}]
    assert found["swapped"][0] == {"id": 1, "v": 11, "w": 10}


def test_a_new_name_and_the_end_of_a_column_wait_until_all_have_them() -> None:
    world = run(world_of(), RENAMED[:6])
    assert rows(world) == [{"id": 1, "v": 10}, {"id": 2, "v": 20}, {"id": 5, "v": 1}]
    world = run(world_of(), DROPPED[:6])
    assert rows(world) == [{"id": 1, "v": 10}, {"id": 2, "v": 20}, {"id": 5, "v": None}]


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_the_order_of_windows_does_not_matter(order: tuple[int, ...]) -> None:
    pieces = [ADDED[:4], ADDED[4:7], ADDED[7:]]
    whole = run(world_of(KEYED), ADDED)
    world = world_of(KEYED)
    names = [world.deliver(piece) for piece in pieces]
    for at in order:
        world.replay(names[at])
    if held(world) is not None:
        world.rebuild(TABLE)
    assert (held(world), world.gold()) == (None, whole.gold())


def in_partition(number: int, *messages: RawMessage) -> list[RawMessage]:
    return [msgspec.structs.replace(message, partition=number) for message in messages]


def test_keys_that_differ_stop_the_table() -> None:
    other = ddl(2, "create table orders_1 (id int, v int, primary key (v))", "orders_1")
    world = run(world_of(), [create(1, 0), insert(3, 0, id="1", v="10")], [other, insert(4, 1, id="2", v="20")])
    assert "the key of shop.orders_0 is ('id',), and the key of shop.orders_1 is ('v',)" in str(held(world))


def test_tables_without_a_key_are_counted_together() -> None:
    bare = partial(row, types=NUMBERS, keys=())
    story = [
        ddl(1, "create table orders_0 (id int, v int)", "orders_0"),
        ddl(2, "create table orders_1 (id int, v int)", "orders_1"),
        *(bare(3 + n, "INSERT", table=f"orders_{n % 2}", id="1", v="1") for n in range(4)),
        bare(8, "DELETE", table="orders_1", id="1", v="1"),
        ddl(9, "truncate table orders_0", "orders_0"),
        bare(10, "INSERT", table="orders_0", id="2", v="2"),
    ]
    for cut in range(1, len(story)):
        world = run(world_of(), story[:cut], story[cut:])
        assert (held(world), rows(world)) == (None, [{"id": 1, "v": 1}, {"id": 2, "v": 2}]), cut


# --- tables that come and go -------------------------------------------------------------------------------------
def test_what_had_a_gold_table_of_its_own_comes_by_a_rebuild() -> None:
    world = run(World(make_settings("canal_json")), FIRST)
    world.settings = make_settings("canal_json", {"shop.orders_*": RULES})
    run(world, [insert(6, 0, id="3", v="30")])
    moved = "gold_shop.orders_0, gold_shop.orders_1 have rows that belong to this table now"
    assert held(world) == f"MOVED at None: {moved}"
    assert rows(world) == []
    world.rebuild(TABLE)
    assert (held(world), rows(world)) == (None, [{"id": 1, "v": 10}, {"id": 2, "v": 20}, {"id": 3, "v": 30}])


def test_a_table_that_takes_another_name_stays_one_of_them() -> None:
    rename = ddl(10, "rename table orders_1 to orders_9", "orders_1")
    for cut in range(4, 7):
        messages = [*FIRST, rename, insert(11, 9, id="9", v="90")]
        world = run(world_of(KEYED), messages[:cut], messages[cut:])
        assert {each["source_table"] for each in rows(world)} == {"shop.orders_0", "shop.orders_9"}
        assert world.gold() == run(world_of(KEYED), messages).gold()


def test_a_table_that_leaves_takes_its_rows_along() -> None:
    rename = ddl(10, "rename table orders_1 to old_orders", "orders_1")
    world = run(world_of(), FIRST, [rename, row(11, "INSERT", NUMBERS, table="old_orders", id="9", v="90")])
    assert (
        held(world) == "MOVED at None: the gold table has rows of shop.orders_1, which belong to another gold table now"
    )
    assert len(rows(world)) == 2
    settle(world)
    assert rows(world) == [{"id": 1, "v": 10}]
    assert [each["id"] for each in rows(world, "gold_shop.old_orders")] == [2, 9]


def test_formats_without_statements_are_gathered_too() -> None:
    told = [insert(3, 0, id="1", v="10"), insert(4, 1, id="2", v="20")]
    world = run(world_of(), told, [insert(5, 0, id="3", v="30")], [insert(6, 1, id="4", v="40", w="1")])
    assert rows(world)[0] == {"id": 1, "v": 10, "w": None}
    assert len(rows(world)) == 4
    before = world.gold()
    world.rebuild(TABLE)
    assert world.gold() == before


@pytest.mark.parametrize("rules", [RULES, KEYED], ids=["plain", "keyed"])
@pytest.mark.parametrize("new", ["orders_1_new", "elsewhere"])
@pytest.mark.parametrize("cut", range(1, 9))
def test_a_name_may_go_from_a_dropped_table_to_another(cut: int, new: str, rules: dict[str, object]) -> None:
    story = [
        *FIRST,
        ddl(10, f"create table {new} (id int primary key, v int)", new),
        row(11, "INSERT", {"id": "int", "v": "int"}, table=new, id="2", v="7"),
        ddl(12, "drop table orders_1", "orders_1"),
        ddl(13, f"rename table {new} to orders_1", new),
        insert(14, 1, id="3", v="30"),
    ]
    world = run(world_of(rules), story[:cut], story[cut:])
    settle(world)
    assert (held(world), {(each["id"], each["v"]) for each in rows(world)}) == (None, {(1, 10), (2, 7), (3, 30)})
    before = world.digest()
    world.replay(world.names[-1])
    assert world.digest() == before


@pytest.mark.parametrize("rules", [RULES, KEYED], ids=["hidden", "shown"])
@pytest.mark.parametrize("cut", range(1, 11))
def test_a_ghost_that_the_pattern_names_takes_its_table_s_place(cut: int, rules: dict[str, object]) -> None:
    """As gh-ost changes a table: a ghost is made, filled, and renamed into its place."""
    more = {"id": "int", "v": "int", "w": "int"}
    story = [
        *FIRST,
        ddl(10, "create table _orders_1_gho (id int primary key, v int, w int)", "_orders_1_gho"),
        row(11, "INSERT", more, table="_orders_1_gho", id="2", v="20", w="0"),
        insert(12, 1, id="3", v="30"),
        row(13, "INSERT", more, table="_orders_1_gho", id="3", v="30", w="0"),
        ddl(14, "rename table orders_1 to _orders_1_del, _orders_1_gho to orders_1", "orders_1"),
        ddl(15, "drop table _orders_1_del", "_orders_1_del"),
        row(16, "INSERT", more, table="orders_1", id="4", v="40", w="1"),
    ]
    world = World(make_settings("canal_json", {"shop.*orders_*": rules}))
    run(world, story[:cut], story[cut:])
    assert held(world) is None
    assert [(each["id"], each["v"], each["w"]) for each in rows(world)] == [
        (1, 10, None),
        (2, 20, 0),
        (3, 30, 0),
        (4, 40, 1),
    ]
    assert world.states()[TABLE].clashes == 0
