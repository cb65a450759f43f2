"""Keys that move between tables which go into one, or stand in two: gold is what lives in any, however it came."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from laws.drawing import EXAMPLES, PHASES, SAME
from laws.test_policies import check as verify
from laws.test_shards import TABLE, apart, create, ddl, delete, held, insert, rows, run, update, world_of
from laws.world import World
from retable.model.message import RawMessage

SHARDS, KEYS = 3, 2


@dataclass(slots=True)
class Tables:
    """The tables as their server has them, and what it said."""

    said: list[RawMessage] = field(default_factory=lambda: [create(1 + shard, shard) for shard in range(SHARDS)])
    there: list[dict[int, int]] = field(default_factory=lambda: [{} for _ in range(SHARDS)])

    def act(self, shard: int, key: int, value: int) -> None:
        """Bring, change or take away a row of a table, as it has it or not."""
        mine, at = self.there[shard], len(self.said) + 1
        if key not in mine:
            self.said.append(insert(at, shard, id=str(key), v=str(value)))
            mine[key] = value
        elif value % 2:
            self.said.append(update(at, shard, id=str(key), v=str(value), old_v=str(mine[key])))
            mine[key] = value
        elif value == 2 and (free := [other for other in range(KEYS) if other not in mine]):
            self.said.append(update(at, shard, id=str(free[0]), v=str(mine[key]), old_id=str(key)))
            mine[free[0]] = mine.pop(key)
        else:
            self.said.append(delete(at, shard, id=str(key), v=str(mine.pop(key))))

    def empty(self, shard: int) -> None:
        self.said.append(ddl(len(self.said) + 1, f"truncate table orders_{shard}", f"orders_{shard}"))
        self.there[shard] = {}

    def clashes(self) -> int:
        """How many keys stand in several of them."""
        keys = Counter(key for mine in self.there for key in mine)
        return sum(count > 1 for count in keys.values())

    def settle(self) -> None:
        """Leave each key to the first table that has it."""
        for key in range(KEYS):
            for shard in [shard for shard, mine in enumerate(self.there) if key in mine][1:]:
                self.act(shard, key, 0)

    def truth(self) -> list[dict[str, object]]:
        found: Iterable[tuple[int, int]] = (row for mine in self.there for row in mine.items())
        return [{"id": key, "v": value} for key, value in sorted(found)]


@st.composite
def tables(draw: st.DrawFn, emptied: bool = False) -> Tables:
    found = Tables()
    for _ in range(draw(st.integers(2, 14))):
        shard = draw(st.integers(0, SHARDS - 1))
        if emptied and draw(st.integers(0, 9)) == 0:
            found.empty(shard)
        found.act(shard, draw(st.integers(0, KEYS - 1)), draw(st.integers(0, 9)))
    return found


def cut(said: list[RawMessage], data: st.DataObject) -> list[list[RawMessage]]:
    cuts = sorted(data.draw(st.sets(st.integers(SHARDS, len(said) - 1), max_size=4)))
    return [said[a:b] for a, b in zip([0, *cuts], [*cuts, len(said)], strict=True)]


def check(world: World, found: Tables, windows: list[list[RawMessage]]) -> None:
    """Gold is what lives in any table, the keys are counted that several have, and its messages verify it."""
    there = sorted(rows(world), key=str)
    assert (held(world), there) == (None, sorted(found.truth(), key=str))
    assert world.states()[TABLE].clashes == found.clashes()
    verify(world, windows)


@settings(max_examples=EXAMPLES, derandomize=SAME, phases=PHASES, deadline=None)
@given(tables(emptied=True), st.booleans(), st.data())
def test_any_cut_gives_what_lives_in_any_table(found: Tables, is_apart: bool, data: st.DataObject) -> None:
    windows = cut(apart(found.said) if is_apart else found.said, data)
    world = run(world_of(), *windows)
    check(world, found, windows)
    world.rebuild(TABLE)
    check(world, found, windows)
    go_on(world, found, is_apart, windows)


@settings(max_examples=EXAMPLES, derandomize=SAME, phases=PHASES, deadline=None)
@given(tables(), st.booleans(), st.data())
def test_any_order_of_windows_gives_what_lives_in_any_table(found: Tables, is_apart: bool, data: st.DataObject) -> None:
    windows = cut(apart(found.said) if is_apart else found.said, data)
    world = world_of()
    first, *others = [world.deliver(piece) for piece in windows]
    for name in (first, *data.draw(st.permutations(others))):
        world.replay(name)
    check(world, found, windows)
    go_on(world, found, is_apart, windows)


def go_on(world: World, found: Tables, is_apart: bool, windows: list[list[RawMessage]]) -> None:
    """Each key is left to one: then none is in several any more."""
    done = len(found.said)
    found.settle()
    more = (apart(found.said) if is_apart else found.said)[done:]
    run(world, more)
    check(world, found, [*windows, more])
    assert world.states()[TABLE].clashes == 0


MOVED = [insert(4, 0, id="1", v="10"), delete(5, 0, id="1", v="10"), insert(6, 1, id="1", v="11")]
COPIED = [insert(4, 0, id="1", v="10"), insert(5, 1, id="1", v="11"), delete(6, 0, id="1", v="10")]


@pytest.mark.parametrize("story", [MOVED, COPIED], ids=["moved", "copied"])
@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_a_key_that_moves_lives_where_it_went(story: list[RawMessage], order: tuple[int, ...]) -> None:
    world = run(world_of(), [create(1, 0), create(2, 1)])
    names = [world.deliver([message]) for message in story]
    for at in order:
        world.replay(names[at])
    assert (held(world), rows(world)) == (None, [{"id": 1, "v": 11}])
    for act in (
        lambda: run(world, [ddl(9, "rename table orders_1 to orders_7", "orders_1")]),
        lambda: world.rebuild(TABLE),
        lambda: run(world, [insert(12, 7, id="3", v="30")]),
    ):
        act()
        assert (held(world), rows(world)[0]) == (None, {"id": 1, "v": 11})
