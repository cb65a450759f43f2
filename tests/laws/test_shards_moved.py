"""Other settings send tables of a source elsewhere: what lacks rows is held, and a rebuild brings them."""

from dataclasses import replace
from itertools import pairwise, permutations, product

import pytest

from laws.test_shards import ADDED, FIRST, SWAPPED, TABLE, change, ddl, insert, make_settings, update
from laws.world import World
from retable.gold.state import to_properties
from retable.model.event import TableName
from retable.model.message import RawMessage
from retable.replay.release import fitting_ways
from retable.schema_history.shards.parts import SHARD_ID

APART: dict[str, dict[str, object]] = {}
CHOICES: dict[str, dict[str, dict[str, object]]] = {
    "apart": APART,
    "one": {"shop.orders_*": {"to": "shop.orders"}},
    "keyed": {"shop.orders_*": {"to": "shop.orders", "shard_in_key": True}},
    "other": {"shop.orders_*": {"to": "shop.sales"}},
    "narrow": {"shop.orders_0": {"to": "shop.orders"}},
}
STORIES: dict[str, list[list[RawMessage]]] = {
    "told": [FIRST, [update(5, 1, id="2", v="21", old_v="20")], [insert(6, 0, id="3", v="30")]],
    "untold": [
        [insert(3, 0, id="1", v="10"), insert(4, 1, id="2", v="20")],
        [insert(5, 1, id="4", v="40", w="1")],
        [insert(6, 0, id="3", v="30"), change("DELETE", 7, 1, id="2", v="20")],
    ],
    "altered": [ADDED[:5], ADDED[5:8], ADDED[8:]],
    "swapped": [SWAPPED[:5], SWAPPED[5:6], SWAPPED[6:]],
    "differing": [
        [*FIRST, ddl(5, "alter table orders_1 modify v varchar(9)", "orders_1")],
        [insert(6, 1, id="4", v="40")],
        [insert(7, 0, id="3", v="30")],
    ],
}
LAST = [insert(30, 0, id="8", v="80"), insert(31, 1, id="9", v="90")]
WAYS = [each for each in product(CHOICES, repeat=3) if any(a != b for a, b in pairwise(each))]
TO_AND_FRO = [(one, other, one, other) for one, other in permutations(CHOICES, 2)]
CASES = [
    (at % 2 == 0, way, story)
    for at, way in enumerate([*WAYS, *TO_AND_FRO])
    for number, story in enumerate(STORIES)
    if (at // 2 + number) % 2 == 0
]
"""Each way meets half of the stories. Whether a rebuild comes at once changes from way to way."""


def fed(world: World) -> dict[str, object]:
    """The tables that the settings feed now."""
    tables = [TableName("shop", None, name) for name in ("orders_0", "orders_1")]
    names = {str(world.settings.target(each) or each) for each in tables}
    return {gold: found for gold, found in world.gold().items() if gold.removeprefix("gold_") in names}


def bring(world: World) -> None:
    """Rebuild what is held as its rows are elsewhere."""
    moved = [name for name, state in world.states().items() if state.hold is not None and state.hold.code == "MOVED"]
    for name in moved:
        if name in fed(world):
            world.rebuild(name)


@pytest.mark.parametrize(("at_once", "way", "story"), CASES)
def test_a_rebuild_brings_rows_where_the_settings_send_them(at_once: bool, way: tuple[str, ...], story: str) -> None:
    windows = [*STORIES[story], LAST][: len(way)]
    world = World(make_settings("canal_json", CHOICES[way[0]]))
    right = World(make_settings("canal_json", CHOICES[way[-1]]))
    for choice, window in zip(way, windows, strict=True):
        world.settings = make_settings("canal_json", CHOICES[choice])
        world.replay(world.deliver(window))
        right.replay(right.deliver(window))
        if at_once:
            bring(world)
    for name, state in world.states().items():
        is_right = world.gold()[name].rows == right.gold()[name].rows if name in fed(right) else True
        assert is_right or (state.hold is not None and state.hold.code == "MOVED"), name
    bring(world)
    holds = [
        {name: state.hold for name, state in each.states().items() if name in fed(each)} for each in (world, right)
    ]
    assert (holds[0], fed(world)) == (holds[1], fed(right))
    for name in world.names:
        counted = [world.counts_of_gold[name, gold] for gold in fed(world) if (name, gold) in world.counts_of_gold]
        rows = [record for record in world.rows.silver[name] if record["kind"] == "row"]
        assert sum(counts.get("rows", 0) for counts in counted) == len(rows), name
    before = world.digest()
    world.replay(world.names[-1])
    assert world.digest() == before


def test_the_table_that_several_go_into_now_is_made_by_a_rebuild_before_any_window_comes() -> None:
    world = World(make_settings("canal_json", APART))
    world.replay(world.deliver(FIRST))
    world.settings = make_settings("canal_json", CHOICES["one"])
    world.rebuild(TABLE)
    right = World(make_settings("canal_json", CHOICES["one"]))
    right.replay(right.deliver(FIRST))
    assert fed(world) == fed(right)
    world.replay(world.deliver(LAST))
    right.replay(right.deliver(LAST))
    assert fed(world) == fed(right)


def test_a_held_table_keeps_the_rows_that_it_had_and_no_other_release_frees_it() -> None:
    world = World(make_settings("canal_json", CHOICES["one"]))
    world.replay(world.deliver(FIRST))
    before = world.gold()[TABLE].rows
    world.settings = make_settings("canal_json", CHOICES["narrow"])
    world.replay(world.deliver(LAST))
    hold = world.states()[TABLE].hold
    assert hold is not None
    assert (hold.reason, fitting_ways(hold)) == (
        "the gold table has rows of shop.orders_1, which belong to another gold table now",
        ("rebuild",),
    )
    assert world.gold()[TABLE].rows == before
    bring(world)
    assert world.gold()[TABLE].rows == ('{"id": 1, "v": 10}', '{"id": 8, "v": 80}')
    assert len(world.gold()["gold_shop.orders_1"].rows) == 2


def test_gold_that_does_not_tell_of_which_table_a_row_is_is_held_until_a_rebuild() -> None:
    """As a Retable before made it: without the column, and with the key of the source alone."""
    world = World(make_settings("canal_json", CHOICES["one"]))
    world.replay(world.deliver(FIRST))
    table, state = world.catalog.tables[TABLE], world.states()[TABLE]
    former = replace(state, columns=tuple(each for each in state.columns if each.id != SHARD_ID), keys=("id",))
    table.properties |= to_properties(former)
    table.fields = [each for each in table.fields if each[1] != "_retable_source_table"]
    before = world.gold()[TABLE].rows
    world.replay(world.deliver(LAST))
    hold = world.states()[TABLE].hold
    assert hold is not None
    assert (hold.code, hold.reason) == (
        "MOVED",
        "the rows of the gold table do not show which source table each row is from",
    )
    assert world.gold()[TABLE].rows == before
    bring(world)
    right = World(make_settings("canal_json", CHOICES["one"]))
    right.replay(right.deliver(FIRST))
    right.replay(right.deliver(LAST))
    assert (world.gold(), world.states()[TABLE].keys) == (right.gold(), right.states()[TABLE].keys)
