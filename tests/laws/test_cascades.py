"""Rows that InnoDB deletes or changes by a foreign key, of which its log has no event: their table is suspect."""

from dataclasses import replace
from functools import partial
from itertools import permutations

import msgspec
import pytest

from formats.events import streamx
from laws.test_replays_found import ddl as statement
from laws.test_replays_found import row, run
from laws.world import World, make_settings
from retable.ddl.registry import parse_statement
from retable.model.event import TableName
from retable.model.message import RawMessage
from retable.model.schema_change import CreateTable, DeclareTable
from retable.model.sequence import Sequence
from retable.replay.inputs.imports import Import

PARENT, CHILD = "gold_shop.p", "gold_shop.c"
CREATE_PARENT = "create table p (id int primary key, code varchar(9))"
CREATE_CHILD = "create table c (id int primary key, p_id int, foreign key (p_id) references p (id) {})"
CASCADE = "on delete cascade on update cascade"
P, C = {"id": "int", "code": "varchar(9)"}, {"id": "int", "p_id": "int"}
parent, child = partial(row, table="p", types=P), partial(row, table="c", types=C)


def tables(actions: str = CASCADE) -> list[RawMessage]:
    return [statement(1, CREATE_PARENT, "p"), statement(2, CREATE_CHILD.format(actions), "c")]


def rows() -> list[RawMessage]:
    """Two parents, and two children of the first, one of the second."""
    parents = [parent(3, "INSERT", id="1", code="a"), parent(4, "INSERT", id="2", code="b")]
    children = [("10", "1"), ("11", "1"), ("20", "2")]
    return parents + [child(5 + n, "INSERT", id=i, p_id=p) for n, (i, p) in enumerate(children)]


GONE = parent(20, "DELETE", id="1", code="a")


def suspects(world: World) -> dict[str, int]:
    """How many rows of each table are suspect."""
    found: dict[str, int] = {}
    for each in world.suspects.values():
        if each.state == "open":
            found[each.gold] = found.get(each.gold, 0) + each.rows
    return found


@pytest.mark.parametrize("cut", range(9))
@pytest.mark.parametrize("actions", ["on delete cascade", "on delete set null", CASCADE])
def test_children_of_a_deleted_row_are_suspect(actions: str, cut: int) -> None:
    messages = [*tables(actions), *rows(), GONE]
    assert suspects(run([messages[:cut], messages[cut:]])) == {CHILD: 2}


@pytest.mark.parametrize("cut", range(9))
@pytest.mark.parametrize("actions", ["on update cascade", "on update set null"])
def test_children_of_a_row_that_left_its_key_are_suspect(actions: str, cut: int) -> None:
    messages = [*tables(actions), *rows(), parent(20, "UPDATE", id="3", old_id="1", code="a")]
    assert suspects(run([messages[:cut], messages[cut:]])) == {CHILD: 2}


@pytest.mark.parametrize("actions", ["", "on delete restrict", "on delete no action on update cascade"])
def test_where_the_source_refuses_nothing_is_suspect(actions: str) -> None:
    assert not suspects(run([[*tables(actions), *rows(), GONE]]))


def test_an_update_of_other_columns_leaves_nothing_suspect() -> None:
    assert not suspects(run([[*tables(), *rows(), parent(20, "UPDATE", id="1", code="z", old_code="a")]]))


@pytest.mark.parametrize("op", ["DELETE", "UPDATE"])
def test_children_that_the_application_deletes_or_moves_itself_are_not_suspect(op: str) -> None:
    moved = {"p_id": "2", "old_p_id": "1"} if op == "UPDATE" else {"p_id": "1"}
    own = [child(15, op, id="10", **moved), child(16, op, id="11", **moved)]
    assert not suspects(run([[*tables(), *rows(), *own, GONE]]))


def test_children_that_came_after_the_change_are_not_suspect() -> None:
    again = parent(21, "INSERT", id="1", code="z")
    world = run([[*tables(), *rows()], [GONE, again, child(22, "INSERT", id="12", p_id="1")]])
    assert suspects(world) == {CHILD: 2}


def test_later_messages_of_the_children_settle_it() -> None:
    world = run([[*tables(), *rows()], [GONE]])
    assert suspects(world) == {CHILD: 2}
    run([[child(30, "DELETE", id="10", p_id="1")]], world)
    assert suspects(world) == {CHILD: 1}
    run([[child(31, "UPDATE", id="11", p_id="2", old_p_id="1")]], world)
    assert not suspects(world)
    assert {each.state for each in world.suspects.values()} == {"settled"}


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_the_order_of_replay_changes_nothing(order: tuple[int, ...]) -> None:
    windows = [[*tables(), *rows()[:2]], rows()[2:], [GONE, parent(21, "INSERT", id="1", code="z")]]
    world = World(make_settings("canal_json"))
    names = [world.deliver(window) for window in windows]
    for at in order:
        world.replay(names[at])
    assert suspects(world) == {CHILD: 2}


def test_a_window_that_is_replayed_again_says_the_same() -> None:
    world = run([[*tables(), *rows()], [GONE]])
    before = dict(world.suspects)
    world.redecode(world.names[1], [GONE, parent(21, "INSERT", id="9", code="z")])
    world.replay(world.names[1])
    assert world.suspects == before


def test_a_rebuild_of_either_table_finds_it_in_a_lake_that_never_looked() -> None:
    for table in (PARENT, CHILD):
        world = run([[*tables(), *rows()], [GONE]])
        told = dict(world.suspects)
        world.suspects.clear()
        world.rebuild(table)
        assert world.suspects == told


def test_what_a_person_accepted_stays_accepted() -> None:
    world = run([[*tables(), *rows()], [GONE]])
    world.suspects = {key: replace(each, state="accepted") for key, each in world.suspects.items()}
    world.rebuild(CHILD)
    assert not suspects(world)
    run([[child(30, "INSERT", id="30", p_id="2"), parent(31, "DELETE", id="2", code="b")]], world)
    assert suspects(world) == {CHILD: 2}


def test_the_setting_ignores_it() -> None:
    settings = make_settings("canal_json", {"shop.c": {"on": {"cascade": "ignore"}}})
    assert not suspects(run([[*tables(), *rows(), GONE]], World(settings)))


def test_a_source_that_logs_what_its_foreign_keys_do_is_left_alone() -> None:
    world = World(make_settings("canal_json", source_system="sqlserver"))
    assert not suspects(run([[*tables(), *rows(), GONE]], world))


# --- which foreign keys there are --------------------------------------------------------------------------------
def test_a_foreign_key_counts_from_when_it_is_added_until_it_is_dropped() -> None:
    plain = [statement(1, CREATE_PARENT, "p"), statement(2, "create table c (id int primary key, p_id int)", "c")]
    add = statement(10, f"alter table c add constraint f foreign key (p_id) references p (id) {CASCADE}", "c")
    drop = statement(15, "alter table c drop foreign key F", "c")
    assert suspects(run([[*plain, *rows(), add, GONE]])) == {CHILD: 2}
    assert not suspects(run([[*plain, *rows(), add, drop, GONE]]))
    assert not suspects(run([[*plain, *rows(), GONE, msgspec.structs.replace(add, offset=21)]]))


def test_a_foreign_key_without_a_name_is_dropped_by_the_one_that_the_source_gives_it() -> None:
    drop = statement(15, "alter table c drop foreign key c_ibfk_1", "c")
    assert not suspects(run([[*tables(), *rows(), drop, GONE]]))
    other = statement(15, "alter table c drop foreign key c_ibfk_2", "c")
    assert suspects(run([[*tables(), *rows(), other, GONE]])) == {CHILD: 2}


def test_tables_and_columns_may_be_renamed() -> None:
    renames = [
        statement(12, "rename table p to q, c to d", "q"),
        statement(13, "alter table q change id nr int", "q"),
        statement(14, "alter table d rename column p_id to q_nr", "d"),
    ]
    gone = row(20, "DELETE", {"nr": "int", "code": "varchar(9)"}, ("nr",), table="q", nr="1", code="a")
    for cut in range(11):
        messages = [*tables(), *rows(), *renames, gone]
        assert suspects(run([messages[:cut], messages[cut:]])) == {"gold_shop.d": 2}, cut


def test_a_reference_to_the_primary_key_that_names_no_column_counts() -> None:
    bare = "create table c (id int primary key, p_id int references p on delete cascade)"
    assert suspects(run([[tables()[0], statement(2, bare, "c"), *rows(), GONE]])) == {CHILD: 2}


def test_a_reference_to_other_columns_counts_their_values() -> None:
    types = {"id": "int", "code": "varchar(9)"}
    create = "create table c (id int primary key, code varchar(9), foreign key (code) references p (code) {})"
    mine = [row(5 + n, "INSERT", types, table="c", id=str(n), code=code) for n, code in enumerate("aab")]
    messages = [tables()[0], statement(2, create.format(CASCADE), "c"), *rows()[:2], *mine]
    assert suspects(run([[*messages, GONE]])) == {CHILD: 2}
    assert suspects(run([[*messages, parent(20, "UPDATE", id="2", code="x", old_code="b")]])) == {CHILD: 1}


def test_an_imported_schema_tells_foreign_keys() -> None:
    text = CREATE_CHILD.format(CASCADE)
    (created,) = parse_statement("mysql", text, "shop", None, "c")
    assert isinstance(created, CreateTable)
    table = DeclareTable(TableName("shop", None, "c"), created.columns, created.keys, created.references)
    world = World(make_settings("canal_json"))
    world.imports.append(Import(table, Sequence(0, 0, 0), "mysql", text, "a dump"))
    assert suspects(run([[tables()[0], *rows()], [GONE]], world)) == {CHILD: 2}


# --- chains ------------------------------------------------------------------------------------------------------
def test_children_of_suspect_children_are_suspect_too() -> None:
    create = "create table g (id int primary key, c_id int, foreign key (c_id) references c (id) on delete cascade)"
    types = {"id": "int", "c_id": "int"}
    mine = [row(11 + n, "INSERT", types, table="g", id=str(n), c_id=c) for n, c in enumerate(["10", "10", "11", "20"])]
    messages = [*tables(), statement(2, create, "g"), *rows(), *mine]
    for cut in range(len(messages) + 1):
        world = run([messages[:cut], [*messages[cut:], GONE]])
        assert suspects(world) == {CHILD: 2, "gold_shop.g": 3}, cut
    run([[child(30, "DELETE", id="10", p_id="1"), child(31, "DELETE", id="11", p_id="1")]], world)
    assert suspects(world) == {"gold_shop.g": 3}


def test_what_is_set_to_null_has_no_chain_but_by_that_column() -> None:
    create = "create table g (id int primary key, c_id int, foreign key (c_id) references c (id) {})"
    types = {"id": "int", "c_id": "int"}
    mine = row(11, "INSERT", types, table="g", id="1", c_id="10")
    world = run([[*tables("on delete set null"), statement(2, create.format(CASCADE), "g"), *rows(), mine, GONE]])
    assert suspects(world) == {CHILD: 2}


@pytest.mark.parametrize("cut", range(8))
def test_a_tree_that_refers_to_itself_is_followed_to_its_leaves(cut: int) -> None:
    create = "create table t (id int primary key, up int, foreign key (up) references t (id) on delete cascade)"
    types = {"id": "int", "up": "int"}
    tree = [("1", None), ("2", "1"), ("3", "2"), ("4", "3"), ("5", None)]
    nodes = [row(3 + n, "INSERT", types, table="t", id=i, up=up) for n, (i, up) in enumerate(tree)]
    messages = [statement(1, create, "t"), *nodes, row(20, "DELETE", types, table="t", id="1", up=None)]
    assert suspects(run([messages[:cut], messages[cut:]])) == {"gold_shop.t": 3}


# --- several partitions ------------------------------------------------------------------------------------------
def at(message: RawMessage, partition: int, seconds: int) -> RawMessage:
    """A message of another partition, at a time of the source."""
    body = msgspec.json.decode(message.value)
    value = msgspec.json.encode({**body, "es": 1_700_000_000_000 + 1000 * seconds})
    return msgspec.structs.replace(message, partition=partition, value=value)


@pytest.mark.parametrize(("seconds", "many"), [(30, 2), (20, 2), (5, 0)])
def test_where_partitions_do_not_compare_the_times_of_the_source_do(seconds: int, many: int) -> None:
    mine = [at(each, 1, 20) for each in [tables()[1], *rows()[2:]]]
    theirs = [at(each, 0, 1) for each in [tables()[0], *rows()[:2]]]
    world = run([[*theirs, *mine], [at(GONE, 0, seconds)]])
    assert suspects(world) == ({CHILD: many} if many else {})


# --- shards ------------------------------------------------------------------------------------------------------
def test_children_in_a_table_of_several_are_those_of_their_shard() -> None:
    settings = make_settings("canal_json", {"shop.c_*": {"to": "shop.c", "shard_in_key": True}})
    shards = []
    for n in (1, 2):
        create = (
            CREATE_CHILD.format(CASCADE).replace("table c", f"table c_{n}").replace("references p", f"references p_{n}")
        )
        shards += [
            statement(10 * n, CREATE_PARENT.replace("table p", f"table p_{n}"), f"p_{n}"),
            statement(10 * n + 1, create, f"c_{n}"),
            row(10 * n + 2, "INSERT", P, table=f"p_{n}", id="1", code="a"),
            row(10 * n + 3, "INSERT", C, table=f"c_{n}", id="10", p_id="1"),
        ]
    gone = row(50, "DELETE", P, table="p_1", id="1", code="a")
    for cut in range(9):
        assert suspects(run([shards[:cut], [*shards[cut:], gone]], World(settings))) == {"gold_shop.c": 1}, cut


# --- updates in two messages -------------------------------------------------------------------------------------
@pytest.mark.parametrize("cut", range(6))
def test_an_update_in_halves_that_changes_the_key_leaves_suspects(cut: int) -> None:
    world = World(make_settings("streamx_json"))
    for text, table in ((CREATE_PARENT, "p"), (CREATE_CHILD.format(CASCADE), "c")):
        (made,) = parse_statement("mysql", text, "shop", None, table)
        assert isinstance(made, CreateTable)
        declared = DeclareTable(made.table, made.columns, made.keys, made.references)
        world.imports.append(Import(declared, Sequence(0, 0, 0), "mysql", text, "a dump"))

    def said(number: int, table: str, op: str, offset: int, **image: object) -> RawMessage:
        columns = {"p": {"id": "LONG", "code": "STRING"}, "c": {"id": "LONG", "p_id": "LONG"}}[table]
        source = {"dbType": "MySQL", "dbName": "shop", "tableName": table}
        side = "before" if op == "UPDATE_BEFOR" else "after"
        images: dict[str, object] = {"before": None, "after": None, side: image}
        made = streamx(columns, source, op=op, sequenceId=str(1000 + number), **images)
        return msgspec.structs.replace(made, offset=offset)

    messages = [
        said(1, "p", "INSERT", 1, id=1, code="a"),
        said(2, "c", "INSERT", 2, id=10, p_id=1),
        said(3, "p", "UPDATE_BEFOR", 3, id=1, code="a"),
        said(3, "p", "UPDATE_AFTER", 4, id=3, code="a"),
        said(4, "c", "INSERT", 5, id=11, p_id=3),
    ]
    assert suspects(run([messages[:cut], messages[cut:]], world)) == {CHILD: 1}
