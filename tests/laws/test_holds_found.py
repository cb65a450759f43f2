"""Tables that stop: at the right place, alone, and once."""

from laws.test_policies import WORD, ddl, row, run, seen, settle


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
