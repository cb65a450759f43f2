"""Settings that are other ones reach gold as windows are replayed again, in a table without a key too."""

import pytest

from laws.test_policies import row, seen
from laws.world import World, make_settings

AT = "2026-03-01 05:00:00"
WINDOWS = [
    [row(1, "INSERT", keys=(), at=(AT, "timestamp")), row(2, "INSERT", keys=(), at=(AT, "timestamp"))],
    [
        row(3, "DELETE", keys=(), at=(AT, "timestamp")),
        row(4, "INSERT", keys=(), at=("2026-03-01 06:00:00", "timestamp")),
    ],
]


@pytest.mark.parametrize("order", [(0, 1), (1, 0), (1,), (0,)])
def test_rows_without_a_key_are_those_of_a_rebuild(order: tuple[int, ...]) -> None:
    zones = [make_settings("canal_json", time_zone=zone) for zone in ("UTC", "Asia/Shanghai")]
    world = World(zones[0])
    names = [world.deliver(window) for window in WINDOWS]
    for name in names:
        world.replay(name)
    before = seen(world)
    world.settings = zones[1]
    for number in order:
        world.replay(names[number])
    after = seen(world)
    assert after != before
    world.rebuild("gold_shop.t")
    assert seen(world) == after
    assert not any(world.replay(name) for name in names)
