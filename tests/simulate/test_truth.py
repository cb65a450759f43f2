"""The truth is spelled as `retable rows` spells gold."""

import json
import math
import struct
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from retable.ddl.registry import gold_type
from retable.gold.render import json_rows
from retable.gold.rows import to_column
from retable.simulate.columns import Column, ColumnType, Value
from retable.simulate.database import Table
from retable.simulate.designs import ADDED_TYPES, DESIGNS
from retable.simulate.settings import gold_type as type_in_settings
from retable.simulate.truth import Truth
from retable.simulate.values import type_value
from simulate.reader import gold_value

TYPES = sorted({*ADDED_TYPES, *(column.type for columns, _ in DESIGNS.values() for column in columns)}, key=str)


def lines(kind: ColumnType, values: list[Value]) -> list[str]:
    table = Table((Column("Value", kind),), (), {number: (value,) for number, value in enumerate(values)})
    return Truth({"t": table}, frozenset()).lines("t")


def gold_lines(kind: ColumnType, values: list[Value]) -> list[str]:
    gold = gold_type("mysql", str(kind))
    assert gold is not None
    column = to_column([gold_value(value) for value in values], gold)
    return sorted(json_rows(pa.Table.from_arrays([column], names=["value"])))


@pytest.mark.parametrize("kind", TYPES, ids=str)
def test_values_of_every_type_look_as_gold_prints_them(kind: ColumnType) -> None:
    values = [None, *(type_value(kind, number) for number in range(300))]
    assert lines(kind, values) == gold_lines(kind, values)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_doubles_have_the_digits_that_gold_prints(value: float) -> None:
    assert lines(ColumnType("double"), [value]) == gold_lines(ColumnType("double"), [value])
    (line,) = lines(ColumnType("double"), [value])
    assert struct.pack("<d", json.loads(line)["value"]) == struct.pack("<d", value)


@pytest.mark.parametrize("kind", TYPES, ids=str)
def test_the_types_that_settings_name_are_those_of_statements(kind: ColumnType) -> None:
    if kind.is_whole or kind.base in ("decimal", "date", "datetime", "timestamp"):
        assert type_in_settings(kind) == str(gold_type("mysql", str(kind)))


@pytest.mark.parametrize(
    ("kind", "value", "shown"),
    [
        (ColumnType("bigint", unsigned=True), 2**64 - 1, "18446744073709551615"),
        (ColumnType("bigint"), -(2**63), -(2**63)),
        (ColumnType("decimal", (30, 10)), Decimal((0, (0,), -10)), "0.0000000000"),
        (ColumnType("varbinary", (9,)), b"\xff\0", "/wA="),
        (ColumnType("date"), date(1900, 1, 1), "1900-01-01"),
        (ColumnType("datetime", (3,)), datetime.fromisoformat("2026-03-01T05:00:00.001"), "2026-03-01T05:00:00.001000"),
        (ColumnType("timestamp", (3,)), datetime(2026, 3, 1, 5, tzinfo=UTC), "2026-03-01T05:00:00.000000Z"),
        (ColumnType("varchar", (9,)), "é\n", "é\n"),
        (ColumnType("double"), 1.5, 1.5),
        (ColumnType("int"), None, None),
    ],
)
def test_a_value_reads_as_json(kind: ColumnType, value: Value, shown: Any) -> None:
    table = Table((Column("Value", kind),), (), {1: (value,)})
    assert Truth({"t": table}, frozenset()).rows("t") == [{"value": shown}]


def test_the_hidden_row_id_is_shown_where_it_is_asked_for() -> None:
    table = Table((Column("n", ColumnType("int")),), (), {15: (1,), 16: (1,)})
    truth = Truth({"t": table}, frozenset())
    assert truth.rows("t") == [{"n": 1}, {"n": 1}]
    assert truth.rows("t", row_id="_rds_row_id") == [{"_rds_row_id": 15, "n": 1}, {"_rds_row_id": 16, "n": 1}]


@pytest.mark.parametrize("kind", TYPES, ids=str)
def test_every_value_fits_its_type(kind: ColumnType) -> None:
    for number in range(2000):
        match type_value(kind, number):
            case bool():
                raise AssertionError("MySQL has no booleans")
            case int() as value:
                assert kind.bounds[0] <= value <= kind.bounds[1]
            case Decimal() as value:
                _, digits, exponent = value.as_tuple()
                assert exponent == -kind.scale
                assert len(digits) <= kind.arguments[0]
                assert not (value.is_zero() and value.is_signed())
            case str() | bytes() as value:
                assert kind.base == "enum" or len(value) <= kind.arguments[0]
            case datetime() as value:
                assert value.microsecond % 1000 == 0
                assert (value.tzinfo is not None) == (kind.base == "timestamp")
            case float() as value:
                assert math.isfinite(value)
