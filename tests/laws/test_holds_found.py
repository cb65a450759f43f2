"""Tables that stop: at the right place, alone, and once."""

import json

from formats.events import raw
from laws.test_policies import TABLE, WORD, ddl, row, run, seen, settle
from laws.world import World, make_settings
from retable.model.message import RawMessage


def read_by_snapshot(offset: int, number: int, day: str) -> RawMessage:
    """A row of a snapshot of Debezium's MySQL connector, all rows of which have one place in the log."""
    image = [{"field": "id", "type": "int32", "optional": False}, {"field": "d", "type": "string", "optional": True}]
    fields = [{"field": name, "type": "struct", "optional": True, "fields": image} for name in ("before", "after")]
    origin = {"version": "2.5.0.Final", "connector": "mysql", "name": "erp", "db": "shop", "table": "t"}
    place = {"ts_ms": 1700000000000, "snapshot": "true", "server_id": 1, "gtid": None, "pos": 100, "row": 0}
    source = {**origin, **place, "file": "mysql-bin.000003"}
    payload = {"before": None, "after": {"id": number, "d": day}, "op": "r", "ts_ms": 1700000000000, "source": source}
    value = {"schema": {"type": "struct", "fields": fields}, "payload": payload}
    key = {"schema": {"type": "struct", "fields": image[:1]}, "payload": {"id": number}}
    body = raw(json.dumps(value).encode()).value
    return RawMessage("erp", 0, offset, 1_700_000_000_000, json.dumps(key).encode(), body)


def test_a_skipped_row_of_a_snapshot_takes_no_other_row_with_it() -> None:
    days = ("2024-01-01", "0000-00-00", "2024-01-03", "2024-01-04")
    world = World(make_settings("debezium_json", {"shop.*": {"types": {"d": "date"}}}))
    world.replay(world.deliver([read_by_snapshot(n, n, day) for n, day in enumerate(days, 1)]))
    world.release(TABLE, "skip")
    assert [each["id"] for each in seen(world)[1]] == [1, 3, 4]


def test_a_table_that_stopped_as_it_is_stays_so_though_a_later_statement_holds_too() -> None:
    windows = [
        [ddl(1, "create table t (id int primary key, a varchar(9))"), row(2, "INSERT", id="1", a=("5", WORD))],
        [row(3, "INSERT", id="2", a=("word", WORD))],
        [
            ddl(5, "alter table t modify a int"),
            ddl(8, "alter table t drop partition p0"),
            row(9, "INSERT", id="4", a="8"),
        ],
    ]
    world = run(windows[:], (2, 1))
    assert seen(world)[2] == "LATE_CHANGE"
    world.replay(world.names[0])
    assert seen(world)[2] == "LATE_CHANGE"
    settle(world)
    assert world.gold() == run([[*windows[0], *windows[1], *windows[2]]]).gold()


def test_messages_of_two_keys_and_a_statement_that_holds_come_to_an_end() -> None:
    messages = [
        row(2, "INSERT", id="1", b="1"),
        row(3, "INSERT", keys=("b",), id="2", b="2"),
        ddl(5, "alter table t drop partition p0"),
    ]
    assert seen(run([messages]))[2] == "KEY_UNKNOWN"


def test_a_default_that_the_new_type_does_not_hold_stops_its_table_alone() -> None:
    messages = [
        ddl(1, "create table t (id int primary key)"),
        row(2, "INSERT", id="1"),
        ddl(6, "alter table t add l decimal(8,2) default '5.00'"),
        ddl(9, "alter table t modify l date"),
        ddl(13, "drop table t"),
        ddl(14, "create table t (id int primary key)"),
        ddl(20, "create table o (id int primary key)", "o"),
        row(21, "INSERT", "o", id="1"),
    ]
    assert len(run([messages]).catalog.tables["gold_shop.o"].rows) == 1
