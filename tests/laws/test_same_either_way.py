"""Tables that come out the same however the log is cut, and whichever way its rows are folded."""

import json
from itertools import permutations

import pytest

from formats.debezium_messages import SOURCE, message, payload
from formats.events import canal
from laws.world import Gold, World, make_settings
from retable.model.message import RawMessage
from retable.replay.table.deciding import Deciding
from retable.settings.load import Settings

Windows = list[list[RawMessage]]
Came = tuple[dict[str, Gold], dict[tuple[str, str], dict[str, int]], dict[tuple[str, int, int], str]]

NUMBERS = {"id": "int", "v": "int"}
DECIMALS = {"id": "decimal(9,2)", "v": "int"}
THREE = {"id": "int", "c": "varchar(9)", "v": "int"}


def statement(offset: int, sql: str) -> RawMessage:
    return canal(offset, isDdl=True, type="ALTER", data=None, pkNames=None, sql=sql)


def row(offset: int, kind: str, keys: list[str] | None, types: dict[str, str], **values: str) -> RawMessage:
    return canal(offset, type=kind, data=[values], old=None, pkNames=keys, mysqlType=types, sqlType=None)


def run(windows: Windows, settings: Settings | None = None, plainly: bool = True) -> Came:
    with pytest.MonkeyPatch.context() as patch:
        if not plainly:
            patch.setattr(Deciding, "_decide_vectorized", lambda *_: None)
        world = World(settings or make_settings("canal_json"))
        for window in windows:
            world.replay(world.deliver(window))
        return world.gold(), world.counts, world.rejected


def test_a_column_that_images_leave_out_is_null_also_in_a_bulk() -> None:
    create = statement(1, "create table t (id int primary key, v int)")
    added = statement(2, "alter table t add column w int default 5")
    windows = [[create, added, *(row(n, "INSERT", ["id"], NUMBERS, id=str(n), v="1") for n in (3, 4))]]
    assert run(windows) == run(windows, plainly=False)


@pytest.mark.parametrize("keys", [None, ["c"]])
def test_a_dropped_key_stays_dropped_after_a_truncate(keys: list[str] | None) -> None:
    create = statement(1, "create table t (id int primary key, c varchar(9), v int)")
    first = [create, row(2, "INSERT", ["id"], THREE, id="1", c="a", v="1")]
    second = [
        statement(3, "alter table t drop primary key"),
        statement(4, "truncate table t"),
        row(5, "INSERT", keys, THREE, id="1", c="a", v="1"),
        row(6, "INSERT", keys, THREE, id="1", c="b", v="2"),
    ]
    assert run([first, second])[0] == run([first + second])[0]


@pytest.mark.parametrize("cut", range(7))
def test_a_cast_below_a_key_change_holds_in_no_cut(cut: int) -> None:
    messages = [
        statement(1, "create table t (id int, c varchar(9), v int)"),
        row(2, "INSERT", ["id"], THREE, id="1", c="a", v="1"),
        statement(3, "alter table t modify v smallint"),
        statement(4, "alter table t add primary key (c)"),
        row(5, "INSERT", ["c"], THREE, id="2", c="b", v="1"),
        row(6, "UPDATE", ["c"], THREE, id="3", c="b", v="9"),
    ]
    assert run([messages[:cut], messages[cut:]])[0] == run([messages])[0]


def test_a_cast_of_a_renamed_key_column_holds_a_bulk_too() -> None:
    settings = make_settings("canal_json", {"*": {"on": {"type_change": "string"}}})
    old, new = {"id": "varchar(9)", "v": "int"}, {"ident": "int", "v": "int"}
    create = statement(1, "create table t (id varchar(9), v int)")
    change = statement(4, "alter table t change id ident int")
    windows = [
        [create, *(row(n, "INSERT", ["id"], old, id=str(n), v="1") for n in (2, 3))],
        [change, *(row(n, "INSERT", ["ident"], new, ident=str(n), v="1") for n in (5, 6))],
    ]
    assert run(windows, settings) == run(windows, settings, plainly=False)


def test_a_key_behind_the_last_year_of_python_is_a_key() -> None:
    settings = make_settings("canal_json", {"*": {"types": {"id": "timestamptz"}}}, time_zone="America/New_York")
    types = {"id": "datetime", "v": "int"}
    ends = enumerate(("2026-01-01 00:00:00", "9999-12-31 23:59:59"), 2)
    create = statement(1, "create table t (id datetime primary key, v int)")
    windows = [[create, *(row(n, "INSERT", ["id"], types, id=end, v="1") for n, end in ends)]]
    assert run(windows, settings) == run(windows, settings, plainly=False)


def test_one_key_that_is_written_in_two_ways_is_one_row() -> None:
    windows = [
        [
            statement(1, "create table t (id decimal(9,2) primary key, v int)"),
            row(2, "INSERT", ["id"], DECIMALS, id="1.0", v="1"),
            row(3, "UPDATE", ["id"], DECIMALS, id="1.00", v="x"),
            row(4, "UPDATE", ["id"], DECIMALS, id="1.00", v="2"),
        ]
    ]
    assert run(windows) == run(windows, plainly=False)


def test_a_late_row_of_a_key_that_is_written_in_another_way_does_not_win() -> None:
    create = statement(1, "create table t (id decimal(9,2) primary key, v int)")
    first = [create, row(2, "INSERT", ["id"], DECIMALS, id="1.0", v="1")]
    newer = row(4, "UPDATE", ["id"], DECIMALS, id="1.00", v="4")
    late = row(3, "UPDATE", ["id"], DECIMALS, id="1.0", v="3")
    assert run([first, [newer], [late]])[0] == run([[*first, late, newer]])[0]


@pytest.mark.parametrize("order", [*permutations(range(3))])
@pytest.mark.parametrize("cut", range(3))
def test_a_full_load_at_the_position_of_a_move_leaves_no_row_of_the_old_key(order: list[int], cut: int) -> None:
    one, two = {"id": 1, "c": "x"}, {"id": 2, "c": "x"}
    inserted, moved, loaded = (
        ("c", None, one, 100, "false"),
        ("u", one, two, 500, "false"),
        ("r", None, two, 500, "true"),
    )
    messages = []
    for offset, at in enumerate(order):
        op, before, after, place, snapshot = (inserted, moved, loaded)[at]
        content = payload(op, before, after, {**SOURCE, "pos": place, "snapshot": snapshot})
        messages.append(message(content, {"id": after["id"]}, offset=offset))
    windows = [messages[:cut], messages[cut:]]
    settings = make_settings("debezium_json")
    assert run(windows, settings) == run(windows, settings, plainly=False)
    (table,) = run(windows, settings)[0].values()
    assert [json.loads(row)["id"] for row in table.rows] == ["2"]
