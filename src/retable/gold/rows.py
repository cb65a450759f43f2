"""Convert rows of gold to Arrow, and Arrow to tuples of values that can be compared."""

from collections.abc import Sequence as Seq
from decimal import Decimal

import pyarrow as pa

from retable.fold.fold import Values, Winner
from retable.gold.state import SEQUENCE_COLUMN
from retable.model.schema import GoldType
from retable.values.numbers import NAN

_ARROW: dict[str, pa.DataType] = {
    "boolean": pa.bool_(),
    "int": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us"),
    "timestamptz": pa.timestamp("us", "UTC"),
    "string": pa.string(),
    "binary": pa.binary(),
}
_STORED = {"date": pa.int32(), "timestamp": pa.int64(), "timestamptz": pa.int64()}


def arrow_type(kind: GoldType) -> pa.DataType:
    return pa.decimal128(kind.precision, kind.scale) if kind.kind == "decimal" else _ARROW[kind.kind]


def sequence_type(with_part: bool) -> pa.DataType:
    members = [("epoch", pa.int32()), ("hi", pa.decimal128(38, 0)), ("lo", pa.int64())]
    return pa.struct([*members, ("part", pa.string())] if with_part else members)


def to_column(values: Seq[object], kind: GoldType) -> pa.Array:
    """Return values as an Arrow array. A date is a number of days, a timestamp of microseconds, since 1970-01-01."""
    stored = _STORED.get(kind.kind)
    if stored is None:
        return pa.array(values, arrow_type(kind))
    return pa.array(values, stored).cast(arrow_type(kind))


def to_table(winners: Seq[tuple[Values, Winner]], columns: Seq[tuple[str, GoldType]], with_part: bool) -> pa.Table:
    """Return new rows of gold as an Arrow table, with the sequence column at the end.

    Each row comes with its `Winner`, which has the sequence (position in the source's order) of the row's last change.
    `columns` are the columns of the rows, with their names in the Iceberg table. If `with_part` is set, the sequence
    column also has the source partition.
    """
    arrays = [to_column([row[i] for row, _ in winners], kind) for i, (_, kind) in enumerate(columns)]
    sequences = [
        {"epoch": w.sequence.epoch, "hi": Decimal(w.sequence.hi), "lo": w.sequence.lo, "part": w.part}
        for _, w in winners
    ]
    arrays.append(pa.array(sequences, sequence_type(with_part)))
    return pa.Table.from_arrays(arrays, names=[*(name for name, _ in columns), SEQUENCE_COLUMN])


def to_keys(keys: Seq[Values], columns: Seq[tuple[str, GoldType]]) -> pa.Table:
    """Return keys, or whole rows, as an Arrow table. `columns` are their columns, named as in the Iceberg table."""
    arrays = [to_column([key[at] for key in keys], kind) for at, (_, kind) in enumerate(columns)]
    return pa.Table.from_arrays(arrays, names=[name for name, _ in columns])


def to_values(table: pa.Table) -> list[Values]:
    """Return each row as a tuple of values that can be compared with `==`.

    A date is a number of days, a timestamp a number of microseconds, since 1970-01-01. All NaN are the same
    Python object, so that tuples with NaN in the same place are equal.
    """
    columns = []
    for column in table.columns:
        if pa.types.is_date32(column.type):
            column = column.cast(pa.int32())
        elif pa.types.is_timestamp(column.type):
            column = column.cast(pa.timestamp("us", column.type.tz)).cast(pa.int64())
        values = column.to_pylist()
        if pa.types.is_floating(column.type):
            values = [value if value == value or value is None else NAN for value in values]
        columns.append(values)
    return list(zip(*columns, strict=True)) if columns else []


def with_nulls(rows: pa.Table, nulls: pa.Schema) -> pa.Table:
    """Return the rows with the columns `nulls` added. All values in these columns are NULL."""
    for field in nulls:
        rows = rows.append_column(field, pa.nulls(rows.num_rows, field.type))
    return rows
