"""Whole rows of one epoch, many at a time: the last row of every key, as the fold has it, without an object for each.

What is not plain (a key that changes, a value that its column refuses) is left to the fold, with all rows of its key.
The rows of other keys have no bearing on it.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from retable.errors import RetableError
from retable.gold.image_columns import read_columns
from retable.gold.lexemes import Lexemes, column_reader
from retable.gold.rows import arrow_type, sequence_type
from retable.gold.state import SEQUENCE_COLUMN
from retable.replay.images import TableReader

_ORDER = ("epoch", "hi", "lo", "topic", "partition", "offset", "row_index")

_Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Plain:
    """What plain rows come to: the `keys` that they speak of, the `rows` that live, the verdicts, and the `rest`."""

    keys: pa.Table
    rows: pa.Table
    verdicts: Counter[str]
    rest: pa.Table


def fold_plain(
    silver: pa.Table, reader: TableReader, wire: Mapping[str, tuple[str, str | None]], with_part: bool
) -> Plain:
    """Reduce rows of silver, all whole and of the last epoch, to the last state of every key.

    `wire` gives, by identity, what the images call a column, and its type there. The columns of the result are in the
    reader's order, by position.
    """
    silver = _in_order(silver)
    deletes = np.asarray(pc.equal(silver["op"], "DELETE"))
    images = pc.if_else(pa.array(deletes), silver["before"], silver["after"])
    names = [wire[column.id][0] if column.id in wire else None for column in reader.columns]
    found = read_columns(images.to_pylist(), [name for name in names if name is not None])
    unplain = np.asarray(pc.is_valid(silver["old_key_hash"])) | np.asarray(pc.is_null(images))
    columns = []
    for at, (column, name) in enumerate(zip(reader.columns, names, strict=True)):
        if name is None:
            columns.append(pa.nulls(silver.num_rows, arrow_type(column.type)))
            continue
        lexemes = found[name]
        if at not in reader.key_columns:
            lexemes = _without(lexemes, deletes)
        declared, kind = column.source_type, column.type
        read = column_reader(reader.source_format, wire[column.id][1], kind, reader.rules, declared)
        array, refused = _read(lexemes, read)
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
    rows = rows.append_column(SEQUENCE_COLUMN, _sequences(silver, with_part).take(pa.array(living)))
    spoken = pa.Table.from_arrays(keys, names=[str(at) for at in reader.key_columns]).take(pa.array(last))
    return Plain(spoken, rows, verdicts, silver.filter(pa.array(rest)))


def _sequences(silver: pa.Table, with_part: bool) -> pa.StructArray:
    kind = sequence_type(with_part)
    members = [silver[member.name].combine_chunks().cast(member.type) for member in kind]
    return pa.StructArray.from_arrays(members, fields=list(kind))


def _in_order(silver: pa.Table) -> pa.Table:
    """The rows by sequence; the same sequence again (a redelivery) by where it arrived."""
    sequence = silver["sequence"].combine_chunks()
    for name in ("epoch", "hi", "lo"):
        silver = silver.append_column(name, pc.struct_field(sequence, name))
    return silver.sort_by([(name, "ascending") for name in _ORDER])


def _without(lexemes: list[str | None], deletes: _Flags) -> list[str | None]:
    """Nobody reads what else stands in a row that goes."""
    if not deletes.any():
        return lexemes
    return [None if gone else lexeme for lexeme, gone in zip(lexemes, deletes.tolist(), strict=True)]


def _read(lexemes: list[str | None], read: Callable[[Lexemes], pa.Array]) -> tuple[pa.Array, _Flags]:
    """A column, null where a value is refused, and which these are."""
    refused = np.zeros(len(lexemes), bool)
    try:
        return read(lexemes), refused
    except RetableError:
        refusing = {lexeme for lexeme in dict.fromkeys(lexemes) if _refuses(read, lexeme)}
    refused[:] = [lexeme in refusing for lexeme in lexemes]
    return read([None if lexeme in refusing else lexeme for lexeme in lexemes]), refused


def _refuses(read: Callable[[Lexemes], pa.Array], lexeme: str | None) -> bool:
    try:
        read([lexeme])
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


def _last(silver: pa.Table, keys: Sequence[pa.Array], plain: _Flags) -> tuple[npt.NDArray[np.int64], Counter[str]]:
    """The place of the last row of every key, and what became of the others; of a redelivered row the first counts."""
    same = np.ones(silver.num_rows, bool)
    for name in ("epoch", "hi", "lo"):
        column = silver[name].combine_chunks()
        same[1:] &= np.asarray(pc.equal(column[1:], column[:-1]))
    places = np.flatnonzero(plain)
    codes, ranks = _codes(keys)[places], np.cumsum(~same)[places]
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


def _codes(keys: Sequence[pa.Array]) -> npt.NDArray[np.int64]:
    """A number for each key: rows have the same one where their keys are equal."""
    codes = np.zeros(len(keys[0]), np.int64)
    for column in keys:
        # Zero has two floats, and both are one key.
        values = pc.add(column, 0.0) if pa.types.is_floating(column.type) else column
        encoded = values.dictionary_encode(null_encoding="encode")
        numbers = np.asarray(encoded.indices.cast(pa.int64()))
        codes = np.unique(codes * len(encoded.dictionary) + numbers, return_inverse=True)[1]
    return codes
