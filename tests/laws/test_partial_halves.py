"""SharePlex updates that come as two messages, which have only some columns of the row."""

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from laws.story import Story, differences, message, tell
from laws.test_bulk import in_tasks
from laws.test_laws import LAW, seeds, sizes
from laws.test_partial_rows import told
from laws.test_partitions import told_of
from laws.world import World, make_settings
from retable.model.message import RawMessage
from retable.replay.table.deciding import Deciding
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
    rows, is_one_place, found = data.draw(st.integers(1, 8)), data.draw(st.booleans()), []
    for by_tasks in (False, True):
        with pytest.MonkeyPatch.context() as patch:
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
    table = {"keys": ["id"], "types": dict.fromkeys(("id", "a", "b"), "int")}
    world = World(make_settings("shareplex_json", {"shop.SHOP.t": table}, database="shop", binary_encoding="hex"))
    world.replay(world.deliver([told(1, "ins", id=1, a=11, b=12), told(2, "ins", id=2, a=21, b=22)]))
    update = two_of(5, is_one_place, {"id": 1, "a": 11, "b": 12}, {"id": 1, "a": 14, "b": 12})
    again = [msgspec.structs.replace(each, offset=each.offset + 2) for each in update]
    world.replay(world.deliver([*update, *again]))
    (gold,) = world.gold().values()
    assert {tuple(json.loads(row).values()) for row in gold.rows} == {(1, 14, 12), (2, 21, 22)}
    assert gold.hold is None


def two_of(scn: int, is_one_place: bool, before: dict[str, int], after: dict[str, int]) -> list[RawMessage]:
    made = [told(scn, "ub", **before), told(scn, "ua", seq=1 if is_one_place else 2, **after)]
    return [msgspec.structs.replace(each, offset=100 * scn + at) for at, each in enumerate(made)]
