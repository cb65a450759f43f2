"""Makes the values of the simulated shop: for every type an endless list, simple values first, difficult values later.

A number chooses a value, not a random choice. So one random choice makes a whole row, and Hypothesis shrinks fast.
"""

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

from retable.simulate.columns import Column, ColumnType, Row, Value

_TEXTS = (
    "plain",
    "",
    "O'Brien",
    'say "hi"',
    "back\\slash \\n \\u0041",
    "😀 emoji 👩‍👩‍👧",
    "NULL",
    "tab\tline\nfeed\r",
    " blanks ",
    "عربى עברית",
    "{\"k\": [1, 'x']}",
    "数量",
    "\u0001\u2028\u00a0",
    "%_;--",
)
_BYTES = (b"photo", b"", b"\0", b"\xff\xfe\0\x80", bytes(range(0, 256, 17)), b"caf\xc3\xa9", b"\r\n\"'\\", b"\x7f\0")
_DOUBLES = (
    *(0.0, 1.5, -2.25, 0.1, 100.0, 1e-3, 9999999.0, 12345678.9, 1e22, -1e-7),
    *(1.7976931348623157e308, 2.2250738585072014e-308, 0.30000000000000004, 123456789012345.67),
)
_DAYS = (date(2026, 3, 1), date(1969, 12, 31), date(2000, 2, 29), date(1900, 1, 1), date(9999, 12, 31))
_MOMENTS = tuple(
    map(
        datetime.fromisoformat,
        (
            "2026-03-01T05:00:00",
            "1970-01-01T00:00:01",
            "2024-02-29T23:59:59.999",
            "2038-01-19T03:14:07",
            "2026-03-29T02:30:00.001",
        ),
    )
)
_WALLS = (
    *_MOMENTS,
    *map(datetime.fromisoformat, ("1969-12-31T23:59:59.999", "1900-01-01T00:00:00", "9999-12-31T23:59:59")),
)
_SPREAD = 0x9E3779B1


def row_values(columns: tuple[Column, ...], seed: int) -> Row:
    """Return a row of these columns, with values that `seed` decides. The seed 0 gives the simplest row."""
    return tuple(column_value(column, seed * (2 * at + 1) * _SPREAD >> 7) for at, column in enumerate(columns))


def column_value(column: Column, number: int) -> Value:
    """Return the value with this number in a column's list of values. In a nullable column, every sixth is NULL."""
    if column.nullable and number % 6 == 5:
        return None
    return type_value(column.type, number // 2)


def type_value(kind: ColumnType, number: int) -> Value:
    """Return the value with this number in a type's list of values. The value fits the type's length.

    Times have at most milliseconds, because messages of streamx_json are not more precise.
    """
    if kind.is_whole:
        return _whole(kind, number)
    match kind.base:
        case "decimal":
            return _decimal(kind, number)
        case "double":
            return _DOUBLES[number % len(_DOUBLES)]
        case "varchar":
            return _text(kind, number)
        case "varbinary":
            return _BYTES[number % len(_BYTES)][: kind.arguments[0]]
        case "enum":
            return kind.labels[number % len(kind.labels)]
        case "date":
            return _DAYS[number % 5] if number % 3 else _DAYS[0] + timedelta(number % 1000)
        case "datetime":
            return _clock(kind, number, _WALLS)
        case "timestamp":
            return _clock(kind, number, _MOMENTS).replace(tzinfo=UTC)
    raise ValueError(f"the simulator has no values of the type {kind}")


def _whole(kind: ColumnType, number: int) -> int:
    least, most = kind.bounds
    if number % 7 == 6:
        return (least, most, most - 1, least + 1)[number // 7 % 4]
    return min(number % 120, most)


def _decimal(kind: ColumnType, number: int) -> Decimal:
    """Make the decimal from its digits. Arithmetic on decimals would round to the precision of the decimal context."""
    precision, scale = kind.arguments
    most = 10**precision - 1
    match number % 7:
        case 6:
            digits = (most, 1, 10**scale, most - 10**scale)[number // 7 % 4]
        case 5:
            digits = number**5 * _SPREAD % (most + 1)
        case _:
            digits = number * 25 % (10 ** min(precision, 7))
    return Decimal((number % 2, tuple(map(int, str(digits))), -scale)) if digits else Decimal((0, (0,), -scale))


def _text(kind: ColumnType, number: int) -> str:
    base = _TEXTS[number % len(_TEXTS)] if number % 3 else f"text {number % 1000}"
    return base[: kind.arguments[0]]


def _clock(kind: ColumnType, number: int, traps: tuple[datetime, ...]) -> datetime:
    moment = traps[number // 3 % len(traps)] if number % 3 else _MOMENTS[0] + timedelta(milliseconds=number % 10**9)
    return moment if kind.scale >= 3 else moment.replace(microsecond=0)
