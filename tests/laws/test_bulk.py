"""Rows that are folded many at a time come to what they come to one by one."""

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from formats.events import canal, streamx
from laws.memory import MemoryExchange, MemoryRows
from laws.story import HELD_KINDS, ROW_KINDS, SUPPORTED, Story, tell
from laws.test_laws import LAW, orders, stories
from laws.world import World, make_settings
from retable.model.message import RawMessage
from retable.model.sequence import Sequence
from retable.replay.batch import profile, ranges, row_batch
from retable.replay.inputs import scope
from retable.replay.table import clashes, rewriting
from retable.replay.table.deciding import Deciding
from retable.replay.table.table_replay import TableReplay
from retable.replay.tasks import apart, folding, task_rows
from retable.simulate import Delivery


@LAW
@given(st.data())
def test_a_bulk_comes_to_what_its_rows_come_to_one_by_one(data: st.DataObject) -> None:
    story = data.draw(stories((*SUPPORTED, "change_primary_key")))
    order = data.draw(orders(story))
    found = []
    at_once, bytes_at_once = data.draw(st.integers(1, 5)), data.draw(st.sampled_from([200, 1000, 1 << 29]))
    for is_vectorized, rows_at_once in ((True, 1000), (True, at_once), (False, 1000)):
        with pytest.MonkeyPatch.context() as patch:
            if not is_vectorized:
                patch.setattr(Deciding, "_decide_vectorized", lambda *_: None)
            patch.setattr(ranges, "ROWS_AT_ONCE", rows_at_once)
            if rows_at_once < 1000:
                patch.setattr(ranges, "BYTES_AT_ONCE", bytes_at_once)
            world = story.world()
            for number in order:
                world.replay(world.names[number])
        found.append((world.gold(), world.counts, world.rejected))
    assert found[0] == found[1] == found[2]


@LAW
@given(st.data())
def test_tasks_come_to_what_one_process_comes_to(data: st.DataObject) -> None:
    story = data.draw(stories((*SUPPORTED, *HELD_KINDS, *data.draw(st.sampled_from([(), ("change_primary_key",)])))))
    in_order = st.just(list(range(len(story.world().names))))
    order = data.draw(st.one_of(orders(story), in_order))
    found = []
    rows, ranges_a_task = data.draw(st.integers(1, 8)), data.draw(st.integers(1, 3))
    is_vectorized, rebuilds, releases, is_spread = (data.draw(st.booleans()) for _ in range(4))
    which = data.draw(st.sampled_from(["big", "wait", "mixed", "large", "history"]))
    for by_tasks in (False, True):
        with pytest.MonkeyPatch.context() as patch:
            if by_tasks:
                in_tasks(patch, rows, ranges_a_task, which)
            if is_spread:
                patch.setattr(folding, "are_by_key", lambda *_: False)
            if not is_vectorized:
                patch.setattr(Deciding, "_as_plain", lambda *_: None)
            world = story.world()
            for number in order:
                world.replay(world.names[number])
            states = world.states()
            for gold, state in states.items():
                if releases and state.state != "dropped":
                    world.release(gold)
                if rebuilds and state.state != "dropped":
                    world.rebuild(gold)
            assert not MemoryExchange.left
        found.append((states, world.gold(), world.states(), world.counts, world.rejected))
    assert found[0] == found[1]


APART = (
    (tell(28, "datahub_tuple", Delivery(windows=2, shuffled=True), 60, (*SUPPORTED, *HELD_KINDS)), [1, 0], 2),
    (tell(50, "datahub_tuple", Delivery(1, "key", 3, 0.2, 0, True), 30, (*SUPPORTED, *HELD_KINDS)), [2, 0, 1, 2, 0], 2),
    (tell(103, "datahub_tuple", Delivery(2, "key", 2, 0.2), 60, ROW_KINDS), [0, 1, 0, 1], 1),
    (tell(126, "datahub_tuple", Delivery(2, "any", 5, 0, 0, True), 60, (*SUPPORTED, *HELD_KINDS)), [2, 4, 0, 3, 1], 2),
)


@pytest.mark.parametrize("ranges_a_task", [1, 4])
@pytest.mark.parametrize("is_spread", [False, True])
@pytest.mark.parametrize(("story", "order", "rows"), APART, ids=str)
def test_halves_meet_wherever_the_two_are(
    story: Story, order: list[int], rows: int, is_spread: bool, ranges_a_task: int
) -> None:
    found = []
    for by_tasks in (False, True):
        with pytest.MonkeyPatch.context() as patch:
            if by_tasks:
                in_tasks(patch, rows, ranges_a_task)
            else:
                patch.setattr(Deciding, "_decide_vectorized", lambda *_: None)
            if is_spread:
                patch.setattr(folding, "are_by_key", lambda *_: False)
            world = story.world()
            for number in order:
                world.replay(world.names[number])
        found.append((world.states(), world.gold(), world.counts, world.rejected))
    assert found[0] == found[1]


def row(offset: int, kind: str, ident: str, value: str, old: dict[str, str] | None = None) -> RawMessage:
    data = [{"id": ident, "v": value}]
    return canal(offset, type=kind, data=data, old=old and [old], mysqlType={"id": "int", "v": "int"}, sqlType=None)


def test_only_the_keys_that_are_not_plain_are_looked_at_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(make_settings("canal_json"))
    create = canal(1, isDdl=True, type="CREATE", data=None, sql="create table t (id int primary key, v int)")
    world.replay(world.deliver([create, row(2, "INSERT", "1", "1"), row(3, "INSERT", "2", "2")]))
    looked_at: list[int] = []
    real = row_batch.to_events
    monkeypatch.setattr(
        row_batch, "to_events", lambda rows, *rest: looked_at.append(rows.num_rows) or real(rows, *rest)
    )
    rows = [
        row(4, "UPDATE", "1", "10", {"v": "1"}),
        row(5, "INSERT", "3", "3"),
        row(6, "UPDATE", "4", "3", {"id": "3"}),
        row(7, "INSERT", "5", "none"),
        row(8, "INSERT", "6", "6"),
        row(9, "DELETE", "6", "gone"),
        row(10, "DELETE", "2", "2"),
        row(11, "INSERT", "7", "7"),
        row(12, "UPDATE", "9", "8", {"id": "8"}),
    ]
    name = world.deliver(rows)
    world.replay(name)
    assert looked_at == [2, 2]
    assert [json.loads(text) for text in world.gold()["gold_shop.t"].rows] == [
        {"id": 1, "v": 10},
        {"id": 4, "v": 3},
        {"id": 7, "v": 7},
        {"id": 9, "v": 8},
    ]
    assert [counts for (window, _), counts in world.counts.items() if window == name] == [
        {"rows": 9, "applied": 6, "rejected": 1, "superseded": 2}
    ]


@pytest.mark.parametrize("negative", ["-0", "-0.0", "-0.00"])
@pytest.mark.parametrize("positive", ["0", "0.0", "0.00"])
def test_the_two_zeros_of_a_floating_key_are_one_key(
    positive: str, negative: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ranges, "ROWS_AT_ONCE", 1)
    world = World(make_settings("canal_json"))
    create = canal(1, isDdl=True, type="CREATE", data=None, sql="create table t (id double primary key, v int)")
    world.replay(world.deliver([create]))
    kinds = {"id": "double", "v": "int"}
    zeros = [
        canal(at, type="INSERT", data=[{"id": zero, "v": str(at)}], old=None, mysqlType=kinds, sqlType=None)
        for at, zero in enumerate([positive, negative], 2)
    ]
    world.replay(world.deliver(zeros))
    assert [json.loads(text)["v"] for text in world.gold()["gold_shop.t"].rows] == [3]


KINDS = {"id": "decimal(9,2)", "v": "int"}


def told(offset: int, kind: str, ident: str, value: str, partition: int = 0, **more: str) -> RawMessage:
    kinds = {**KINDS, **dict.fromkeys(more, "int")}
    made = canal(offset, type=kind, data=[{"id": ident, "v": value, **more}], old=None, mysqlType=kinds, sqlType=None)
    return msgspec.structs.replace(made, partition=partition)


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    """A table with two rows; tasks fold every later window, a key or two at a time."""
    world = World(make_settings("canal_json"))
    sql = f"create table t (id {KINDS['id']} primary key, v int)"
    create = canal(1, isDdl=True, type="CREATE", data=None, sql=sql)
    world.replay(world.deliver([create, told(2, "INSERT", "1", "1"), told(3, "INSERT", "2", "2")]))
    monkeypatch.setattr(row_batch, "_FEW_ROWS", 0)
    in_tasks(monkeypatch, 1)
    return world


@pytest.fixture
def whole_world(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> World:
    """The same with whole numbers for keys: a late row finds the others of its key by their hashes."""
    monkeypatch.setitem(KINDS, "id", "bigint")
    found: World = request.getfixturevalue("world")
    return found


def in_tasks(patch: pytest.MonkeyPatch, rows: int, ranges_a_task: int = 1, which: str = "big") -> None:
    """Let tables with so many rows in a window be folded by tasks, of several ranges each.

    Those are `big` ones, or big ones beside others that `wait`, or only those whose rows are `mixed`, or those whose
    rows are mixed and `large`. Or a window is small, and only the `history` of the table has so many rows.
    """
    if which == "wait":
        patch.setattr(scope, "ROWS_OF_SMALL_TABLES", 0)
        patch.setattr(profile, "_FEW_TABLES", 0)
    if which == "mixed":
        patch.setattr(profile, "ROWS_ONE_BY_ONE", rows - 1)
    elif which == "large":
        patch.setattr(profile, "BYTES_AT_ONCE", 100 * rows)
    elif which != "history":
        patch.setattr(MemoryRows, "big", 0)
        patch.setattr(scope, "EVENTS_AT_ONCE", rows - 1)
    patch.setattr(scope, "ROWS_ONE_BY_ONE", rows - 1)
    patch.setattr(rewriting, "EVENTS_AT_ONCE", rows - 1)
    patch.setattr(apart, "FEW_ROWS", 0)
    patch.setattr(folding, "EVENTS_AT_ONCE", rows)
    patch.setattr(folding, "EVENTS_IN_TASK", rows)
    patch.setattr(folding, "ROWS_A_TASK", rows * ranges_a_task)
    patch.setattr(clashes, "KEYS_A_TASK", rows)


def at_once(*_: object) -> None:
    pytest.fail("all rows of the window became events at once")


def test_a_column_between_the_rows_leaves_a_big_window_in_shares(
    whole_world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = whole_world
    monkeypatch.setattr(TableReplay, "one_by_one", at_once)
    add = canal(5, isDdl=True, type="ALTER", data=None, sql="alter table t add column w int default 7")
    late = world.deliver([told(7, "DELETE", "1", "1", w="7"), told(9, "INSERT", "5", "5", w="9")])
    rows = [told(4, "INSERT", "3", "3"), add, told(6, "INSERT", "4", "4", w="8"), told(8, "UPDATE", "2", "9", w="1")]
    world.replay(world.deliver(rows))
    world.replay(late)
    assert [tuple(json.loads(text).values()) for text in world.gold()["gold_shop.t"].rows] == [
        (2, 9, 1),
        (3, 3, 7),
        (4, 4, 8),
        (5, 5, 9),
    ]


def test_few_but_large_rows_of_several_kinds_are_folded_by_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(make_settings("canal_json"))
    create = canal(1, isDdl=True, type="CREATE", data=None, sql="create table t (id decimal(9,2) primary key, v int)")
    world.replay(world.deliver([create, told(2, "INSERT", "1", "1")]))
    in_tasks(monkeypatch, 1, which="large")
    for other in ("_decide_vectorized", "_decide"):
        monkeypatch.setattr(Deciding, other, at_once)
    add = canal(4, isDdl=True, type="ALTER", data=None, sql="alter table t add column w int")
    world.replay(world.deliver([told(3, "INSERT", "2", "2"), add, told(5, "INSERT", "3", "3", w="3")]))
    found = [tuple(json.loads(text).values()) for text in world.gold()["gold_shop.t"].rows]
    assert found == [("1.00", 1, None), ("2.00", 2, None), ("3.00", 3, 3)]


@pytest.mark.parametrize("spellings", [("3", "3.0", "3.00"), ("3", "3.00"), ("3.0", "3.00"), ("3", "3.0")])
def test_a_key_that_is_written_in_two_ways_is_in_no_two_shares(
    spellings: tuple[str, ...], world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Deciding, "_decide_vectorized", lambda *_: None)
    rows = [told(4 + at, "UPDATE" if at else "INSERT", spelled, str(at)) for at, spelled in enumerate(spellings)]
    world.replay(world.deliver([*rows, told(8, "DELETE", "2.00", "2")]))
    assert [json.loads(text) for text in world.gold()["gold_shop.t"].rows] == [
        {"id": "1.00", "v": 1},
        {"id": "3.00", "v": len(spellings) - 1},
    ]


def test_a_late_row_of_a_share_finds_a_delete_that_writes_its_key_otherwise(world: World) -> None:
    late = world.deliver([told(5, "UPDATE", "1.0", "9"), told(4, "UPDATE", "2", "8"), told(7, "INSERT", "3", "3")])
    world.replay(world.deliver([told(6, "DELETE", "1.00", "1"), told(8, "INSERT", "4", "4")]))
    world.replay(late)
    assert [tuple(json.loads(text).values()) for text in world.gold()["gold_shop.t"].rows] == [
        ("2.00", 8),
        ("3.00", 3),
        ("4.00", 4),
    ]


def by_tasks_alone(patch: pytest.MonkeyPatch, rows: int) -> None:
    """Let all windows be folded by tasks, so many rows at a time, and by nothing else."""
    in_tasks(patch, rows)
    for at, least in ((scope, "EVENTS_AT_ONCE"), (scope, "ROWS_ONE_BY_ONE"), (rewriting, "EVENTS_AT_ONCE")):
        patch.setattr(at, least, 0)
    patch.setattr(row_batch, "_FEW_ROWS", 0)
    for other in ("_decide_vectorized", "_decide"):
        patch.setattr(Deciding, other, at_once)


def test_a_load_behind_a_truncation_is_vectorized_in_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(make_settings("canal_json"))
    create = canal(1, isDdl=True, type="CREATE", data=None, sql="create table t (id decimal(9,2) primary key, v int)")
    world.replay(world.deliver([create, told(2, "INSERT", "1", "1"), told(3, "INSERT", "2", "2")]))
    by_tasks_alone(monkeypatch, 1)
    monkeypatch.setattr(task_rows, "to_events", lambda rows, *_: at_once() if rows.num_rows else [])
    emptied = canal(4, isDdl=True, type="TRUNCATE", data=None, sql="truncate table t")
    world.replay(world.deliver([emptied, *(told(5 + at, "INSERT", f"{2 + at}", "9") for at in range(3))]))
    assert [tuple(json.loads(text).values()) for text in world.gold()["gold_shop.t"].rows] == [
        ("2.00", 9),
        ("3.00", 9),
        ("4.00", 9),
    ]


@pytest.mark.parametrize("rows", [1, 2])
def test_a_big_table_whose_column_takes_another_type_is_written_again_by_tasks(
    rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(make_settings("canal_json"))
    create = canal(1, isDdl=True, type="CREATE", data=None, sql="create table t (id int primary key, v int)")
    world.replay(world.deliver([create, *(told(2 + at, "INSERT", str(at), str(at)) for at in range(4))]))
    world.replay(world.deliver([told(6, "UPDATE", "1", "7"), told(7, "DELETE", "2", "2")]))
    before = dict(world.counts_of_gold)
    by_tasks_alone(monkeypatch, rows)
    alter = canal(8, isDdl=True, type="ALTER", data=None, sql="alter table t modify v decimal(12,2)")
    window = world.deliver([alter, told(9, "UPDATE", "3", "5")])
    world.replay(window)
    found = [tuple(json.loads(text).values()) for text in world.gold()["gold_shop.t"].rows]
    assert found == [(0, "0.00"), (1, "7.00"), (3, "5.00")]
    # The windows before are not counted again.
    now = world.counts_of_gold
    assert {place: now[place] for place in before} == before
    assert now[window, "gold_shop.t"]["rows"] == 1


@pytest.mark.parametrize("kind", ["decimal(9,2)", "double", "float"])
@pytest.mark.parametrize("rows", [1, 2])
def test_tasks_bring_the_spellings_of_a_key_together(kind: str, rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(make_settings("canal_json"))
    create = canal(1, isDdl=True, type="CREATE", data=None, sql=f"create table t (id {kind} primary key, v int)")
    world.replay(world.deliver([create, told(2, "INSERT", "1", "1"), told(3, "INSERT", "2", "2")]))
    by_tasks_alone(monkeypatch, rows)
    changes = [told(4 + at, "UPDATE", spelled, str(4 + at)) for at, spelled in enumerate(("1.0", "3", "1.00", "3.0"))]
    moved = canal(
        9, type="UPDATE", data=[{"id": "4", "v": "9"}], old=[{"id": "2.0", "v": "2"}], mysqlType=KINDS, sqlType=None
    )
    world.replay(world.deliver([*changes, told(8, "DELETE", "3.00", "8"), moved, told(10, "UPDATE", "4.0", "10")]))
    found = [json.loads(text) for text in world.gold()["gold_shop.t"].rows]
    assert [(float(row["id"]), row["v"]) for row in found] == [(1, 6), (4, 10)]


@pytest.mark.parametrize("rows", [1, 2, 100])
def test_tasks_count_the_rows_of_a_table_without_a_key(rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    kinds = {"a": "decimal(9,2)", "b": "double", "c": "varchar(9)"}

    def change(offset: int, kind: str, *values: str | None, old: dict[str, str | None] | None = None) -> RawMessage:
        data = [dict(zip(kinds, values, strict=True))]
        return canal(offset, type=kind, data=data, old=old and [old], mysqlType=kinds, sqlType=None, pkNames=None)

    create = "create table t (a decimal(9,2), b double, c varchar(9))"
    windows = [
        [
            canal(1, isDdl=True, type="CREATE", data=None, sql=create, pkNames=None),
            *(change(2 + at, "INSERT", "1", None, "x") for at in range(3)),
            change(5, "INSERT", None, "0.0", None),
        ],
        [
            change(6, "DELETE", "1.0", None, "x"),
            change(7, "INSERT", "1.00", None, "x"),
            change(8, "UPDATE", "2", "1.5", "y", old={"a": "1.00", "b": None, "c": "x"}),
            change(9, "UPDATE", "2", "1.5", "z", old={"a": None, "b": "-0.0", "c": None}),
            change(9, "UPDATE", "2", "1.5", "z", old={"a": None, "b": "-0.0", "c": None}),
            change(10, "INSERT", "2.0", "1.50", "z"),
        ],
        [change(11, "DELETE", "7", "7", "gone"), change(12, "DELETE", "2.00", "1.5", "z")],
    ]
    found = []
    for in_process in (True, False):
        with pytest.MonkeyPatch.context() as patch:
            if not in_process:
                by_tasks_alone(patch, rows)
            world = World(make_settings("canal_json"))
            for window in windows:
                world.replay(world.deliver(window))
        states = {name: state.debts for name, state in world.states().items()}
        found.append((world.gold(), states, world.counts))
    assert found[0] == found[1]
    assert found[0][1] == {"gold_shop.t": 1}


@pytest.mark.parametrize("ident", [3, 4, 5, 6])
def test_a_key_that_is_written_in_two_ways_holds_nothing(ident: int, world: World) -> None:
    kinds = {**KINDS, "w": "int"}
    partial = canal(9, type="UPDATE", data=[{"id": str(ident), "v": "9"}], old=None, mysqlType=kinds, sqlType=None)
    add = canal(4, isDdl=True, type="ALTER", data=None, sql="alter table t add column w int")
    came_back = (("INSERT", f"{ident}"), ("DELETE", f"{ident}"), ("INSERT", f"{ident}.0"))
    rows = [told(5 + at, op, spelled, "5", w="7") for at, (op, spelled) in enumerate(came_back)]
    world.replay(world.deliver([add, *rows, partial, told(10, "UPDATE", "1", "1", w="1")]))
    table = world.gold()["gold_shop.t"]
    assert table.hold is None
    found = [tuple(json.loads(text).values()) for text in table.rows]
    assert found == [("1.00", 1, 1), ("2.00", 2, None), (f"{ident}.00", 9, 7)]


def test_late_rows_are_not_mixed_with_those_of_a_table_that_took_the_name(world: World) -> None:
    late = world.deliver([told(12, "UPDATE", "1", "12"), told(13, "INSERT", "4", "13"), told(14, "DELETE", "2", "2")])
    create = "create table t (id decimal(9,2) primary key, v int)"
    statements = [
        canal(at, isDdl=True, type="ALTER", data=None, sql=sql)
        for at, sql in enumerate(("rename table t to u", create), 20)
    ]
    rows = [told(30 + at, "INSERT", ident, str(30 + at)) for at, ident in enumerate(("1", "2", "4"))]
    world.replay(world.deliver([*statements, *rows]))
    world.replay(late)
    found = {name: [tuple(json.loads(text).values()) for text in gold.rows] for name, gold in world.gold().items()}
    assert found == {
        "gold_shop.t": [("1.00", 30), ("2.00", 31), ("4.00", 32)],
        "gold_shop.u": [("1.00", 12), ("4.00", 13)],
    }


def test_a_table_that_has_the_rows_of_another_partition_says_that_their_order_is_not_known(world: World) -> None:
    world.replay(world.deliver([told(20, "INSERT", "3", "3"), told(21, "INSERT", "4", "4")]))
    world.replay(world.deliver([told(5, "UPDATE", "3", "5", partition=1)]))
    hold = world.states()["gold_shop.t"].hold
    assert hold is not None
    assert hold.code == "ORDER_UNDEFINED"
    assert "/0 and " in hold.reason
    assert hold.reason.endswith("/1 both have changes of one key, so it is not known which change is later")
    assert [json.loads(text)["v"] for text in world.gold()["gold_shop.t"].rows] == [1, 2, 3, 4]


def test_the_lowest_hold_of_any_share_holds_the_table(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(TableReplay, "one_by_one", at_once)
    rows = [told(4, "INSERT", "3", "3"), told(5, "INSERT", "4", "4"), told(6, "INSERT", "5", "5", partition=1)]
    crossing = [told(7, "UPDATE", "4", "7", partition=1), told(8, "UPDATE", "5", "8"), told(9, "DELETE", "3", "3")]
    world.replay(world.deliver([*rows, *crossing]))
    table = world.gold()["gold_shop.t"]
    assert table.hold is not None
    assert (table.hold.code, table.hold.position) == ("ORDER_UNDEFINED", Sequence(0, 7, 0))
    assert [json.loads(text)["v"] for text in table.rows] == [1, 2, 3, 4, 5]


def test_different_rows_at_one_place_are_a_redelivery_however_the_window_is_folded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def change(number: int, ident: int) -> RawMessage:
        image = {"id": ident, "c": "x"}
        return streamx(sequenceId=str(number), keys=None, op="INSERT", before=None, after=image)

    found = []
    for by_tasks in (False, True):
        if by_tasks:
            monkeypatch.setattr(row_batch, "_FEW_ROWS", 0)
            in_tasks(monkeypatch, 1)
        bag = World(make_settings("streamx_json"))
        bag.replay(bag.deliver([change(1, 1), *(change(2, ident) for ident in range(2, 6)), change(3, 7)]))
        found.append((bag.gold(), bag.counts))
    assert found[0] == found[1]
