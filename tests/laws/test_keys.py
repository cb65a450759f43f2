"""A table that gets its primary key by a statement of its own, as exports of a schema write it."""

import pytest

from decode.events import canal
from laws.world import World, make_settings
from retable.model.message import RawMessage

CREATE = "create table t (id int not null, c varchar(9))"
KEY = "alter table t add primary key (id)"


def statement(offset: int, sql: str) -> RawMessage:
    return canal(offset, isDdl=True, type="ALTER", data=None, pkNames=None, sql=sql)


def row(offset: int, kind: str, value: str, keys: list[str] | None) -> RawMessage:
    return canal(offset, type=kind, data=[{"id": "1", "c": value}], old=None, pkNames=keys)


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


@pytest.mark.parametrize("cut", [0, 1, 2, 3, 4])
def test_a_key_that_is_set_over_rows_holds_the_table_before_it(cut: int) -> None:
    messages = [statement(1, CREATE), row(2, "INSERT", "a", None), statement(3, KEY), row(4, "UPDATE", "b", ["id"])]
    world = World(make_settings("canal_json"))
    for part in (messages[:cut], messages[cut:]):
        world.replay(world.deliver(part))
    table = world.gold()["gold_shop.t"]
    assert table.rows == ('{"id": 1, "c": "a"}',)
    assert table.hold is not None
    assert table.hold.statement == KEY


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
