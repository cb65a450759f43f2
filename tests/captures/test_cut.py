"""A genuine stream in two dozen windows, replayed in any order: gold is what one window makes of it."""

import random

from captures.test_expected import messages_of
from laws.world import Gold, World, make_settings
from retable.decode.context import context_of
from retable.decode.registry import decode_message
from retable.errors import MessageError
from retable.model.message import RawMessage

STREAM, PIECES = "canal_mariadb", 24


def good(world: World, messages: list[RawMessage]) -> list[RawMessage]:
    """The messages that decode; the others are quarantine's."""
    found = []
    for message in messages:
        try:
            decode_message(message, context_of(world.source))
        except MessageError:
            continue
        found.append(message)
    return found


def replayed(cuts: list[int], order: list[int]) -> dict[str, Gold]:
    """Gold after windows that end at `cuts` were replayed in this order, and held tables rebuilt."""
    world = World(make_settings("canal_json"))
    messages = good(world, messages_of(STREAM))
    ends = [*cuts, len(messages)]
    names = [world.deliver(messages[start:end]) for start, end in zip([0, *ends], ends, strict=False)]
    for number in order:
        world.replay(names[number])
    for gold, state in world.states().items():
        if state.hold is not None:
            world.rebuild(gold)
    return world.gold()


def test_a_stream_in_two_dozen_windows_in_any_order_comes_to_one_gold() -> None:
    chance = random.Random(2)
    cuts = sorted(chance.sample(range(1, len(messages_of(STREAM)) - 100), PIECES - 1))
    orders = [list(range(PIECES)), list(range(PIECES))[::-1], chance.sample(range(PIECES), PIECES)]
    in_order, *others = [replayed(cuts, order) for order in orders]
    assert len(in_order) > 5
    for other in others:
        assert other == in_order
