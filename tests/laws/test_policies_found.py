"""What the policies of a table once got wrong: each a stream, and what gold must be after it."""

import pytest

from laws.test_policies import FIRST, NUMBER, TABLE, WORD, ddl, in_every_way, row, run, seen
from laws.world import World
from retable.errors import InvalidSetting
from retable.replay.release import Waiting, Way, fitting_ways, plan_release
from retable.schema_history.columns import spelling
from retable.schema_history.history import Hold


def held(world: World) -> Hold:
    hold = world.states()[TABLE].hold
    assert hold is not None
    return hold


# --- columns that go on under a name of old ------------------------------------------------------------------------
def test_a_column_that_was_renamed_twice_shows_under_every_name() -> None:
    messages = [
        *FIRST[:2],
        ddl(5, "alter table t rename column b to c"),
        ddl(6, "alter table t rename column c to d"),
        row(7, "INSERT", id="2", a=("1.00", NUMBER), d=("new", WORD)),
        row(8, "UPDATE", id="1", a=("1.00", NUMBER), d=("y", WORD)),
    ]
    columns, rows, hold = seen(in_every_way(messages, schema="additive"))
    assert (columns, hold) == (("id", "a", "d", "b", "c"), None)
    assert [(each["b"], each["c"], each["d"]) for each in rows] == [("y",) * 3, ("new",) * 3]


@pytest.mark.parametrize("widening", [["change c d bigint"], ["rename column c to d", "modify d bigint"]])
def test_the_names_of_old_show_nothing_more_from_a_wider_type_on(widening: list[str]) -> None:
    messages = [
        ddl(1, "create table t (id int primary key, b int)"),
        row(2, "INSERT", id="1", b="5"),
        ddl(5, "alter table t rename column b to c"),
        *(ddl(6 + number, f"alter table t {text}") for number, text in enumerate(widening)),
        row(9, "INSERT", id="2", d=("5000000000", "bigint")),
    ]
    _, rows, hold = seen(in_every_way(messages, schema="additive"))
    assert hold is None
    assert [(each["b"], each["c"], each["d"]) for each in rows] == [(5, 5, 5), (None, None, 5000000000)]


# --- databases that were dropped -----------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("policy", "states"), [("empty", ["dropped"]), ("keep", ["dropped"]), ("drop", [])], ids=lambda each: str(each)
)
def test_a_dropped_database_does_the_same_however_the_stream_is_cut(policy: str, states: list[str]) -> None:
    messages = [row(2, "INSERT", id="1"), ddl(10, "drop database shop", "")]
    for windows in ([messages], [messages[:1], messages[1:]]):
        world = run(windows, on={"drop_table": policy})
        assert [state.state for state in world.states().values()] == states
    in_every_way(messages, on={"drop_table": policy})


def test_a_dropped_database_asks_for_a_table_that_only_rows_told_of() -> None:
    messages = [row(2, "INSERT", id="1"), ddl(10, "drop database shop", "")]
    _, rows, hold = seen(in_every_way(messages, approve=["drop_table"]))
    assert (rows, hold) == ([{"id": 1}], "APPROVAL")


def test_a_table_that_is_created_after_its_database_was_dropped_is_another_one() -> None:
    anew = [ddl(11, "create table t (id int primary key, c int)"), row(12, "INSERT", id="2", c="3")]
    messages = [row(2, "INSERT", id="1"), ddl(10, "drop database shop", ""), *anew]
    for policy in ("empty", "keep"):
        _, rows, hold = seen(in_every_way(messages, on={"drop_table": policy}))
        assert (rows, hold) == ([{"id": 2, "c": 3}], None)


def test_no_other_statement_stands_in_the_place_of_a_dropped_database() -> None:
    world = run([[*FIRST, ddl(10, "drop database shop", "")]], approve=["drop_table"])
    hold = held(world)
    assert fitting_ways(hold) == ("approve", "reject", "skip", "retry", "rebuild")
    with pytest.raises(
        InvalidSetting, match="--as does not fit the hold of gold_shop.t; valid here: --approve, --reject"
    ):
        plan_release(TABLE, world.states()[TABLE], hold, "as", "truncate table t", Waiting(0, 3), lambda: "mysql")


def test_what_stands_in_the_place_of_a_dropped_database_all_the_same_approves_nothing() -> None:
    world = run([[*FIRST, ddl(10, "drop database shop", "")]], approve=["drop_table"])
    world.release(TABLE, "replace", "truncate table t")
    _, rows, code = seen(world)
    assert (len(rows), code) == (3, "APPROVAL")
    world.release(TABLE, "approve")
    assert [state.state for state in world.states().values()] == ["dropped"]


# --- what people decide --------------------------------------------------------------------------------------------
def test_what_a_person_spells_out_needs_no_other_approval() -> None:
    messages = [
        ddl(1, "create table t (id int primary key, a varchar(9))"),
        row(2, "INSERT", id="1", a=("twelve", WORD)),
        ddl(3, "alter table t modify a int"),
        row(4, "INSERT", id="2", a="13"),
    ]
    world = run([messages], approve=["drop_column"])
    world.release(TABLE, "replace", "alter table t drop a, add a int")
    assert seen(world) == (("id", "a"), [{"id": 1, "a": None}, {"id": 2, "a": 13}], None)


def test_a_frozen_table_takes_what_a_person_spells_out() -> None:
    messages = [*FIRST, ddl(5, "alter table t add c int as (id * 2) virtual"), row(6, "INSERT", id="9", c="18")]
    world = run([messages], schema="frozen")
    world.release(TABLE, "replace", "alter table t add c int")
    columns, rows, hold = seen(world)
    assert (columns, rows[-1]["c"], hold) == (("id", "a", "b", "c"), 18, None)


@pytest.mark.parametrize("change", ["add c int", "drop a", "modify b varchar(10)", "drop primary key"])
def test_a_change_of_a_frozen_table_may_be_approved(change: str) -> None:
    messages = [*FIRST, ddl(5, f"alter table t {change}")]
    world = run([messages], schema="frozen")
    ways: tuple[Way, ...] = fitting_ways(held(world))
    assert ways[:3] == ("approve", "reject", "as")
    world.release(TABLE, "approve")
    assert world.gold() == run([messages]).gold()


# --- spelling ------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("text", ["modify a DECIMAL(8,2)", "modify a decimal(8, 2)", "modify b VARCHAR ( 9 )"])
def test_a_frozen_table_goes_on_over_another_spelling_of_a_type(text: str) -> None:
    messages = [*FIRST, ddl(5, f"alter table t {text}"), row(6, "DELETE", id="1", a=("5.00", NUMBER))]
    _, rows, hold = seen(in_every_way(messages, schema="frozen"))
    assert ([each["id"] for each in rows], hold) == ([2, 3], None)


def test_a_frozen_table_may_be_created_anew_in_another_spelling() -> None:
    anew = "create table t (ID INT primary key, a DECIMAL(8, 2), b VARCHAR(9))"
    world = in_every_way([*FIRST, ddl(5, "drop table t"), ddl(6, anew)], schema="frozen")
    assert seen(world)[1:] == ([], None)


def test_labels_are_no_spelling() -> None:
    assert spelling("ENUM('a b', 'It''s')  NOT") == "enum('a b','It''s')not"
    messages = [
        ddl(1, "create table t (id int primary key, a enum('x','y'))"),
        ddl(5, "alter table t modify a enum('X','y')"),
    ]
    assert seen(run([messages], schema="frozen"))[2] == "UNSUPPORTED_CHANGE"
