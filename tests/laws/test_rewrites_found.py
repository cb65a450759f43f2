"""Tables whose rows were once all written anew though they need not, or must not be."""

import json
from functools import partial

import pytest

from laws.retaining import retain
from laws.test_replays_found import CREATE, ONE, TABLE, THREE, TWO, ddl, insert, numbers, row, run
from laws.world import World, make_settings
from retable.gold import state
from retable.replay.table import rewriting

OTHER = insert(90, id="1", v="1", table="z")
RENAME = ddl(20, "rename table t to u")
MOMENTS = {"id": "int", "at": "timestamp"}
TEXTS = {"id": "int", "c": "varchar(9)"}
FIRST = [
    ddl(1, "create table t (id int primary key, at timestamp)"),
    row(2, "INSERT", MOMENTS, id="1", at="2026-01-08 02:30:00"),
]
REFUSED = [
    row(12, "INSERT", MOMENTS, id="2", at="2026-03-08 02:30:00"),
    row(13, "INSERT", MOMENTS, id="3", at="2026-03-08 05:30:00"),
]


def hold(world: World, table: str = TABLE) -> str | None:
    found = world.states()[table].hold
    return None if found is None else found.code


def ids(world: World, table: str = TABLE) -> list[int]:
    return [json.loads(each)["id"] for each in world.gold()[table].rows]


def anew(world: World, window: int) -> list[str]:
    """What a replay says of writing all rows anew."""
    steps: list[str] = []
    world.replay(world.names[window], steps.append)
    return [step for step in steps if "writing all rows again" in step]


# --- tables that were left out -----------------------------------------------------------------------------------
def test_a_renamed_table_that_the_settings_leave_out_keeps_its_rows() -> None:
    world = run([[ddl(1, CREATE), ONE, TWO], [RENAME, insert(21, id="5", v="5", table="u")]])
    world.settings = make_settings("canal_json", exclude=["shop.u"])
    world.redecode(world.names[1], [RENAME])
    world.replay(world.names[1])
    assert ids(world, "gold_shop.u") == [1, 2, 5]


def left_out_and_taken_again() -> World:
    world = run([[ONE, TWO, OTHER], [THREE]])
    world.settings = make_settings("canal_json", exclude=["shop.t"])
    world.redecode(world.names[0], [OTHER])
    world.redecode(world.names[1], [])
    world.settings = make_settings("canal_json")
    world.left_out.add("shop.t")
    return world


def test_a_table_of_which_silver_has_nothing_as_it_was_left_out_by_mistake_is_held() -> None:
    world = left_out_and_taken_again()
    world.replay(world.names[0])
    assert (ids(world), hold(world)) == ([1, 2, 3], "BEHIND_HORIZON")
    world.redecode(world.names[0], [ONE, TWO, OTHER])
    world.redecode(world.names[1], [THREE])
    world.left_out.clear()
    world.rebuild(TABLE)
    assert (ids(world), hold(world)) == ([1, 2, 3], None)


def test_a_table_that_was_left_out_and_rolled_back_is_held() -> None:
    world = left_out_and_taken_again()
    world.catalog.tables[TABLE].go_back(1)
    run([[insert(40, id="4", v="4")]], world)
    assert (ids(world), hold(world)) == ([1, 2], "BEHIND_HORIZON")


# --- tables that are as they should be ---------------------------------------------------------------------------
def test_a_row_that_was_refused_before_is_no_reason() -> None:
    world = World(make_settings("canal_json", time_zone="America/New_York"))
    run([FIRST, REFUSED], world)
    world.redecode(world.names[1], REFUSED)
    assert anew(world, 1) == []
    retain(world, 1)
    world.redecode(world.names[1], REFUSED)
    world.replay(world.names[1])
    assert (ids(world), hold(world)) == ([1, 3], None)


def test_a_key_that_the_settings_name_no_more_and_the_source_does_is_no_reason() -> None:
    world = World(make_settings("canal_json", {"shop.t": {"keys": ["id"]}}))
    run([[ddl(1, CREATE), ONE, TWO], [THREE]], world)
    retain(world, 1)
    world.settings = make_settings("canal_json")
    world.replay(world.names[1])
    assert (numbers(world), hold(world)) == ({1: 10, 2: 20, 3: 30}, None)


def test_a_name_that_another_table_has_now_tells_nothing_of_this_one() -> None:
    swap = ddl(50, "rename table t to _t_del, _t_gho to t")
    copies = [insert(30 + n, id=str(n), v=str(n), table="_t_gho") for n in range(1, 5)]
    second = [ddl(29, CREATE.replace("table t", "table _t_gho"), "_t_gho"), *copies, swap, insert(60, id="9", v="9")]
    world = run([[ddl(1, CREATE), ONE, TWO, THREE], [*second, insert(28, id="7", v="7")]])
    before = world.gold()
    world.redecode(world.names[1], [*second, insert(28, id="7", v="7")])
    assert anew(world, 1) == []
    assert world.gold() == before


# --- tables that must be written anew ----------------------------------------------------------------------------
def test_a_key_taken_out_of_the_settings_is_noticed_by_many_plain_rows() -> None:
    several = partial(row, op="INSERT", types=TEXTS, keys=("id",), c="a")
    world = World(make_settings("canal_json", {"shop.t": {"keys": ["c"]}}))
    run([[several(1, id="1"), several(2, id="2")]], world)
    world.settings = make_settings("canal_json", {"shop.t": {}})
    run([[several(3, id="3"), several(4, id="4")]], world)
    assert ids(world) == [1, 2, 3, 4]


def test_windows_that_gold_does_not_remember_are_read_otherwise_again_and_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for module in (rewriting, state):
        monkeypatch.setattr(module, "KEEP_APPLIED", 4)
    types = {"at": "timestamp", "v": "int"}
    days = [row(10 + n, "INSERT", types, (), at=f"2026-04-{n:02} 00:00:00", v="1") for n in range(1, 8)]
    create = ddl(1, "create table t (at timestamp, v int)")
    world = run([[create, days[0]], *([day] for day in days[1:])])
    for zone in ("Asia/Shanghai", "America/New_York", "UTC"):
        world.settings = make_settings("canal_json", time_zone=zone)
        world.replay(world.names[0])
        assert len(world.gold()[TABLE].rows) == 7


# --- what the ledger counts --------------------------------------------------------------------------------------
def test_a_release_leaves_the_counts_of_windows_that_retention_dropped() -> None:
    world = run([[ddl(1, CREATE), ONE, TWO], [THREE]])
    retain(world, 1)
    run([[ddl(30, "alter table t frobnicate"), insert(31, id="9", v="9")]], world)
    world.release(TABLE, "skip")
    assert world.counts_of_gold[world.names[0], TABLE] == {"rows": 2, "applied": 2}
