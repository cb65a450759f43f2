"""Tables that only a snapshot declares: nothing until a row comes, as the connector may not capture them."""

from itertools import permutations

import pytest

from formats.debezium_messages import SOURCE, message, payload
from laws.world import World, make_settings
from retable.model.message import RawMessage

GOLD = "gold_shop.t"
CREATE = "create table t (id int primary key, c varchar(9))"


def statement(
    place: int, text: str, kind: str, table: str = "t", snapshot: str = "false", offset: int | None = None
) -> RawMessage:
    """A schema change; those of a snapshot stand at one position of the log."""
    source = {**SOURCE, "pos": place, "snapshot": snapshot, "table": table}
    changes = [{"type": kind, "id": f'"shop"."{table}"', "table": None}]
    value = {"source": source, "ts_ms": 1, "databaseName": "shop", "ddl": text, "tableChanges": changes}
    return message(value, topic="erp", offset=place if offset is None else offset)


def declared(table: str, text: str = CREATE, offset: int = 0) -> RawMessage:
    return statement(100, text.replace(" t ", f" {table} "), "CREATE", table, "true", offset)


def row(place: int, table: str = "t", **values: object) -> RawMessage:
    after = {"id": 1, "c": "x", **values}
    source = {**SOURCE, "pos": place, "table": table}
    return message(payload(after=after, source=source), {"id": after["id"]}, topic=f"erp.shop.{table}", offset=place)


def replayed(windows: list[list[RawMessage]], **options: object) -> World:
    world = World(make_settings("debezium_json", **options))
    for window in windows:
        world.replay(world.deliver(window))
    return world


def test_of_what_a_snapshot_declares_gold_has_what_has_rows() -> None:
    tables = [declared(name, offset=at) for at, name in enumerate(("t", "other", "empty"))]
    world = replayed([[*tables, row(120, "t")]])
    assert set(world.gold()) == {GOLD}
    assert not world.replay(world.names[0])


def test_all_of_them_where_the_settings_ask_for_it() -> None:
    world = replayed([[declared("t"), declared("empty", offset=1), row(120)]], snapshot_tables="all")
    assert set(world.gold()) == {GOLD, "gold_shop.empty"}
    assert world.gold()["gold_shop.empty"].columns == ("id", "c")


def test_a_table_that_a_statement_makes_is_there_at_once() -> None:
    world = replayed([[statement(200, CREATE, "CREATE")]])
    assert world.gold()[GOLD].columns == ("id", "c")


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("alter table t add d int default 7", ("id", "c", "d")),
        ("alter table t drop c", ("id",)),
        ("truncate table t", ("id", "c")),
    ],
)
def test_it_comes_with_its_first_row_and_with_all_that_befell_it(text: str, columns: tuple[str, ...]) -> None:
    windows = [[declared("t")], [statement(200, text, "ALTER")]]
    world = replayed(windows)
    assert world.gold() == {}
    values = {name: 5 if name != "c" else "x" for name in columns}
    after = message(payload(after=values, source={**SOURCE, "pos": 300}), {"id": 5}, offset=300)
    world.replay(world.deliver([after]))
    assert (world.gold()[GOLD].columns, len(world.gold()[GOLD].rows)) == (columns, 1)


def test_what_is_not_understood_holds_it_only_once_it_has_rows() -> None:
    windows = [[declared("t")], [statement(200, "alter table t drop partition p", "ALTER")]]
    world = replayed(windows)
    assert world.gold() == {}
    world.replay(world.deliver([row(150), row(250, id=2)]))
    assert world.gold()[GOLD].state == "held"
    assert len(world.gold()[GOLD].rows) == 1


def test_a_renamed_one_is_found_by_its_rows() -> None:
    rename = statement(200, "rename table t to u", "ALTER", "u")
    world = replayed([[declared("t")], [rename], [row(300, "u")]])
    assert world.gold()["gold_shop.u"].columns == ("id", "c")
    assert set(world.gold()) == {"gold_shop.u"}


def test_in_every_order_of_windows_the_same_tables_come() -> None:
    """Rows before the snapshot's statement arrives, between and after."""
    added = statement(200, "alter table t add d int", "ALTER")
    contents = [[declared("t"), declared("empty", offset=1)], [row(150)], [added]]
    ends = []
    for order in permutations(range(3)):
        world = World(make_settings("debezium_json"))
        names = [world.deliver(content) for content in contents]
        for number in order:
            world.replay(names[number])
        ends.append({name: (gold.columns, gold.rows) for name, gold in world.gold().items()})
    assert ends == [{GOLD: (("id", "c", "d"), ('{"id": 1, "c": "x", "d": null}',))}] * 6


def test_several_that_go_into_one_are_there_once_one_of_them_has_rows() -> None:
    tables = {"shop.t[12]": {"to": "shop.t", "keys": ["id"], "shard_in_key": True}}
    settings = make_settings("debezium_json", tables)
    world = World(settings)
    world.replay(world.deliver([declared("t1"), declared("t2", offset=1)]))
    assert world.gold() == {}
    world.replay(world.deliver([row(120, "t2")]))
    assert len(world.gold()[GOLD].rows) == 1


def test_after_a_second_snapshot_a_table_that_was_emptied_stays_and_has_no_row() -> None:
    again = [statement(500, "DROP TABLE IF EXISTS `t`", "DROP", "t", "true", 9), declared("t", offset=10)]
    world = replayed([[declared("t"), row(120)], again])
    assert set(world.gold()) == {GOLD}
