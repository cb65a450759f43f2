"""Find the positions of keys in a data file with Arrow. Only the key columns are read, and no Spark job is started."""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyiceberg.io import FileIO

from retable.ledger.lake.checksums import open_parquet

_ROW = "_retable_row"
_EDGES = 3
_BITS = {pa.float32(): pa.int32(), pa.float64(): pa.int64()}
_CLOSE = 8
"""A lookup table has at most this many entries, of one byte each, for each value that is looked up in it."""


def find_rows(io: FileIO, path: str, ids: list[int], keys: pa.Table) -> pa.Array | None:
    """Return the positions, from 0, of the rows of the data file `path` that have one of the `keys`.

    `ids` are the Iceberg field ids of the columns of `keys`, in the same order. Return None if the file lacks one of
    these columns. NULL equals NULL, NaN equals NaN, and 0.0 equals -0.0.
    """
    wanted = comparable(keys)
    with open_parquet(io, path) as file:
        places = [place_of(file.schema_arrow, field_id) for field_id in ids]
        if None in places:
            return None
        names = [file.schema_arrow.field(place).name for place in places]
        found, start = [], 0
        for group in range(file.num_row_groups):
            if _may_hold(file.metadata.row_group(group), names[0], keys.column(0)):
                rows = file.read_row_group(group, columns=names).select(names)
                rows = comparable(rows.rename_columns(keys.column_names).cast(keys.schema))
                found.append(pc.add(_matching(rows, wanted), start))
            start += file.metadata.row_group(group).num_rows
        return pa.chunked_array(found, pa.int64()).combine_chunks()


def ends(keys: pa.Table) -> list[tuple[str, Any, Any]]:
    """Return the name, the lowest and the highest value of key columns, to compare with the bounds of data files.

    A column that has NULLs, or a type whose bounds cannot be used (`is_ordered`), is not in the result.
    """
    found = []
    for name in keys.column_names:
        column = keys[name]
        if not column.null_count and is_ordered(column.type):
            values = pc.min_max(column).as_py()
            found.append((name, values["min"], values["max"]))
    return found


def edges_of(keys: pa.Table) -> pa.Table:
    """Return three rows with the lowest and the highest value of each column of `keys`. Without keys, return no rows.

    They suffice to find the data files that may have some of the keys. Each column is filled separately, so a row need
    not be one of the keys. If a column has NULLs, NULL is also among its three values. A column of a type for which
    `is_ordered` is False (such as text) has one arbitrary value of `keys` instead of the lowest and the highest.
    """
    columns = []
    for column in keys.columns:
        # A copy: a slice refers to all values of its column, and so takes them along to other processes.
        some = column.take(pa.array([0][: len(column)], pa.int64()))
        if is_ordered(column.type) and column.null_count < len(column):
            values = pc.min_max(column).as_py()
            some = pa.chunked_array([[values["min"], values["max"]]], column.type)
        missing = pa.nulls(bool(column.null_count), column.type)
        padding = [some.slice(0, 1)] * (_EDGES - len(some) - len(missing))
        columns.append(pa.chunked_array([chunk for each in (some, *padding) for chunk in each.chunks] + [missing]))
    return pa.table(columns, names=keys.column_names) if keys.num_rows else keys.slice(0, 0)


def place_of(schema: pa.Schema, field_id: int) -> int | None:
    """Return the index of the column with this Iceberg field id in a file's schema, or None if the file lacks it.

    The name of the column cannot be used, because it may have changed after the file was written.
    """
    wanted = str(field_id).encode()
    ids = (((field.metadata or {}).get(b"PARQUET:field_id"), at) for at, field in enumerate(schema))
    return next((at for found, at in ids if found == wanted), None)


def _may_hold(group: pq.RowGroupMetaData, name: str, keys: pa.ChunkedArray) -> bool:
    """Return whether a row group may have one of the keys. Only integer keys can exclude it, by its value range."""
    if not pa.types.is_integer(keys.type) or keys.null_count:
        return True
    columns = (group.column(at) for at in range(group.num_columns))
    statistics = next((column.statistics for column in columns if column.path_in_schema == name), None)
    if statistics is None or not statistics.has_min_max:
        return True
    ends = pc.min_max(keys).as_py()
    return bool(statistics.min <= ends["max"] and statistics.max >= ends["min"])


def comparable(rows: pa.Table) -> pa.Table:
    """Return the rows with each float replaced by an integer. Equal floats, also two NaN, become equal integers."""
    for at, field in enumerate(rows.schema):
        if field.type in _BITS:
            one_zero = pc.add(rows.column(at), pa.scalar(0.0, field.type))
            one_nan = pc.if_else(pc.is_nan(one_zero), pa.scalar(float("nan"), field.type), one_zero)
            bits = pa.chunked_array([chunk.view(_BITS[field.type]) for chunk in one_nan.chunks], _BITS[field.type])
            rows = rows.set_column(at, field.name, bits)
    return rows


def _matching(rows: pa.Table, keys: pa.Table) -> pa.Array:
    candidates = _is_one_of(rows.column(0), keys.column(0))
    for at in range(1, keys.num_columns):
        candidates = pc.and_(candidates, _is_one_of(rows.column(at), keys.column(at)))
    places = pc.indices_nonzero(candidates).cast(pa.int64())
    if keys.num_columns == 1:
        return places
    near, wanted = rows.take(places), keys
    for at in range(keys.num_columns):
        if keys.column(at).null_count:
            some = keys.column(at).drop_null()
            near, wanted = _flagged(near, at, some), _flagged(wanted, at, some)
    same = near.append_column(_ROW, places).join(wanted, wanted.column_names, join_type="left semi")
    return same.column(_ROW).combine_chunks()


def _flagged(rows: pa.Table, at: int, some: pa.ChunkedArray) -> pa.Table:
    """Replace NULLs of the column at index `at` by a value of `some`, and add a column that says which were not NULL.

    Without this, a join would not match NULLs.
    """
    column = rows.column(at)
    filled = pc.fill_null(column, some[0]) if len(some) else pa.array(np.zeros(len(column), np.int8))
    return rows.set_column(at, rows.column_names[at], filled).append_column(f"{_ROW}_{at}", pc.is_valid(column))


def _is_one_of(values: pa.ChunkedArray, wanted: pa.ChunkedArray) -> pa.Array:
    """Return for each value whether it is one of `wanted`. Integers in a small range are found with a lookup table."""
    if pa.types.is_integer(values.type) and not values.null_count and not wanted.null_count and len(values):
        numbers, among = values.to_numpy(), wanted.to_numpy()
        lowest, highest = numbers.min(), numbers.max()
        among = among[(among >= lowest) & (among <= highest)]
        if int(highest) - int(lowest) <= _CLOSE * len(numbers):
            return pa.array(np.isin(numbers, among, kind="table"))
        wanted = pa.chunked_array([among])
    return pc.is_in(values, value_set=wanted.combine_chunks())


def is_ordered(kind: pa.DataType) -> bool:
    """Return whether a data file can be skipped if its bounds for a column of this type exclude all wanted values.

    This is so for integers and decimals only.
    """
    return bool(pa.types.is_integer(kind) or pa.types.is_decimal(kind))
