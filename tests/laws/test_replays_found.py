"""Tables that once came out otherwise than the rebuild of them, or than their source."""

import json
from collections.abc import Mapping
from functools import partial
from itertools import permutations

import msgspec
import pytest

from formats.debezium_messages import POSTGRES, SOURCE, column, message, payload, with_schema
from formats.events import canal, streamx
from laws.test_bulk import in_tasks
from laws.world import Gold, World, make_settings
from retable.gold import state
from retable.model.message import RawMessage
from retable.replay.table import rewriting

TABLE = "gold_shop.t"
NUMBERS = {"id": "int", "v": "int"}
CREATE = "create table t (id int primary key, v int)"


def ddl(offset: int, sql: str, table: str = "t") -> RawMessage:
    return canal(offset, isDdl=True, type="ALTER", data=None, pkNames=None, sql=sql, table=table)


def row(
    offset: int,
    op: str,
    types: Mapping[str, str],
    keys: tuple[str, ...] = ("id",),
    part: int = 0,
    table: str = "t",
    **values: str | None,
) -> RawMessage:
    """A row; `old_x` is what the column x was before."""
    old = {name.removeprefix("old_"): value for name, value in values.items() if name.startswith("old_")}
    data = {name: value for name, value in values.items() if not name.startswith("old_")}
    images = {"data": [data], "old": [old] if old else None}
    made = canal(offset, type=op, table=table, pkNames=list(keys) or None, mysqlType=types, sqlType=None, **images)
    return msgspec.structs.replace(made, partition=part)


insert, update = (partial(row, op=op, types=NUMBERS) for op in ("INSERT", "UPDATE"))


def run(windows: list[list[RawMessage]], world: World | None = None) -> World:
    world = world or World(make_settings("canal_json"))
    for window in windows:
        world.replay(world.deliver(window))
    return world


def numbers(world: World) -> dict[int, int]:
    return {each["id"]: each["v"] for each in map(json.loads, world.gold()[TABLE].rows)}


def rebuilt(world: World, table: str = TABLE) -> Gold:
    world.rebuild(table)
    return world.gold()[table]


# --- keys that give way to one another ---------------------------------------------------------------------------
ONE, TWO, THREE = (insert(1 + n, id=str(n), v=str(10 * n)) for n in (1, 2, 3))


def moves(*pairs: tuple[int, int], v: Mapping[int, int]) -> list[RawMessage]:
    """Rows that change their keys one after the other, as one statement does it to all of them."""
    return [update(10 + n, id=str(new), old_id=str(old), v=str(v[old])) for n, (old, new) in enumerate(pairs)]


@pytest.mark.parametrize("cut", range(8))
@pytest.mark.parametrize("order", list(permutations([(1, 2), (2, 3), (3, 1)])))
def test_keys_that_go_round_lose_no_row(order: tuple[tuple[int, int], ...], cut: int) -> None:
    messages = [ddl(1, CREATE), ONE, TWO, THREE, *moves(*order, v={1: 10, 2: 20, 3: 30})]
    world = run([messages[:cut], messages[cut:]])
    assert numbers(world) == {2: 10, 3: 20, 1: 30}
    assert rebuilt(world) == run([messages]).gold()[TABLE]


@pytest.mark.parametrize("cut", range(7))
@pytest.mark.parametrize("order", list(permutations([(1, 2), (2, 3), (3, 4)])))
def test_keys_that_shift_lose_no_row(order: tuple[tuple[int, int], ...], cut: int) -> None:
    messages = [ddl(1, CREATE), ONE, TWO, THREE, *moves(*order, v={1: 10, 2: 20, 3: 30})]
    assert numbers(run([messages[:cut], messages[cut:]])) == {2: 10, 3: 20, 4: 30}


@pytest.mark.parametrize("cut", range(7))
def test_a_row_that_goes_from_key_to_key_leaves_nothing_behind(cut: int) -> None:
    messages = [ddl(1, CREATE), ONE, *moves((1, 2), v={1: 10}), update(20, id="3", old_id="2", v="10")]
    messages += [update(21, id="3", v="11", old_v="10"), update(22, id="1", old_id="3", v="11")]
    assert numbers(run([messages[:cut], messages[cut:]])) == {1: 11}


@pytest.mark.parametrize("cut", range(6))
def test_a_row_that_a_full_load_has_already_leaves_its_key_as_it_is_told(cut: int) -> None:
    loaded = row(2, "INIT", NUMBERS, id="2", v="10")
    told = [insert(3, id="1", v="10"), *moves((1, 2), (2, 3), v={1: 10, 2: 10})]
    messages = [ddl(1, CREATE), loaded, *told]
    assert numbers(run([messages[:cut], messages[cut:]])) == {3: 10}


def test_keys_that_are_swapped_in_halves_lose_no_row() -> None:
    types = {"id": "LONG", "v": "LONG"}

    def half(number: int, op: str, **image: object) -> RawMessage:
        side = "before" if op == "UPDATE_BEFOR" else "after"
        made = streamx(types, op=op, sequenceId=str(10 + number), **{"before": None, "after": None, side: image})
        return msgspec.structs.replace(made, offset=10 * number + (side == "after"))

    first = [half(1, "INSERT", id=1, v=10), half(2, "INSERT", id=2, v=20)]
    second = [half(3, "UPDATE_BEFOR", id=1, v=10), half(3, "UPDATE_AFTER", id=2, v=10)]
    second += [half(4, "UPDATE_BEFOR", id=2, v=20), half(4, "UPDATE_AFTER", id=1, v=20)]
    for windows in ([first + second], [first, second], [first, second[:2], second[2:]]):
        assert numbers(run(windows, World(make_settings("streamx_json")))) == {1: 20, 2: 10}


@pytest.mark.parametrize("cut", range(5))
@pytest.mark.parametrize("order", list(permutations([(1, 2), (2, 3), (3, 4)])))
@pytest.mark.parametrize("is_in_tasks", [False, True])
def test_keys_of_rows_that_are_alike_shift_and_lose_no_row(
    is_in_tasks: bool, order: tuple[tuple[int, int], ...], cut: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    if is_in_tasks:
        in_tasks(monkeypatch, 1)
    alike = [insert(1 + n, id=str(n), v="7") for n in (1, 2, 3)]
    messages = [ddl(1, CREATE), *alike, *moves(*order, v={1: 7, 2: 7, 3: 7}), update(20, id="9", old_id="4", v="7")]
    assert numbers(run([messages[:cut], messages[cut:]])) == {2: 7, 3: 7, 9: 7}


@pytest.mark.parametrize("is_in_tasks", [False, True])
@pytest.mark.parametrize(
    ("second", "third", "wanted"),
    [
        ([update(20, id="4", old_id="2", v="10")], moves((3, 2), (2, 5), v={3: 30, 2: 30}), {4: 10, 5: 30}),
        ([update(20, id="2", old_id="3", v="30")], moves((2, 4), v={2: 10}), {2: 30, 4: 10}),
    ],
    ids=["it was left since", "it is another row's since"],
)
def test_a_row_that_comes_again_says_nothing_of_the_key_that_it_moved_to(
    second: list[RawMessage],
    third: list[RawMessage],
    wanted: dict[int, int],
    is_in_tasks: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if is_in_tasks:
        in_tasks(monkeypatch, 1)
    first = [ddl(1, CREATE), ONE, THREE, *moves((1, 2), v={1: 10})]
    later = [msgspec.structs.replace(message, offset=message.offset + 20) for message in third]
    assert numbers(run([first, second, [ONE, *later]])) == wanted


# --- what gold has of rows that are others now -------------------------------------------------------------------
def test_rows_with_nan_are_counted_and_deleted() -> None:
    columns = [column("a", "int32"), column("x", "double")]
    nan = {"a": 1, "x": "NaN"}

    def change(lsn: int, op: str, before: object, after: object) -> RawMessage:
        source = POSTGRES | {"lsn": lsn, "sequence": json.dumps([str(lsn)] * 2)}
        return message(with_schema(payload(op, before, after, source), columns), None, offset=lsn)

    world = run([[change(10, "c", None, nan)], [change(20, "c", None, nan)]], World(make_settings("debezium_json")))
    assert len(world.gold()["gold_shop__public.t"].rows) == 2
    run([[change(30, "d", nan, None), change(31, "d", nan, None)]], world)
    assert world.gold()["gold_shop__public.t"].rows == ()


def test_a_row_that_corrected_settings_refuse_is_not_in_gold() -> None:
    types = {"id": "int", "at": "timestamp"}
    create = ddl(1, "create table t (id int primary key, at timestamp)")
    world = run([[create, row(2, "INSERT", types, id="1", at="2026-03-08 02:30:00")]])
    world.settings = make_settings("canal_json", time_zone="America/New_York")
    world.replay(world.names[0])
    assert world.gold()[TABLE].rows == ()
    assert not world.replay(world.names[0])


def test_a_row_that_a_window_no_longer_has_is_not_in_gold() -> None:
    told = [ddl(1, CREATE), ONE, TWO]
    world = run([told, [THREE]])
    world.redecode(world.names[0], told[:2])
    world.replay(world.names[0])
    assert numbers(world) == {1: 10, 3: 30}
    assert not any(world.replay(name) for name in world.names)


def test_a_table_of_which_a_window_has_no_row_any_more_has_none_of_it_in_gold() -> None:
    other = insert(9, id="1", v="1", table="z")
    world = run([[ddl(1, CREATE), ONE, other], [TWO]])
    world.redecode(world.names[0], [ddl(1, CREATE), other])
    assert world.replay(world.names[0])
    assert numbers(world) == {2: 20}
    assert world.counts[world.names[0], world.states()[TABLE].identity] == {"rows": 0}
    assert not any(world.replay(name) for name in world.names)


def test_a_table_that_the_settings_leave_out_keeps_its_rows() -> None:
    other = insert(9, id="1", v="1", table="z")
    world = run([[ONE, other]])
    world.settings = make_settings("canal_json", exclude=["shop.t"])
    world.redecode(world.names[0], [other])
    world.replay(world.names[0])
    assert numbers(world) == {1: 10}


def test_a_window_that_is_written_anew_beside_another_brings_its_columns_itself() -> None:
    one, two = {"a": "int"}, {"a": "int", "b": "int"}
    first = [row(n, "INSERT", one, (), a=str(n)) for n in (1, 2)]
    second = [row(3, "INSERT", one, (), a="3"), row(4, "INSERT", two, (), a="4", b="5")]
    world = run([first[:1], second[:1]])
    for name, messages in zip(world.names, (first, second), strict=True):
        world.redecode(name, messages)
    assert [world.replay(name) for name in world.names] == [True, True]
    assert [json.loads(each)["b"] for each in world.gold()[TABLE].rows] == [None, None, None, 5]
    assert world.gold()[TABLE] == rebuilt(world)


@pytest.mark.parametrize("keys", [(), ("id",)])
@pytest.mark.parametrize("first", [0, 1])
def test_a_key_that_the_settings_name_no_more_is_none(first: int, keys: tuple[str, ...]) -> None:
    types = {"id": "int", "c": "varchar(9)"}
    told = [row(n, "INSERT", types, keys, id=str(n), c="a") for n in (1, 2, 3)]
    world = World(make_settings("canal_json", {"shop.t": {"keys": ["c"]}}))
    run([told[:2], told[2:]], world)
    assert len(world.gold()[TABLE].rows) == 1
    world.settings = make_settings("canal_json", {"shop.t": {}})
    for name, messages in zip(world.names, (told[:2], told[2:]), strict=True):
        world.redecode(name, messages)
    world.replay(world.names[first])
    assert len(world.gold()[TABLE].rows) == 3
    assert world.gold()[TABLE] == rebuilt(world)
    assert not any(world.replay(name) for name in world.names)


def test_a_decimal_key_that_is_read_in_another_mode_is_one_row() -> None:
    told = {"source": {**SOURCE, "pos": 1}, "ts_ms": 1, "databaseName": "shop", "tableChanges": []}
    create = told | {"ddl": "create table t (id decimal(12,0) primary key, v int)"}
    change = payload("c", None, {"id": "1234", "v": 1}, {**SOURCE, "pos": 10})
    messages = [
        message(create, {"databaseName": "shop"}, topic="erp", offset=1),
        message(change, {"id": "1234"}, offset=10),
    ]
    world = run([messages], World(make_settings("debezium_json")))
    world.settings = make_settings("debezium_json", decimal_mode="string")
    world.replay(world.names[0])
    assert [json.loads(each)["id"] for each in world.gold()[TABLE].rows] == ["1234"]


def test_a_window_that_gold_does_not_remember_is_read_otherwise_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (state, rewriting):
        monkeypatch.setattr(module, "KEEP_APPLIED", 4)
    types = {"at": "timestamp", "v": "int"}
    create = ddl(1, "create table t (at timestamp, v int)")
    days = [row(10 + n, "INSERT", types, (), at=f"2026-04-{n:02} 00:00:00", v="1") for n in range(1, 8)]
    world = run([[create, days[0]], *([day] for day in days[1:])])
    world.settings = make_settings("canal_json", time_zone="Asia/Shanghai")
    world.replay(world.names[0])
    assert len(world.gold()[TABLE].rows) == 7
    assert world.gold()[TABLE] == rebuilt(world)


# --- tables and their names --------------------------------------------------------------------------------------
HELD = [ddl(1, CREATE), insert(2, id="9", v="1"), ddl(3, "alter table t frobnicate it")]


def test_a_table_of_the_same_statement_beside_a_held_one_of_its_name_is_held_alone() -> None:
    following = [ddl(12, "rename table t to u"), ddl(13, CREATE), insert(14, id="1", v="1")]
    world = run([HELD, following])
    holds = {gold: None if table.hold is None else table.hold.code for gold, table in world.gold().items()}
    assert sorted(holds.values(), key=str) == ["NAME_CLASH", "UNSUPPORTED_CHANGE"]


def test_rows_of_another_table_between_those_of_a_held_one_are_its_own() -> None:
    between = [ddl(12, "rename table t to u"), ddl(13, CREATE), insert(15, id="2", v="2")]
    back = [ddl(22, "rename table t to v"), ddl(23, "rename table u to t")]
    world = run([HELD, [insert(10, id="1", v="1"), *between, *back, insert(30, id="3", v="3")]])
    assert world.gold()["gold_shop.v"].rows == ('{"id": 2, "v": 2}',)


def test_a_table_like_another_has_no_column_of_which_only_images_of_that_told() -> None:
    hidden = "#alibaba_rds_row_id#"
    made = row(2, "INSERT", {"v": "int", hidden: "bigint"}, (hidden,), **{"v": "1", hidden: "7"})
    world = run([[ddl(1, "create table t (v int)"), made, ddl(3, "create table b like t", "b")]])
    assert world.gold()["gold_shop.b"].columns == ("v",)
    assert world.gold()["gold_shop.b"] == rebuilt(world, "gold_shop.b")


def test_a_half_of_an_update_that_is_left_out_waits_for_nothing() -> None:
    types = {"id": "LONG", "d": "DATETIME"}
    good, bad = {"id": 1, "d": "2026-01-01 00:00:00"}, {"id": 1, "d": "0000-00-00 00:00:00"}
    told = [("INSERT", "10", None, good), ("UPDATE_BEFOR", "20", good, None), ("UPDATE_AFTER", "20", None, bad)]
    messages = [
        msgspec.structs.replace(streamx(types, op=op, sequenceId=at, before=before, after=after), offset=n)
        for n, (op, at, before, after) in enumerate(told)
    ]
    settings = make_settings("streamx_json", {"*": {"types": {"d": "timestamp"}}})
    world = run([messages[:2], messages[2:]], World(settings))
    world.release(TABLE, "skip")
    assert world.states()[TABLE].pending == {}


def test_a_row_that_stops_its_partition_is_not_behind_those_of_another() -> None:
    types = {"id": "int", "d": "date"}
    world = World(make_settings("canal_json", {"*": {"types": {"d": "date"}}}))
    other = row(1000, "INSERT", types, part=1, id="5", d="2026-01-01")
    run(
        [[other], [row(50, "INSERT", types, id="6", d="0000-00-00"), row(51, "INSERT", types, id="7", d="2026-01-02")]],
        world,
    )
    hold = world.gold()[TABLE].hold
    assert hold is not None
    assert hold.code == "ZERO_DATE"
    world.release(TABLE, "skip")
    assert [json.loads(each)["id"] for each in world.gold()[TABLE].rows] == [5, 7]
