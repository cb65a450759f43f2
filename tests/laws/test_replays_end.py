"""A replay always ends: where deciding about a table takes no step any more, that table is held, and others go on."""

from collections.abc import Callable, Iterable
from typing import cast
from unittest.mock import patch

from laws.story import Story
from laws.test_policies import Stream
from laws.test_replays_found import TABLE, ddl, row, run
from laws.test_shards import TABLE as SHARDED
from laws.test_shards import create, world_of
from laws.test_shards import insert as insert_into
from laws.world import World, make_settings
from retable.fold.bounds import Bounds
from retable.fold.images import undeclared_columns
from retable.model.message import RawMessage
from retable.model.row_event import RowEvent
from retable.model.schema import GoldType
from retable.replay.release import fitting_ways
from retable.schema_history.history import TableHistory
from retable.schema_history.traced import InferredColumn
from verify.pure import Verifier

OTHER = "gold_shop.u"
DATES = {"id": "int", "d": "date"}
ZERO = row(4, "INSERT", DATES, id="2", d="0000-00-00")
TWO_TABLES = [
    ddl(1, "create table t (id int primary key, d date)"),
    ddl(2, "create table u (id int primary key, v int)", "u"),
    row(3, "INSERT", DATES, id="1", d="2026-03-01"),
    ZERO,
    row(5, "INSERT", {"id": "int", "v": "int"}, table="u", id="1", v="10"),
]


PLAIN = [each for each in TWO_TABLES if each is not ZERO]


class _NeverHeld(Bounds):
    """Rows at and above a hold are taken as if they lay below it."""

    def verdict(self, event: RowEvent) -> str | None:
        return Bounds(self.truncated_at, None, self.skipped, self.shard_truncations).verdict(event)


def replay_with_a_fault(world: World, messages: list[RawMessage]) -> World:
    with patch("retable.replay.table.deciding.Bounds", _NeverHeld):
        return run([messages], world)


def code(world: World, table: str = TABLE) -> str | None:
    hold = world.gold()[table].hold
    return None if hold is None else hold.code


def test_a_table_about_which_no_round_takes_a_step_is_held_and_the_others_go_on() -> None:
    world = replay_with_a_fault(World(make_settings("canal_json")), TWO_TABLES)
    hold = world.states()[TABLE].hold
    assert hold is not None
    assert (hold.code, hold.position, fitting_ways(hold)) == ("UNDECIDED", None, ("retry", "rebuild"))
    assert hold.reason.endswith("after 2 attempts: no hold; then ZERO_DATE at 0.4.0; then ZERO_DATE at 0.4.0")
    assert world.gold()[TABLE].rows == ()
    assert (code(world, OTHER), len(world.gold()[OTHER].rows)) == (None, 1)


def test_a_table_that_no_round_decided_takes_all_its_rows_once_one_does() -> None:
    world = replay_with_a_fault(World(make_settings("canal_json")), TWO_TABLES)
    run([[row(6, "INSERT", DATES, id="3", d="2026-03-03")]], world)
    assert code(world) == "UNDECIDED"
    world.release(TABLE)
    right = run([TWO_TABLES, [row(6, "INSERT", DATES, id="3", d="2026-03-03")]])
    assert world.gold() == right.gold()
    assert code(world) == "ZERO_DATE"


def test_a_table_of_several_about_which_no_round_takes_a_step_is_held() -> None:
    dated = "v int, d date"
    odd = row(5, "INSERT", DATES, table="orders_1", id="2", d="0000-00-00")
    story = [create(1, 0, dated), create(2, 1, dated), insert_into(4, 0, id="1", v="10"), odd]
    world = replay_with_a_fault(world_of(), story)
    assert code(world, SHARDED) == "UNDECIDED"
    world.release(SHARDED)
    assert world.gold() == run([story], world_of()).gold()
    assert code(world, SHARDED) == "ZERO_DATE"


class _Endless:
    """Rows of one table tell another type of a column in each round."""

    def __init__(self) -> None:
        self.rounds = 0

    def __call__(
        self,
        events: Iterable[RowEvent],
        history: TableHistory,
        type_of: Callable[[str, str | None], tuple[str | None, GoldType]],
    ) -> list[InferredColumn]:
        found = undeclared_columns(events, history, type_of)
        if str(history.name) == "shop.t":
            self.rounds += 1
            kind = GoldType("decimal", 38, self.rounds % 38)
            found.append(InferredColumn(history.identity, None, "x", f"decimal(38,{self.rounds})", kind))
        return found


def test_a_table_whose_columns_come_to_no_end_is_held_and_the_others_go_on() -> None:
    with patch("retable.replay.inputs.plan.undeclared_columns", _Endless()):
        world = run([PLAIN])
    hold = world.states()[TABLE].hold
    assert hold is not None
    assert (hold.code, hold.position) == ("UNDECIDED", None)
    assert "a new type for the column 'x' again and again" in hold.reason
    assert (code(world, OTHER), len(world.gold()[OTHER].rows)) == (None, 1)
    world.release(TABLE)
    assert world.gold() == run([PLAIN]).gold()


def test_a_verification_whose_columns_come_to_no_end_says_so() -> None:
    world = run([TWO_TABLES])
    story = cast(Story, Stream([TWO_TABLES], world))
    with patch("retable.replay.inputs.plan.undeclared_columns", _Endless()):
        found = Verifier(story, world).every()[TABLE].findings
    assert ["again and again" in each.what for each in found] == [True]
