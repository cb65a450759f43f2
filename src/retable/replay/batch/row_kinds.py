"""Find rows of one kind: rows with the same columns, types, key columns and source partition.

Some decisions of a replay depend only on the key columns, columns and partitions of rows. The result is the same for
all rows of a kind, so it is enough to look at the first and the last row of the kind.
"""

from collections.abc import Sequence as Seq
from hashlib import blake2b

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from msgspec import Raw

from retable.replay.batch.silver_rows import HALVES

_OPS = pa.array(["INSERT", "UPDATE", "DELETE", "READ"])
_IMAGES = pa.array(["full", *HALVES])
_NAMES_OF = msgspec.json.Decoder(dict[str, Raw])
_NOTHING, _EMPTY = np.uint64(1), np.uint64(2)

Codes = npt.NDArray[np.uint64]
Flags = npt.NDArray[np.bool_]
Hashes = npt.NDArray[np.int64]
Places = npt.NDArray[np.int64]


def first_and_last_of_kinds(rows: pa.Table, order: Places, alike: bool = False) -> list[int]:
    """Return the indices of the first and the last row of each kind.

    Rows of one kind have the same columns, types, key columns, partition and source epoch. `order` has the indices of
    all rows, first to last. Set `alike` if all rows have the same columns, types and key columns. Then only partition
    and source epoch are compared, which is faster.
    """
    kinds = (_codes_of_all(_places_of(rows)) if alike else kinds_of(rows))[order]
    first = np.unique(kinds, return_index=True)[1]
    last = len(kinds) - 1 - np.unique(kinds[::-1], return_index=True)[1]
    places: list[int] = order[np.unique(np.concatenate([first, last]))].tolist()
    return places


def kinds_of(rows: pa.Table) -> Codes:
    """Return a 64-bit hash for each row.

    It is equal for rows with the same columns, types, key columns, partition and source epoch.
    """
    return _codes_of_all([*_places_of(rows), _codes_of_lists(rows["keys"]), codes_of_types(rows)])


def _places_of(rows: pa.Table) -> list[Codes]:
    """Return two hashes for each row: that of its partition, and that of its source epoch."""
    return [_codes(rows["part"]), _codes(pc.struct_field(rows["sequence"], "epoch").cast(pa.string()))]


def _codes_of_all(columns: Seq[Codes]) -> Codes:
    """Combine the hashes of several columns into one hash for each row."""
    found: Codes = np.zeros(len(columns[0]), np.uint64)
    for column in columns:
        found = mixed(found ^ column)
    return found


def codes_of_types(rows: pa.Table) -> Codes:
    """Return for each row a hash of its column names and their types.

    If the message of a row names no types, the hash is only of the column names of its image.
    """
    types = rows["column_types"]
    codes = _codes_of_lists(types)
    untold = np.flatnonzero(np.asarray(pc.or_kleene(pc.is_null(types), pc.equal(_lengths(types), 0))))
    if untold.size:
        images = pc.coalesce(rows["after"], rows["before"], pa.scalar("{}")).take(pa.array(untold))
        names = ["".join(f"{name}\0" for name in _NAMES_OF.decode(image)) for image in images.to_pylist()]
        codes[untold] = _codes(pa.chunked_array([names], pa.string()))
    return codes


def have_keys(rows: pa.Table, keys: Seq[str]) -> bool:
    """Return whether all rows name exactly these columns as their key."""
    return bool(name_keys(rows, keys).all())


def name_keys(rows: pa.Table, keys: Seq[str]) -> Flags:
    """Return for each row whether it names exactly these columns as its key."""
    told = pa.chunked_array([pa.array([[*keys]], rows["keys"].type)])
    return np.asarray(_codes_of_lists(rows["keys"]) == _codes_of_lists(told)[0])


def _lengths(lists: pa.ChunkedArray) -> pa.ChunkedArray:
    chunks = [pc.subtract(chunk.offsets[1:], chunk.offsets[:-1]) for chunk in lists.chunks]
    return pa.chunked_array(chunks, pa.int32())


def _codes_of_lists(lists: pa.ChunkedArray) -> Codes:
    """Return a hash of each list or map of texts; it depends on the order of the members."""
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
    """Return a hash of each text. Equal texts have the same hash in every array."""
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
    """Mix the bits of each number, so that the results spread over all 64 bits (the finalizer of SplitMix64)."""
    codes = (codes ^ (codes >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    codes = (codes ^ (codes >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return codes ^ (codes >> np.uint64(31))


def is_plain(rows: pa.Table) -> bool:
    """Return whether all rows of a table have whole images and a key hash, and the same columns, types and key."""
    return bool(
        pc.all(pc.is_in(rows["op"], _OPS)).as_py()
        and pc.all(pc.is_in(rows["image"], _IMAGES)).as_py()
        and not pc.any(pc.fill_null(rows["partial_after"], False)).as_py()
        and rows["key_hash"].null_count == 0
        and _all_equal(rows["keys"])
        and (_all_equal(rows["column_types"]) or _are_untyped_alike(rows))
    )


def leave_partly(rows: pa.Table) -> Flags:
    """Return for each row whether it changes its key and has a partial image."""
    moved, partial = pc.is_valid(rows["old_key_hash"]), pc.fill_null(rows["partial_after"], False)
    return np.asarray(pc.and_(moved, partial))


def _are_untyped_alike(rows: pa.Table) -> bool:
    """Return whether no row has types, and all images have the same columns in the same order."""
    return rows["column_types"].null_count == rows.num_rows and len(set(codes_of_types(rows).tolist())) == 1


def _all_equal(lists: pa.ChunkedArray) -> bool:
    """Return whether all rows have the same list or map, and it is not empty."""
    chunks = [chunk for chunk in lists.chunks if len(chunk)]
    return bool(chunks) and all(map(_is_uniform, chunks)) and all(chunk[:1] == chunks[0][:1] for chunk in chunks)


def _is_uniform(array: pa.Array) -> bool:
    """Return whether all rows of one chunk have the same list or map.

    Each chunk is checked alone, because the lists of all rows may be too long for one array.
    """
    if array.null_count:
        return False
    first, offsets = len(array[0]), array.offsets
    if pa.types.is_map(array.type):
        # `keys` and `items` ignore the slice of a map array, so apply its offsets.
        members = [each[offsets[0].as_py() : offsets[-1].as_py()] for each in (array.keys, array.items)]
    else:
        members = [array.flatten()]
    if not first or any(len(member) != first * len(array) for member in members):
        return False
    same = pc.all(pc.equal(pc.subtract(offsets[1:], offsets[:-1]), first)).as_py()
    return bool(same) and all(_repeats(member, first) for member in members)


def _repeats(values: pa.Array | pa.ChunkedArray, period: int) -> bool:
    """Return whether the values repeat after every `period` values."""
    return bool(values[period:].equals(values[: len(values) - period]))
