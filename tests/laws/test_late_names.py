"""Statements that say which table a name meant, and arrive after rows that came under it: the order changes nothing.

What gold cannot have right in that order is held, and a rebuild makes it what the right order would have made.
"""

from functools import partial
from itertools import permutations

import pytest

from laws.retaining import retain
from laws.test_replays_found import ddl, row
from laws.world import World, make_settings
from retable.errors import NotKept
from retable.model.message import RawMessage

Windows = list[list[RawMessage]]

insert = partial(row, op="INSERT", types={"id": "int"})


def create(offset: int, table: str) -> RawMessage:
    return ddl(offset, f"create table {table} (id int primary key)", table)


def both() -> list[RawMessage]:
    return [create(200, "a"), insert(300, table="a", id="1"), create(210, "b"), insert(310, table="b", id="9")]


RENAME = ddl(400, "alter table a rename to b", "b")
CASES: dict[str, Windows] = {
    "renamed": [[create(200, "a"), insert(300, table="a", id="1")], [RENAME], [insert(500, table="b", id="2")]],
    "renamed, and no statement made it": [[insert(300, table="a", id="1")], [RENAME], [insert(500, table="b", id="2")]],
    "renamed, and another made under the name": [
        [insert(300, table="a", id="1")],
        [RENAME, create(410, "a")],
        [insert(500, table="b", id="2"), insert(501, table="a", id="7")],
    ],
    "dropped, and its name given to another": [
        both(),
        [ddl(350, "drop table b", "b"), RENAME],
        [insert(500, table="b", id="2")],
    ],
    "swapped": [
        both(),
        [ddl(400, "rename table a to c, b to a, c to b", "b")],
        [insert(500, table="b", id="2"), insert(501, table="a", id="8")],
    ],
    "renamed twice": [
        [create(200, "a"), insert(300, table="a", id="1")],
        [RENAME],
        [insert(500, table="b", id="2")],
        [ddl(600, "rename table b to c", "b"), insert(700, table="c", id="3")],
    ],
    "taken away and given again": [
        [create(200, "a"), insert(300, table="a", id="1")],
        [RENAME, insert(450, table="b", id="2")],
        [ddl(600, "rename table b to a", "a")],
        [insert(700, table="a", id="3")],
    ],
}


def outcome(world: World) -> dict[str, tuple[tuple[str, ...], str]]:
    return {name: (gold.rows, gold.state) for name, gold in world.gold().items()}


def settle(world: World) -> None:
    """Rebuild what is held."""
    for _ in range(3):
        for name, state in world.states().items():
            if state.hold is not None and name in world.states():
                world.rebuild(name)
        world.replay(world.names[-1])


@pytest.mark.parametrize("arrives", [False, True])
@pytest.mark.parametrize("case", CASES)
def test_the_order_of_windows_changes_nothing(case: str, arrives: bool) -> None:
    """`arrives`: the windows come in that order; else they are replayed in it."""
    windows = CASES[case]
    expected = None
    for order in permutations(range(len(windows))):
        world = World(make_settings("canal_json"))
        if arrives:
            for at in order:
                world.replay(world.deliver(windows[at]))
        else:
            names = [world.deliver(window) for window in windows]
            for at in order:
                world.replay(names[at])
        settle(world)
        expected = expected or outcome(world)
        assert outcome(world) == expected, order
        assert all(state == "live" for _, state in expected.values())


def test_a_late_rename_leaves_one_table_and_says_that_the_other_is_gone() -> None:
    first, rename, second = CASES["renamed"]
    world = World(make_settings("canal_json"))
    for window in (first, second):
        world.replay(world.deliver(window))
    assert outcome(world).keys() == {"gold_shop.a", "gold_shop.b"}
    world.replay(world.deliver(rename))
    assert outcome(world) == {"gold_shop.b": (('{"id": 1}', '{"id": 2}'), "live")}
    recorded = {identity: (each.gold, each.state) for identity, each in world.tables.items()}
    assert recorded["shop.b@base"] == ("gold_shop.b", "dropped")
    assert recorded.pop("shop.a@base" if "shop.a@base" in recorded else "shop.a@0.200.0") == ("gold_shop.b", "live")
    before = world.digest()
    for name in world.names:
        world.replay(name)
    assert world.digest() == before


@pytest.mark.parametrize("kills", range(12))
def test_a_run_that_dies_at_a_late_rename_is_finished_by_the_next(kills: int) -> None:
    first, rename, second = CASES["renamed"]
    world = World(make_settings("canal_json"))
    for window in (first, second):
        world.replay(world.deliver(window))
    name, steps = world.deliver(rename), 0

    def die(_: str) -> None:
        nonlocal steps
        steps += 1
        if steps > kills:
            raise KeyboardInterrupt

    try:
        world.replay(name, die)
    except KeyboardInterrupt:
        world.replay(name)
    assert outcome(world) == {"gold_shop.b": (('{"id": 1}', '{"id": 2}'), "live")}
    assert world.tables["shop.b@base"].state == "dropped"


@pytest.mark.parametrize("dropped", [1, 2])
def test_a_late_rename_behind_rows_that_retention_dropped_holds_and_loses_none(dropped: int) -> None:
    first, rename, second = CASES["renamed"]
    world = World(make_settings("canal_json"))
    for window in (first, second):
        world.replay(world.deliver(window))
    before = outcome(world)["gold_shop.a"][0]
    retain(world, dropped)
    world.replay(world.deliver(rename))
    (state,) = [state for state in world.states().values() if str(state.identity).startswith("shop.a@")]
    assert state.hold is not None
    (name,) = [name for name, each in world.states().items() if each is state or each.identity == state.identity]
    assert world.gold()[name].rows == before
    if dropped > 1:
        return  # The RENAME itself holds: nothing tells any more that its new name was free.
    assert (state.hold.code, state.hold.remedy) == ("MOVED", "retable rebuild TABLE --reason ...")
    with pytest.raises(NotKept, match="retable baseline"):
        world.rebuild(name)
