"""A genuine stream in two dozen windows, replayed in any order, comes to one gold."""

import json
import random
from dataclasses import replace

import pytest

from captures.test_expected import STREAMS, messages_of
from laws.world import Gold, World, make_settings
from retable.decode.context import context_of
from retable.errors import MessageError
from retable.formats.registry import decode_message
from retable.model.message import RawMessage

PIECES = 24


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


def replayed(stream: str, cuts: list[int], order: list[int]) -> dict[str, Gold]:
    """Gold after windows that end at `cuts` were replayed in this order, and held tables rebuilt."""
    world = World(make_settings(STREAMS[stream][0]))
    messages = good(world, messages_of(stream))
    ends = [*cuts, len(messages)]
    names = [world.deliver(messages[start:end]) for start, end in zip([0, *ends], ends, strict=False)]
    for number in order:
        world.replay(names[number])
    for gold, state in world.states().items():
        if state.hold is not None:
            world.rebuild(gold)
    return {name: _unordered(gold) for name, gold in world.gold().items()}


def _unordered(gold: Gold) -> Gold:
    """A table whatever the order of its columns: where no statement tells one, they stand as they came."""
    rows = sorted(json.dumps(json.loads(row), sort_keys=True) for row in gold.rows)
    return replace(gold, columns=tuple(sorted(gold.columns)), rows=tuple(rows))


@pytest.mark.parametrize("stream", ["canal_mariadb", "debezium_postgres"])
def test_a_stream_in_two_dozen_windows_in_any_order_comes_to_one_gold(stream: str) -> None:
    """With statements, and without: types widen as messages tell them."""
    chance = random.Random(2)
    cuts = sorted(chance.sample(range(1, len(messages_of(stream)) - 100), PIECES - 1))
    orders = [list(range(PIECES)), list(range(PIECES))[::-1], chance.sample(range(PIECES), PIECES)]
    in_order, *others = [replayed(stream, cuts, order) for order in orders]
    assert len(in_order) > 5
    for other in others:
        assert other == in_order
