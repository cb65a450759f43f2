"""Settings that are other ones reach gold as windows are replayed again, whatever tells the rows of a table apart."""

from collections.abc import Mapping
from typing import Any

import pytest

from laws.test_policies import row, seen
from laws.world import World, make_settings
from retable.model.message import RawMessage
from retable.settings.load import Settings

FIVE, SIX, SEVEN = (f"2026-03-01 0{hour}:00:00" for hour in (5, 6, 7))


def at(place: int, op: str, time: str, keys: tuple[str, ...], count: int = 1) -> RawMessage:
    return row(place, op, keys=keys, at=(time, "timestamp"), n=str(count))


def windows(keys: tuple[str, ...]) -> list[list[RawMessage]]:
    return [
        [at(1, "INSERT", FIVE, keys), at(2, "INSERT", SIX, keys)],
        [
            at(3, "UPDATE" if keys else "INSERT", FIVE, keys, 2),
            at(4, "DELETE", SIX, keys),
            at(5, "INSERT", SEVEN, keys),
        ],
    ]


@pytest.mark.parametrize("keys", [(), ("at",), ("n", "at")])
@pytest.mark.parametrize("order", [(0, 1), (1, 0), (1,), (0,)])
@pytest.mark.parametrize(
    ("before", "after"),
    [({}, {"time_zone": "Asia/Shanghai"}), ({}, {"types": {"at": "string"}}), ({"types": {"at": "string"}}, {})],
    ids=["zone", "to text", "from text"],
)
def test_rows_are_those_of_a_lake_that_had_the_settings_from_the_start(
    before: dict[str, Any], after: dict[str, Any], order: tuple[int, ...], keys: tuple[str, ...]
) -> None:
    right = replayed(World(settings(**after)), windows(keys))
    world = replayed(World(settings(**before)), windows(keys))
    assert seen(world) != seen(right)
    world.settings = settings(**after)
    names = world.names
    for number in order:
        world.replay(names[number])
    if (hold := seen(world)[2]) is not None:
        # Which type a column has, only a rebuild changes where values could be lost.
        assert (hold, "types" in before or "types" in after) == ("LATE_CHANGE", True)
        world.rebuild("gold_shop.t")
    assert seen(world) == seen(right)
    world.rebuild("gold_shop.t")
    assert seen(world) == seen(right)
    assert not any(world.replay(name) for name in names)


def replayed(world: World, told: list[list[RawMessage]]) -> World:
    for window in told:
        world.replay(world.deliver(window))
    return world


def settings(types: Mapping[str, str] | None = None, **source: str) -> Settings:
    return make_settings("canal_json", {"shop.t": {"types": types or {}}}, **source)
