"""Whole rows of one epoch, many at a time: the last row of every key, as the fold has it, without an object for each.

What is not plain (a key that changes, a value that its column refuses) is left to the fold, with all rows of its key.
The rows of other keys have no bearing on it.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from collections.abc import Sequence as Seq
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from retable.errors import RetableError
from retable.fold.images import TableReader
from retable.gold.rows import arrow_type, sequence_type
from retable.gold.state import SEQUENCE_COLUMN
from retable.model.sequence import Sequence
from retable.replay.batch.image_columns import read_columns
from retable.replay.batch.raw_values import column_reader, number_type
from retable.replay.batch.row_batch import above, order_of_arrival, sequences_of
from retable.schema_history.shards.parts import SHARD_ID, join_part

_Flags = npt.NDArray[np.bool_]
_Places = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class VectorizedRows:
    """What plain rows come to: the `keys` that they speak of, the `rows` that live, the verdicts, and the `rest`."""

    keys: pa.Table
    rows: pa.Table
    verdicts: Counter[str]
    rest: pa.Table


def fold_vectorized(
    silver: pa.Table,
    reader: TableReader,
    wire: Mapping[str, tuple[str, str | None]],
    with_part: bool,
    shard: str | None = None,
    late: Sequence | None = None,
) -> VectorizedRows:
    """Reduce rows of silver, all whole and of the last epoch, to the last state of every key.

    Those up to `late` are left to the fold, with all rows of their keys.

    `wire` gives, by identity, what the images call a column, and its type there. The columns of the result are in the
    reader's order, by position. They may be all of one `shard`.
    """
    silver = silver.combine_chunks()
    deletes = np.asarray(pc.equal(silver["op"], "DELETE"))
    images = pc.if_else(pa.array(deletes), silver["before"], silver["after"])
    names = [wire[column.id][0] if column.id in wire else None for column in reader.columns]
    kinds = {
        wire[column.id][0]: number_type(
            reader.source_format, wire[column.id][1], column.type, reader.rules, column.source_type
        )
        for column in reader.columns
        if column.id in wire
    }
    found = read_columns(images, kinds)
    unplain = np.asarray(pc.is_valid(silver["old_key_hash"])) | np.asarray(pc.is_null(images))
    if late is not None:
        unplain |= ~above(silver, late)
    columns = []
    for at, (column, name) in enumerate(zip(reader.columns, names, strict=True)):
        if name is None:
            constant = pa.scalar(shard if column.id == SHARD_ID else None, arrow_type(column.type))
            columns.append(pa.repeat(constant, silver.num_rows))
            continue
        raw_values = found[name]
        if at not in reader.key_columns:
            # Nobody reads what else stands in a row that goes.
            raw_values = pc.if_else(pa.array(deletes), pa.scalar(None, pa.string()), raw_values)
        declared, kind = column.source_type, column.type
        read = column_reader(reader.source_format, wire[column.id][1], kind, reader.rules, declared)
        array, refused = _read(raw_values, read)
        columns.append(array)
        unplain |= refused
        if at in reader.key_columns:
            unplain |= np.asarray(pc.is_null(array))
    rest = _with_all_of_their_keys(silver, unplain)
    keys = [columns[at] for at in reader.key_columns]
    last, verdicts = _last(silver, keys, ~rest)
    living = last[~deletes[last]]
    names_of = [str(at) for at in range(len(columns))]
    rows = pa.Table.from_arrays(columns, names=names_of).take(pa.array(living))
    rows = rows.append_column(SEQUENCE_COLUMN, _sequences(silver, with_part, shard).take(pa.array(living)))
    spoken = pa.Table.from_arrays(keys, names=[str(at) for at in reader.key_columns]).take(pa.array(last))
    return VectorizedRows(spoken, rows, verdicts, silver.filter(pa.array(rest)))


def join_vectorized(vectorized_batches: Seq[VectorizedRows]) -> VectorizedRows:
    """One of several, whose keys are not the same ones."""
    return VectorizedRows(
        pa.concat_tables(vectorized.keys for vectorized in vectorized_batches),
        pa.concat_tables(vectorized.rows for vectorized in vectorized_batches),
        sum((vectorized.verdicts for vectorized in vectorized_batches), Counter()),
        pa.concat_tables(vectorized.rest for vectorized in vectorized_batches),
    )


def _sequences(silver: pa.Table, with_part: bool, shard: str | None) -> pa.StructArray:
    kind = sequence_type(with_part)
    sequences, part = silver["sequence"].combine_chunks(), silver["part"]
    if shard is not None:
        part = pa.repeat(pa.scalar(join_part(shard, part[0].as_py()), pa.string()), silver.num_rows)
    members = [part if member.name == "part" else pc.struct_field(sequences, member.name) for member in kind]
    members = [_whole(column).cast(member.type) for column, member in zip(members, kind, strict=True)]
    return pa.StructArray.from_arrays(members, fields=list(kind))


def _whole(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def _read(raw_values: pa.Array, read: Callable[[pa.Array], pa.Array]) -> tuple[pa.Array, _Flags]:
    """A column, null where a value is refused, and which these are."""
    try:
        return read(raw_values), np.zeros(len(raw_values), bool)
    except RetableError:
        refusing = [raw_value for raw_value in raw_values.unique().to_pylist() if _refuses(read, raw_value)]
    refused = pc.is_in(raw_values, pa.array(refusing, pa.string()))
    return read(pc.if_else(refused, pa.scalar(None, pa.string()), raw_values)), np.asarray(refused)


def _refuses(read: Callable[[pa.Array], pa.Array], raw_value: str | None) -> bool:
    try:
        read(pa.array([raw_value], pa.string()))
    except RetableError:
        return True
    return False


def _with_all_of_their_keys(silver: pa.Table, unplain: _Flags) -> _Flags:
    """The rows of the keys, old ones too, that any of these rows has."""
    if not unplain.any():
        return unplain
    chosen = silver.filter(pa.array(unplain))
    hashes = pa.concat_arrays([*chosen["key_hash"].chunks, *chosen["old_key_hash"].chunks]).drop_null()
    same: _Flags = np.asarray(pc.is_in(silver["key_hash"], hashes))
    return unplain | same


def _last(silver: pa.Table, keys: Seq[pa.Array], vectorized: _Flags) -> tuple[_Places, Counter[str]]:
    """The place of the last row of every key, and what became of the others; of a redelivered row the first counts."""
    order, ranks = _ranked(silver)
    counts = vectorized[order]
    places, ranks = order[counts], ranks[counts]
    codes = _codes(keys)[places]
    by_key = np.argsort(codes, kind="stable")
    codes, ranks = codes[by_key], ranks[by_key]
    again = np.zeros(len(places), bool)
    again[1:] = (codes[1:] == codes[:-1]) & (ranks[1:] == ranks[:-1])
    first, codes = by_key[~again], codes[~again]
    ends = np.ones(len(first), bool)
    ends[:-1] = codes[1:] != codes[:-1]
    last = places[np.sort(first[ends])]
    duplicates = int(again.sum())
    verdicts = Counter(applied=len(last), duplicate=duplicates, superseded=len(places) - len(last) - duplicates)
    return last, +verdicts


def _ranked(silver: pa.Table) -> tuple[_Places, _Places]:
    """The places of the rows by sequence, with its rank; equal ones, which are redeliveries, as they arrived."""
    sequences, order = sequences_of(silver), order_of_arrival(silver)
    same = np.ones(silver.num_rows, bool)
    for column in sequences.take(order).combine_chunks().columns:
        same[1:] &= np.asarray(pc.equal(column[1:], column[:-1]))
    return np.asarray(order).astype(np.int64), np.cumsum(~same)


def _codes(keys: Seq[pa.Array]) -> npt.NDArray[np.int64]:
    """A number for each key: rows have the same one where their keys are equal."""
    codes = np.zeros(len(keys[0]), np.int64)
    for column in keys:
        # Zero has two floats, and both are one key.
        values = pc.add(column, 0.0) if pa.types.is_floating(column.type) else column
        encoded = values.dictionary_encode(null_encoding="encode")
        numbers = np.asarray(encoded.indices.cast(pa.int64()))
        codes = np.unique(codes * len(encoded.dictionary) + numbers, return_inverse=True)[1]
    return codes
