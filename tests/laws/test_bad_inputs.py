"""Streams that nobody would send on purpose: what gold makes of their statements, their order and their keys."""

import json
from itertools import permutations

import msgspec
import pytest

from formats.debezium_messages import SOURCE, message, payload
from formats.events import canal, streamx
from laws.test_replays_found import CREATE, NUMBERS, TABLE, ddl, insert, numbers, row, run, update
from laws.world import World, make_settings
from retable.model.message import RawMessage

ONE = insert(2, id="1", v="10")


def code(world: World, table: str = TABLE) -> str | None:
    hold = world.gold()[table].hold
    return hold and hold.code


def shown(world: World, table: str = TABLE) -> list[dict[str, object]]:
    return [json.loads(each) for each in world.gold()[table].rows]


def delete(offset: int, **values: str) -> RawMessage:
    return row(offset, "DELETE", NUMBERS, **values)


# --- statements --------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("change", ["add v varchar(9)", "add v int", "drop w", "drop id, drop w"])
def test_a_column_that_is_there_already_or_not_at_all_holds_the_table(change: str) -> None:
    world = run([[ddl(1, CREATE), ONE, ddl(3, f"alter table t {change}")], [insert(4, id="2", v="20")]])
    assert code(world) == "UNSUPPORTED_CHANGE"
    assert numbers(world) == {1: 10}


def test_a_column_that_goes_and_comes_again_has_nothing_of_what_it_was() -> None:
    world = run([[ddl(1, CREATE), ONE], [ddl(3, "alter table t drop v"), ddl(4, "alter table t add v int")]])
    assert numbers(world) == {1: None}


@pytest.mark.parametrize(("old", "new", "value"), [("int", "bigint", 5), ("date", "datetime", "2026-01-02T00:00:00")])
def test_a_column_that_widens_keeps_its_values(old: str, new: str, value: object) -> None:
    told = "5" if old == "int" else "2026-01-02"
    made = row(2, "INSERT", {"id": "int", "v": old}, id="1", v=told)
    world = run(
        [[ddl(1, f"create table t (id int primary key, v {old})"), made], [ddl(3, f"alter table t modify v {new}")]]
    )
    assert code(world) is None
    assert [str(each["v"])[:19] for each in shown(world)] == [str(value)]


def test_a_decimal_of_more_digits_keeps_its_values() -> None:
    made = row(2, "INSERT", {"id": "int", "v": "decimal(9,2)"}, id="1", v="1.50")
    create = ddl(1, "create table t (id int primary key, v decimal(9,2))")
    world = run([[create, made], [ddl(3, "alter table t modify v decimal(20,2)")]])
    assert (shown(world), code(world)) == ([{"id": 1, "v": "1.50"}], None)


def test_a_table_made_from_a_query_has_the_columns_of_its_rows() -> None:
    made = [insert(n, id=str(n), v="1", keys=()) for n in (2, 3)]
    world = run([[ddl(1, "create table t as select id, v from u"), *made]])
    assert (numbers(world), code(world)) == ({2: 1, 3: 1}, None)


def test_statements_of_a_table_that_is_left_out_make_none() -> None:
    world = run([[ddl(1, "create table u (id int)", "u"), ONE]], World(make_settings("canal_json", exclude=["shop.u"])))
    assert set(world.gold()) == {TABLE}


def test_a_column_that_no_statement_told_is_added() -> None:
    more = row(3, "INSERT", {**NUMBERS, "w": "int"}, id="2", v="20", w="5")
    world = run([[ddl(1, CREATE), ONE], [more]])
    assert [each["w"] for each in shown(world)] == [None, 5]


def test_a_row_that_lacks_a_column_of_its_own_types_changes_the_others_alone() -> None:
    types = {**NUMBERS, "w": "int"}
    made = [
        ddl(1, "create table t (id int primary key, v int, w int default 5)"),
        row(2, "INSERT", types, id="1", v="1", w="7"),
    ]
    world = run([made, [row(3, "UPDATE", types, id="1", v="2")]])
    assert shown(world) == [{"id": 1, "v": 2, "w": 7}]
    world.replay(world.deliver([row(4, "INSERT", types, id="2", v="2")]))
    assert (code(world), shown(world)) == ("ROW_MISSING", [{"id": 1, "v": 2, "w": 7}])


def test_a_row_that_lacks_a_column_of_its_own_types_holds_a_table_without_a_key() -> None:
    types = {**NUMBERS, "w": "int"}
    lacking = canal(
        3, type="INSERT", data=[{"id": "1", "v": "2"}], old=None, pkNames=None, mysqlType=types, sqlType=None
    )
    world = run([[ddl(1, "create table t (id int, v int, w int default 5)")], [lacking]])
    assert (code(world), shown(world)) == ("KEY_UNKNOWN", [])


@pytest.mark.parametrize("names", [("v", "V"), ("id", "ID"), ("k", "\u212a")])
@pytest.mark.parametrize("made", [[], ["create table t (id int primary key, v int)"]])
@pytest.mark.parametrize("case", ["lower", "source"])
def test_columns_that_differ_by_case_alone_hold_their_table(made: list[str], names: tuple[str, str], case: str) -> None:
    types = dict.fromkeys(("id", "v", *names), "int")
    settings = make_settings("canal_json")
    settings = settings.model_copy(update={"lake": settings.lake.model_copy(update={"case": case})})
    before = [*(ddl(1, sql) for sql in made), row(2, "INSERT", NUMBERS, id="1", v="1")]
    world = run([before, [row(3, "INSERT", types, **dict.fromkeys(types, "2"))]], World(settings))
    assert (code(world), numbers(world)) == ("NAME_CLASH", {1: 1})


@pytest.mark.parametrize("kind", ["uuid", "INET4", "inet6", "vector(3)"])
def test_bytes_that_canal_writes_as_text_are_rejected(kind: str) -> None:
    types = {"id": "int", "u": kind}
    made = ddl(1, f"create table t (id int primary key, u {kind})")
    lost = row(2, "INSERT", types, id="1", u="uW\ufffd`\ufffdD\ufffd\u01969.1P0_\ufffd")
    world = run([[made, lost, row(3, "INSERT", types, id="2", u=None)]])
    assert shown(world) == [{"id": 2, "u": None}]
    assert world.rejected == {(TABLE, 0, 2): "BAD_VALUE"}


@pytest.mark.parametrize("cut", range(5))
@pytest.mark.parametrize("keys", [("id",), None])
def test_a_row_at_the_place_of_the_statement_that_empties_its_table_stands_once(
    keys: tuple[str, ...] | None, cut: int
) -> None:
    def change(at: int, **payload: object) -> RawMessage:
        return streamx(keys=keys, sequenceId=str(at), **payload)

    made = (
        "create table t (id bigint primary key, c varchar(9))" if keys else "create table t (id bigint, c varchar(9))"
    )
    stream = [
        change(1, op="CREATE", after=None, ddl={"text": made}),
        change(2, after={"id": 1, "c": "old"}),
        change(5, op="TRUNCATE", after=None, ddl={"text": "truncate table t"}),
        change(5, after={"id": 2, "c": "same"}),
        change(6, op="UPDATE", before={"id": 2, "c": "same"}, after={"id": 2, "c": "new"}),
    ]
    stream = [msgspec.structs.replace(each, offset=at) for at, each in enumerate(stream)]
    world = World(make_settings("streamx_json"))
    for window in (stream[:cut], stream[cut:]):
        world.replay(world.deliver(window))
    assert shown(world) == [{"id": 2, "c": "new"}]


@pytest.mark.parametrize("told", [True, False])
def test_tables_whose_names_differ_only_by_case_are_not_mixed(told: bool) -> None:
    made = [ddl(1, CREATE), ddl(2, CREATE.replace(" t ", " T "), "T")] if told else []
    world = run([made, [insert(3, id="1", v="10"), insert(4, id="2", v="20", table="T")]])
    clashes = [table for table in world.gold().values() if table.hold is not None and table.hold.code == "NAME_CLASH"]
    assert len(clashes) == 1
    assert {each["id"]: each["v"] for table in world.gold().values() for each in map(json.loads, table.rows)} == {1: 10}


def test_a_truncate_that_comes_late_holds_the_table() -> None:
    world = run([[ddl(1, CREATE), ONE, insert(9, id="2", v="20")], [ddl(5, "truncate table t")]])
    assert code(world) == "LATE_CHANGE"
    world.rebuild(TABLE)
    assert (numbers(world), code(world)) == ({2: 20}, None)


# --- rows in a strange order -------------------------------------------------------------------------------------
@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_a_row_that_was_deleted_stays_so_whenever_its_other_changes_come(order: tuple[int, ...]) -> None:
    changes = [ONE, update(3, id="1", v="11", old_v="10"), delete(4, id="1", v="11")]
    world = run([[ddl(1, CREATE)], *([changes[at]] for at in order)])
    assert (numbers(world), code(world)) == ({}, None)


def test_an_old_change_that_comes_again_and_again_does_not_win() -> None:
    first, second = ONE, update(3, id="1", v="11", old_v="10")
    last = update(4, id="1", v="12", old_v="11")
    assert numbers(run([[ddl(1, CREATE)], *([each] for each in (first, second, first, second, last, first))])) == {
        1: 12
    }


@pytest.mark.parametrize("step", [0, -3_600_000])
def test_the_clock_of_the_source_orders_nothing(step: int) -> None:
    def at(number: int, made: RawMessage) -> RawMessage:
        value = json.loads(made.value or b"")
        value |= {"es": 1_700_000_000_000 + number * step, "ts": 1_700_000_000_000 + number * step}
        return msgspec.structs.replace(made, value=json.dumps(value).encode())

    gone = [at(0, ONE), at(1, delete(3, id="1", v="10"))]
    back = at(2, insert(4, id="1", v="30"))
    assert numbers(run([[ddl(1, CREATE), *gone]])) == {}
    assert numbers(run([[ddl(1, CREATE), *gone, back]])) == {1: 30}


def test_one_change_in_two_topics_counts_once() -> None:
    made = streamx({"id": "LONG", "v": "LONG"}, op="INSERT", sequenceId="10", before=None, after={"id": 1, "v": 10})
    other = msgspec.structs.replace(made, topic="another", offset=7)
    world = run([[made], [other]], World(make_settings("streamx_json")))
    assert numbers(world) == {1: 10}


# --- rows that say what is not so --------------------------------------------------------------------------------
def test_rows_that_are_there_already_or_not_at_all_end_as_their_last_change_says() -> None:
    changes = [update(2, id="1", v="11", old_v="10"), delete(3, id="2", v="1"), insert(4, id="1", v="12")]
    world = run([[ddl(1, CREATE)], *([each] for each in changes)])
    assert (numbers(world), code(world)) == ({1: 12}, None)


def test_what_a_row_was_before_is_not_compared_and_an_update_of_nothing_changes_nothing() -> None:
    world = run([[ddl(1, CREATE), ONE], [update(3, id="1", v="11", old_v="99")]])
    assert numbers(world) == {1: 11}
    world = run([[update(4, id="1", v="11", old_v="11")]], world)
    assert (numbers(world), code(world)) == ({1: 11}, None)


def test_rows_without_a_key_are_counted_and_an_update_takes_one_of_them() -> None:
    changes = [insert(n, id="1", v="1", keys=()) for n in (2, 3, 4)]
    changed = update(5, id="1", v="2", old_v="1", keys=())
    world = run([[ddl(1, "create table t (id int, v int)"), *changes], [changed]])
    assert (sorted(str(each["v"]) for each in shown(world)), code(world)) == (["1", "1", "2"], None)


def test_a_second_full_load_counts_where_it_stands_and_takes_no_row_away() -> None:
    def load(offset: int, number: int, value: str) -> RawMessage:
        return row(offset, "INIT", NUMBERS, id=str(number), v=value)

    first, second = [load(2, 1, "1"), load(3, 2, "2")], [load(20, 1, "12"), load(21, 3, "3")]
    told = update(10, id="1", v="11", old_v="1")
    for windows in ([first, [told], second], [second, first, [told]]):
        world = run([[ddl(1, CREATE)], *windows])
        assert (numbers(world), code(world)) == ({1: 12, 2: 2, 3: 3}, None)


def test_a_key_of_ten_kilobytes_is_one() -> None:
    types = {"id": "longtext", "v": "int"}
    key = "k" * 10_000
    changes = [row(2, "INSERT", types, id=key, v="1"), row(3, "INSERT", types, id=key + "x", v="2")]
    world = run([changes, [row(4, "UPDATE", types, id=key, v="3", old_v="1")]])
    assert sorted(str(each["v"]) for each in shown(world)) == ["2", "3"]


@pytest.mark.parametrize("value", ["0.1", "1e300", "-0.0"])
def test_a_float_may_be_a_key(value: str) -> None:
    types = {"id": "double", "v": "int"}
    told = [row(2, "INSERT", types, id=value, v="1"), row(3, "UPDATE", types, id=value, v="2", old_v="1")]
    world = run([told[:1], told[1:]])
    assert [each["v"] for each in shown(world)] == [2]


def test_a_key_of_very_many_changes_is_one_row() -> None:
    changes = [ONE, *(update(3 + n, id="1", v=str(n), old_v=str(n - 1)) for n in range(20_000))]
    assert numbers(run([[ddl(1, CREATE), *changes[:10_000]], changes[10_000:]])) == {1: 19_999}


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_rows_of_an_incremental_snapshot_stand_among_the_changes(order: tuple[int, ...]) -> None:
    def change(place: int, op: str, value: int, snapshot: str) -> RawMessage:
        source = {**SOURCE, "pos": place, "snapshot": snapshot}
        return message(payload(op, None, {"id": 1, "v": value}, source), {"id": 1}, offset=place)

    changes = [change(10, "c", 1, "false"), change(20, "r", 1, "incremental"), change(30, "u", 2, "false")]
    world = run([[changes[at]] for at in order], World(make_settings("debezium_json")))
    assert (shown(world), code(world)) == ([{"id": "1", "v": "2"}], None)


@pytest.mark.parametrize("order", list(permutations(range(3))))
@pytest.mark.parametrize(("op", "left"), [("u", [{"id": "1", "v": "2"}]), ("d", [])])
def test_a_row_of_an_incremental_snapshot_is_older_than_the_change_whose_position_it_has(
    op: str, left: list[dict[str, str]], order: tuple[int, ...]
) -> None:
    """A connector that may only read closes a chunk by the next change, and writes its rows with that position."""

    def change(offset: int, place: int, op: str, value: int, snapshot: str) -> RawMessage:
        source = {**SOURCE, "pos": place, "snapshot": snapshot}
        before, after = ({"id": 1, "v": value}, None) if op == "d" else (None, {"id": 1, "v": value})
        return message(payload(op, before, after, source), {"id": 1}, offset=offset)

    changes = [change(1, 10, "c", 1, "false"), change(2, 30, "r", 1, "incremental"), change(3, 30, op, 2, "false")]
    world = run([[changes[at]] for at in order], World(make_settings("debezium_json")))
    assert (shown(world), code(world)) == (left, None)


def test_settings_of_a_table_that_is_not_there_change_no_other() -> None:
    world = run([[ddl(1, CREATE), ONE]], World(make_settings("canal_json", {"shop.gone": {"keys": ["x"]}})))
    assert (numbers(world), list(world.gold())) == ({1: 10}, [TABLE])
