"""Which rows are of one kind: they tell the same columns, types and key, in one partition.

What rules ask of rows (their keys, the columns that they bring, their partitions) has the same answer for all rows of a
kind, so it is enough to ask its first row and its last one.
"""

from collections.abc import Sequence as Seq
from hashlib import blake2b

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from msgspec import Raw

_NAMES_OF = msgspec.json.Decoder(dict[str, Raw])
_NOTHING, _EMPTY = np.uint64(1), np.uint64(2)

Codes = npt.NDArray[np.uint64]
Flags = npt.NDArray[np.bool_]
Hashes = npt.NDArray[np.int64]
Places = npt.NDArray[np.int64]


def first_and_last_of_kinds(rows: pa.Table, order: Places) -> list[int]:
    """The places of the first and of the last row of each kind in an `order` of all rows, in that order."""
    kinds = kinds_of(rows)[order]
    first = np.unique(kinds, return_index=True)[1]
    last = len(kinds) - 1 - np.unique(kinds[::-1], return_index=True)[1]
    places: list[int] = order[np.unique(np.concatenate([first, last]))].tolist()
    return places


def kinds_of(rows: pa.Table) -> Codes:
    """A number for the kind of each row: a hash, in 64 bits, of all that makes a kind."""
    columns = [
        _codes(rows["part"]),
        _codes(pc.struct_field(rows["sequence"], "epoch").cast(pa.string())),
        _codes_of_lists(rows["keys"]),
        codes_of_types(rows),
    ]
    found = np.zeros(rows.num_rows, np.uint64)
    for column in columns:
        found = mixed(found ^ column)
    return found


def codes_of_types(rows: pa.Table) -> Codes:
    """A number for the columns and types that each row tells; where it tells no types, for the columns of its image."""
    types = rows["column_types"]
    codes = _codes_of_lists(types)
    untold = np.flatnonzero(np.asarray(pc.or_kleene(pc.is_null(types), pc.equal(_lengths(types), 0))))
    if untold.size:
        images = pc.coalesce(rows["after"], rows["before"], pa.scalar("{}")).take(pa.array(untold))
        names = ["".join(f"{name}\0" for name in _NAMES_OF.decode(image)) for image in images.to_pylist()]
        codes[untold] = _codes(pa.chunked_array([names], pa.string()))
    return codes


def have_keys(rows: pa.Table, keys: Seq[str]) -> bool:
    """Whether all rows name just these columns as their key."""
    return bool(name_keys(rows, keys).all())


def name_keys(rows: pa.Table, keys: Seq[str]) -> Flags:
    """Which rows name just these columns as their key."""
    told = pa.chunked_array([pa.array([[*keys]], rows["keys"].type)])
    return np.asarray(_codes_of_lists(rows["keys"]) == _codes_of_lists(told)[0])


def _lengths(lists: pa.ChunkedArray) -> pa.ChunkedArray:
    chunks = [pc.subtract(chunk.offsets[1:], chunk.offsets[:-1]) for chunk in lists.chunks]
    return pa.chunked_array(chunks, pa.int32())


def _codes_of_lists(lists: pa.ChunkedArray) -> Codes:
    """A number for each list of texts, or map of texts, in the order of its members."""
    found = [_codes_of_list_array(chunk) for chunk in lists.chunks]
    return np.concatenate(found) if found else np.zeros(0, np.uint64)


def _codes_of_list_array(lists: pa.Array) -> Codes:
    offsets = np.asarray(lists.offsets).astype(np.int64)
    first, end = (int(offsets[0]), int(offsets[-1])) if len(lists) else (0, 0)
    if pa.types.is_map(lists.type):
        keys, items = (_codes(pa.chunked_array([each[first:end]])) for each in (lists.keys, lists.items))
        members = mixed(keys) ^ items
    else:
        members = _codes(pa.chunked_array([lists.values[first:end]]))
    lengths = np.diff(offsets)
    starts = offsets[:-1] - first
    places = (np.arange(end - first) - np.repeat(starts, lengths)).astype(np.uint64)
    members = mixed(members ^ mixed(places + np.uint64(3)))
    codes = np.full(len(lists), _EMPTY, np.uint64)
    filled = lengths > 0
    if filled.any():
        codes[filled] = np.add.reduceat(members, starts[filled])
    codes[np.asarray(lists.is_null())] = _NOTHING
    return codes


def _codes(texts: pa.ChunkedArray) -> Codes:
    """A number for each text, the same in every array."""
    found = []
    for chunk in texts.chunks:
        encoded = chunk.dictionary_encode(null_encoding="encode")
        known = np.array([_code(text) for text in encoded.dictionary.to_pylist()], np.uint64)
        found.append(known[np.asarray(encoded.indices)])
    return np.concatenate(found) if found else np.zeros(0, np.uint64)


def _code(text: str | None) -> int:
    if text is None:
        return int(_NOTHING)
    return int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest())


def mixed(codes: Codes) -> Codes:
    """Spread numbers over all 64 bits (the finalizer of SplitMix64)."""
    codes = (codes ^ (codes >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    codes = (codes ^ (codes >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return codes ^ (codes >> np.uint64(31))
