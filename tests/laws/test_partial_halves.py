"""SharePlex updates that come as two messages, which have only some columns of the row."""

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from laws.story import Story, differences, message, tell
from laws.test_bulk import by_tasks_alone, in_tasks
from laws.test_laws import LAW, seeds, sizes
from laws.test_partial_rows import told
from laws.test_partitions import told_of
from laws.world import World, make_settings
from retable.model.message import RawMessage
from retable.replay.table.deciding import Deciding
from retable.replay.tasks import folding
from retable.simulate import ROW_KINDS, Delivery


def in_two(story: Story, number: int, is_one_place: bool) -> list[RawMessage]:
    """The messages of a window with each update as two of them, which have one `seq` if `is_one_place`."""
    found = []
    for record in story.windows[number]:
        line: dict[str, Any] = json.loads(record.line())
        value: dict[str, Any] = json.loads(line["value"])
        messages = [value]
        if value["meta"]["op"] == "upd" and value["key"]:
            after = {name: text for name, text in value["key"].items() if name not in value["data"]} | value["data"]
            rows = {"ub": value["key"], "ua": after}
            messages = [{"meta": value["meta"] | {"op": op}, "data": data} for op, data in rows.items()]
        for at, each in enumerate(messages):
            seq = value["meta"]["seq"] if is_one_place else 2 * value["meta"]["seq"] + at
            text = json.dumps(each | {"meta": each["meta"] | {"seq": seq}})
            found.append(message(json.dumps(line | {"offset": 2 * line["offset"] + at, "value": text})))
    return found


@LAW
@given(st.data())
def test_gold_is_the_source_and_tasks_come_to_what_one_process_comes_to(data: st.DataObject) -> None:
    repeated = data.draw(st.sampled_from((0.0, 0.2)))
    delivery = Delivery(windows=data.draw(st.integers(1, 3)), repeated=repeated)
    story = tell(data.draw(seeds), "shareplex_json", delivery, data.draw(sizes), ROW_KINDS)
    rows, is_one_place, is_spread = data.draw(st.integers(1, 8)), data.draw(st.booleans()), data.draw(st.booleans())
    found = []
    for by_tasks in (False, True):
        with pytest.MonkeyPatch.context() as patch:
            if is_spread:
                patch.setattr(folding, "are_by_key", lambda *_: False)
            if by_tasks:
                in_tasks(patch, rows)
            else:
                patch.setattr(Deciding, "_decide_vectorized", lambda *_: None)
            world = story.empty_world()
            for number in range(len(story.windows)):
                world.replay(world.deliver(in_two(story, number, is_one_place)))
        assert differences(story, world.gold()) == []
        found.append((told_of(world), world.counts, world.rejected))
    assert found[0] == found[1]


@pytest.mark.parametrize("is_one_place", [True, False])
def test_both_messages_of_an_update_count_once(is_one_place: bool) -> None:
    world = two_rows()
    update = two_of(5, is_one_place, {"id": 1, "a": 11, "b": 12}, {"id": 1, "a": 14, "b": 12})
    again = [msgspec.structs.replace(each, offset=each.offset + 2) for each in update]
    world.replay(world.deliver([*update, *again]))
    (gold,) = world.gold().values()
    assert {tuple(json.loads(row).values()) for row in gold.rows} == {(1, 14, 12), (2, 21, 22)}
    assert gold.hold is None


def two_rows() -> World:
    table = {"keys": ["id"], "types": dict.fromkeys(("id", "a", "b"), "int")}
    world = World(make_settings("shareplex_json", {"shop.SHOP.t": table}, database="shop", binary_encoding="hex"))
    world.replay(world.deliver([told(1, "ins", id=1, a=11, b=12), told(2, "ins", id=2, a=21, b=22)]))
    return world


@pytest.mark.parametrize("rows", [1, 2])
@pytest.mark.parametrize("is_one_place", [True, False])
def test_tasks_fold_updates_that_keep_their_key(is_one_place: bool, rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    world = two_rows()
    by_tasks_alone(monkeypatch, rows)
    update = two_of(5, is_one_place, {"id": 1, "a": 11}, {"id": 1, "a": 14})
    again = [msgspec.structs.replace(each, offset=each.offset + 2) for each in update]
    other = two_of(6, is_one_place, {"id": 2, "b": 22}, {"id": 2, "b": 25})
    world.replay(world.deliver([*update, *again, *other, told(7, "upd", {"id": 2}, a=27)]))
    (gold,) = world.gold().values()
    assert {tuple(json.loads(row).values()) for row in gold.rows} == {(1, 14, 12), (2, 27, 25)}
    assert gold.hold is None


MOVES = {
    "one key to another": [(1, 3)],
    "a swap": [(1, 9), (2, 1), (9, 2)],
    "one in the place of another": [(2, 3), (1, 2)],
}


@pytest.mark.parametrize("case", MOVES)
@pytest.mark.parametrize("is_one_place", [True, False])
def test_the_driver_folds_updates_of_one_transaction_that_change_keys(
    is_one_place: bool, case: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both messages name the transaction and not the update, so tasks do not know which of them belong together."""
    world, said = two_rows(), list[str]()
    in_tasks(monkeypatch, 1)
    window = [each for at, keys in enumerate(MOVES[case]) for each in moved(at, *keys, is_one_place)]
    world.replay(world.deliver(window), said.append)
    whose, (gold,) = {1: (11, 12), 2: (21, 22)}, world.gold().values()
    for old, new in MOVES[case]:
        whose[new] = whose.pop(old)
    assert {tuple(json.loads(row).values()) for row in gold.rows} == {(ident, *rest) for ident, rest in whose.items()}
    assert any("an update in two messages changes its key" in line for line in said)


def moved(number: int, old: int, new: int, is_one_place: bool = True) -> list[RawMessage]:
    """The two messages of the update of this number in a transaction, from 0, that changes a key."""
    seqs = (10 * number, 10 * number + (not is_one_place))
    made = [told(5, op, seq=seq, id=ident) for op, seq, ident in zip(("ub", "ua"), seqs, (old, new), strict=True)]
    return [msgspec.structs.replace(each, offset=500 + 2 * number + at) for at, each in enumerate(made)]


def two_of(scn: int, is_one_place: bool, before: dict[str, int], after: dict[str, int]) -> list[RawMessage]:
    made = [told(scn, "ub", **before), told(scn, "ua", seq=1 if is_one_place else 2, **after)]
    return [msgspec.structs.replace(each, offset=100 * scn + at) for at, each in enumerate(made)]


def test_a_late_update_that_swapped_keys_with_others_finds_their_rows() -> None:
    world = two_rows()
    moves = [move for at, keys in enumerate(((1, 9), (2, 1), (9, 2))) for move in moved(at, *keys)]
    world.replay(world.deliver(moves))
    world.replay(world.deliver([msgspec.structs.replace(each, offset=900 + each.offset) for each in moves[:2]]))
    (gold,) = world.gold().values()
    assert {tuple(json.loads(row).values()) for row in gold.rows} == {(1, 21, 22), (2, 11, 12)}


@pytest.mark.parametrize("is_one_place", [True, False])
def test_a_message_whose_other_one_is_in_the_next_window_waits(is_one_place: bool) -> None:
    """The transaction has another update, which is whole."""
    world = two_rows()
    first, second = moved(0, 1, 1, is_one_place), moved(1, 2, 3, is_one_place)
    world.replay(world.deliver([*first, second[0]]))
    (gold,), (state,) = world.gold().values(), world.states().values()
    assert {tuple(json.loads(row).values()) for row in gold.rows} == {(1, 11, 12), (2, 21, 22)}
    assert state.pending
    world.replay(world.deliver(second[1:]))
    (gold,), (state,) = world.gold().values(), world.states().values()
    assert {tuple(json.loads(row).values()) for row in gold.rows} == {(1, 11, 12), (3, 21, 22)}
    assert (gold.hold, state.pending) == (None, {})


@pytest.mark.parametrize("is_one_place", [True, False])
@pytest.mark.parametrize("which", [0, 1])
def test_one_message_of_a_whole_update_comes_again(which: int, is_one_place: bool) -> None:
    world = two_rows()
    first, second = moved(0, 1, 3, is_one_place), moved(1, 2, 1, is_one_place)
    world.replay(world.deliver([*first, *second]))
    world.replay(world.deliver([msgspec.structs.replace(first[which], offset=900)]))
    (gold,), (state,) = world.gold().values(), world.states().values()
    assert {tuple(json.loads(row).values()) for row in gold.rows} == {(3, 11, 12), (1, 21, 22)}
    assert (gold.hold, state.pending) == (None, {})


@pytest.mark.parametrize("by_tasks", [False, True])
def test_messages_of_one_transaction_that_come_between_each_other_find_their_rows(
    by_tasks: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both rows before the transaction come first, then both rows after it in another order; a whole update follows."""
    world = two_rows()
    if by_tasks:
        by_tasks_alone(monkeypatch, 1)
    rows = [("ub", {"id": 1}), ("ub", {"id": 2}), ("ua", {"id": 2, "b": 25}), ("ua", {"id": 1, "a": 14})]
    made = [told(5, op, seq=seq, **row) for seq, (op, row) in enumerate(rows)]
    made.append(told(5, "upd", {"id": 2}, seq=9, a=27))
    world.replay(world.deliver([msgspec.structs.replace(each, offset=500 + at) for at, each in enumerate(made)]))
    (gold,) = world.gold().values()
    assert {tuple(json.loads(row).values()) for row in gold.rows} == {(1, 14, 12), (2, 27, 25)}
    assert gold.hold is None


def test_messages_that_move_two_rows_at_a_time_hold_the_table() -> None:
    """Which of the two rows took which key is not known."""
    world = two_rows()
    rows = [("ub", {"id": 1}), ("ub", {"id": 2}), ("ua", {"id": 3}), ("ua", {"id": 4})]
    made = [told(5, op, seq=seq, **row) for seq, (op, row) in enumerate(rows)]
    world.replay(world.deliver([msgspec.structs.replace(each, offset=500 + at) for at, each in enumerate(made)]))
    (gold,) = world.gold().values()
    assert {tuple(json.loads(row).values()) for row in gold.rows} == {(1, 11, 12), (2, 21, 22)}
    assert gold.hold is not None
    assert gold.hold.code == "ROW_MISSING"
