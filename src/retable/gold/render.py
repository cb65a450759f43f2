"""Write rows of gold as JSON, without a loss of digits or time, also for values that Python's types cannot hold."""

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
    """Return each row as one JSON object without line breaks.

    - A decimal is a string with all digits of its scale.
    - A float or a double is the shortest number that reads back as the same value of that type. "NaN", "Infinity" and
      "-Infinity" are strings.
    - A date is `YYYY-MM-DD`. A timestamp is `YYYY-MM-DDTHH:MM:SS.ffffff`, with a `Z` if its type has a time zone. A
      year outside 0000-9999 has a sign, as in ISO 8601.
    - A binary value is base64.
    """
    names = [json_text(name) for name in rows.schema.names]
    columns = [json_column(column) for column in rows.columns]
    members = ([f"{name}: {text}" for text in texts] for name, texts in zip(names, columns, strict=True))
    return [f"{{{', '.join(row)}}}" for row in zip(*members, strict=True)] if names else ["{}"] * rows.num_rows


def json_column(column: pa.Array | pa.ChunkedArray) -> list[str]:
    """Return each value of a column as JSON text."""
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
    """Return a value of gold as JSON text. Unicode characters that a terminal can show are not escaped."""
    return printable_json(json.dumps(value, ensure_ascii=False, default=_plain))


def _plain(value: object) -> str:
    match value:
        case Decimal():
            return f"{value:f}"
        case bytes():
            return b64encode(value).decode()
    raise TypeError(f"a value has the Python type {type(value).__name__}, which no type of a gold column has")


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
    """Return the date that is `days` after 1970-01-01, in the proleptic Gregorian calendar.

    Python's `date` ends at the year 9999. The calendar repeats after 400 years, so the day is moved into its range.
    """
    cycles, rest = divmod(days, _CYCLE_DAYS)
    day = _EPOCH + timedelta(rest)
    year = day.year + cycles * _CYCLE_YEARS
    return f"{year:04d}-{day:%m-%d}" if 0 <= year <= 9999 else f"{year:+05d}-{day:%m-%d}"
