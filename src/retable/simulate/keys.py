"""Makes the keys and rows of the simulated tables from numbers, so that equal numbers give equal rows."""

from decimal import Decimal

from retable.simulate.columns import ColumnType, Row, Value
from retable.simulate.database import RowKey, Table
from retable.simulate.values import column_value, row_values

_MARKS = ("", "a", "A", "é", " b c", "'", '"', "\\", "😀", "/x.y", "%")
_LINES = 3
_HIGH = 1 << 63


def row_with_key(table: Table, key: RowKey, seed: int) -> Row:
    """Return a row with the key `key`, and with other values that `seed` decides.

    In a table without a key, `key` is ignored.
    """
    row = row_values(table.columns, seed)
    if not isinstance(key, tuple):
        return row
    held = dict(zip(table.key_places(), key, strict=True))
    return tuple(held.get(at, value) for at, value in enumerate(row))


def numbered_key(table: Table, number: int) -> RowKey:
    """Return the key with this number in a fixed sequence of keys.

    A composite key is like (order, line): each order has three lines. For two INT columns, the keys are (1, 1), (1, 2),
    (1, 3), (2, 1) and so on. Columns between the first and the last column always have the same value.
    """
    kinds = [table.columns[place].type for place in table.key_places()]
    if len(kinds) == 1:
        return (key_value(kinds[0], number),)
    parts = [number // _LINES, *(0 for _ in kinds[2:]), number % _LINES]
    return tuple(key_value(kind, part) for kind, part in zip(kinds, parts, strict=True))


def key_value(kind: ColumnType, number: int) -> Value:
    """Return the value with this number in a fixed sequence of values for a key column of this type.

    Every third value of a BIGINT UNSIGNED is 2^63 or more.
    """
    if kind.is_whole:
        _, most = kind.bounds
        return _HIGH + number if most > _HIGH and number % 3 == 2 else 1 + number % most
    if kind.base == "decimal":
        return Decimal((0, (*map(int, str(1 + number)), *(0,) * kind.scale), -kind.scale))
    return f"{number}{_MARKS[number % len(_MARKS)]}"[: kind.arguments[0]]


def changed_row(table: Table, row: Row, seed: int) -> Row:
    """Return a row with the same key, but a new value in at least one other column. `seed` decides the values.

    If all columns are in the key, return the row unchanged.
    """
    keys = table.key_places()
    free = [at for at in range(len(row)) if at not in keys]
    if not free:
        return row
    values = list(row)
    for turn, at in enumerate(free):
        if turn == seed % len(free) or seed >> turn & 4:
            column = table.columns[at]
            fresh = (column_value(column, seed * (at + 1) // 3 + step) for step in range(40))
            values[at] = next((value for value in fresh if value != row[at]), row[at])
    return tuple(values)
