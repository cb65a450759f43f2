"""Tables that are written anew because a column took a type that Iceberg cannot promote to."""

import json
from typing import cast

import pytest

from formats.events import canal, streamx
from laws.world import Gold, World, make_settings
from retable.model.message import RawMessage


def statement(offset: int, sql: str) -> RawMessage:
    return canal(offset, isDdl=True, type="ALTER", data=None, pkNames=None, sql=sql)


@pytest.mark.parametrize("cut", range(5))
@pytest.mark.parametrize(
    ("added", "changed", "shown"),
    [
        ("date default '2024-01-01'", "datetime(3)", "2024-01-01T00:00:00.000000"),
        ("date not null", "datetime", None),
        ("int not null default '05'", "varchar(24)", "5"),
        ("int not null", "varchar(24)", "0"),
        ("int default 3", "decimal(14,2)", "3.00"),
        ("decimal(10,2) default 1.5", "decimal(14,4)", "1.5000"),
        ("int unsigned default 4294967295", "bigint unsigned", "4294967295"),
    ],
)
def test_old_rows_show_the_default_in_the_new_type(added: str, changed: str, shown: object, cut: int) -> None:
    messages = [
        statement(1, "create table t (id int not null primary key)"),
        canal(2, data=[{"id": "1"}], mysqlType={"id": "int"}, sqlType=None),
        statement(3, f"alter table t add d {added}"),
        statement(4, f"alter table t modify d {changed}"),
    ]
    world = World(make_settings("canal_json"))
    for part in (messages[:cut], messages[cut:]):
        world.replay(world.deliver(part))
    table = world.gold()["gold_shop.t"]
    assert ([json.loads(row) for row in table.rows], table.hold) == ([{"id": 1, "d": shown}], None)


# --- streams of DataWorks, whose messages tell a type of their own -----------------------------------------------
def ddl(place: int, text: str) -> RawMessage:
    return streamx({}, keys=None, sequenceId=str(place), op="ALTER", after=None, ddl={"text": text})


def change(place: int, types: dict[str, str], after: object, before: object = None, key: str = "id") -> RawMessage:
    op = "INSERT" if before is None else "DELETE" if after is None else "UPDATE"
    return streamx(types, keys=key.split(), sequenceId=str(place), op=op, before=before, after=after)


def rows_of(table: Gold) -> list[object]:
    return [json.loads(row) for row in table.rows]


def make_partial(world: World, window: str, place: int) -> None:
    """Let an update of silver tell only the key and `a`, as formats do that write what changed."""
    for record in world.rows.silver[window]:
        sequence = cast(dict[str, int], record["sequence"])
        if sequence["hi"] == place:
            record["after"], record["before"], record["partial_after"] = '{"id": 77, "a": 7}', None, True


@pytest.mark.parametrize(
    ("changed", "shown"), [("decimal(12,0)", ("1", "0")), ("varchar(30)", ("1", "0")), ("bigint", (1, 0))]
)
def test_a_truth_value_is_the_number_that_it_was_at_the_source(changed: str, shown: tuple[object, object]) -> None:
    types = {"id": "LONG", "f": "BOOLEAN"}
    create = ddl(1, "create table t (id int primary key, f tinyint(1))")
    world = World(make_settings("streamx_json"))
    rows = [change(2, types, {"id": 1, "f": True}), change(3, types, {"id": 2, "f": False})]
    for part in ([create, rows[0]], [ddl(10, f"alter table t modify f {changed}")], [rows[1]]):
        world.replay(world.deliver(part))
    table = world.gold()["gold_shop.t"]
    assert (rows_of(table), table.hold) == ([{"id": 1, "f": shown[0]}, {"id": 2, "f": shown[1]}], None)


@pytest.mark.parametrize("changed", ["bigint", "varchar(30)"])
def test_a_row_that_is_missing_stops_the_table_as_it_is(changed: str) -> None:
    types = {"id": "LONG", "a": "LONG", "b": "STRING"}
    world = World(make_settings("streamx_json"))
    create = ddl(1, "create table t (id int primary key, a int, b varchar(9))")
    world.replay(world.deliver([create, change(2, types, {"id": 1, "a": 1, "b": "x"})]))
    partial = change(12, types, {"id": 77, "a": 7, "b": "y"}, {"id": 77, "a": 6, "b": "y"})
    window = world.deliver([ddl(10, f"alter table t modify a {changed}"), partial])
    make_partial(world, window, 12)
    world.replay(window)
    for _ in range(2):
        table = world.gold()["gold_shop.t"]
        assert table.hold is not None
        assert [str(row["a"]) for row in map(json.loads, table.rows)] == ["1"]
        world.rebuild("gold_shop.t")


@pytest.mark.parametrize("columns", ["a int, z varchar(9)", "z varchar(9), a int"])
def test_a_lossless_change_takes_no_lossy_one_along(columns: str) -> None:
    types = {"id": "LONG", "a": "LONG", "z": "STRING"}
    world = World(make_settings("streamx_json"))
    create = ddl(1, f"create table t (id int primary key, {columns})")
    world.replay(world.deliver([create, change(2, types, {"id": 1, "a": 1, "z": "abc"})]))
    world.settings = make_settings("streamx_json", {"shop.t": {"types": {"z": "int"}}})
    world.replay(world.deliver([ddl(10, "alter table t modify a varchar(30)")]))
    table = world.gold()["gold_shop.t"]
    assert table.hold is not None
    assert table.hold.code == "LATE_CHANGE"
    assert [row["z"] for row in map(json.loads, table.rows)] == ["abc"]


def test_a_late_row_finds_its_key_though_the_keys_type_was_rewritten_since() -> None:
    types = {"d": "STRING", "e": "STRING", "a": "LONG"}
    world = World(make_settings("streamx_json"))
    create = ddl(1, "create table t (d decimal(5,1), e decimal(5,1), a int, primary key (d, e))")
    first = change(2, types, {"d": "1.5", "e": "2.0", "a": 1}, key="d e")
    late = change(5, types, {"d": "1.5", "e": "2.0", "a": 5}, {"d": "1.5", "e": "2.0", "a": 1}, key="d e")
    newer = change(20, types, {"d": "1.50", "e": "2.0", "a": 20}, {"d": "1.50", "e": "2.0", "a": 5}, key="d e")
    for part in ([create, first], [ddl(10, "alter table t modify d decimal(8,2)"), newer], [late]):
        world.replay(world.deliver(part))
    assert rows_of(world.gold()["gold_shop.t"]) == [{"d": "1.50", "e": "2.0", "a": 20}]
