"""A statement that comes again at another place of the queue, as after a failover of Canal: it changes nothing more."""

import json
from collections.abc import Sequence

import pytest

from formats.events import canal
from laws.world import Gold, World, make_settings
from retable.model.message import RawMessage

T = "gold_shop.t"


def ddl(offset: int, sql: str, es: int, gtid: str = "", table: str = "t") -> RawMessage:
    kind = sql.split()[0].upper()
    return canal(offset, isDdl=True, type=kind, table=table, data=None, pkNames=None, sql=sql, es=es, gtid=gtid)


def row(offset: int, es: int, table: str = "t", **values: str) -> RawMessage:
    types = dict.fromkeys(values, "varchar(9)") | {"id": "int"}
    return canal(offset, table=table, data=[values], mysqlType=types, sqlType=None, es=es)


def told_to(*messages: RawMessage, cut: int = 0) -> World:
    world = World(make_settings("canal_json"))
    for window in (messages[:cut], messages[cut:]):
        world.replay(world.deliver(window))
    return world


def replayed(*messages: RawMessage, cut: int = 0) -> dict[str, Gold]:
    return told_to(*messages, cut=cut).gold()


def shown(gold: Gold) -> list[dict[str, object]]:
    assert gold.hold is None
    return [json.loads(each) for each in gold.rows]


CREATE, ADD = "create table t (id int primary key)", "alter table t add column c varchar(9) not null default '7'"


@pytest.mark.parametrize("gtid", ["", "3E11FA47-71CA-11E1-9E33-C80AA9429562:23"])
@pytest.mark.parametrize("cut", range(8))
def test_what_is_delivered_again_changes_nothing(cut: int, gtid: str) -> None:
    def told(offset: int) -> Sequence[RawMessage]:
        rows = [row(offset + 1, 2000, id="1"), row(offset + 3, 4000, id="2", c="8")]
        return [ddl(offset, CREATE, 1000, gtid), rows[0], ddl(offset + 2, ADD, 3000, gtid), rows[1]]

    gold = replayed(*told(1), *told(11)[2:], row(20, 5000, id="3", c="9"), cut=cut)[T]
    assert shown(gold) == [{"id": 1, "c": "7"}, {"id": 2, "c": "8"}, {"id": 3, "c": "9"}]
    gold = replayed(*told(1), *told(11)[1:], row(20, 5000, id="3", c="9"), cut=cut)[T]
    assert shown(gold) == [{"id": 1, "c": "7"}, {"id": 2, "c": "8"}, {"id": 3, "c": "9"}]
    gold = replayed(*told(1), *told(11), row(20, 5000, id="3", c="9"), cut=cut)[T]
    assert shown(gold) == [{"id": 1, "c": "7"}, {"id": 2, "c": "8"}, {"id": 3, "c": "9"}]


@pytest.mark.parametrize(
    "text",
    [
        "alter table t drop column c",
        "alter table t change c d varchar(9)",
        "alter table t add primary key (id)",
        "alter table t modify c varchar(20) not null",
        "alter table t drop column c, add column d int",
        "rename table t to u",
    ],
)
@pytest.mark.parametrize("cut", range(6))
def test_a_statement_that_comes_again_stops_nothing(text: str, cut: int) -> None:
    made = "create table t (id int not null, c varchar(9))"
    told = [ddl(1, made, 1000), row(2, 2000, id="1", c="a"), ddl(3, text, 3000)]
    once, twice = replayed(*told), replayed(*told, ddl(4, text, 3000), ddl(5, text, 3000), cut=cut)
    assert once == twice
    assert all(gold.hold is None for gold in twice.values())


def test_the_same_text_at_another_time_is_another_statement() -> None:
    gold = replayed(ddl(1, CREATE, 1000), ddl(2, ADD, 2000), ddl(3, ADD, 3000))[T]
    assert gold.hold is not None
    gold = replayed(ddl(1, CREATE, 1000), ddl(2, ADD, 2000, "a:1"), ddl(3, ADD, 2000, "a:2"))[T]
    assert gold.hold is not None


@pytest.mark.parametrize("gtid", ["", "3E11FA47-71CA-11E1-9E33-C80AA9429562:23"])
@pytest.mark.parametrize("cut", range(7))
def test_a_swap_that_comes_again_is_not_swapped_back_and_says_so(cut: int, gtid: str) -> None:
    swap = "rename table a to tmp, b to a, tmp to b"
    told = [
        *(
            ddl(at, f"create table {name} (id int primary key, v varchar(9))", at, table=name)
            for at, name in [(1, "a"), (2, "b")]
        ),
        row(3, 3, "a", id="1", v="was a"),
        row(4, 4, "b", id="1", v="was b"),
        ddl(5, swap, 5, gtid, "a"),
        ddl(6, swap, 5, gtid, "a"),
        row(7, 7, "a", id="2", v="a"),
    ]
    world = told_to(*told, cut=cut)
    tables = ("gold_shop.a", "gold_shop.b")
    assert [json.loads(each)["v"] for name in tables for each in world.gold()[name].rows] == ["was b", "was a"]
    for name in tables:
        hold = world.states()[name].hold
        assert hold is not None
        assert "this statement repeats the statement at 0.5.0" in hold.reason
    for name in tables:
        world.release(name, "skip")
    assert [[json.loads(each)["v"] for each in world.gold()[name].rows] for name in tables] == [
        ["was b", "a"],
        ["was a"],
    ]


def test_a_table_that_is_made_dropped_and_made_again_at_once_is_there() -> None:
    told = [ddl(1, CREATE, 1000), row(2, 1000, id="1"), ddl(3, "drop table t", 1000), ddl(4, CREATE, 1000)]
    assert shown(replayed(*told, row(5, 1000, id="2"))[T]) == [{"id": 2}]
