"""A key that gold keeps as text although it is a number may come in two spellings: it is one row all the same."""

import pytest

from formats.events import canal
from laws.test_bulk import in_tasks
from laws.world import World, make_settings
from retable.model.message import RawMessage
from retable.replay.batch import row_batch

CREATED = canal(1, isDdl=True, type="CREATE", data=None, sql="create table t (id decimal(40,2) primary key, v int)")
TYPES = {"id": "decimal(40,2)", "v": "int"}


def told(offset: int, kind: str, key: str, v: str) -> RawMessage:
    return canal(offset, type=kind, data=[{"id": key, "v": v}], old=None, mysqlType=TYPES, sqlType=None)


def replayed(*windows: list[RawMessage], order: tuple[int, ...] | None = None) -> World:
    world = World(make_settings("canal_json"))
    names = [world.deliver(window) for window in windows]
    for at in order or range(len(names)):
        world.replay(names[at])
    return world


@pytest.mark.parametrize("spellings", [("3", "3.00"), ("3.0", "3.00"), ("3", "3.0"), ("8", "8.00"), ("4", "4.00")])
@pytest.mark.parametrize("kind", ["UPDATE", "DELETE"])
def test_tasks_fold_two_spellings_of_a_key_as_one_row(
    monkeypatch: pytest.MonkeyPatch, spellings: tuple[str, str], kind: str
) -> None:
    one, other = spellings
    first = [CREATED, told(2, "INSERT", "1", "1"), told(3, "INSERT", "2", "2")]
    second = [told(4, "INSERT", one, "4"), told(5, kind, other, "5"), told(6, "INSERT", "9.00", "6")]
    alone = replayed(first, second)
    in_tasks(monkeypatch, 1)
    monkeypatch.setattr(row_batch, "_FEW_ROWS", 0)
    by_tasks = replayed(first, second)
    assert (by_tasks.gold(), by_tasks.counts) == (alone.gold(), alone.counts)


@pytest.mark.parametrize("spelling", ["1", "1.0", "1.00"])
def test_a_late_row_in_another_spelling_does_not_come_back(spelling: str) -> None:
    windows = (
        [CREATED, told(2, "INSERT", "1.00", "1"), told(3, "INSERT", "2.00", "2")],
        [told(8, "DELETE", "1.00", "1"), told(9, "INSERT", "4.00", "4")],
        [told(5, "UPDATE", spelling, "5")],
    )
    in_order, late = replayed(*windows, order=(0, 2, 1)), replayed(*windows)
    assert late.gold()["gold_shop.t"].rows == in_order.gold()["gold_shop.t"].rows
