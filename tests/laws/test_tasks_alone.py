"""What was before a big window does not bring its rows into one process: changes of schema, dropped rows, holds."""

import json

import msgspec
import pytest

from formats.events import canal, streamx
from laws.retaining import retain
from laws.test_bulk import by_tasks_alone, in_tasks
from laws.world import World, make_settings
from retable.model.message import RawMessage

CREATE = "create table t (id int primary key, v int)"


def statement(offset: int, sql: str) -> RawMessage:
    return canal(offset, isDdl=True, type="ALTER", data=None, sql=sql)


def change(offset: int, kind: str, ident: int, value: str, keys: tuple[str, ...] = ("id",), **types: str) -> RawMessage:
    kinds = {"id": "int", "v": "int", **types}
    image = {"id": str(ident), "v": value}
    return canal(offset, type=kind, data=[image], old=None, mysqlType=kinds, sqlType=None, pkNames=list(keys))


def rows_of(world: World) -> list[tuple[object, ...]]:
    return [tuple(json.loads(text).values()) for text in world.gold()["gold_shop.t"].rows]


@pytest.mark.parametrize("rows", [1, 2])
@pytest.mark.parametrize(
    ("sql", "keys", "types"),
    [
        ("alter table t modify v varchar(20)", ("id",), {"v": "varchar(20)"}),
        ("alter table t drop primary key, add primary key (id, v)", ("id", "v"), {}),
    ],
)
def test_behind_a_change_of_type_or_key(
    sql: str, keys: tuple[str, ...], types: dict[str, str], rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    windows = [
        [statement(1, CREATE), change(2, "INSERT", 1, "1"), change(3, "INSERT", 2, "2")],
        [statement(4, sql), change(5, "INSERT", 3, "3", keys, **types)],
        [change(8, "INSERT", 4, "4", keys, **types), change(9, "DELETE", 2, "2", keys, **types)],
        # Late, but behind the change.
        [change(6, "DELETE", 1, "1", keys, **types), change(7, "INSERT", 4, "0", keys, **types)],
    ]
    found = []
    for by_tasks in (False, True):
        world = World(make_settings("canal_json"))
        for number, window in enumerate(windows):
            if by_tasks and number == 2:
                by_tasks_alone(monkeypatch, rows)
            world.replay(world.deliver(window))
        found.append((rows_of(world), world.states(), world.counts))
    assert found[0] == found[1]
    assert {row[0] for row in found[0][0]} == {3, 4}


@pytest.mark.parametrize("rows", [1, 2])
def test_above_what_retention_has_dropped(rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    windows = [
        [statement(1, CREATE), *(change(2 + at, "INSERT", at, "0") for at in range(4))],
        [change(10, "UPDATE", 0, "1"), change(14, "UPDATE", 1, "1")],
        [change(11, "UPDATE", 1, "2"), change(12, "UPDATE", 2, "2"), change(20, "DELETE", 3, "0")],
        [change(13, "DELETE", 0, "1"), change(21, "INSERT", 3, "3")],
    ]
    found = []
    for by_tasks in (False, True):
        world = World(make_settings("canal_json"))
        for number, window in enumerate(windows):
            if number == 2:
                assert retain(world, 1).raised
                if by_tasks:
                    by_tasks_alone(monkeypatch, rows)
            world.replay(world.deliver(window))
        found.append((rows_of(world), world.states(), world.counts))
    assert found[0] == found[1]
    assert found[0][0] == [(1, 1), (2, 2), (3, 3)]


@pytest.mark.parametrize("rows", [1, 2])
@pytest.mark.parametrize("keys", [("id",), ()])
def test_where_a_hold_is_lifted(keys: tuple[str, ...], rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """What lies below the hold is as gold has it, what waited comes, and rows without a key are counted once."""
    create = CREATE if keys else "create table t (id int, v int)"
    windows = [
        [statement(1, create), *(change(2 + at, "INSERT", at, "0", keys) for at in range(4))],
        [
            change(10, "DELETE", 0, "0", keys),
            statement(11, "alter table t frobnicate v"),
            change(12, "INSERT", 5, "5", keys),
        ],
        [change(13, "DELETE", 1, "0", keys), change(14, "INSERT", 6, "6", keys), change(15, "DELETE", 6, "6", keys)],
    ]
    found = []
    for by_tasks in (False, True):
        world = World(make_settings("canal_json"))
        for window in windows:
            world.replay(world.deliver(window))
        assert world.gold()["gold_shop.t"].hold is not None
        if by_tasks:
            by_tasks_alone(monkeypatch, rows)
        world.release("gold_shop.t", "skip")
        found.append((rows_of(world), world.states(), world.counts))
    assert found[0] == found[1]
    assert found[0][0] == [(2, 0), (3, 0), (5, 5)]


@pytest.mark.parametrize("act", ["rebuild", "release"])
def test_of_a_row_that_came_again_in_a_later_window_the_first_counts(act: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Though the later one is from a partition of the topic that comes first."""
    create = {"text": "create table t (id bigint primary key, c varchar(9))"}
    made = streamx({}, keys=None, sequenceId="1", op="CREATE", after=None, ddl=create)

    def told(sequence: int, ident: int, partition: int) -> RawMessage:
        message = streamx(op="INSERT", sequenceId=str(sequence), before=None, after={"id": ident, "c": "x"})
        return msgspec.structs.replace(message, partition=partition, offset=sequence)

    windows = [[made, told(10, 1, 1), told(11, 2, 1)], [told(10, 1, 0), told(12, 3, 0)]]
    found = []
    for by_tasks in (False, True):
        world = World(make_settings("streamx_json"))
        for window in windows:
            world.replay(world.deliver(window))
        if by_tasks:
            by_tasks_alone(monkeypatch, 1)
        getattr(world, act)("gold_shop.t")
        found.append((rows_of(world), world.states(), world.counts))
    assert found[0] == found[1]
    assert [counts.get("duplicate") for counts in found[0][2].values()] == [None, 1]


def test_a_value_that_a_change_of_type_would_change_holds_wherever_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = {"v": "varchar(9)"}
    rows = [change(2 + at, "INSERT", at, "no number" if at == 2 else str(at), **texts) for at in range(5)]
    create = statement(1, "create table t (id int primary key, v varchar(9))")
    modify = statement(10, "alter table t modify v int")
    found = []
    for by_tasks in (False, True):
        world = World(make_settings("canal_json"))
        if by_tasks:
            in_tasks(monkeypatch, 1)
        world.replay(world.deliver([create, *rows, modify, change(11, "INSERT", 9, "9")]))
        found.append((rows_of(world), world.states(), world.counts))
    assert found[0] == found[1]
    (state,) = found[0][1].values()
    assert state.hold is not None
    assert state.hold.code == "INEXACT_CAST"


def test_a_key_in_two_spellings_on_both_sides_of_a_lifted_hold_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    def told(offset: int, kind: str, ident: str, **more: str) -> RawMessage:
        kinds = {"id": "decimal(9,2)", **dict.fromkeys(more, "int")}
        return canal(offset, type=kind, data=[{"id": ident, **more}], old=None, mysqlType=kinds, sqlType=None)

    create, unread = "create table t (id decimal(9,2) primary key)", "alter table t frobnicate"
    windows = [
        [statement(1, create), *(told(2 + at, "INSERT", f"{at}.5") for at in range(6))],
        [statement(10, unread), *(told(11 + at, "UPDATE", f"{at}.50", w="9") for at in range(4))],
    ]
    found = []
    for by_tasks in (False, True):
        world = World(make_settings("canal_json"))
        for window in windows:
            world.replay(world.deliver(window))
        assert world.gold()["gold_shop.t"].hold is not None
        if by_tasks:
            by_tasks_alone(monkeypatch, 1)
        world.release("gold_shop.t", "replace", "alter table t add column w int")
        found.append((rows_of(world), world.states(), world.counts))
    assert found[0] == found[1]
    assert [row[1] for row in found[0][0]] == [9, 9, 9, 9, None, None]
