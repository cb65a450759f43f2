"""Rows that tell some columns only, late or with another key than before: tasks come to what one process comes to."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from laws.story import tell
from laws.test_bulk import by_tasks_alone, in_tasks
from laws.test_laws import LAW, seeds, sizes
from laws.test_partitions import told_of
from laws.world import World, make_settings
from retable.model.message import RawMessage
from retable.replay.table.deciding import Deciding
from retable.replay.tasks import folding
from retable.simulate import ROW_KINDS, Delivery


@LAW
@given(st.data())
def test_tasks_come_to_what_one_process_comes_to(data: st.DataObject) -> None:
    shares = st.sampled_from((0.0, 0.1, 0.4))
    delivery = Delivery(windows=data.draw(st.integers(1, 5)), late=data.draw(shares), repeated=data.draw(shares))
    story = tell(data.draw(seeds), "shareplex_json", delivery, data.draw(sizes), ROW_KINDS)
    order = data.draw(st.permutations(range(len(story.windows))))
    rows, is_spread, found = data.draw(st.integers(1, 8)), data.draw(st.booleans()), []
    for by_tasks in (False, True):
        with pytest.MonkeyPatch.context() as patch:
            if is_spread:
                patch.setattr(folding, "are_by_key", lambda *_: False)
            if by_tasks:
                in_tasks(patch, rows)
            else:
                patch.setattr(Deciding, "_decide_vectorized", lambda *_: None)
            world = story.world()
            for number in order:
                world.replay(world.names[number])
        found.append((told_of(world), world.counts, world.rejected))
    assert found[0] == found[1]


def told(scn: int, op: str, key: dict[str, int] | None = None, seq: int = 1, **data: int) -> RawMessage:
    """A row of t (id, a, b); an update tells what changed, and of its `key` the old values."""
    meta = {"time": "2026-03-01T00:00:00", "userid": 84, "op": op, "scn": str(scn), "rowid": "AAATGpAAIAAAAAAAAA"}
    meta |= {"trans": f"7.0.{scn}", "seq": seq, "size": 1, "table": "SHOP.t", "idx": "1/1", "posttime": meta["time"]}
    value = {"meta": meta, "data": {name: str(each) for name, each in data.items()}}
    if key is not None:
        value["key"] = {name: str(each) for name, each in key.items()}
    return RawMessage("shop", 0, scn, 1_772_323_200_000, None, json.dumps(value).encode(), (), None)


STORIES = {
    "late": ([told(3, "upd", {"id": 1}, b=13), told(5, "upd", {"id": 2}, a=25)], {(1, 14, 13), (2, 25, 22)}),
    "a late one below one that moved": (
        [told(3, "upd", {"id": 1}, b=13), told(5, "upd", {"id": 1}, id=3), told(6, "upd", {"id": 3}, a=36)],
        {(2, 21, 22), (3, 36, 13)},
    ),
    "moved from key to key": (
        [told(5, "upd", {"id": 1}, id=3), told(6, "upd", {"id": 2}, id=1), told(7, "upd", {"id": 3}, id=4, b=47)],
        {(4, 14, 47), (1, 21, 22)},
    ),
}


@pytest.mark.parametrize("rows", [1, 2])
@pytest.mark.parametrize("is_spread", [False, True])
@pytest.mark.parametrize("case", STORIES)
def test_tasks_alone_do_it(case: str, is_spread: bool, rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    first = [told(1, "ins", id=1, a=11, b=12), told(2, "ins", id=2, a=21, b=22)]
    window, wanted = STORIES[case]
    tables = {"shop.SHOP.t": {"keys": ["id"], "types": dict.fromkeys(("id", "a", "b"), "int")}}
    world = World(make_settings("shareplex_json", tables, database="shop", binary_encoding="hex"))
    for each in (first, [told(4, "upd", {"id": 1}, a=14)]):
        world.replay(world.deliver(each))
    by_tasks_alone(monkeypatch, rows)
    if is_spread:
        monkeypatch.setattr(folding, "are_by_key", lambda *_: False)
    world.replay(world.deliver(window))
    (gold,) = world.gold().values()
    assert {tuple(json.loads(row).values()) for row in gold.rows} == wanted
    assert gold.hold is None


def test_a_key_that_a_row_had_in_another_window_is_told_anew_too(monkeypatch: pytest.MonkeyPatch) -> None:
    tables = {"shop.SHOP.t": {"keys": ["id"], "types": dict.fromkeys(("id", "a", "b"), "int")}}
    world = World(make_settings("shareplex_json", tables, database="shop", binary_encoding="hex"))
    moves = [told(10, "upd", {"id": 1}, id=2), told(20, "upd", {"id": 2}, id=3)]
    for window in ([told(1, "ins", id=1, a=11, b=12), told(2, "ins", id=9, a=91, b=92)], *([each] for each in moves)):
        world.replay(world.deliver(window))
    by_tasks_alone(monkeypatch, 1)
    world.replay(world.deliver([told(5, "upd", {"id": 1}, b=15), told(30, "upd", {"id": 9}, a=93)]))
    (gold,) = world.gold().values()
    assert {tuple(json.loads(row).values()) for row in gold.rows} == {(3, 11, 15), (9, 93, 92)}


@pytest.mark.parametrize("in_one", [True, False], ids=["one process", "tasks"])
def test_gold_is_marked_up_to_the_row_below_one_that_holds(in_one: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """That row is neither the first nor the last one of its kind, which stand for the others in a big window."""
    tables = {"shop.SHOP.t": {"keys": ["id"], "types": dict.fromkeys(("id", "a", "b"), "int")}}
    world = World(make_settings("shareplex_json", tables, database="shop", binary_encoding="hex"))
    world.replay(world.deliver([told(1, "ins", id=1, a=11, b=12), told(2, "ins", id=2, a=21, b=22)]))
    if not in_one:
        by_tasks_alone(monkeypatch, 1)
    rows = {scn: told(scn, "upd", {"id": 2 if scn == 13 else 1}, b=scn) for scn in (10, 12, 13, 14)}
    world.replay(world.deliver([*rows.values(), told(11, "del", id=2, a=21, b=22)]))
    (state,) = world.states().values()
    assert state.hold is not None
    assert state.hold.position is not None
    assert (state.hold.code, state.hold.position.hi) == ("ROW_MISSING", 13)
    assert {part: mark.hi for part, mark in state.high_water.items()} == {"": 12}
