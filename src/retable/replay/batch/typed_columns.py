"""Convert many row images to columns of gold, and find the rows with a value that does not fit its column."""

from collections.abc import Callable, Iterable
from collections.abc import Sequence as Seq

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from retable.errors import RetableError
from retable.fold.cells import Wire
from retable.fold.images import TableReader
from retable.gold.rows import to_column
from retable.replay.batch.image_columns import read_columns
from retable.replay.batch.raw_values import column_reader, number_type
from retable.replay.batch.row_kinds import Flags, Places
from retable.schema_history.shards.parts import SHARD_ID

Wires = Seq[Wire]
"""The name and the type of each column in row images, by column identity. There is one mapping for all rows, or one
mapping for each stretch (rows between two statements)."""


def typed_columns(
    images: pa.ChunkedArray,
    stretches: Places,
    reader: TableReader,
    wires: Wires,
    shard: str | None,
    places: Seq[int],
    deletes: Flags,
) -> tuple[list[pa.Array], Flags]:
    """Return gold columns of row images, and for each image whether one of its values does not fit its column.

    `places` are the indices of the wanted columns in `reader.columns`; the result has one array for each of them. A
    value that does not fit is null. `wires` gives the names and types of columns in images. It has one mapping for all
    images, or several; then `stretches` has for each image the index of its mapping in `wires`. `shard` is the value of
    the column that names a row's source table. `deletes` is True for an image of a deleted row. For such an image
    only the key columns are read, and the other columns of the image are null.
    """
    if len(wires) == 1:
        return _columns_alike(images, reader, wires[0], shard, places, deletes)
    apart = [np.flatnonzero(stretches == at) for at in range(len(wires))]
    read = [
        _columns_alike(images.take(pa.array(mine)), reader, wire, shard, places, deletes[mine])
        for mine, wire in zip(apart, wires, strict=True)
    ]
    back = pa.array(np.argsort(np.concatenate(apart)))
    joined = (pa.concat_arrays(map(whole, parts)) for parts in zip(*(columns for columns, _ in read), strict=True))
    refused = np.concatenate([each for _, each in read])
    return [column.take(back) for column in joined], refused[np.asarray(back)]


def _columns_alike(
    images: pa.ChunkedArray, reader: TableReader, wire: Wire, shard: str | None, places: Iterable[int], deletes: Flags
) -> tuple[list[pa.Array], Flags]:
    """Do the same as `typed_columns` for images that all name their columns in the same way (`wire`)."""
    columns, refused = [], np.zeros(len(images), bool)
    wanted = [(at, reader.columns[at]) for at in places]
    kinds = {
        wire[column.id][0]: number_type(
            reader.source_format, wire[column.id][1], column.type, reader.rules, column.source_type
        )
        for _, column in wanted
        if column.id in wire
    }
    found = read_columns(images, kinds)
    for at, column in wanted:
        if column.id not in wire:
            value = shard if column.id == SHARD_ID else reader.defaults[column.id]
            columns.append(pa.repeat(to_column([value], column.type)[0], len(images)))
            continue
        name, wire_type = wire[column.id]
        raw_values = found[name]
        if at not in reader.key_columns:
            # Other values than the key of a deleted row are not used.
            raw_values = pc.if_else(pa.array(deletes), pa.scalar(None, raw_values.type), raw_values)
        read = column_reader(reader.source_format, wire_type, column.type, reader.rules, column.source_type)
        array, are_refused = _refusing(raw_values, read)
        columns.append(array)
        refused |= are_refused
    return columns, refused


def whole(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def _refusing(raw_values: pa.Array, read: Callable[[pa.Array], pa.Array]) -> tuple[pa.Array, Flags]:
    """Read a column, with null for each refused value. Return it and, for each row, whether its value was refused."""
    try:
        return read(raw_values), np.zeros(len(raw_values), bool)
    except RetableError:
        raw_values = raw_values.cast(pa.string())
        refusing = [raw_value for raw_value in raw_values.unique().to_pylist() if _refuses(read, raw_value)]
    refused = pc.is_in(raw_values, pa.array(refusing, pa.string()))
    return read(pc.if_else(refused, pa.scalar(None, pa.string()), raw_values)), np.asarray(refused)


def _refuses(read: Callable[[pa.Array], pa.Array], raw_value: str | None) -> bool:
    try:
        read(pa.array([raw_value], pa.string()))
    except RetableError:
        return True
    return False
