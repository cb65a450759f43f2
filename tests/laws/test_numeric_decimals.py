"""`decimal.format=NUMERIC` without a schema part: a number of JSON is the number, text is base64, cell by cell."""

import base64
import json
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from formats.debezium_messages import ORACLE, POSTGRES, SOURCE, message, payload
from laws.test_snapshot_tables import statement
from laws.world import World, make_settings
from retable.model.message import RawMessage

UNSCALED = st.integers(-(10**9) + 1, 10**9 - 1)


def as_base64(unscaled: int) -> str:
    return base64.b64encode(unscaled.to_bytes(5, "big", signed=True)).decode()


def row(place: int, key: int, value: str, source: dict[str, object] = SOURCE) -> RawMessage:
    """A row whose decimal is the token `value`."""
    text = json.dumps(payload(after={"id": key, "v": "%"}, source={**source, "pos": place}))
    return message(text.replace('"%"', value), {"id": key}, offset=place)


def shown(world: World) -> dict[int, Decimal]:
    (gold,) = world.gold().values()
    assert not world.rejected
    rows = [json.loads(line) for line in gold.rows]
    return {each["id"]: Decimal(each["v"]) for each in rows}


def replayed(messages: list[RawMessage], **options: object) -> World:
    world = World(make_settings("debezium_json", **options))
    world.replay(world.deliver(messages))
    return world


@given(st.lists(st.tuples(UNSCALED, st.booleans()), min_size=1, max_size=8), st.sampled_from([0, 2]))
def test_each_value_is_read_as_it_stands(values: list[tuple[int, bool]], scale: int) -> None:
    made = statement(1, f"create table t (id int primary key, v decimal(9,{scale}))", "CREATE")
    numbers = [Decimal(unscaled).scaleb(-scale) for unscaled, _ in values]
    tokens = [
        str(number) if is_number else f'"{as_base64(unscaled)}"'
        for (unscaled, is_number), number in zip(values, numbers, strict=True)
    ]
    world = replayed([made, *(row(2 + at, at, token) for at, token in enumerate(tokens))])
    assert shown(world) == dict(enumerate(numbers))


@pytest.mark.parametrize("value", ["1234", "12345678", "-5", "0", "12e3"])
def test_a_number_that_would_be_base64_is_the_number(value: str) -> None:
    made = statement(1, "create table t (id int primary key, v decimal(12,0))", "CREATE")
    assert shown(replayed([made, row(2, 1, value)])) == {1: Decimal(value)}


def test_where_the_settings_alone_tell_the_type() -> None:
    tables = {"shop.public.t": {"types": {"id": "int", "v": "decimal(12,2)"}}}
    world = World(make_settings("debezium_json", tables))
    world.replay(world.deliver([row(1, 1, "1234", POSTGRES), row(2, 2, '"BNI="', {**POSTGRES, "lsn": 130})]))
    assert shown(world) == {1: Decimal(1234), 2: Decimal("12.34")}


def test_the_numbers_of_oracle() -> None:
    made = message(
        {
            "source": {**ORACLE, "scn": "1"},
            "databaseName": "shop",
            "schemaName": "S",
            "ddl": "create table t (id number(9) primary key, v number(12,2))",
            "tableChanges": [{"type": "CREATE", "id": '"shop"."S"."T"', "table": None}],
        },
        topic="erp",
    )
    text = json.dumps(payload(after={"ID": 1, "V": 1234}, source={**ORACLE, "table": "T"}))
    world = replayed([made, message(text, {"ID": 1})])
    (gold,) = world.gold().values()
    assert [json.loads(line) for line in gold.rows] == [{"id": "1", "v": "1234.00"}], world.rejected


def test_after_the_type_changed() -> None:
    made = statement(1, "create table t (id int primary key, v decimal(9,0))", "CREATE")
    wider = statement(5, "alter table t modify v decimal(14,2)", "ALTER")
    assert shown(replayed([made, row(2, 1, "1234"), wider, row(6, 2, "1234.5"), row(7, 3, f'"{as_base64(99)}"')])) == {
        1: Decimal(1234),
        2: Decimal("1234.5"),
        3: Decimal("0.99"),
    }
