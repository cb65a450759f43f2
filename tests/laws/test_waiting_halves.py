"""An update in two messages of which one is missing waits, and nothing else of its transaction does."""

import json
from typing import Any

import msgspec
import pytest

from laws.test_bulk import in_tasks
from laws.test_partial_rows import told
from laws.test_rewrites_tasks import half
from laws.world import World, make_settings
from retable.model.message import RawMessage
from retable.replay.batch import row_batch
from retable.replay.table.deciding import Deciding

KEYED = {"keys": ["id"], "types": dict.fromkeys(("id", "a", "b"), "int")}
WAYS = ("one by one", "vectorized", "tasks")


def in_order(messages: list[RawMessage]) -> list[RawMessage]:
    """The messages of a transaction with offsets of their own."""
    return [msgspec.structs.replace(each, offset=500 + at) for at, each in enumerate(messages)]


def shareplex(rules: dict[str, Any]) -> World:
    return World(make_settings("shareplex_json", rules, database="shop", binary_encoding="hex"))


def of_table(name: str, message: RawMessage) -> RawMessage:
    return msgspec.structs.replace(message, value=message.value.replace(b'"SHOP.t"', f'"SHOP.{name}"'.encode()))


def rows_of(world: World) -> set[tuple[int, ...]]:
    (gold,) = world.gold().values()
    return {tuple(value for value in json.loads(row).values() if isinstance(value, int)) for row in gold.rows}


def waiting_in(world: World) -> int:
    (state,) = world.states().values()
    return len(state.pending)


def by(way: str, patch: pytest.MonkeyPatch) -> None:
    """Let windows be folded in this way. Tasks leave some windows of this file to the driver."""
    patch.setattr(row_batch, "_FEW_ROWS", 0)
    if way == "tasks":
        in_tasks(patch, 1)
    elif way == "one by one":
        patch.setattr(Deciding, "_decide_vectorized", lambda *_: None)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("tables", [("t", "t"), ("t_0", "t_1")])
def test_a_message_waits_though_another_update_of_its_transaction_is_whole(
    tables: tuple[str, str], way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rules = {"shop.SHOP.t": KEYED} if tables[0] == "t" else {"shop.SHOP.t_*": KEYED | {"to": "shop.SHOP.t"}}
    world, (one, two) = shareplex(rules), tables
    world.replay(world.deliver([of_table(one, told(1, "ins", id=1, a=11)), of_table(two, told(2, "ins", id=2, a=21))]))
    update, other = (
        in_order([of_table(name, told(5, op, seq=seq, id=key, a=a)) for op, seq, a in images])
        for name, key, images in ((one, 1, [("ub", 1, 11), ("ua", 2, 14)]), (two, 2, [("ub", 3, 21), ("ua", 4, 24)]))
    )
    by(way, monkeypatch)
    world.replay(world.deliver(update[:1]))
    assert waiting_in(world) == 1
    world.replay(world.deliver(other))
    assert (rows_of(world), waiting_in(world)) == ({(1, 11), (2, 24)}, 1)
    world.rebuild(next(iter(world.gold())))
    assert (rows_of(world), waiting_in(world)) == ({(1, 11), (2, 24)}, 1)
    world.replay(world.deliver(update[1:]))
    assert (rows_of(world), waiting_in(world)) == ({(1, 14), (2, 24)}, 0)


@pytest.mark.parametrize("way", WAYS)
def test_a_message_that_waits_comes_again_with_the_other_one(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(make_settings("streamx_json"))
    insert = half(1, "INSERT", id=1, v=1)
    by(way, monkeypatch)
    before, after = half(10, "UPDATE_BEFOR", id=1, v=1), half(10, "UPDATE_AFTER", id=1, v=7)
    world.replay(world.deliver([insert]))
    world.replay(world.deliver([before]))
    assert waiting_in(world) == 1
    world.replay(world.deliver([msgspec.structs.replace(before, offset=90), after]))
    assert (rows_of(world), waiting_in(world)) == ({(1, 7)}, 0)


def not_a_number(message: RawMessage) -> RawMessage:
    value = json.loads(message.value)
    value["data"] |= {"id": "one"} if value["meta"]["op"] == "ub" else {"a": "many"}
    return msgspec.structs.replace(message, value=json.dumps(value).encode())


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("fault", ["rejected", "rejected twice", "held"])
def test_an_update_waits_alone_if_a_message_of_its_transaction_is_not_applied(
    fault: str, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = shareplex({"shop.SHOP.t": KEYED})
    world.replay(world.deliver([told(1, "ins", id=1, a=11, b=12), told(2, "ins", id=2, a=21, b=22)]))
    by(way, monkeypatch)
    first = [told(5, "ub", seq=1, id=1, a=11), told(5, "ua", seq=2, id=1, a=14)]
    before, after = told(5, "ub", seq=3, id=2, a=21), told(5, "ua", seq=4, id=2, a=24)
    expected, waiting, code = {(1, 14, 12), (2, 21, 22)}, 1, None
    messages = [*first, before, not_a_number(after)]
    if fault == "rejected twice":
        messages, expected, waiting = [not_a_number(first[0]), first[1], *messages[2:]], {(1, 11, 12), (2, 21, 22)}, 2
    elif fault == "held":
        messages, expected, code = (
            [told(4, "del", id=2, a=21, b=22), *first, before, after],
            {(1, 14, 12)},
            "ROW_MISSING",
        )
    world.replay(world.deliver(in_order(messages)))
    for _ in range(2):
        (gold,) = world.gold().values()
        assert (rows_of(world), waiting_in(world), gold.hold and gold.hold.code) == (expected, waiting, code)
        world.rebuild("gold_shop__shop.t")
    if fault == "held":
        world.release("gold_shop__shop.t", "skip")
        for _ in range(2):
            (gold,) = world.gold().values()
            assert (rows_of(world), waiting_in(world), gold.hold) == ({(1, 14, 12)}, 0, None)
            world.rebuild("gold_shop__shop.t")


@pytest.mark.parametrize("way", WAYS)
def test_a_window_is_folded_as_in_a_rebuild_while_an_update_of_its_transaction_waits(
    way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Row 2 gets the key 3, row 1 the key 2. The message with key 3 comes last."""
    world = shareplex({"shop.SHOP.t": KEYED})
    world.replay(world.deliver([told(1, "ins", id=1, a=11, b=12), told(2, "ins", id=2, a=21, b=22)]))
    by(way, monkeypatch)
    images = [("ub", 1, 2), ("ub", 3, 1), ("ua", 4, 2), ("ua", 2, 3)]
    messages = in_order([told(5, op, seq=seq, id=key) for op, seq, key in images])
    for window in (messages[:1], messages[1:3], messages[3:]):
        world.replay(world.deliver(window))
        (gold,), (state,) = world.gold().values(), world.states().values()
        world.rebuild("gold_shop__shop.t")
        (rebuilt,), (again,) = world.gold().values(), world.states().values()
        assert (gold.rows, state.pending) == (rebuilt.rows, again.pending)
    assert (rows_of(world), waiting_in(world)) == ({(3, 21, 22), (2, 11, 12)}, 0)
