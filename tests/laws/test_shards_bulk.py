"""Rows of several tables that go into one: many at a time they come to what they come to one by one."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from laws.test_laws import LAW
from laws.test_shards import FIRST, KEYED, RULES, TABLE, alter, change, create, ddl, insert, rows, update, world_of
from laws.world import World
from retable.gold.store import GoldTable
from retable.model.message import RawMessage
from retable.replay.table.deciding import Deciding
from retable.replay.table.table_replay import ReplayPlan, TableReplay

SHARDS = st.integers(0, 2)
IDS, VALUES = st.sampled_from(["1", "2", "3"]), st.sampled_from(["1", "2", "none"])
STATEMENTS = (
    "add column w int",
    "add column w int default 5",
    "modify v bigint",
    "change v amount int",
    "drop column v",
    "modify v varchar(9)",
)


@st.composite
def windows(draw: st.DrawFn) -> list[list[RawMessage]]:
    """Rows, and now and then a statement, of three tables, in windows; each table in one partition, or all in two."""
    homes = draw(st.sampled_from([(0, 0, 0), (0, 1, 1), None]))
    found = [[create(number + 1, number) for number in range(3)]]
    offset = 10
    for _ in range(draw(st.integers(1, 4))):
        window = []
        for _ in range(draw(st.integers(1, 8))):
            offset += 1
            shard, key = draw(SHARDS), draw(IDS)
            kind = draw(st.sampled_from(["INSERT"] * 4 + ["UPDATE"] * 3 + ["DELETE"] * 2 + ["key", "ddl", "truncate"]))
            if kind == "ddl":
                window.append(alter(offset, shard, draw(st.sampled_from(STATEMENTS))))
            elif kind == "truncate":
                window.append(ddl(offset, f"truncate table orders_{shard}", f"orders_{shard}"))
            elif kind == "key":
                window.append(update(offset, shard, id=draw(IDS), old_id=key, v="3"))
            else:
                window.append(change(kind, offset, shard, id=key, v=draw(VALUES)))
        found.append([placed(each, homes, draw) for each in window])
    return found


def placed(message: RawMessage, homes: tuple[int, ...] | None, draw: st.DrawFn) -> RawMessage:
    shard = int(str(message.value).partition("orders_")[2][0])
    return msgspec.structs.replace(message, partition=draw(st.integers(0, 1)) if homes is None else homes[shard])


def replayed(
    parts: list[list[RawMessage]], order: list[int], plainly: bool, rules: dict[str, object] = KEYED
) -> tuple[World, int]:
    """The world after all windows in this order, and how often rows were taken many at a time."""
    taken, real = 0, Deciding._decide_vectorized

    def decide(self: Deciding, work: TableReplay, table: GoldTable) -> ReplayPlan | None:
        nonlocal taken
        decision = real(self, work, table) if plainly else None
        taken += decision is not None
        return decision

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Deciding, "_decide_vectorized", decide)
        world = world_of(rules)
        for part in parts:
            world.deliver(part)
        for number in order:
            world.replay(world.names[number])
    return world, taken


@LAW
@given(st.data())
def test_a_bulk_of_each_comes_to_what_its_rows_come_to_one_by_one(data: st.DataObject) -> None:
    parts = data.draw(windows())
    order = data.draw(st.one_of(st.just(list(range(len(parts)))), st.permutations(range(len(parts)))))
    rules = data.draw(st.sampled_from([RULES, KEYED]))
    (world, _), (slow, _) = (replayed(parts, list(order), plainly, rules) for plainly in (True, False))
    assert (world.gold(), world.counts, world.rejected) == (slow.gold(), slow.counts, slow.rejected)
    assert world.states()[TABLE].clashes == slow.states()[TABLE].clashes


@pytest.mark.parametrize("rules", [RULES, KEYED])
def test_rows_of_all_are_taken_many_at_a_time(rules: dict[str, object]) -> None:
    same = [insert(6, 0, id="3", v="30"), insert(7, 1, id="3", v="31"), change("DELETE", 8, 1, id="2", v="20")]
    world, taken = replayed([FIRST[:2], FIRST[2:], same], [0, 1, 2], plainly=True, rules=rules)
    assert taken == 2
    assert [(each["id"], each["v"]) for each in rows(world)] == [(1, 10), (3, 30), (3, 31)]
    assert world.states()[TABLE].clashes == (1 if rules is RULES else 0)


def test_what_stands_in_the_way_for_one_is_looked_at_for_all() -> None:
    mixed = [insert(6, 0, id="3", v="30"), alter(7, 1, "add column w int"), insert(8, 1, id="4", v="40", w="1")]
    late = [insert(5, 0, id="5", v="50")]
    world, taken = replayed([FIRST[:2], FIRST[2:], late, mixed], [0, 1, 3, 2], plainly=True)
    slow, _ = replayed([FIRST[:2], FIRST[2:], late, mixed], [0, 1, 3, 2], plainly=False)
    assert taken == 2
    assert (world.gold(), world.counts) == (slow.gold(), slow.counts)


def test_a_hold_that_ends_where_others_have_many_rows_loses_none_of_these() -> None:
    apart = [alter(10, 0, "modify v varchar(20)"), insert(11, 1, id="6", v="2")]
    alike = [alter(13, 1, "modify v varchar(20)"), *(insert(at, 0, id=str(at), v="4") for at in range(14, 19))]
    world, _ = replayed([FIRST, apart, alike], [0, 1, 2], plainly=True)
    assert {each["id"] for each in rows(world)} == {1, 2, 6, *range(14, 19)}
