"""Changes of a type, and of a key, that keep every row as the source keeps it: nothing holds."""

import json
from functools import partial

import pytest

from laws.test_replays_found import TABLE, ddl, row, run
from laws.world import World, make_settings


def rows(world: World) -> list[dict[str, object]]:
    assert {name: state.hold for name, state in world.states().items()} == {TABLE: None}
    return [json.loads(line) for line in world.gold()[TABLE].rows]


@pytest.mark.parametrize("cut", range(5))
@pytest.mark.parametrize("key", [False, True])
def test_a_float_that_becomes_a_double_by_its_precision_widens(key: bool, cut: int) -> None:
    keys = ("id", "v") if key else ("id",)
    created = ddl(1, f"create table t (id int, v float not null, primary key ({', '.join(keys)}))")
    before = row(2, "INSERT", {"id": "int", "v": "float"}, keys, id="1", v="0.5")
    after = row(4, "INSERT", {"id": "int", "v": "double"}, keys, id="2", v="0.1")
    messages = [created, before, ddl(3, "alter table t modify v float(53) not null"), after]
    world = run([messages[:cut], messages[cut:]])
    assert rows(world) == [{"id": 1, "v": 0.5}, {"id": 2, "v": 0.1}]


@pytest.mark.parametrize("cut", range(5))
def test_text_that_becomes_json_on_mariadb_stays_as_it_is(cut: int) -> None:
    insert = partial(row, op="INSERT", types={"id": "int", "v": "longtext"})
    created = ddl(1, "create table t (id int primary key, v text not null)")
    messages = [created, insert(2, id="1", v='{"b": 1,  "a": 2}'), ddl(3, "alter table t modify v json not null")]
    messages += [insert(4, id="2", v="{}")]
    world = run([messages[:cut], messages[cut:]], World(make_settings("canal_json", source_system="mariadb")))
    assert rows(world) == [{"id": 1, "v": '{"b": 1,  "a": 2}'}, {"id": 2, "v": "{}"}]


@pytest.mark.parametrize("cut", range(4))
def test_types_that_messages_name_without_lengths_take_every_value(cut: int) -> None:
    """Canal JSON as DTS writes it; no statement tells of the table."""
    types = {"id": "int", "d": "decimal", "b": "bit", "v": "varchar"}
    insert = partial(row, op="INSERT", types=types)
    messages = [
        insert(1, id="1", d="1234.5600", b="1", v="x"),
        insert(2, id="2", d="99999999999999.99", b="5", v="y" * 300),
        ddl(3, "alter table t modify v varchar(500)"),
    ]
    assert rows(run([messages[:cut], messages[cut:]])) == [
        {"id": 1, "d": "1234.5600", "b": 1, "v": "x"},
        {"id": 2, "d": "99999999999999.99", "b": 5, "v": "y" * 300},
    ]


@pytest.mark.parametrize("cut", range(7))
@pytest.mark.parametrize(
    ("statement", "keys"),
    [
        ("alter table t drop column a", ("id",)),
        ("alter table t drop column a, add b int not null, add primary key (id, b)", ("id", "b")),
        ("alter table t drop a, drop primary key, add primary key (id)", ("id",)),
    ],
)
def test_a_column_that_is_dropped_leaves_the_key(statement: str, keys: tuple[str, ...], cut: int) -> None:
    before = partial(row, types={"id": "int", "a": "int", "v": "int"}, keys=("id", "a"))
    named = dict.fromkeys(("id", "v", *keys), "int")
    told = {"b": "1"} if "b" in keys else {}
    messages = [
        ddl(1, "create table t (id int, a int, v int, primary key (id, a))"),
        before(2, op="INSERT", id="1", a="1", v="1"),
        before(3, op="INSERT", id="2", a="1", v="1"),
        ddl(4, statement),
        row(5, "INSERT", named, keys, id="3", v="3", **told),
        row(6, "UPDATE", named, keys, id="2", v="7", old_v="1", **told) if not told else ddl(6, "analyze table t"),
    ]
    world = run([messages[:cut], messages[cut:]])
    found = {each["id"]: each["v"] for each in rows(world)}
    assert found == {1: 1, 2: 1 if told else 7, 3: 3}
    assert world.states()[TABLE].keys == keys


def test_a_table_of_which_the_whole_key_is_dropped_has_none() -> None:
    types = {"v": "int"}
    messages = [
        ddl(1, "create table t (id int primary key, v int)"),
        row(2, "INSERT", {"id": "int", **types}, id="1", v="1"),
        ddl(3, "alter table t drop column id"),
        row(4, "INSERT", types, (), v="1"),
    ]
    world = run([messages[:2], messages[2:]])
    assert rows(world) == [{"v": 1}, {"v": 1}]
    assert world.states()[TABLE].keys == ()


def test_a_column_that_only_the_key_told_apart_holds_where_two_rows_become_one() -> None:
    before = partial(row, types={"id": "int", "a": "int"}, keys=("id", "a"), op="INSERT")
    created = ddl(1, "create table t (id int, a int, primary key (id, a))")
    world = run([[created, before(2, id="1", a="1"), before(3, id="1", a="2"), ddl(4, "alter table t drop column a")]])
    hold = world.states()[TABLE].hold
    assert hold is not None
    assert hold.code == "KEY_CLASH"
