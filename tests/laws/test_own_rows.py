"""A window of newer rows is folded over gold alone, also where silver's key hashes do not tell whose rows they are."""

import json
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from formats.events import canal, streamx
from laws.test_laws import COLUMN_KINDS, LAW, orders, stories
from laws.world import World, make_settings
from retable.model.message import RawMessage
from retable.replay.table import deciding

CREATE = canal(
    1, isDdl=True, type="CREATE", data=None, pkNames=None, sql="create table t (a int, b varchar(9)) engine=innodb"
)
KINDS = {"a": "int", "b": "varchar(9)", "c": "int"}
MORE = "alter table t add column c int default 7"


@LAW
@given(st.data())
def test_what_all_rows_of_the_table_come_to_the_rows_of_the_window_come_to(data: st.DataObject) -> None:
    story = data.draw(stories((*COLUMN_KINDS, "truncate")))
    order = data.draw(orders(story))
    found = []
    for needs_all in (deciding.needs_all, lambda work, *_: not work.hashed and bool(work.events)):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(deciding, "needs_all", needs_all)
            world = story.world()
            for number in order:
                world.replay(world.names[number])
        debts = {name: state.debts for name, state in world.states().items()}
        counts = world.counts if order == sorted(set(order)) else None
        found.append((world.gold(), world.rejected, debts, counts))
    assert found[0] == found[1]


def change(offset: int, kind: str, row: dict[str, object], old: dict[str, object] | None = None) -> RawMessage:
    texts = {name: None if value is None else str(value) for name, value in row.items()}
    kinds = {name: KINDS[name] for name in row}
    return canal(offset, type=kind, data=[texts], old=old and [old], pkNames=None, mysqlType=kinds, sqlType=None)


def statement(offset: int, text: str) -> RawMessage:
    return canal(offset, isDdl=True, type="ALTER", data=None, pkNames=None, sql=text)


def rows_of(world: World) -> list[dict[str, object]]:
    return [json.loads(text) for text in world.gold()["gold_shop.t"].rows]


def reads(world: World, monkeypatch: pytest.MonkeyPatch) -> Callable[[], int]:
    """How often rows of other windows were read."""
    calls: list[object] = []
    real = world.rows.table_rows
    monkeypatch.setattr(world.rows, "table_rows", lambda *rest: calls.append(rest) or real(*rest))
    return lambda: len(calls)


@pytest.fixture
def world() -> World:
    world = World(make_settings("canal_json"))
    first = [CREATE, *(change(2 + at, "INSERT", {"a": 1, "b": "x"}) for at in range(2))]
    world.replay(world.deliver([*first, change(4, "INSERT", {"a": 2, "b": "y"})]))
    return world


def test_a_window_of_a_table_without_a_key_needs_its_own_rows_alone(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    count = reads(world, monkeypatch)
    world.replay(
        world.deliver(
            [
                change(5, "DELETE", {"a": 1, "b": "x"}),
                change(6, "UPDATE", {"a": 2, "b": "z"}, {"b": "y"}),
                change(7, "INSERT", {"a": 3, "b": "w"}),
            ]
        )
    )
    assert count() == 0
    assert rows_of(world) == [{"a": 1, "b": "x"}, {"a": 2, "b": "z"}, {"a": 3, "b": "w"}]
    assert world.states()["gold_shop.t"].debts == 0


def test_a_row_that_is_owed_is_counted_over_all_windows(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    count = reads(world, monkeypatch)
    world.replay(world.deliver([change(5, "DELETE", {"a": 9, "b": "q"})]))
    assert (count(), world.states()["gold_shop.t"].debts) == (0, 1)
    world.replay(world.deliver([change(6, "DELETE", {"a": 2, "b": "y"})]))
    assert (count(), world.states()["gold_shop.t"].debts) == (0, 1)
    world.replay(world.deliver([change(7, "INSERT", {"a": 9, "b": "q"}), change(8, "INSERT", {"a": 8, "b": "q"})]))
    assert (count(), world.states()["gold_shop.t"].debts) == (1, 0)
    assert rows_of(world) == [{"a": 1, "b": "x"}, {"a": 1, "b": "x"}, {"a": 8, "b": "q"}]


def test_columns_that_come_need_no_other_window_and_an_emptied_table_owes_nothing(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    count = reads(world, monkeypatch)
    gone = change(6, "DELETE", {"a": 2, "b": "y", "c": 7})
    world.replay(world.deliver([statement(5, MORE), gone, change(7, "DELETE", {"a": 2, "b": "y", "c": 7})]))
    assert rows_of(world) == [{"a": 1, "b": "x", "c": 7}, {"a": 1, "b": "x", "c": 7}]
    assert (count(), world.states()["gold_shop.t"].debts) == (0, 1)
    empty = canal(8, isDdl=True, type="TRUNCATE", data=None, pkNames=None, sql="truncate table t")
    world.replay(world.deliver([empty, change(9, "INSERT", {"a": 2, "b": "y", "c": 7})]))
    assert rows_of(world) == [{"a": 2, "b": "y", "c": 7}]
    assert (count(), world.states()["gold_shop.t"].debts) == (0, 0)


def test_a_late_row_of_a_table_without_a_key_is_counted_over_all_windows(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    later = world.deliver([change(6, "INSERT", {"a": 5, "b": "x"})])
    latest = world.deliver([change(8, "DELETE", {"a": 5, "b": "x"})])
    count = reads(world, monkeypatch)
    world.replay(latest)
    assert (count(), world.states()["gold_shop.t"].debts) == (0, 1)
    world.replay(later)
    assert (count(), world.states()["gold_shop.t"].debts) == (1, 0)
    assert rows_of(world) == [{"a": 1, "b": "x"}, {"a": 1, "b": "x"}, {"a": 2, "b": "y"}]


def test_an_update_whose_halves_come_in_two_windows_is_counted_over_all_windows() -> None:
    def half(number: int, op: str, **image: object) -> RawMessage:
        row = {"id": image["id"], "c": image["c"]}
        images = {"before": row if op == "UPDATE_BEFOR" else None, "after": None if op == "UPDATE_BEFOR" else row}
        return streamx(op=op, sequenceId=str(number), keys=None, **images)

    world = World(make_settings("streamx_json"))
    world.replay(world.deliver([half(1, "INSERT", id=1, c="x"), half(2, "INSERT", id=1, c="x")]))
    world.replay(world.deliver([half(3, "UPDATE_BEFOR", id=1, c="x")]))
    world.replay(world.deliver([half(3, "UPDATE_AFTER", id=1, c="y")]))
    assert rows_of(world) == [{"id": 1, "c": "x"}, {"id": 1, "c": "y"}]


def test_other_settings_count_the_rows_of_a_table_without_a_key_over_all_windows(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.settings = make_settings("canal_json", {"shop.t": {"zero_date": "null"}})
    count = reads(world, monkeypatch)
    world.replay(world.deliver([change(5, "INSERT", {"a": 1, "b": "x"})]))
    assert count() > 0


def test_a_window_of_a_table_whose_key_the_settings_name_needs_its_own_rows_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = World(make_settings("canal_json", {"shop.t": {"keys": ["a"]}}))
    world.replay(
        world.deliver([CREATE, change(2, "INSERT", {"a": 1, "b": "x"}), change(3, "INSERT", {"a": 2, "b": "y"})])
    )
    count = reads(world, monkeypatch)
    world.replay(
        world.deliver([change(5, "UPDATE", {"a": 1, "b": "z"}, {"b": "x"}), change(6, "DELETE", {"a": 2, "b": "y"})])
    )
    assert count() == 0
    assert rows_of(world) == [{"a": 1, "b": "z"}]
    world.replay(world.deliver([change(4, "UPDATE", {"a": 1, "b": "late"}, {"b": "x"})]))
    assert count() == 1
    assert rows_of(world) == [{"a": 1, "b": "z"}]


def test_a_key_that_the_settings_name_anew_takes_all_rows_of_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(make_settings("canal_json", {"shop.t": {"keys": ["a"]}}))
    world.replay(world.deliver([CREATE, change(2, "INSERT", {"a": 1, "b": "x"})]))
    world.settings = make_settings("canal_json", {"shop.t": {"keys": ["b"]}})
    count = reads(world, monkeypatch)
    world.replay(world.deliver([change(3, "UPDATE", {"a": 2, "b": "x"}, {"a": "1"})]))
    assert count() == 1
    assert rows_of(world) == [{"a": 2, "b": "x"}]


@pytest.mark.parametrize("named_by", ["settings", "messages"])
@pytest.mark.parametrize("kind", ["decimal(9,2)", "double", "varchar(9)"])
def test_a_late_row_finds_a_delete_that_writes_its_key_otherwise(kind: str, named_by: str) -> None:
    """A full load may write 1.5 where the log writes 1.50."""
    world = World(make_settings("canal_json", {"shop.t": {"keys": ["a"]}} if named_by == "settings" else {}))
    key = "" if named_by == "settings" else ", primary key (a)"
    create = canal(
        1, isDdl=True, type="CREATE", data=None, pkNames=None, sql=f"create table t (a {kind}, b varchar(9){key})"
    )

    def keyed(offset: int, change: str, ident: str) -> RawMessage:
        kinds = {"a": kind, "b": "varchar(9)"}
        data = [{"a": ident, "b": "x"}]
        return canal(offset, type=change, data=data, old=None, pkNames=["a"], mysqlType=kinds, sqlType=None)

    world.replay(world.deliver([create, keyed(2, "INSERT", "1.5")]))
    late = world.deliver([keyed(4, "UPDATE", "1.50")])
    world.replay(world.deliver([keyed(6, "DELETE", "1.5")]))
    world.replay(late)
    assert [row["a"] for row in rows_of(world)] == (["1.50"] if kind.startswith("varchar") else [])
