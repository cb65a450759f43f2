"""What the policies of a table make of its changes, and what people decide where it is held.

However a stream is cut, and in whatever order its windows are replayed, gold is what a rebuild makes of it.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import cast

import pytest

from formats.events import canal
from laws.story import Story
from laws.world import Gold, World, make_settings
from retable.ddl.registry import gold_type
from retable.decode.context import context_of
from retable.fold.casts import Inexact, caster
from retable.formats.reading import ValueRules
from retable.formats.registry import decode_message
from retable.model.event import ChangeEvent
from retable.model.message import RawMessage
from retable.model.sequence import Sequence
from retable.schema_history.history import Column, Fill
from retable.values.number_text import as_float
from verify.pure import Verifier

TABLE = "gold_shop.t"
ORDERS = ((0, 1, 2), (2, 1, 0), (1, 2, 0))
Rows = list[dict[str, object]]


@dataclass(frozen=True, slots=True)
class Stream:
    """Messages as verification reads them again."""

    windows: list[list[RawMessage]]
    world: World

    def events_of(self, record: RawMessage) -> list[ChangeEvent]:
        return decode_message(record, context_of(self.world.source))


def ddl(place: int, text: str, table: str = "t") -> RawMessage:
    return canal(place, isDdl=True, type="ALTER", data=None, pkNames=None, sql=text, table=table)


def row(place: int, op: str, table: str = "t", keys: tuple[str, ...] = ("id",), **values: object) -> RawMessage:
    """A row of Canal. `values` are columns by their name, each a text and its type, as `a=("1", "int")`."""
    told = {name: each if isinstance(each, tuple) else (each, "int") for name, each in values.items()}
    image = {name: value for name, (value, _) in told.items()}
    types = {name: kind for name, (_, kind) in told.items()}
    old = [{}] if op == "UPDATE" else None
    return canal(
        place, type=op, table=table, data=[image], old=old, mysqlType=types, sqlType=None, pkNames=list(keys) or None
    )


def rules(**told: object) -> Mapping[str, object]:
    return {"shop.*": told}


def run(windows: list[list[RawMessage]], order: tuple[int, ...] = (), **told: object) -> World:
    world = World(make_settings("canal_json", rules(**told)))
    names = [world.deliver(window) for window in windows]
    for number in order or range(len(names)):
        world.replay(names[number])
    return world


def seen(world: World, table: str = TABLE) -> tuple[tuple[str, ...], Rows, str | None]:
    """A table's columns, rows by id, and the code of its hold."""
    gold: Gold = world.gold()[table]
    rows = sorted(map(json.loads, gold.rows), key=lambda each: str(each.get("id")))
    return gold.columns, rows, gold.hold and gold.hold.code


def in_every_way(messages: list[RawMessage], **told: object) -> World:
    """Cut the stream, replay its windows in several orders, verify and rebuild: gold is always the same."""
    whole = run([messages], **told)
    count = len(messages)
    for first, second in ((count // 3, 2 * count // 3), (count // 2, count - 1)):
        windows = [messages[:first], messages[first:second], messages[second:]]
        for order in ORDERS:
            world = run(windows, order, **told)
            settle(world)
            assert world.gold() == whole.gold(), (first, second, order)
            check(world, windows)
    settle(whole, rebuild=True)
    check(whole, [messages])
    return whole


def settle(world: World, rebuild: bool = False) -> None:
    """Rebuild what came in an order that holds, or everything."""
    for name, state in world.states().items():
        if rebuild or (state.hold is not None and state.hold.position is None):
            before = world.gold().get(name)
            world.rebuild(name)
            assert not rebuild or world.gold().get(name) == before


def check(world: World, windows: list[list[RawMessage]]) -> None:
    """Verification finds nothing, and another replay of anything changes nothing."""
    for name, report in Verifier(cast(Story, Stream(windows, world)), world).every().items():
        assert (name, report.findings, report.rows and report.rows.samples) == (name, (), [])
    before = world.digest()
    for name in world.names:
        assert not world.replay(name)
    assert world.digest() == before


CREATE = ddl(1, "create table t (id int primary key, a decimal(8,2), b varchar(9))")
NUMBER, WORD = "decimal(8,2)", "varchar(9)"
FIRST = [
    CREATE,
    row(2, "INSERT", id="1", a=("5.00", NUMBER), b=("x", WORD)),
    row(3, "INSERT", id="2", a=("6.60", NUMBER), b=("y", WORD)),
    row(4, "INSERT", id="3", a=(None, NUMBER), b=(None, WORD)),
]
CHANGE = ddl(5, "alter table t change a points int")
LATER = [
    row(6, "INSERT", id="4", points=("8", "int"), b=("z", WORD)),
    row(7, "UPDATE", id="1", points=("9", "int"), b=("x", WORD)),
]


def test_a_lossy_change_keeps_the_old_column_beside_the_new_one() -> None:
    columns, rows, hold = seen(in_every_way([*FIRST, CHANGE, *LATER]))
    assert (columns, hold) == (("id", "points", "b", "a__until_1"), None)
    assert [(each["points"], each["a__until_1"]) for each in rows] == [(9, None), (7, "6.60"), (None, None), (8, None)]


def test_the_old_column_keeps_its_field_and_the_new_one_gets_its_own() -> None:
    world = run([FIRST])
    before = {column.name: column.field_id for column in world.states()[TABLE].columns}
    world.replay(world.deliver([CHANGE, *LATER]))
    after = {column.name: column.field_id for column in world.states()[TABLE].columns}
    assert after["a__until_1"] == before["a"]
    assert after["points"] not in before.values()


def test_several_changes_of_one_name_are_told_apart() -> None:
    messages = [
        *FIRST[:2],
        ddl(10, "alter table t modify a int"),
        row(11, "INSERT", id="2", a=("7", "int"), b=("y", WORD)),
        ddl(12, "alter table t modify a varchar(2)"),
        ddl(13, "alter table t modify a varchar(1)"),
        ddl(14, "alter table t add a__until_2 int default 3"),
    ]
    columns, rows, hold = seen(in_every_way(messages))
    assert (columns, hold) == (("id", "a", "b", "a__until_2", "a__until_1", "a__until_3", "a__until_4"), None)
    assert rows == [
        {"id": 1, "a": "5", "b": "x", "a__until_1": "5.00", "a__until_3": 5, "a__until_4": "5", "a__until_2": 3},
        {"id": 2, "a": "7", "b": "y", "a__until_1": None, "a__until_3": 7, "a__until_4": "7", "a__until_2": 3},
    ]


@pytest.mark.parametrize(
    ("change", "shown"),
    [
        ("modify a int", ("5.00", "7")),
        ("modify a varchar(20)", ("5.00", "7")),
        ("change a A double", ("5.00", "7")),
    ],
)
def test_a_column_becomes_text_where_the_settings_say_so(change: str, shown: tuple[str, str]) -> None:
    name = "A" if " A " in change else "a"
    messages = [*FIRST[:2], ddl(5, f"alter table t {change}"), row(6, "INSERT", id="2", b=("y", WORD), **{name: "7"})]
    columns, rows, hold = seen(in_every_way(messages, on={"type_change": "string"}))
    assert (columns, hold) == (("id", "a", "b"), None)
    assert tuple(each["a"] for each in rows) == shown


def test_the_settings_may_hold_instead() -> None:
    world = in_every_way([*FIRST, CHANGE, *LATER], on={"type_change": "hold"})
    columns, rows, hold = seen(world)
    assert (columns, [each["a"] for each in rows], hold) == (
        ("id", "a", "b"),
        ["5.00", "6.60", None],
        "UNSUPPORTED_CHANGE",
    )


@pytest.mark.parametrize(
    ("told", "value", "changed", "shown"),
    [
        ("varchar(9)", "12", "int", 12),
        ("varchar(9)", "2024-02-29", "date", "2024-02-29"),
        ("varchar(9)", "long text", "varchar(9)", "long text"),
        ("varchar(9)", "four", "varchar(4)", "four"),
        ("int", "-128", "tinyint", -128),
        ("int", "77", "int unsigned", 77),
        ("datetime(6)", "2024-01-02 03:04:05.120000", "datetime(2)", "2024-01-02T03:04:05.120000"),
        ("datetime(3)", "2024-01-02 03:04:05.120", "varchar(30)", "2024-01-02 03:04:05.120"),
        ("datetime", "2024-01-02 00:00:00", "date", "2024-01-02"),
        ("double", "0.25", "decimal(9,4)", "0.2500"),
        ("double", "1.5", "varchar(30)", "1.5"),
        ("decimal(9,4)", "-1.0050", "decimal(9,2)", "-1.01"),
        ("enum('a','b')", "a", "enum('a','c')", "a"),
        ("varchar(9)", "a", "enum('a','c')", "a"),
        ("bigint", "5", "double", 5.0),
        ("float", "0.5", "varchar(20)", "0.5"),
        ("year", "0000", "varchar(4)", "0000"),
        ("set('a','b')", "a,b", "set('a','c','b')", "a,b"),
        ("set('a','b')", "b", "set('b','a')", "b"),
        ("varchar(9)", "a,b", "set('a','b')", "a,b"),
    ],
)
def test_older_rows_show_what_the_source_made_of_their_value(
    told: str, value: str, changed: str, shown: object
) -> None:
    messages = [
        ddl(1, f"create table t (id int primary key, a {told})"),
        row(2, "INSERT", id="1", a=(value, told)),
        ddl(3, f"alter table t modify a {changed}"),
    ]
    _, rows, hold = seen(in_every_way(messages))
    assert ([each["a"] for each in rows], hold) == ([shown], None)


@pytest.mark.parametrize(
    ("told", "value", "changed"),
    [
        ("varchar(9)", "twelve", "int"),
        ("varchar(9)", "twelve", "varchar(4)"),
        ("int", "128", "tinyint"),
        ("int", "-1", "int unsigned"),
        ("datetime(6)", "2024-01-02 03:04:05.123456", "datetime"),
        ("datetime", "2024-01-02 03:04:05", "date"),
        ("timestamp", "2024-01-02 03:04:05", "datetime"),
        ("double", "0.3", "int"),
        ("double", "1e300", "varchar(400)"),
        ("enum('a','b')", "b", "enum('a','c')"),
        ("enum('a','b')", "a", "int"),
        ("decimal(8,2)", "99999.60", "smallint"),
        ("varchar(9)", "word  ", "char(8)"),
        ("varchar(9)", "10:00:00", "time"),
        ("varchar(9)", "b,a", "set('a','b')"),
        ("varchar(9)", "a,a", "set('a','b')"),
        ("set('a','b')", "a,b", "set('b','a')"),
        ("varchar(9)", "5", "bit(8)"),
        ("varchar(9)", "0", "year"),
        ("float", "1234567", "varchar(20)"),
        ("float(8,2)", "5.50", "varchar(20)"),
        ("double(8,2)", "5.50", "varchar(20)"),
    ],
)
def test_a_value_of_which_nothing_tells_what_became_of_it_holds_the_table(told: str, value: str, changed: str) -> None:
    messages = [
        ddl(1, f"create table t (id int primary key, a {told})"),
        row(2, "INSERT", id="1", a=(value, told)),
        ddl(3, f"alter table t modify a {changed}"),
        row(4, "DELETE", id="1", a=(None, changed)),
    ]
    world = in_every_way(messages)
    columns, rows, hold = seen(world)
    assert (columns, len(rows), hold) == (("id", "a"), 1, "INEXACT_CAST")
    found = world.states()[TABLE].hold
    assert found is not None
    assert found.statement == f"alter table t modify a {changed}"
    assert "column 'a'" in found.reason


def made(system: str, old: str, new: str, value: object) -> object:
    """What a value of a column becomes when its type is changed."""
    was, becomes = gold_type(system, old), gold_type(system, new)
    assert was is not None
    assert becomes is not None
    fill = Fill(Sequence(0, 5, 0), Column(id="x", name="a", source_type=old, type=was), new, becomes)
    return caster(fill, ValueRules(system=system))(value)


MORNING = 1_704_164_645_000_000
"""2024-01-02 03:04:05 as microseconds since 1970."""


@pytest.mark.parametrize(
    ("system", "old", "new", "value", "shown"),
    [
        ("mysql", "float", "varchar(20)", as_float(0.123457), "0.123457"),
        ("mysql", "float", "varchar(20)", 123456.0, "123456"),
        ("mariadb", "double", "varchar(30)", 0.1234567, "0.1234567"),
        ("mysql", "year", "char(4)", 2024, "2024"),
        ("sqlserver", "varchar(9)", "nchar(3)", "ab", "ab "),
        ("sqlserver", "int", "varchar(3)", -12, "-12"),
        ("sqlserver", "decimal(9,2)", "nvarchar(9)", Decimal("0.50"), "0.50"),
        ("sqlserver", "date", "varchar(30)", 19_724, "2024-01-02"),
        ("sqlserver", "time(3)", "time(2)", "10:00:00.120", "10:00:00.120"),
        ("sqlserver", "datetime", "datetime2(3)", MORNING + 120_000, MORNING + 120_000),
        ("sqlserver", "float", "decimal(9,4)", 0.25, Decimal("0.2500")),
    ],
)
def test_a_value_becomes_what_its_database_makes_of_it(
    system: str, old: str, new: str, value: object, shown: object
) -> None:
    assert made(system, old, new, value) == shown


@pytest.mark.parametrize(
    ("system", "old", "new", "value"),
    [
        ("mysql", "float", "varchar(20)", as_float(0.1234567)),
        ("mariadb", "float", "text", 16_777_216.0),
        ("mysql", "double(8,2)", "text", 5.0),
        ("mariadb", "text", "bit(64)", "5"),
        ("mysql", "char(4)", "year(4)", "2024"),
        ("sqlserver", "float", "varchar(30)", 0.5),
        ("sqlserver", "real", "nvarchar(30)", 1.0),
        ("sqlserver", "datetime", "varchar(30)", MORNING),
        ("sqlserver", "datetime2(0)", "varchar(30)", MORNING),
        ("sqlserver", "smalldatetime", "varchar(30)", MORNING),
        ("sqlserver", "money", "varchar(30)", Decimal("5.1234")),
        ("sqlserver", "time", "varchar(30)", "10:00:00"),
        ("sqlserver", "uniqueidentifier", "char(36)", "0e984725-c51c-4bf4-9960-e1c80e27aba0"),
        ("sqlserver", "int", "varchar(2)", 123),
        ("sqlserver", "varbinary(9)", "nvarchar(9)", b"ab"),
        ("sqlserver", "binary(2)", "nchar(9)", b"ab"),
        ("sqlserver", "nvarchar(9)", "varbinary(9)", "ab"),
        ("sqlserver", "varchar(30)", "datetime", "2024-02-03 00:00:00"),
        ("sqlserver", "datetime", "datetime2", MORNING + 3_000),
        ("sqlserver", "float", "decimal(38,20)", 0.1),
    ],
)
def test_a_value_that_its_database_may_write_otherwise_is_named_and_not_guessed(
    system: str, old: str, new: str, value: object
) -> None:
    found = made(system, old, new, value)
    assert isinstance(found, Inexact)
    assert (found.column, found.became) == ("a", new)


def test_what_was_gone_before_the_change_does_not_hold() -> None:
    messages = [
        ddl(1, "create table t (id int primary key, a varchar(9))"),
        row(2, "INSERT", id="1", a=("twelve", WORD)),
        row(3, "UPDATE", id="1", a=("12", WORD)),
        row(4, "INSERT", id="2", a=("none", WORD)),
        row(5, "DELETE", id="2", a=("none", WORD)),
        ddl(6, "alter table t modify a int"),
    ]
    assert seen(in_every_way(messages))[1:] == ([{"id": 1, "a": 12, "a__until_1": "12"}], None)


@pytest.mark.parametrize("policy", ["side_column", "string"])
@pytest.mark.parametrize(
    ("created", "keys"),
    [("id varchar(9) primary key", ("id",)), ("id varchar(9)", ()), ("id varchar(9)", ("id",))],
)
def test_a_key_and_a_table_without_one_hold(policy: str, created: str, keys: tuple[str, ...]) -> None:
    messages = [
        ddl(1, f"create table t ({created}, a int)"),
        row(2, "INSERT", keys=keys, id=("1", WORD), a="1"),
        ddl(3, "alter table t modify id int"),
        row(4, "INSERT", keys=keys, id="2", a="2"),
    ]
    assert seen(in_every_way(messages, on={"type_change": policy}))[1:] == ([{"id": "1", "a": 1}], "UNSUPPORTED_CHANGE")


# --- tables ------------------------------------------------------------------------------------------------------
DROP = ddl(10, "drop table t")
AGAIN = [
    ddl(20, "create table t (id int primary key, c int)"),
    row(21, "INSERT", id="9", c="9"),
]


def test_a_dropped_table_is_emptied_and_what_it_held_stays_under_a_tag() -> None:
    world = in_every_way([*FIRST, DROP])
    assert (world.states()[TABLE].state, world.catalog.tables[TABLE].rows) == ("dropped", [])
    parts = run([FIRST, [DROP]])
    assert [len(rows) for rows in parts.catalog.tables[TABLE].tags.values()] == [3]
    assert list(parts.catalog.tables[TABLE].tags) == ["retable_dropped_0_10_0"]


def test_a_dropped_table_keeps_its_rows_where_the_settings_say_so() -> None:
    keep = {"drop_table": "keep"}
    world = in_every_way([*FIRST, DROP], on=keep)
    assert (world.states()[TABLE].state, len(world.catalog.tables[TABLE].rows)) == ("dropped", 3)
    assert seen(in_every_way([*FIRST, DROP, *AGAIN], on=keep)) == (("id", "c"), [{"id": 9, "c": 9}], None)


def test_a_dropped_table_leaves_the_catalog_where_the_settings_say_so_and_comes_back_when_it_is_created() -> None:
    gone = {"drop_table": "drop"}
    world = run([FIRST, [DROP], []], on=gone)
    assert TABLE not in world.catalog.tables
    assert [world.replay(name) for name in world.names] == [False, False, False]
    world.replay(world.deliver(AGAIN))
    assert seen(world) == (("id", "c"), [{"id": 9, "c": 9}], None)
    in_every_way([*FIRST, DROP, *AGAIN], on=gone)


def test_rows_behind_a_drop_that_no_statement_announced_stay_whatever_a_drop_does() -> None:
    late = row(40, "INSERT", id="5", a=("1", NUMBER), b=("late", WORD))
    for windows in (
        [[*FIRST, DROP, late]],
        [FIRST, [DROP, late]],
        [FIRST, [DROP], [late]],
        [[*FIRST, DROP], [late], []],
    ):
        world = run(windows, on={"drop_table": "drop"})
        assert [each["id"] for each in seen(world)[1]] == [5]
    assert [each["id"] for each in seen(in_every_way([*FIRST, DROP, late]))[1]] == [5]


def test_a_renamed_table_keeps_its_gold_name_where_the_settings_say_so() -> None:
    messages = [*FIRST, ddl(10, "rename table t to u"), row(11, "INSERT", "u", id="7", a=("1", NUMBER), b=("u", WORD))]
    world = in_every_way(messages, on={"rename_table": "keep_name"})
    assert list(world.gold()) == [TABLE]
    assert str(world.states()[TABLE].table) == "shop.u"
    assert len(seen(world)[1]) == 4


def test_a_renamed_table_is_held_where_the_settings_say_so_until_somebody_approves() -> None:
    messages = [*FIRST, ddl(10, "rename table t to u"), row(11, "INSERT", "u", id="7", a=("1", NUMBER), b=("u", WORD))]
    world = in_every_way(messages, on={"rename_table": "hold"})
    assert seen(world)[2] == "UNSUPPORTED_CHANGE"
    world.release(TABLE, "approve")
    world.replay(world.deliver([]))
    assert len(seen(world, "gold_shop.u")[1]) == 4


def test_partitions_that_go_may_leave_their_rows() -> None:
    messages = [*FIRST, ddl(10, "alter table t drop partition p0"), row(11, "DELETE", id="1", a=("5", NUMBER))]
    assert seen(in_every_way(messages))[2] == "UNSUPPORTED_CHANGE"
    assert len(seen(in_every_way(messages, on={"drop_partition": "keep_rows"}))[1]) == 2


# --- columns -----------------------------------------------------------------------------------------------------
def test_additive_tables_lose_no_column() -> None:
    messages = [
        *FIRST[:2],
        ddl(5, "alter table t drop a"),
        ddl(6, "alter table t rename column b to c"),
        row(7, "INSERT", id="2", c=("new", WORD)),
        row(8, "UPDATE", id="2", c=("newer", WORD)),
    ]
    columns, rows, hold = seen(in_every_way(messages, schema="additive"))
    assert (columns, hold) == (("id", "c", "a", "b"), None)
    assert rows == [
        {"id": 1, "c": "x", "a": "5.00", "b": "x"},
        {"id": 2, "c": "newer", "a": None, "b": "newer"},
    ]


def test_an_additive_table_takes_a_name_that_comes_again_for_another_column() -> None:
    messages = [*FIRST[:2], ddl(5, "alter table t drop a"), ddl(6, "alter table t add a int default 4")]
    columns, rows, _ = seen(in_every_way(messages, schema="additive"))
    assert (columns, rows) == (("id", "b", "a", "a__until_1"), [{"id": 1, "b": "x", "a": 4, "a__until_1": "5.00"}])


@pytest.mark.parametrize(
    "change",
    ["add c int", "drop a", "modify b varchar(10)", "rename column b to c", "drop primary key"],
)
def test_a_frozen_table_holds_at_any_change_of_its_columns(change: str) -> None:
    messages = [*FIRST[:2], ddl(5, f"alter table t {change}"), row(6, "DELETE", id="1", a=("5", NUMBER))]
    world = in_every_way(messages, schema="frozen")
    assert seen(world)[::2] == (("id", "a", "b"), "UNSUPPORTED_CHANGE")


def test_a_frozen_table_goes_on_over_what_is_no_change_of_it() -> None:
    messages = [*FIRST[:2], ddl(5, "alter table t modify a decimal(8,2) comment 'x'"), ddl(6, "truncate table t")]
    assert seen(in_every_way(messages, schema="frozen"))[1:] == ([], None)


def test_an_additive_table_that_is_created_anew_keeps_its_columns() -> None:
    columns, rows, _ = seen(in_every_way([*FIRST, DROP, *AGAIN], schema="additive"))
    assert (columns, rows) == (("id", "c", "a", "b"), [{"id": 9, "c": 9, "a": None, "b": None}])


def test_the_key_of_an_additive_table_may_be_renamed() -> None:
    messages = [
        row(2, "INSERT", id="1", b=("x", WORD)),
        ddl(5, "alter table t rename column id to no"),
        row(6, "INSERT", keys=("no",), no="2", b=("y", WORD)),
        row(7, "UPDATE", keys=("no",), no="1", b=("z", WORD)),
    ]
    for before in ([], [ddl(1, "create table t (id int primary key, b varchar(9))")]):
        columns, rows, hold = seen(in_every_way([*before, *messages], schema="additive"))
        assert (columns, hold) == (("no", "b", "id"), None)
        assert rows == [{"no": 1, "b": "z", "id": 1}, {"no": 2, "b": "y", "id": 2}]


# --- decisions ---------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("what", "text"),
    [("drop_table", "drop table t"), ("truncate", "truncate table t"), ("drop_column", "alter table t drop a")],
)
def test_a_destructive_change_waits_for_a_person(what: str, text: str) -> None:
    messages = [*FIRST[:2], ddl(5, text)]
    assert seen(in_every_way(messages, approve=[what]))[2] == "APPROVAL"
    for decision, like in (("approve", run([messages])), ("skip", run([FIRST[:2], []]))):
        world = run([messages[:1], messages[1:]], approve=[what])
        world.release(TABLE, "approve" if decision == "approve" else "skip")
        assert world.gold() == like.gold()
        settle(world, rebuild=True)
        check(world, [messages[:1], messages[1:]])


def test_a_dropped_database_waits_for_a_person_too() -> None:
    world = run([[*FIRST, ddl(10, "drop database shop", "")]], approve=["drop_table"])
    assert seen(world)[2] == "APPROVAL"
    world.release(TABLE, "skip")
    assert len(seen(world)[1]) == 3


def released(messages: list[RawMessage], kind: str | None, statement: str | None = None, **told: object) -> World:
    """A table that holds somewhere in the middle, released when all is there; later replays and a rebuild agree."""
    middle = len(messages) // 2
    windows = [messages[:middle], messages[middle:-1], messages[-1:]]
    world = run(windows, **told)
    assert world.states()[TABLE].hold is not None
    world.release(TABLE, None if kind is None else "replace" if kind == "replace" else "skip", statement)
    settle(world, rebuild=True)
    check(world, windows)
    anew = World(world.settings, decisions=world.decisions)
    for window in windows:
        anew.replay(anew.deliver(window))
    assert anew.gold() == world.gold()
    return world


HELD = [
    *FIRST,
    ddl(5, "alter table t drop partition p0, algorithm=copy"),
    row(6, "INSERT", id="4", a=("8.00", NUMBER), b=("z", WORD)),
    row(7, "UPDATE", id="1", a=("9.00", NUMBER), b=("x", WORD)),
]


def test_a_skipped_statement_counts_for_nothing() -> None:
    columns, rows, hold = seen(released(HELD, "skip"))
    assert (columns, hold) == (("id", "a", "b"), None)
    assert [each["a"] for each in rows] == ["9.00", "6.60", None, "8.00"]


def test_a_statement_is_taken_as_a_person_spells_it() -> None:
    messages = [
        *FIRST,
        ddl(5, "alter table t add c int as (id * 2) virtual"),
        row(6, "INSERT", id="4", a=("8.00", NUMBER), b=("z", WORD), c="8"),
        row(7, "UPDATE", id="1", a=("9.00", NUMBER), b=("x", WORD), c="2"),
    ]
    columns, rows, hold = seen(released(messages, "replace", "alter table t add c int first, rename column b to d"))
    assert (columns, hold) == (("c", "id", "a", "d", "b"), None)
    assert [each["c"] for each in rows] == [2, None, None, 8]


def test_what_stands_in_a_statements_place_must_be_about_its_table() -> None:
    world = run([HELD])
    world.release(TABLE, "replace", "alter table other add c int")
    hold = world.states()[TABLE].hold
    assert hold is not None
    assert "is about shop.other" in hold.reason


def test_a_change_that_no_cast_can_follow_is_settled_by_a_decision() -> None:
    messages = [
        ddl(1, "create table t (id int primary key, a varchar(9))"),
        row(2, "INSERT", id="1", a=("twelve", WORD)),
        ddl(3, "alter table t modify a int"),
        row(4, "INSERT", id="2", a="13"),
    ]
    assert seen(released(messages, "replace", "alter table t drop a, add a int"))[1:] == (
        [{"id": 1, "a": None}, {"id": 2, "a": 13}],
        None,
    )
    assert [each["a"] for each in seen(released(messages, "skip"))[1]] == ["twelve", "13"]


ZERO = [
    ddl(1, "create table t (id int primary key, d date)"),
    row(2, "INSERT", id="1", d=("2024-01-01", "date")),
    row(3, "INSERT", id="2", d=("0000-00-00", "date")),
    row(4, "INSERT", id="3", d=("2024-01-03", "date")),
    row(5, "INSERT", id="4", d=("2024-01-04", "date")),
]


def test_a_row_that_stops_a_table_is_left_out_and_counted() -> None:
    world = released(ZERO, "skip")
    assert ([each["id"] for each in seen(world)[1]], seen(world)[2]) == ([1, 3, 4], None)
    verdicts = [counts.get("excluded", 0) for counts in world.counts.values()]
    assert sum(verdicts) == 1


def test_a_table_is_tried_again_under_other_settings() -> None:
    world = run([ZERO[:3], ZERO[3:]])
    world.settings = make_settings("canal_json", rules(zero_date="null"))
    world.release(TABLE)
    assert [each["d"] for each in seen(world)[1]] == ["2024-01-01", None, "2024-01-03", "2024-01-04"]
    settle(world, rebuild=True)
    check(world, [ZERO[:3], ZERO[3:]])


def test_a_table_that_still_cannot_go_on_is_held_at_the_same_place() -> None:
    world = run([ZERO[:3], ZERO[3:]])
    before = world.states()[TABLE].hold
    world.release(TABLE)
    assert world.states()[TABLE].hold == before
