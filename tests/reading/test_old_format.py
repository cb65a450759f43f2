"""Format v2 shows no default of its own: rows are written anew. Gold is what it is in v3, however windows are cut."""

import pytest

from formats.events import canal
from laws.world import World, make_settings
from retable.model.message import RawMessage


def statement(offset: int, sql: str) -> RawMessage:
    return canal(offset, isDdl=True, type="ALTER", data=None, pkNames=None, sql=sql)


TYPES = {"id": "int", "c": "varchar(9)", "e": "varchar(9)", "state": "varchar(8)", "n": "int", "d": "decimal(5,1)"}


def rows(offset: int, *data: dict[str, str | None], **fields: object) -> RawMessage:
    return canal(offset, data=data, mysqlType={name: TYPES[name] for name in data[0]}, sqlType=None, **fields)


MESSAGES = [
    statement(1, "create table t (id int not null primary key, c varchar(9))"),
    rows(2, {"id": "1", "c": "x"}, {"id": "2", "c": "y"}),
    statement(3, "alter table t add state varchar(8) not null default 'new', add n int"),
    rows(4, {"id": "2", "c": "z", "state": "paid", "n": "3"}, type="UPDATE", old=[{"c": "y"}]),
    statement(5, "alter table t add d decimal(5,1) default 1.5 first, rename column c to e"),
    rows(6, {"d": "1.5", "id": "1", "e": "x", "state": "new", "n": None}, type="DELETE"),
    rows(7, {"d": None, "id": "3", "e": "w", "state": "sent", "n": "4"}),
]


@pytest.mark.parametrize("cut", range(len(MESSAGES)))
def test_a_table_of_format_v2_holds_what_one_of_v3_holds(cut: int) -> None:
    old, new = (World(make_settings("canal_json", {"shop.*": {"format_version": version}})) for version in (2, 3))
    for part in (MESSAGES[:cut], MESSAGES[cut:]):
        for world in (old, new):
            world.replay(world.deliver(part))
        assert old.gold() == new.gold()
    table = old.gold()["gold_shop.t"]
    assert (len(table.rows), table.hold) == (2, None)
    assert set(old.catalog.tables["gold_shop.t"].defaults.values()) == {None}
