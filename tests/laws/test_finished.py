"""A window that is in gold already is looked at, not read."""

from collections.abc import Callable

import pytest

from formats.events import canal
from laws.memory import MemoryRows
from laws.world import World, make_settings
from retable.model.message import RawMessage
from retable.replay.batch.silver_rows import ROW_COLUMNS, SKETCH_COLUMNS


def statement(offset: int, text: str) -> RawMessage:
    return canal(offset, isDdl=True, type=text.split()[0].upper(), data=None, sql=text)


MADE = "create table t (id int primary key, v int)"
CREATE = statement(1, MADE)
ADD = statement(9, "alter table t add column w int default 3")
RENAME = statement(2, "rename table t to u")


def row(offset: int, ident: str, **more: object) -> RawMessage:
    return canal(offset, data=[{"id": ident, "v": "1"}], mysqlType={"id": "int", "v": "int"}, sqlType=None, **more)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, ...]]:
    """The columns of each reading of a window's rows."""
    found: list[tuple[str, ...]] = []
    real = MemoryRows.window_rows
    monkeypatch.setattr(
        MemoryRows, "window_rows", lambda self, name, columns: found.append(tuple(columns)) or real(self, name, columns)
    )
    return found


def replayed(*messages: RawMessage) -> World:
    world = World(make_settings("canal_json"))
    world.replay(world.deliver([CREATE, *messages]))
    return world


def lose(world: World) -> None:
    del world.catalog.tables["gold_shop.t"]


def go_back(world: World) -> None:
    table = world.catalog.tables["gold_shop.t"]
    table.properties["retable.applied"] = "{}"


def correct(world: World) -> None:
    world.settings = make_settings("canal_json", time_zone="Asia/Shanghai")


def decode_anew(world: World) -> None:
    world.counted[world.names[0], None] = "another digest"


def die_before_the_record(world: World) -> None:
    del world.counted[world.names[0], "gold_shop.t"]


def hear_late_of_another_name(world: World) -> None:
    world.replay(world.deliver([RENAME]))


@pytest.mark.parametrize("world", [replayed(row(3, "1"), row(4, "2")), replayed(), replayed(row(3, "1"), ADD)])
def test_a_finished_window_is_not_read(world: World, asked: list[tuple[str, ...]]) -> None:
    before = world.digest()
    assert not world.replay(world.names[0])
    assert asked[0] == SKETCH_COLUMNS
    assert world.digest() == before


@pytest.mark.parametrize("happens", [correct, decode_anew, die_before_the_record, hear_late_of_another_name, go_back])
def test_what_happened_since_makes_it_be_read(happens: Callable[[World], None], asked: list[tuple[str, ...]]) -> None:
    world = replayed(row(3, "1"), row(4, "2"))
    happens(world)
    asked.clear()
    world.replay(world.names[0])
    assert ROW_COLUMNS in asked
    assert len(world.gold()["gold_shop.t"].rows) == 2


def test_a_lost_table_is_recorded_as_held(asked: list[tuple[str, ...]]) -> None:
    world = replayed(row(3, "1"), row(4, "2"))
    lose(world)
    asked.clear()
    world.replay(world.names[0])
    assert ROW_COLUMNS in asked
    (recorded,) = world.tables.values()
    assert recorded.state == "held"


def test_a_table_that_owns_only_rows_in_the_midst_is_seen() -> None:
    world = replayed(row(10, "1"), row(20, "2"), row(30, "3"))
    late = [(12, "rename table t to u"), (13, MADE), (22, "rename table t to v"), (23, MADE)]
    world.replay(world.deliver([statement(*each) for each in late]))
    for gold in world.gold():
        world.rebuild(gold)
    whole = world.gold()
    assert {name: len(gold.rows) for name, gold in whole.items()} == {
        "gold_shop.u": 1,
        "gold_shop.v": 1,
        "gold_shop.t": 1,
    }
    del world.catalog.tables["gold_shop.v"]
    world.replay(world.names[0])
    world.rebuild("gold_shop.v")
    assert world.gold() == whole
