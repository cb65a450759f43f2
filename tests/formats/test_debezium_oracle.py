"""Values of Debezium's Oracle connector without its schema part, by the type that a statement declares."""

import base64
from typing import cast

import pytest

from retable.errors import BadValue
from retable.formats.debezium.options import DebeziumOptions, DecimalMode
from retable.formats.reading import Value, ValueRules, default_reader, value_reader
from retable.model.schema import parse_gold_type


def read(declared: str, kind: str, raw_value: str, decimal_mode: str = "precise") -> Value:
    gold = parse_gold_type(kind)
    assert gold is not None
    rules = ValueRules(options=DebeziumOptions(decimal_mode=cast(DecimalMode, decimal_mode)), system="oracle")
    return value_reader("debezium_json", None, gold, rules, declared)(raw_value)


def unscaled(number: int) -> str:
    return base64.b64encode(number.to_bytes(8, signed=True)).decode()


MOMENT = 1_767_268_800_123_456
"""Microseconds since 1970."""


@pytest.mark.parametrize(
    ("declared", "kind", "raw_value", "shown"),
    [
        ("NUMBER(9)", "decimal(9,0)", "1234", "1234"),
        ("NUMBER(18)", "decimal(18,0)", "123456789012345678", "123456789012345678"),
        ("NUMBER(19)", "decimal(19,0)", unscaled(1234), "1234"),
        ("NUMBER(5,-2)", "decimal(7,0)", "1200", "1200"),
        ("NUMBER(10,2)", "decimal(10,2)", unscaled(1250), "12.50"),
        ("INTEGER", "decimal(38,0)", unscaled(7), "7"),
        ("NUMBER(*,2)", "decimal(38,2)", unscaled(1250), "12.50"),
        ("NUMBER", "string", '{"scale":3,"value":"' + unscaled(1500) + '"}', "1.500"),
        ("BINARY_DOUBLE", "double", "1.5", "1.5"),
        ("DATE", "timestamp", str(MOMENT // 1000), str(MOMENT // 1000 * 1000)),
        ("TIMESTAMP(3)", "timestamp", str(MOMENT // 1000), str(MOMENT // 1000 * 1000)),
        ("TIMESTAMP", "timestamp", str(MOMENT), str(MOMENT)),
        ("TIMESTAMP(9)", "timestamp", str(MOMENT * 1000), str(MOMENT)),
        ("TIMESTAMP(6) WITH TIME ZONE", "timestamptz", "1970-01-01T01:00:00+01:00", "0"),
        ("VARCHAR2(20 CHAR)", "string", "1234", "1234"),
        ("CHAR(5)", "string", "ab   ", "ab   "),
        ("RAW(2)", "binary", "AP8=", "b'\\x00\\xff'"),
    ],
)
def test_a_declared_type_tells_how_a_value_stands(declared: str, kind: str, raw_value: str, shown: str) -> None:
    assert str(read(declared, kind, raw_value)) == shown


@pytest.mark.parametrize(("mode", "raw_value"), [("string", "12.50"), ("double", "12.5")])
def test_whole_numbers_stand_alike_in_every_mode_and_others_as_the_mode_says(mode: str, raw_value: str) -> None:
    assert str(read("NUMBER(9)", "decimal(9,0)", "1234", mode)) == "1234"
    assert str(read("NUMBER(10,2)", "decimal(10,2)", raw_value, mode)) == "12.50"


def test_a_type_that_is_none_of_oracles_is_read_as_its_gold_type_usually_stands() -> None:
    assert read("MDSYS.X", "int", "7") == 7
    with pytest.raises(BadValue, match="negative"):
        read("NUMBER(38,-2)", "string", "AQ==")


@pytest.mark.parametrize(
    ("system", "declared", "kind", "text", "value"),
    [
        ("oracle", "DATE", "timestamp", "1970-01-01 00:00:01", 1_000_000),
        ("oracle", "TIMESTAMP(6)", "timestamp", "1970-01-01 00:00:01.5", 1_500_000),
        ("oracle", "BOOLEAN", "boolean", "1", True),
        ("oracle", "RAW(2)", "binary", "\x00\xff", b"\x00\xff"),
        ("oracle", "NUMBER", "string", "0.5", "0.5"),
        ("oracle", "CHAR(3)", "string", "x  ", "x  "),
        ("sqlserver", "date", "date", "1970-01-02", 1),
        ("sqlserver", "datetime2(3)", "timestamp", "1970-01-01 00:00:01", 1_000_000),
        ("sqlserver", "bit", "boolean", "0", False),
        ("sqlserver", "timestamp", "binary", "\x00", b"\x00"),
    ],
)
def test_a_default_is_read_as_its_own_database_writes_it(
    system: str, declared: str, kind: str, text: str, value: object
) -> None:
    gold = parse_gold_type(kind)
    assert gold is not None
    assert default_reader(declared, gold, ValueRules(system=system))(text) == value
