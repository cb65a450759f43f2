"""A table that gets its primary key by a statement of its own, as exports of a schema write it."""

import json

import pytest

from formats.events import canal
from laws.world import World, make_settings
from retable.model.message import RawMessage

CREATE = "create table t (id int not null, c varchar(9))"
KEY = "alter table t add primary key (id)"


def statement(offset: int, sql: str) -> RawMessage:
    return canal(offset, isDdl=True, type="ALTER", data=None, pkNames=None, sql=sql)


def row(offset: int, kind: str, value: str, keys: list[str] | None) -> RawMessage:
    return canal(offset, type=kind, data=[{"id": "1", "c": value}], old=None, pkNames=keys)


def replayed(messages: list[RawMessage], cut: int, backwards: bool = False) -> World:
    world = World(make_settings("canal_json"))
    names = [world.deliver(part) for part in (messages[:cut], messages[cut:])]
    for name in reversed(names) if backwards else names:
        world.replay(name)
    return world


def shown(world: World) -> list[dict[str, object]]:
    table = world.gold()["gold_shop.t"]
    assert table.hold is None
    return [json.loads(text) for text in table.rows]


@pytest.mark.parametrize("cut", [0, 1, 2, 3, 4])
def test_a_key_that_is_set_before_the_first_row_is_the_tables_key(cut: int) -> None:
    messages = [statement(1, CREATE), statement(2, KEY), row(3, "INSERT", "a", ["id"]), row(4, "UPDATE", "b", ["id"])]
    world = World(make_settings("canal_json"))
    names = [world.deliver(part) for part in (messages[:cut], messages[cut:])]
    for name in reversed(names):
        world.replay(name)
    table = world.gold()["gold_shop.t"]
    assert (table.rows, table.hold) == (('{"id": 1, "c": "b"}',), None)
    assert world.states()["gold_shop.t"].keys == ("id",)


@pytest.mark.parametrize("keys", [["c"], ["id", "c"]])
@pytest.mark.parametrize("cut", [1, 2, 3])
def test_messages_that_name_another_key_than_the_statements_hold_their_table(keys: list[str], cut: int) -> None:
    made = statement(1, "create table t (id int not null primary key, c varchar(9) not null)")
    messages = [made, row(2, "INSERT", "a", ["id"]), row(3, "INSERT", "b", keys)]
    hold = replayed(messages, cut).gold()["gold_shop.t"].hold
    assert hold is not None
    assert hold.code == "KEY_UNKNOWN"


def test_the_settings_say_which_of_two_keys_it_is() -> None:
    made = statement(1, "create table t (id int not null primary key, c varchar(9) not null)")
    world = World(make_settings("canal_json", tables={"shop.t": {"keys": ["c"]}}))
    world.replay(world.deliver([made, row(2, "INSERT", "a", ["id"]), row(3, "INSERT", "b", ["c"])]))
    assert [each["c"] for each in shown(world)] == ["a", "b"]


@pytest.mark.parametrize("cut", [0, 1, 2, 3, 4])
def test_rows_without_a_key_get_the_one_that_is_set_over_them(cut: int) -> None:
    messages = [statement(1, CREATE), row(2, "INSERT", "a", None), statement(3, KEY), row(4, "UPDATE", "b", ["id"])]
    assert shown(replayed(messages, cut)) == [{"id": 1, "c": "b"}]


@pytest.mark.parametrize("cut", range(8))
@pytest.mark.parametrize("backwards", [False, True])
def test_rows_are_known_by_the_key_of_their_time(cut: int, backwards: bool) -> None:
    messages = [
        statement(1, "create table t (id int not null primary key, c varchar(9) not null)"),
        row(2, "INSERT", "a", ["id"]),
        row(3, "UPDATE", "b", ["id"]),
        statement(4, "alter table t drop primary key, add primary key (c)"),
        row(5, "INSERT", "z", ["c"]),
        canal(6, type="UPDATE", data=[{"id": "7", "c": "z"}], old=[{"id": "1"}], pkNames=["c"]),
        canal(7, type="DELETE", data=[{"id": "1", "c": "b"}], old=None, pkNames=["c"]),
    ]
    assert shown(replayed(messages, cut, backwards)) == [{"id": 7, "c": "z"}]


@pytest.mark.parametrize("cut", range(6))
def test_a_key_may_go_with_its_column(cut: int) -> None:
    messages = [
        statement(1, "create table t (id int not null primary key, c varchar(9) not null)"),
        row(2, "INSERT", "a", ["id"]),
        row(3, "UPDATE", "b", ["id"]),
        statement(4, "alter table t drop primary key, drop column id, add primary key (c)"),
        canal(5, type="INSERT", data=[{"c": "z"}], old=None, pkNames=["c"], mysqlType={"c": "varchar(9)"}),
    ]
    world = replayed(messages, cut)
    assert sorted(each["c"] for each in shown(world)) == ["b", "z"]


@pytest.mark.parametrize("cut", range(6))
def test_rows_of_a_table_that_lost_its_key_are_counted(cut: int) -> None:
    messages = [
        statement(1, "create table t (id int not null primary key, c varchar(9) not null)"),
        row(2, "INSERT", "a", ["id"]),
        statement(3, "alter table t drop primary key"),
        row(4, "INSERT", "a", None),
        row(5, "INSERT", "b", None),
    ]
    assert [each["c"] for each in shown(replayed(messages, cut))] == ["a", "a", "b"]


@pytest.mark.parametrize("cut", range(6))
@pytest.mark.parametrize(("first", "second"), [("a", "a"), ("a", None)])
def test_rows_that_clash_under_a_new_key_hold_the_table_before_it(cut: int, first: str, second: str | None) -> None:
    key = "alter table t drop primary key, add primary key (c)"
    messages = [
        statement(1, "create table t (id int not null primary key, c varchar(9))"),
        *(
            canal(2 + at, type="INSERT", data=[{"id": str(at), "c": value}], old=None, pkNames=["id"])
            for at, value in enumerate((first, second))
        ),
        statement(4, key),
        canal(5, type="INSERT", data=[{"id": "9", "c": "z"}], old=None, pkNames=["c"]),
    ]
    world = replayed(messages, cut)
    table = world.gold()["gold_shop.t"]
    assert (table.hold is not None and (table.hold.code, table.hold.statement)) == ("KEY_CLASH", key)
    assert [json.loads(text)["id"] for text in table.rows] == [0, 1]


def test_a_late_row_below_a_key_change_is_known_by_the_key_of_its_time() -> None:
    messages = [
        statement(1, "create table t (id int not null primary key, c varchar(9) not null)"),
        row(2, "INSERT", "a", ["id"]),
        statement(4, "alter table t drop primary key, add primary key (c)"),
        row(5, "INSERT", "z", ["c"]),
    ]
    world = replayed(messages, 4)
    world.replay(world.deliver([row(3, "UPDATE", "b", ["id"])]))
    assert [each["c"] for each in shown(world)] == ["b", "z"]


def test_a_key_that_gold_has_is_not_looked_for_in_all_of_silver_again(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(make_settings("canal_json"))
    world.replay(world.deliver([statement(1, CREATE), statement(2, KEY), row(3, "INSERT", "a", ["id"])]))
    window = world.deliver([row(4, "UPDATE", "b", ["id"])])
    monkeypatch.setattr(world.rows, "table_rows", lambda *_: pytest.fail("all rows were read"))
    world.replay(window)
    assert world.gold()["gold_shop.t"].rows == ('{"id": 1, "c": "b"}',)


def test_a_key_that_is_set_after_a_truncate_counts() -> None:
    empty = canal(3, isDdl=True, type="TRUNCATE", data=None, pkNames=None, sql="truncate table t")
    messages = [statement(1, CREATE), row(2, "INSERT", "a", None), empty, statement(4, KEY)]
    world = World(make_settings("canal_json"))
    world.replay(world.deliver([*messages, row(5, "INSERT", "b", ["id"]), row(6, "UPDATE", "c", ["id"])]))
    table = world.gold()["gold_shop.t"]
    assert (table.rows, table.hold) == (('{"id": 1, "c": "c"}',), None)
