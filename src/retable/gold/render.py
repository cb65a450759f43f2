"""Rows of gold as JSON with every digit and every moment of the table, also beyond the range of Python's types."""

import json
from base64 import b64encode
from collections.abc import Callable
from datetime import date, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.types as arrow

from retable.printable import printable_json

_EPOCH = date(1970, 1, 1)
_CYCLE_DAYS, _CYCLE_YEARS = 146_097, 400
_DAY_US = 86_400_000_000
_NOT_NUMBERS = {"nan": '"NaN"', "inf": '"Infinity"', "-inf": '"-Infinity"'}


def json_rows(rows: pa.RecordBatch | pa.Table) -> list[str]:
    """Give each row as one JSON object without line breaks.

    Decimals are strings with their scale; floats and doubles the shortest number that reads back at their width, and
    "NaN", "Infinity", "-Infinity"; dates `YYYY-MM-DD`; timestamps `YYYY-MM-DDTHH:MM:SS.ffffff`, with `Z` if they have a
    zone; binary is base64. Years outside 0000-9999 have a sign, as in ISO 8601.
    """
    names = [json_text(name) for name in rows.schema.names]
    columns = [json_column(column) for column in rows.columns]
    members = ([f"{name}: {text}" for text in texts] for name, texts in zip(names, columns, strict=True))
    return [f"{{{', '.join(row)}}}" for row in zip(*members, strict=True)] if names else ["{}"] * rows.num_rows


def json_column(column: pa.Array | pa.ChunkedArray) -> list[str]:
    """Give each value of a column as JSON text."""
    kind = column.type
    if arrow.is_struct(kind):
        return _structs(column)
    if arrow.is_floating(kind):
        # Arrow writes the shortest digits for the column's own width; Python would widen a float first.
        return _written(column.cast(pa.string()), _number)
    if arrow.is_date32(kind):
        return _written(column.cast(pa.int32()), _date)
    if arrow.is_timestamp(kind):
        micros = column.cast(pa.timestamp("us", kind.tz)).cast(pa.int64())
        return _written(micros, _timestamp("Z" if kind.tz else ""))
    return _written(column, json_text)


def _written(column: pa.Array | pa.ChunkedArray, write: Callable[[Any], str]) -> list[str]:
    return ["null" if value is None else write(value) for value in column.to_pylist()]


def json_text(value: object) -> str:
    """Give a value as JSON text; Unicode characters are not escaped if a terminal can show them."""
    return printable_json(json.dumps(value, ensure_ascii=False, default=_plain))


def _plain(value: object) -> str:
    match value:
        case Decimal():
            return f"{value:f}"
        case bytes():
            return b64encode(value).decode()
    raise TypeError(f"a gold column holds a {type(value).__name__}, which is not a type of gold")


def _structs(column: pa.Array | pa.ChunkedArray) -> list[str]:
    array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    members = pa.Table.from_arrays(array.flatten(), names=[field.name for field in array.type])
    return [
        text if there else "null" for text, there in zip(json_rows(members), array.is_valid().to_pylist(), strict=True)
    ]


def _number(text: str) -> str:
    if text in _NOT_NUMBERS:
        return _NOT_NUMBERS[text]
    return text if "." in text or "e" in text else f"{text}.0"


def _timestamp(zone: str) -> Callable[[int], str]:
    def write(micros: int) -> str:
        days, rest = divmod(micros, _DAY_US)
        seconds, fraction = divmod(rest, 1_000_000)
        clock = f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}.{fraction:06d}"
        return f'"{_day(days)}T{clock}{zone}"'

    return write


def _date(days: int) -> str:
    return f'"{_day(days)}"'


def _day(days: int) -> str:
    """Write a day in the proleptic Gregorian calendar, which repeats after 400 years; `date` ends at the year 9999."""
    cycles, rest = divmod(days, _CYCLE_DAYS)
    day = _EPOCH + timedelta(rest)
    year = day.year + cycles * _CYCLE_YEARS
    return f"{year:04d}-{day:%m-%d}" if 0 <= year <= 9999 else f"{year:+05d}-{day:%m-%d}"
