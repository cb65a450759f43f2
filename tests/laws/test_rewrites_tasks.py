"""All rows of a big table that are replayed again, by tasks: they come to what one process comes to."""

import json
from collections.abc import Callable

import msgspec
import pytest

from formats.events import canal, streamx
from laws.test_bulk import in_tasks
from laws.test_rewrites import change, ddl
from laws.test_settings_reach import settings
from laws.test_settings_reach import windows as zoned
from laws.test_shards import alter, create, insert, world_of
from laws.test_shards_held import in_partition
from laws.world import World, make_settings
from retable.model.message import RawMessage
from retable.replay.table import deciding
from retable.replay.table.deciding import Deciding
from retable.replay.table.table_replay import TableReplay
from retable.replay.tasks import apart

TYPES = {"id": "LONG", "v": "LONG"}
IN_DRIVER = "gold_shop.t: the driver folds all rows, and not tasks, because {}"


def half(place: int, op: str, **image: int) -> RawMessage:
    side = "before" if op == "UPDATE_BEFOR" else "after"
    facts = {"op": op, "sequenceId": str(place), "before": None, "after": None, side: image}
    return msgspec.structs.replace(streamx(TYPES, keys=["id"], **facts), offset=2 * place + (side == "after"))


def both_ways(
    rows: int, start: Callable[[], World], then: Callable[[World], None], alone: bool = True, ranges: int = 1
) -> list[World]:
    """Replay `then` after `start`: in one process, and by tasks of so many ranges of so many rows.

    If `alone`, only tasks fold rows.
    """
    found = []
    for by_tasks in (False, True):
        world = start()
        with pytest.MonkeyPatch.context() as patch:
            if by_tasks:
                in_tasks(patch, rows, ranges)
            if by_tasks and alone:
                patch.setattr(TableReplay, "one_by_one", lambda *_: pytest.fail("rows became events"))
                patch.setattr(Deciding, "_decide", lambda *_: pytest.fail("rows were folded in the driver"))
            then(world)
        found.append(world)
    return found


def assert_alike(one: World, other: World) -> None:
    assert one.gold() == other.gold()
    assert one.states() == other.states()
    assert (one.counts, one.rejected) == (other.counts, other.rejected)


@pytest.mark.parametrize("rows", [1, 2])
def test_halves_that_waited_are_settled_by_a_rewrite(rows: int) -> None:
    def start() -> World:
        world = World(make_settings("streamx_json"))
        inserts = [change(2 + at, TYPES, {"id": at, "v": at}) for at in range(4)]
        waiting = [half(10, "UPDATE_BEFOR", id=1, v=1), half(11, "UPDATE_BEFOR", id=2, v=2)]
        world.replay(world.deliver([ddl(1, "create table t (id int primary key, v int)"), *inserts, *waiting]))
        assert len(world.states()["gold_shop.t"].pending) == 2
        return world

    def then(world: World) -> None:
        modify = ddl(20, "alter table t modify v decimal(14,2)")
        world.replay(world.deliver([half(10, "UPDATE_AFTER", id=1, v=7), modify, change(21, TYPES, {"id": 9, "v": 9})]))

    one, other = both_ways(rows, start, then)
    assert_alike(one, other)
    assert len(other.states()["gold_shop.t"].pending) == 1
    assert len(other.gold()["gold_shop.t"].rows) == 5


@pytest.mark.parametrize("rows", [1, 2])
def test_tables_that_are_alike_again_go_on(rows: int) -> None:
    wide = "modify v varchar(20)"

    def start() -> World:
        world = world_of()
        world.replay(world.deliver([*in_partition(0, create(1, 0)), *in_partition(1, create(1, 1), create(2, 2))]))
        there = in_partition(0, alter(11, 0, wide), insert(12, 0, id="1", v="7"), insert(13, 0, id="3", v="3"))
        world.replay(world.deliver([*in_partition(1, alter(5, 2, wide)), *there]))
        assert world.states()["gold_shop.orders"].hold is not None
        return world

    def then(world: World) -> None:
        world.replay(world.deliver(in_partition(1, alter(7, 1, wide), insert(8, 1, id="2", v="8"))))

    one, other = both_ways(rows, start, then)
    assert_alike(one, other)
    assert other.states()["gold_shop.orders"].hold is None


@pytest.mark.parametrize("rows", [1, 2])
def test_columns_that_only_rows_show_take_the_types_of_new_settings(rows: int) -> None:
    def start() -> World:
        world = World(settings())
        for window in zoned(("n",)):
            world.replay(world.deliver(window))
        return world

    def then(world: World) -> None:
        world.settings = settings(types={"at": "string"})
        for name in world.names:
            world.replay(name)

    one, other = both_ways(rows, start, then, alone=False)
    assert_alike(one, other)
    assert other.states()["gold_shop.t"].hold is not None, "which type a column has, only a rebuild changes"


def test_the_rows_of_a_rewrite_are_folded_by_tasks_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    real, done = deciding.rewritten_in_tasks, list[bool]()
    monkeypatch.setattr(
        deciding, "rewritten_in_tasks", lambda *given: done.append((found := real(*given)) is not None) or found
    )
    test_halves_that_waited_are_settled_by_a_rewrite(2)
    assert done == [False, True]


LOSSY = "alter table t modify v decimal(4,2)"


def lossy(*values: int) -> Callable[[], World]:
    """Return what makes a world whose table has these values, before a change of type that may lose a part of some."""

    def start() -> World:
        world = World(make_settings("streamx_json"))
        rows = [change(2 + at, TYPES, {"id": at, "v": value}) for at, value in enumerate(values)]
        world.replay(world.deliver([ddl(1, "create table t (id int primary key, v int)"), *rows]))
        return world

    return start


def changed(world: World, *statements: str) -> None:
    given = [ddl(20 + at, text) for at, text in enumerate(statements)]
    rows = [change(at, {**TYPES, "v": "STRING"}, {"id": at, "v": "1.50"}) for at in (30, 31)]
    world.replay(world.deliver([*given, *rows]))


@pytest.mark.parametrize("rows", [1, 2])
def test_a_type_that_holds_all_old_values_is_taken_by_tasks(rows: int) -> None:
    one, other = both_ways(rows, lossy(1, 20, 99, 3, 40), lambda world: changed(world, LOSSY))
    assert_alike(one, other)
    table = other.gold()["gold_shop.t"]
    assert (table.hold, len(table.rows)) == (None, 7)


@pytest.mark.parametrize("rows", [1, 2])
@pytest.mark.parametrize("statements", [[LOSSY], [LOSSY, "alter table t modify v int"]])
def test_a_type_that_does_not_hold_an_old_value_holds_the_table_at_the_same_value(
    statements: list[str], rows: int
) -> None:
    one, other = both_ways(rows, lossy(1, 500, 99, 300, 40), lambda world: changed(world, *statements))
    assert_alike(one, other)
    hold = other.states()["gold_shop.t"].hold
    assert hold is not None
    assert (hold.code, "converted 300 " in hold.reason) == ("INEXACT_CAST", True)


@pytest.mark.parametrize("rows", [1, 2])
def test_a_value_that_was_gone_before_the_type_changed_does_not_hold_the_table(rows: int) -> None:
    def then(world: World) -> None:
        moved = change(18, TYPES, {"id": 6, "v": 500}, before={"id": 1, "v": 500})
        world.replay(world.deliver([moved, change(19, TYPES, {"id": 6, "v": 5}, before={"id": 6, "v": 500})]))
        changed(world, LOSSY)

    one, other = both_ways(rows, lossy(1, 500, 99), then)
    assert_alike(one, other)
    table = other.gold()["gold_shop.t"]
    assert (table.hold, len(table.rows)) == (None, 5)


@pytest.mark.parametrize("rows", [1, 2])
@pytest.mark.parametrize("most", [99, 100])
def test_a_rebuild_looks_at_the_values_below_a_change_of_type_by_tasks(most: int, rows: int) -> None:
    def start() -> World:
        world = lossy(1, 20, 3)()
        changed(world, LOSSY)
        world.replay(world.deliver([change(15, TYPES, {"id": 7, "v": most})]))
        return world

    def then(world: World) -> None:
        world.rebuild("gold_shop.t")

    one, other = both_ways(rows, start, then)
    assert_alike(one, other)
    assert (other.gold()["gold_shop.t"].hold is None) == (most == 99)


PAIR = {"id": "LONG", "k": "LONG", "v": "LONG"}
REKEYED = "alter table t drop primary key, add primary key (k)"


def keyed(place: int, ident: int, k: int | None, v: int, key: str = "id", before: object = None) -> RawMessage:
    return change(place, PAIR, {"id": ident, "k": k, "v": v}, before=before, key=key)


def pairs(*ks: int | None) -> Callable[[], World]:
    """Return what makes a world whose table has rows with these `k`, and the key `id`."""

    def start() -> World:
        world = World(make_settings("streamx_json"))
        create = ddl(1, "create table t (id int primary key, k int, v int)")
        world.replay(world.deliver([create, *(keyed(2 + at, at, k, at) for at, k in enumerate(ks))]))
        return world

    return start


def rekeyed(world: World, *more: RawMessage) -> None:
    moved = keyed(31, 7, 50, 7, "k", before={"id": 7, "k": 40, "v": 7})
    world.replay(world.deliver([*more, ddl(20, REKEYED), keyed(30, 7, 40, 7, "k"), moved]))


@pytest.mark.parametrize(("rows", "ranges"), [(1, 1), (1, 4), (2, 1)])
def test_a_table_takes_another_key_by_tasks(rows: int, ranges: int) -> None:
    def then(world: World) -> None:
        gone = change(12, PAIR, None, before={"id": 2, "k": 2, "v": 2})
        left = keyed(13, 9, 1, 5, before={"id": 1, "k": 1, "v": 1})
        again = keyed(33, 9, 1, 6, "k", before={"id": 9, "k": 1, "v": 5})
        rekeyed(world, gone, left, again)

    one, other = both_ways(rows, pairs(3, 1, 2, 0), then, ranges=ranges)
    assert_alike(one, other)
    table = other.gold()["gold_shop.t"]
    assert table.hold is None
    assert sorted(msgspec.json.decode(row)["k"] for row in table.rows) == [0, 1, 3, 50]


@pytest.mark.parametrize("rows", [1, 2])
@pytest.mark.parametrize(("ks", "why"), [((3, 1, 3, 0), "two rows have"), ((3, None, 2, 0), "a row has a null")])
def test_rows_that_the_new_key_does_not_tell_apart_hold_the_table(
    ks: tuple[int | None, ...], why: str, rows: int
) -> None:
    one, other = both_ways(rows, pairs(*ks), rekeyed)
    assert_alike(one, other)
    hold = other.states()["gold_shop.t"].hold
    assert hold is not None
    assert (hold.code, why in hold.reason) == ("KEY_CLASH", True)


@pytest.mark.parametrize("rows", [1, 2])
@pytest.mark.parametrize(
    "changes", [[REKEYED], ["alter table t drop primary key", "alter table t add primary key (k)"]]
)
def test_a_rebuild_goes_through_all_keys_by_tasks(changes: list[str], rows: int) -> None:
    def start() -> World:
        world = pairs(3, 1, 2, 0)()
        statements = [ddl(20 + 2 * at, text) for at, text in enumerate(changes)]
        between = [keyed(21, 5, 5, 5, "")] if len(changes) > 1 else []
        gone = change(32, PAIR, None, before={"id": 0, "k": 3, "v": 0}, key="k")
        world.replay(world.deliver([*statements, *between, keyed(30, 7, 40, 7, "k"), gone]))
        return world

    def then(world: World) -> None:
        world.rebuild("gold_shop.t")

    one, other = both_ways(rows, start, then)
    assert_alike(one, other)
    table = other.gold()["gold_shop.t"]
    assert (table.hold, len(table.rows)) == (None, 4 + (len(changes) > 1))


@pytest.mark.parametrize("rows", [1, 2])
def test_updates_in_two_messages_below_a_change_of_the_key_come_to_the_same(rows: int) -> None:
    def start() -> World:
        world = World(make_settings("streamx_json"))
        inserts = [change(2 + at, TYPES, {"id": at, "v": 10 + at}) for at in range(6)]
        world.replay(world.deliver([ddl(1, "create table t (id int primary key, v int)"), *inserts]))
        return world

    def then(world: World) -> None:
        moves = [(10 + at, at, 90 - at) for at in range(5)]
        halves = [
            message
            for place, old, new in moves
            for message in (
                half(place, "UPDATE_BEFOR", id=old, v=10 + old),
                half(place, "UPDATE_AFTER", id=new, v=10 + old),
            )
        ]
        statement = ddl(20, "alter table t drop primary key, add primary key (v)")
        window = world.deliver([*halves, statement, change(30, TYPES, {"id": 50, "v": 50}, key="v")])
        world.replay(window)

    one, other = both_ways(rows, start, then)
    assert_alike(one, other)
    table = other.gold()["gold_shop.t"]
    assert (table.hold, len(table.rows)) == (None, 7)


def image(offset: int, kind: str, old: dict[str, str] | None, key: str, **data: int) -> RawMessage:
    """A message of a server that writes only some columns of a row; `old` has the former values of changed ones."""
    types = dict.fromkeys(PAIR, "int")
    row = {name: str(value) for name, value in data.items()}
    return canal(offset, type=kind, data=[row], old=old and [old], mysqlType=types, sqlType=None, pkNames=[key])


@pytest.mark.parametrize("rows", [1, 2])
def test_rows_with_only_some_columns_are_below_a_change_of_the_key(rows: int) -> None:
    def statement(offset: int, sql: str) -> RawMessage:
        return canal(offset, isDdl=True, type="ALTER", data=None, sql=sql, pkNames=None)

    def start() -> World:
        world = World(make_settings("canal_json"))
        inserts = [image(2 + at, "INSERT", None, "id", id=at, k=10 + at, v=20 + at) for at in range(6)]
        create = statement(1, "create table t (id int primary key, k int, v int)")
        world.replay(world.deliver([create, *inserts]))
        return world

    def then(world: World) -> None:
        changes = [
            image(10, "UPDATE", {"v": "21"}, "id", id=1, v=31),
            image(11, "UPDATE", {"id": "2"}, "id", id=8, v=38),
            image(12, "UPDATE", {"id": "8"}, "id", id=9),
            image(13, "UPDATE", {"id": "3"}, "id", id=2, v=32),
            statement(20, "alter table t drop primary key, add primary key (k)"),
            image(21, "UPDATE", {"v": "38"}, "k", k=12, v=48),
            image(22, "UPDATE", {"k": "14"}, "k", k=99),
        ]
        world.replay(world.deliver(changes))

    one, other = both_ways(rows, start, then)
    assert_alike(one, other)
    table = other.gold()["gold_shop.t"]
    assert table.hold is None
    assert [tuple(json.loads(row).values()) for row in table.rows] == [
        (0, 10, 20),
        (1, 11, 31),
        (2, 13, 32),
        (4, 99, 24),
        (5, 15, 25),
        (9, 12, 48),
    ]


@pytest.mark.parametrize("rows", [1, 2])
def test_a_table_whose_key_changed_goes_on_after_a_hold(rows: int) -> None:
    def start() -> World:
        world = pairs(3, 1, 2, 0)()
        world.replay(world.deliver([ddl(20, REKEYED), keyed(30, 7, 40, 7, "k")]))
        world.replay(world.deliver([ddl(40, "alter table t frobnicate"), keyed(41, 8, 3, 8, "k")]))
        assert world.states()["gold_shop.t"].hold is not None
        return world

    def then(world: World) -> None:
        world.release("gold_shop.t", "skip")

    one, other = both_ways(rows, start, then)
    assert_alike(one, other)
    table = other.gold()["gold_shop.t"]
    assert (table.hold, len(table.rows)) == (None, 5)


@pytest.mark.parametrize("rows", [1, 2])
def test_late_rows_below_a_change_of_type_let_tasks_write_all_rows_again(rows: int) -> None:
    def start() -> World:
        world = World(make_settings("streamx_json"))
        names = [
            world.deliver(window)
            for window in (
                [ddl(1, "create table t (id int primary key, v int)"), change(2, TYPES, {"id": 1, "v": 1})],
                [change(3, TYPES, {"id": 1, "v": 8}), change(4, TYPES, {"id": 2, "v": 2})],
                [ddl(10, LOSSY), change(11, TYPES, {"id": 1, "v": 9}), change(12, TYPES, {"id": 3, "v": 3})],
            )
        ]
        for name in (names[0], names[2]):
            world.replay(name)
        return world

    def then(world: World) -> None:
        world.replay([*world.names][1], said.append)

    said = list[str]()
    one, other = both_ways(rows, start, then)
    assert_alike(one, other)
    assert len(other.gold()["gold_shop.t"].rows) == 3
    reason = "some rows are late, and its key or a type changed, or retention removed rows from silver"
    assert f"gold_shop.t: writing all rows again, {reason}" in said


@pytest.mark.parametrize("rows", [1, 2])
@pytest.mark.parametrize("most", [9, 500])
def test_a_narrower_type_and_another_key_come_to_the_same(most: int, rows: int) -> None:
    def then(world: World) -> None:
        narrower = ddl(20, "alter table t modify v decimal(4,2)")
        world.replay(world.deliver([keyed(19, 8, 8, most), narrower, ddl(22, REKEYED), keyed(30, 7, 40, 7, "k")]))
        world.rebuild("gold_shop.t", said.append)

    said = list[str]()
    one, other = both_ways(rows, pairs(3, 1, 2, 0), then, alone=False)
    assert_alike(one, other)
    assert (other.gold()["gold_shop.t"].hold is None) == (most == 9)
    assert IN_DRIVER.format("its primary key changes, and a type change may lose a part of a value") in said


def test_few_rows_of_a_table_whose_key_changed_stay_in_the_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    said = list[str]()
    world = pairs(3, 1, 2, 0)()
    world.replay(world.deliver([ddl(22, REKEYED), keyed(30, 7, 40, 7, "k")]))
    in_tasks(monkeypatch, 1, which="history")
    for most, is_said in ((5, True), (4, False)):
        monkeypatch.setattr(apart, "FEW_ROWS", most)
        said.clear()
        before = world.gold()
        world.rebuild("gold_shop.t", said.append)
        assert (IN_DRIVER.format("its primary key changes, and its rows are few") in said) == is_said
        assert world.gold() == before
