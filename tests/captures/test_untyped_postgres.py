"""PostgreSQL's values without a schema part, by a dump's types and those of the settings: as with schemas."""

import gzip
import json

import pytest

from captures.test_expected import CAPTURES, differences, messages_of
from formats.debezium_messages import capture
from laws.world import World, make_settings
from retable.errors import InvalidSetting
from retable.model.event import TableName
from retable.model.schema import ColumnSpec
from retable.model.schema_change import DeclareTable
from retable.model.sequence import Sequence
from retable.replay.inputs.imports import Import

TABLE, GOLD = TableName("shopdb", "public", "all_types"), "gold_shopdb__public.all_types"
TRUTH = CAPTURES / "truth_postgres" / "final"
SETTLED = {"c_bit": "bit(5)", "c_vbit": "bit(12)", "c_pt": "point", "c_money": "decimal(19,2)"}
"""Types of which a dump tells nothing, as messages with schemas know them better."""

ALL = {
    **SETTLED,
    **dict.fromkeys(("id", "c_i2", "c_i4"), "int"),
    "c_i8": "long",
    "c_bool": "boolean",
    "c_num38": "decimal(38,10)",
    "c_f4": "float",
    "c_f8": "double",
    "c_date": "date",
    "c_time": "time",
    "c_time3": "time(3)",
    "c_tstz": "timestamptz",
    "c_bytea": "binary",
}
"""What settings can tell without a dump. A timestamp's unit needs a `time_mode`, an interval a dump."""


def declared() -> DeclareTable:
    described = json.loads(gzip.decompress((TRUTH / "schema.json.gz").read_bytes()))["public.all_types"]
    columns = tuple(ColumnSpec(each["name"], each["type"]) for each in described["columns"])
    return DeclareTable(TABLE, columns, tuple(described["primary_key"]))


def bare_world(types: dict[str, str], *, imports: bool) -> World:
    system = {} if imports else {"source_system": "postgresql"}
    world = World(make_settings("debezium_json", {str(TABLE): {"types": types}}, **system))
    if imports:
        world.imports.append(Import(declared(), Sequence(0, 0, 0), "postgresql", "", "a dump"))
    world.replay(world.deliver(list(capture("postgres", schemas=False))))
    return world


def rows_of(world: World) -> dict[int, dict[str, object]]:
    rows = [json.loads(line) for line in world.gold()[GOLD].rows]
    return {row["id"]: row for row in rows}


@pytest.fixture(scope="module")
def typed() -> World:
    world = World(make_settings("debezium_json"))
    world.replay(world.deliver(messages_of("debezium_postgres")))
    return world


def test_what_a_dump_and_settings_tell_is_read_as_with_schemas(typed: World) -> None:
    bare = bare_world(SETTLED, imports=True)
    assert rows_of(bare) == rows_of(typed)
    for world in (bare, typed):
        found = differences(world.gold(), world, TRUTH)
        assert {column for table, column in found if table == "public.all_types"} == {
            *("(rows)", "c_num", "c_intv", "c_inet")  # EXPECTED.md says why
        }
    assert bare.rejected.keys() == typed.rejected.keys()


def test_what_settings_alone_tell_is_read_as_with_schemas(typed: World) -> None:
    bare, told = rows_of(bare_world(ALL, imports=False)), rows_of(typed)
    assert bare.keys() >= told.keys()
    assert {key: {name: row[name] for name in ALL} for key, row in bare.items() if key in told} == {
        key: {name: row[name] for name in ALL} for key, row in told.items()
    }


def test_a_type_of_the_source_needs_to_know_which_database_it_is() -> None:
    """A time is a number of milliseconds or microseconds, by database and digits."""
    world = World(make_settings("debezium_json", {str(TABLE): {"types": {"c_time3": "time(3)"}}}))
    window = world.deliver(list(capture("postgres", schemas=False)))
    with pytest.raises(InvalidSetting, match="set sources.shop.source_system"):
        world.replay(window)


@pytest.mark.parametrize("kind", ["time(10)", "time(", "bits(3)", "bit(x)", "point(2)", "interval", "Time Zone", ""])
def test_a_type_that_is_neither_golds_nor_of_these_of_the_source_is_refused(kind: str) -> None:
    with pytest.raises(ValueError, match="is not a type of a gold column"):
        make_settings("debezium_json", {str(TABLE): {"types": {"c": kind}}})
