"""Several tables that go into one, by tasks: each folds rows of one of them, and all come to what one process has."""

from collections.abc import Iterator
from dataclasses import replace

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from formats.events import streamx
from laws.test_bulk import by_tasks_alone, in_tasks
from laws.test_laws import LAW
from laws.test_partitions import told_of
from laws.test_shards import KEYED, RULES, TABLE, alter, create, ddl, delete, insert, rows, run, update, world_of
from laws.test_shards_bulk import windows
from laws.world import World, make_settings
from retable.model.message import RawMessage
from retable.replay.table.deciding import Deciding

Rows = list[tuple[int, int, str]]
START = [
    *(create(1 + shard, shard) for shard in range(3)),
    *(insert(5 + 3 * at + shard, shard, id=str(at), v=f"{at}{shard}") for at in (1, 2) for shard in range(3)),
]
AFTER_START: Rows = [(at, 10 * at + shard, f"shop.orders_{shard}") for at in (1, 2) for shard in range(3)]


@LAW
@given(st.data())
def test_tasks_come_to_what_one_process_comes_to(data: st.DataObject) -> None:
    parts = data.draw(windows())
    order = data.draw(st.one_of(st.just(list(range(len(parts)))), st.permutations(range(len(parts)))))
    rules, size = data.draw(st.sampled_from([RULES, KEYED])), data.draw(st.integers(1, 8))
    rebuilds, which, found = data.draw(st.booleans()), data.draw(st.sampled_from(["big", "wait", "mixed"])), []
    for by_tasks in (False, True):
        with pytest.MonkeyPatch.context() as patch:
            if by_tasks:
                in_tasks(patch, size, which=which)
            else:
                patch.setattr(Deciding, "_decide_vectorized", lambda *_: None)
            world = world_of(rules)
            for part in parts:
                world.deliver(part)
            for number in order:
                world.replay(world.names[number])
            if rebuilds and TABLE in world.states():
                world.rebuild(TABLE)
        found.append((*told_of(world), world.counts, world.rejected))
        for gold, state in found[-1][1].items():
            # Where another table's key has the same hash, one process sees more events, and may name another of two.
            if state.hold is not None and state.hold.position is None:
                found[-1][1][gold] = replace(state, hold=replace(state.hold, part=None, statement=None))
    assert found[0] == found[1]


def told(world: World) -> Rows:
    found = [(int(str(row["id"])), int(str(row["v"])), str(row["source_table"])) for row in rows(world)]
    return sorted(found)


@pytest.fixture(params=[1, 2, 5])
def world(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    """The three tables, of which gold has two rows each; windows behind it are for tasks alone."""
    world = run(world_of(KEYED), START)
    by_tasks_alone(monkeypatch, request.param)
    yield world
    assert world.states()[TABLE].hold is None


def test_rows_of_each_are_folded_as_its_own(world: World) -> None:
    run(
        world,
        [
            insert(20, 0, id="3", v="30"),
            delete(21, 1, id="1", v="11"),
            update(22, 2, id="2", v="92", old_v="22"),
            update(23, 1, id="9", v="21", old_id="2"),
            insert(24, 2, id="3", v="32"),
        ],
    )
    wanted = [(3, 30, 0), (3, 32, 2), (1, 10, 0), (2, 20, 0), (9, 21, 1), (1, 12, 2), (2, 92, 2)]
    assert told(world) == sorted((key, value, f"shop.orders_{shard}") for key, value, shard in wanted)
    assert world.states()[TABLE].applied.keys() == set(world.names)


def test_late_rows_look_at_their_own_table_alone(world: World) -> None:
    newer = [update(30 + shard, shard, id="1", v=f"8{shard}", old_v="1") for shard in (0, 2)]
    run(world, newer, [update(20 + shard, shard, id="1", v=f"7{shard}", old_v="1") for shard in range(3)])
    first = {0: 80, 1: 71, 2: 82}
    assert told(world) == sorted(
        [
            *((1, value, f"shop.orders_{shard}") for shard, value in first.items()),
            *(row for row in AFTER_START if row[0] == 2),
        ]
    )


def test_a_statement_of_one_is_told_of_its_own_rows(world: World) -> None:
    emptied = ddl(21, "truncate table orders_0", "orders_0")
    added = alter(22, 1, "add column w int default 7")
    run(
        world,
        [
            update(20, 0, id="1", v="90", old_v="10"),
            emptied,
            added,
            insert(23, 0, id="5", v="50"),
            insert(24, 1, id="5", v="51", w="1"),
            insert(25, 2, id="5", v="52"),
        ],
    )
    assert {(row["id"], row["w"]) for row in rows(world) if row["source_table"] == "shop.orders_1"} == {
        (1, 7),
        (2, 7),
        (5, 1),
    }
    gone = {row for row in AFTER_START if row[2].endswith("_0")}
    came = {(5, 50 + shard, f"shop.orders_{shard}") for shard in range(3)}
    assert {*told(world)} == {*AFTER_START} - gone | came


def test_a_rebuild_reads_each_under_its_own_history(world: World) -> None:
    run(world, [alter(20, 0, "add column w int default 7"), insert(21, 0, id="5", v="50", w="8")])
    before = rows(world)
    world.rebuild(TABLE)
    assert rows(world) == before
    assert {row["w"] for row in before if row["source_table"] == "shop.orders_0"} == {7, 8}


def test_keys_of_several_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    world = run(world_of(RULES), START)
    by_tasks_alone(monkeypatch, 1)
    assert world.states()[TABLE].clashes == 2
    run(world, [insert(20, 0, id="7", v="1"), insert(21, 1, id="7", v="1"), delete(22, 0, id="1", v="10")])
    assert world.states()[TABLE].clashes == 3
    run(world, [delete(23, 1, id="1", v="11"), delete(24, 1, id="7", v="1")])
    assert world.states()[TABLE].clashes == 1


@pytest.mark.parametrize("size", [1, 2, 5])
def test_halves_of_updates_find_those_of_their_own_table(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(make_settings("streamx_json", {"shop.orders_*": KEYED}))
    loaded = [half(1 + 2 * shard + at, shard, "INSERT", id=at, v=1) for shard in (0, 1) for at in (1, 2)]
    world.replay(world.deliver(loaded))
    by_tasks_alone(monkeypatch, size)
    waiting, other = moved(13, 1, (2, 1), (6, 60))
    world.replay(world.deliver([*moved(11, 0, (1, 1), (5, 50)), *moved(12, 1, (1, 1), (1, 11)), waiting]))
    assert world.states()["gold_shop.orders"].pending
    world.replay(world.deliver([other]))
    of_0, of_1 = (
        [(2, 1, "shop.orders_0"), (5, 50, "shop.orders_0")],
        [(1, 11, "shop.orders_1"), (6, 60, "shop.orders_1")],
    )
    assert told(world) == sorted([*of_0, *of_1])


def half(place: int, shard: int, op: str, **image: int) -> RawMessage:
    side = "before" if op == "UPDATE_BEFOR" else "after"
    source = {"dbType": "MySQL", "dbName": "shop", "tableName": f"orders_{shard}"}
    facts = {"op": op, "sequenceId": str(100 + place), "before": None, "after": None, side: image}
    made = streamx({"id": "LONG", "v": "LONG"}, source, **facts)
    return msgspec.structs.replace(made, offset=2 * place + (side == "after"))


def moved(place: int, shard: int, before: tuple[int, int], after: tuple[int, int]) -> list[RawMessage]:
    sides = {"UPDATE_BEFOR": before, "UPDATE_AFTER": after}
    return [half(place, shard, op, id=key, v=value) for op, (key, value) in sides.items()]
