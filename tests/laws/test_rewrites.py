"""Rows that are older than a column show its default as it was added, whatever type the column was given since."""

import json

import pytest

from decode.events import canal
from laws.world import World, make_settings
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
