"""Keys that no row has yet, and rows with other values under the same key."""

from decimal import Decimal

from retable.simulate.columns import ColumnType, Row, Value
from retable.simulate.database import RowKey, Table
from retable.simulate.values import column_value, row_values

_MARKS = ("", "a", "A", "é", " b c", "'", '"', "\\", "😀", "/x.y", "%")
_LINES = 3
_HIGH = 1 << 63


def row_with_key(table: Table, key: RowKey, seed: int) -> Row:
    """Make a row under this key; a table without key columns ignores the key."""
    row = row_values(table.columns, seed)
    if not isinstance(key, tuple):
        return row
    held = dict(zip(table.key_places(), key, strict=True))
    return tuple(held.get(at, value) for at, value in enumerate(row))


def numbered_key(table: Table, number: int) -> RowKey:
    """The key of this number; a composite key counts in its last column first, as the lines of an order do."""
    kinds = [table.columns[place].type for place in table.key_places()]
    if len(kinds) == 1:
        return (key_value(kinds[0], number),)
    parts = [number // _LINES, *(0 for _ in kinds[2:]), number % _LINES]
    return tuple(key_value(kind, part) for kind, part in zip(kinds, parts, strict=True))


def key_value(kind: ColumnType, number: int) -> Value:
    """The value of this number in a key; those of a BIGINT UNSIGNED pass 2^63 now and then."""
    if kind.is_whole:
        _, most = kind.bounds
        return _HIGH + number if most > _HIGH and number % 3 == 2 else 1 + number % most
    if kind.base == "decimal":
        return Decimal((0, (*map(int, str(1 + number)), *(0,) * kind.scale), -kind.scale))
    return f"{number}{_MARKS[number % len(_MARKS)]}"[: kind.arguments[0]]


def changed_row(table: Table, row: Row, seed: int) -> Row:
    """The row with other values outside its key: in at least one column, if it has such a column."""
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
