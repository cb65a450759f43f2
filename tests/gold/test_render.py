"""Rows of gold as JSON: no digit and no moment is lost on the way."""

import json
import math
import struct
from base64 import b64decode
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from retable.gold.render import json_column, json_rows

EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001  # wall clocks have no zone


def _texts(values: list[Any], kind: pa.DataType) -> list[str]:
    return json_column(pa.array(values, kind))


@pytest.mark.parametrize(
    ("kind", "value", "text"),
    [
        (pa.bool_(), True, "true"),
        (pa.int32(), -2147483648, "-2147483648"),
        (pa.int64(), 2**63 - 1, "9223372036854775807"),
        (
            pa.decimal128(38, 10),
            Decimal("-9999999999999999999999999999.9999999999"),
            '"-9999999999999999999999999999.9999999999"',
        ),
        (pa.decimal128(38, 10), Decimal(0), '"0.0000000000"'),
        (pa.decimal128(10, 2), Decimal("12.3"), '"12.30"'),
        (pa.decimal128(20, 0), Decimal(2**64 - 1), '"18446744073709551615"'),
        (pa.float32(), 0.1, "0.1"),
        (pa.float32(), 19.98, "19.98"),
        (pa.float32(), 4.0, "4.0"),
        (pa.float64(), 0.1 + 0.2, "0.30000000000000004"),
        (pa.float64(), -0.0, "-0.0"),
        (pa.float64(), 1e300, "1e+300"),
        (pa.float32(), math.nan, '"NaN"'),
        (pa.float64(), math.inf, '"Infinity"'),
        (pa.float64(), -math.inf, '"-Infinity"'),
        (pa.string(), 'é"\n\u2028\x1b', '"é\\"\\n\\u2028\\u001b"'),
        (pa.large_string(), "列", '"列"'),
        (pa.binary(), b"\x00\xff", '"AP8="'),
        (pa.large_binary(), b"", '""'),
    ],
)
def test_a_value_has_one_spelling(kind: pa.DataType, value: Any, text: str) -> None:
    assert _texts([value, None], kind) == [text, "null"]


@pytest.mark.parametrize(
    ("days", "text"),
    [
        (0, "1970-01-01"),
        (-1, "1969-12-31"),
        (-719162, "0001-01-01"),
        (-719528, "0000-01-01"),
        (2932896, "9999-12-31"),
        (2932897, "+10000-01-01"),
        (-719529, "-0001-12-31"),
        (11016, "2000-02-29"),
    ],
)
def test_a_day_of_any_year_is_written(days: int, text: str) -> None:
    assert json_column(pa.array([days], pa.int32()).cast(pa.date32())) == [f'"{text}"']


@given(st.integers(-62_135_596_800_000_000, 253_402_300_799_999_999))
def test_a_moment_is_what_pythons_own_calendar_says(micros: int) -> None:
    wall = (EPOCH + timedelta(microseconds=micros)).isoformat(timespec="microseconds")
    stored = pa.array([micros], pa.int64())
    assert json_column(stored.cast(pa.timestamp("us"))) == [f'"{wall}"']
    assert json_column(stored.cast(pa.timestamp("us", "UTC"))) == [f'"{wall}Z"']


@given(st.integers(-719_162, 2_932_896))
def test_a_day_is_what_pythons_own_calendar_says(days: int) -> None:
    stored = pa.array([days], pa.int32()).cast(pa.date32())
    assert json_column(stored) == [f'"{(EPOCH + timedelta(days)).date().isoformat()}"']


@given(st.floats(width=32, allow_nan=False, allow_infinity=False))
def test_a_float_reads_back_at_its_own_width(value: float) -> None:
    (text,) = _texts([value], pa.float32())
    back = json.loads(text)
    assert isinstance(back, float)
    assert struct.pack("<f", back) == struct.pack("<f", value)
    assert len(text.strip("-").partition("e")[0].replace(".", "").strip("0")) <= 9


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_double_reads_back_bit_by_bit(value: float) -> None:
    (text,) = _texts([value], pa.float64())
    assert struct.pack("<d", json.loads(text)) == struct.pack("<d", value)


@given(st.text(), st.binary())
def test_text_and_bytes_read_back(text: str, value: bytes) -> None:
    (row,) = json_rows(pa.table({text: [text], f"{text}.": [value]}))
    assert "\n" not in row
    read = json.loads(row)
    assert read[text] == text
    assert b64decode(read[f"{text}."]) == value


def test_a_row_is_one_object_in_the_order_of_its_columns() -> None:
    table = pa.table({"b": [1, None], "a": ["x", "y"]})
    assert json_rows(table) == ['{"b": 1, "a": "x"}', '{"b": null, "a": "y"}']


def test_a_struct_is_an_object_and_a_missing_one_null() -> None:
    kind = pa.struct([("epoch", pa.int32()), ("hi", pa.decimal128(38, 0))])
    column = pa.array([{"epoch": 1, "hi": Decimal(10**37)}, None], kind)
    assert json_column(column) == [f'{{"epoch": 1, "hi": "{10**37}"}}', "null"]
    assert json_column(pa.chunked_array([column, column[:1]]))[2] == f'{{"epoch": 1, "hi": "{10**37}"}}'


def test_rows_without_columns_are_still_counted() -> None:
    assert json_rows(pa.table({"a": [1, 2]}).select([])) == ["{}", "{}"]
