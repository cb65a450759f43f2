"""A small late window whose fold needs all rows of a big table: tasks fold them, and the driver never has them."""

import json
from collections.abc import Set

import pytest

from formats.events import canal
from laws.retaining import retain
from laws.story import HELD_KINDS, SUPPORTED, tell
from laws.test_bulk import in_tasks
from laws.world import World, make_settings
from retable.gold.store import Halves, LateKeys
from retable.model.message import RawMessage
from retable.model.row_event import RowEvent
from retable.replay.inputs.plan import Tables
from retable.replay.inputs.scope import ScopeReader
from retable.replay.tasks import folding
from retable.schema_history.history import TableHistory
from retable.simulate import Delivery

TABLE = "gold_shop.t"
TYPES = {"id": "decimal(9,2)", "c": "int", "v": "varchar(9)"}


def change(offset: int, kind: str, ident: str, v: str, keys: tuple[str, ...]) -> RawMessage:
    data = [{"id": ident, "c": f"{float(ident):.0f}", "v": v}]
    return canal(offset, type=kind, data=data, old=None, mysqlType=TYPES, sqlType=None, pkNames=keys or None)


def ddl(offset: int, sql: str) -> RawMessage:
    return canal(offset, isDdl=True, type="ALTER", data=None, sql=sql, pkNames=None)


def told(of: str) -> list[list[RawMessage]]:
    """Three windows, of which the one in the middle is replayed last."""
    keys = () if of == "no key" else ("id",)
    key = ", primary key (id)" if of == "a key in two spellings" else ""
    create = ddl(1, f"create table t (id {TYPES['id']}, c int, v varchar(9){key})")
    rows = range(3 if keys else 6)
    first = [create, *(change(10 + at, "INSERT", f"{at % 3}", f"v{at % 3}", keys) for at in rows)]
    late = [
        change(20, "INSERT", "1", "v1", keys),
        change(21, "DELETE", "2.0", "v2", keys),
        change(22, "INSERT", "7", "late", keys),
    ]
    last = [
        change(30, "DELETE", "1.00", "v1", keys),
        change(31, "DELETE", "7.00", "late", keys),
        change(32, "INSERT", "8", "new", keys),
    ]
    return [first, late, last]


REAL_OLDER = ScopeReader.older


def older_of_keys(
    reader: ScopeReader,
    tables: Tables,
    history: TableHistory,
    until: str,
    windows: Set[str],
    needed: LateKeys | Halves | None,
) -> list[RowEvent]:
    if needed is None:
        pytest.fail("the driver has all rows of the table")
    return REAL_OLDER(reader, tables, history, until, windows, needed)


@pytest.mark.parametrize("rows", [1, 2])
@pytest.mark.parametrize("of", ["no key", "a key in two spellings", "a key of the settings"])
def test_a_late_window_of_a_big_table_is_folded_by_tasks(of: str, rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    tables = {"shop.t": {"keys": ["id"]}} if of == "a key of the settings" else {}
    found = []
    for by_tasks in (False, True):
        world = World(make_settings("canal_json", tables))
        names = [world.deliver(window) for window in told(of)]
        with monkeypatch.context() as patch:
            if by_tasks:
                in_tasks(patch, rows, which="history")
                patch.setattr(ScopeReader, "older", older_of_keys)
            for number in (0, 2, 1):
                assert world.replay(names[number])
            assert not world.replay(names[1])
        found.append((world.gold(), world.counts, world.states()))
    assert found[0] == found[1]
    assert found[0][0][TABLE].hold is None


def test_late_rows_behind_a_change_of_the_key_need_only_their_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    former, key = ("id",), ("c",)
    first = [
        ddl(1, "create table t (id int primary key, c int, v varchar(9))"),
        *(change(10 + at, "INSERT", f"{at}", "first", former) for at in range(4)),
        ddl(15, "alter table t drop primary key, add primary key (c)"),
    ]
    late = [change(20, "UPDATE", "1", "late", key), change(21, "INSERT", "7", "late", key)]
    last = [change(30, "UPDATE", "1", "last", key), change(31, "DELETE", "7", "late", key)]
    found = []
    for order in ((0, 1, 2), (0, 2, 1)):
        world = World(make_settings("canal_json"))
        names = [world.deliver(window) for window in (first, late, last)]
        with monkeypatch.context() as patch:
            patch.setattr(ScopeReader, "older", older_of_keys)
            for number in order:
                world.replay(names[number])
        found.append(world.gold())
    assert found[0] == found[1]
    assert [json.loads(row)["v"] for row in found[0][TABLE].rows] == ["first", "last", "first", "first"]


def test_halves_that_met_in_a_big_table_wait_no_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    """A window that needs all rows lets tasks fold both messages of an update, of which gold had only one."""
    delivery = Delivery(windows=4, late=0.4, repeated=0.1, shuffled=True)
    story = tell(103209, "datahub_tuple", delivery, 51, (*SUPPORTED, *HELD_KINDS))
    found = []
    for by_tasks in (False, True):
        world, waiting = story.world(), []
        with monkeypatch.context() as patch:
            if by_tasks:
                in_tasks(patch, 3, which="history")
                patch.setattr(folding, "are_by_key", lambda *_: False)
            for number in (2, 0, 1, 3):
                world.replay(world.names[number])
                waiting.append({name: dict(state.pending) for name, state in world.states().items()})
        found.append((waiting, world.gold()))
    assert found[0] == found[1]
    assert any(found[0][0][1].values())
    assert not any(found[0][0][3].values())


def test_the_rows_of_a_late_window_count_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the late window has many rows, and not what gold has of the table."""
    create = ddl(1, "create table t (id decimal(9,2), c int, v varchar(9))")
    last = [create, change(50, "INSERT", "1", "v1", ())]
    late = [change(10 + at, "INSERT", f"{at % 2}", f"v{at % 2}", ()) for at in range(6)]
    world = World(make_settings("canal_json"))
    names = [world.deliver(window) for window in (late, last)]
    in_tasks(monkeypatch, 4, which="history")
    monkeypatch.setattr(ScopeReader, "older", older_of_keys)
    for number in (1, 0):
        world.replay(names[number])
    assert [json.loads(row)["v"] for row in world.gold()[TABLE].rows] == ["v0"] * 3 + ["v1"] * 4


def test_a_table_that_retention_shortened_is_not_written_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Silver does not have all of its rows any more, so the driver folds those that are left."""
    key = ("id",)
    windows = [
        [
            ddl(1, f"create table t (id {TYPES['id']} primary key, c int, v varchar(9))"),
            *(change(2 + at, "INSERT", f"{at}", "first", key) for at in range(4)),
        ],
        [change(20, "UPDATE", "1", "second", key), change(30, "UPDATE", "2", "second", key)],
        [change(21, "UPDATE", "1.0", "late", key), change(22, "UPDATE", "2.00", "late", key)],
    ]
    found = []
    for by_tasks in (False, True):
        world = World(make_settings("canal_json"))
        with monkeypatch.context() as patch:
            for number, window in enumerate(windows):
                name = world.deliver(window)
                if number == 2:
                    assert retain(world, 1).raised
                    if by_tasks:
                        in_tasks(patch, 1, which="history")
                world.replay(name)
        found.append((world.gold(), world.counts, world.states()))
    assert found[0] == found[1]
    gold = found[0][0][TABLE]
    assert gold.hold is None
    assert [json.loads(row)["v"] for row in gold.rows] == ["first", "late", "second", "first"]
