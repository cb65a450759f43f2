"""Fold many row events with whole images at a time, without a Python object for each row.

The result is the last row of every key. A row that changes its key becomes two entries: one for its new key, and one
for its old key.

Some rows are not plain: a value does not fit its column, or only gold shows whether the row had its old key. The fold
of single rows (`fold_keys`) must fold them, together with all rows of the same keys. Other keys do not depend on them.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from collections.abc import Sequence as Seq
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from retable.fold.images import TableReader
from retable.gold.rows import sequence_type
from retable.gold.state import SEQUENCE_COLUMN
from retable.model.sequence import Sequence
from retable.replay.batch.half_rows import lack_other_half
from retable.replay.batch.row_batch import STRETCH, above, order_of_arrival, sequences_of
from retable.replay.batch.row_kinds import Flags, Hashes, Places
from retable.replay.batch.typed_columns import Wires, typed_columns, whole
from retable.schema_history.shards.parts import join_part


@dataclass(frozen=True, slots=True)
class VectorizedRows:
    """The result of folding plain rows, as columns: the change of gold.

    `keys` are the keys whose rows are deleted from gold, and `rows` the new rows. `verdicts` counts rows by window name
    and verdict, such as `applied` or `duplicate`. `rest` are the hashes of keys that the fold of single rows must still
    fold. `unchanged` are the keys without new events; it is None if the caller did not ask for them (`since`).
    """

    keys: pa.Table
    rows: pa.Table
    verdicts: Counter[tuple[str, str]] = field(default_factory=Counter)
    rest: Hashes = field(default_factory=lambda: np.zeros(0, np.int64))
    unchanged: pa.Table | None = None

    def counted(self, ordinals: Mapping[str, int]) -> Counter[tuple[int, str]]:
        """Return the counts of rows by window ordinal and verdict. `ordinals` are the numbers of windows by name."""
        return Counter({(ordinals[window], verdict): count for (window, verdict), count in self.verdicts.items()})


@dataclass(frozen=True, slots=True)
class _Read:
    """Rows of silver as columns of gold.

    `old_keys` have values only for rows with an old key. `moved` are the rows that left another key. `unplain` are the
    rows that are not plain.
    """

    columns: list[pa.Array]
    keys: list[pa.Array]
    old_keys: list[pa.Array]
    deletes: Flags
    moved: Flags
    unplain: Flags


def all_keys(hashes: Hashes) -> Flags:
    """Return True for each hash. As the parameter `owns` of `fold_vectorized`, it says that all keys are folded."""
    return np.ones(len(hashes), bool)


def fold_vectorized(
    silver: pa.Table,
    reader: TableReader,
    wires: Wires,
    with_part: bool,
    shard: str | None = None,
    late: Flags | None = None,
    since: Sequence | None = None,
    owns: Callable[[Hashes], Flags] = all_keys,
) -> VectorizedRows:
    """Fold whole rows of silver to the last state of every key for whose hash `owns` returns True.

    `reader` has the columns of gold. The columns of the result are named by their index in the reader. `wires` gives
    the names and types of columns in images. `with_part` adds the partition to the sequences. If `shard` (the label of
    a source table) is given, all rows are of this shard and of one partition. `late` says for each row whether it may
    be older than gold. Keys without a row at or after `since` are returned as `unchanged`; their rows are only counted.

    If both halves (messages) of an update have the same key, the first half deletes a row and the second half adds a
    row.

    Some keys are not folded here, but must be folded row by row; their hashes are in `rest` of the result. Examples are
    keys with a `late` row, with a value that does not fit its column, or with rows of several partitions. A key is also
    in `rest` if a half has it and the other half has another key or is missing.
    """
    silver = silver.combine_chunks()
    read = _read(silver, reader, wires, shard, late)
    new, old = hashes_of(silver), hashes_of(silver, "old_key_hash")
    homes, leaving = np.flatnonzero(owns(new)), np.flatnonzero(read.moved & owns(old))
    places = np.concatenate([homes, leaving])
    is_out = np.arange(len(places)) >= len(homes)
    entry_keys = [
        pa.concat_arrays([whole(one).take(pa.array(homes)), whole(other).take(pa.array(leaving))])
        for one, other in zip(read.keys, read.old_keys, strict=True)
    ]
    hashes = np.concatenate([new[homes], old[leaving]])
    left = np.asarray(pc.is_valid(silver["old_key_hash"]))
    rest = np.unique(np.concatenate([new[read.unplain], old[read.unplain & left]]))
    parts = np.asarray(silver["part"].combine_chunks().dictionary_encode(null_encoding="encode").indices)
    entries = _Entries(places, is_out, hashes, _codes(entry_keys), parts, *_ranked(silver))
    rest = np.union1d(rest, entries.undecided(np.isin(hashes, rest), read.moved & ~read.deletes))
    windows = silver["window"].combine_chunks().dictionary_encode()
    last, verdicts = entries.last(np.isin(hashes, rest), np.asarray(windows.indices), windows.dictionary.to_pylist())
    spoken = pa.Table.from_arrays(entry_keys, names=[str(at) for at in reader.key_columns])
    unchanged = None
    if since is not None:
        is_told = above(silver, since, or_at=True)[places[last]]
        last, unchanged = last[is_told], spoken.take(pa.array(last[~is_told]))
    living = places[last[~is_out[last] & ~read.deletes[places[last]]]]
    names_of = [str(at) for at in range(len(read.columns))]
    rows = pa.Table.from_arrays(read.columns, names=names_of).take(pa.array(living))
    rows = rows.append_column(SEQUENCE_COLUMN, _sequences(silver, with_part, shard).take(pa.array(living)))
    return VectorizedRows(spoken.take(pa.array(last)), rows, verdicts, rest[owns(rest)], unchanged)


def join_vectorized(vectorized_batches: Seq[VectorizedRows]) -> VectorizedRows:
    """Join the results of several folds into one result. No key may be in two of these results."""
    return VectorizedRows(
        pa.concat_tables(vectorized.keys for vectorized in vectorized_batches),
        pa.concat_tables(vectorized.rows for vectorized in vectorized_batches),
        sum((vectorized.verdicts for vectorized in vectorized_batches), Counter()),
        np.concatenate([vectorized.rest for vectorized in vectorized_batches]),
    )


def hashes_of(rows: pa.Table, name: str = "key_hash") -> Hashes:
    """Return the key hash of each row, from the column `name`. A row without a key hash gets 0."""
    return np.asarray(pc.fill_null(rows[name], 0))


def _read(
    silver: pa.Table,
    reader: TableReader,
    wires: Wires,
    shard: str | None,
    late: Flags | None,
) -> _Read:
    deletes, stretches = _goes(silver), _stretches(silver, wires)
    images = pc.if_else(pa.array(deletes), silver["before"], silver["after"])
    moved = np.asarray(pc.is_valid(silver["old_key_hash"]))
    unplain = np.asarray(pc.is_null(images)) | (moved & np.asarray(pc.is_null(silver["before"])))
    unplain |= lack_other_half(silver, hashes_of(silver))
    if late is not None:
        unplain |= late
    columns, refused = typed_columns(images, stretches, reader, wires, shard, range(len(reader.columns)), deletes)
    unplain |= refused
    keys = [columns[at] for at in reader.key_columns]
    before = silver["before"].filter(pa.array(moved))
    no_deletes = np.zeros(len(before), bool)
    left, refused = typed_columns(before, stretches[moved], reader, wires, shard, reader.key_columns, no_deletes)
    where = np.flatnonzero(moved)
    unplain[where[refused]] = True
    back = np.zeros(silver.num_rows, np.int64)
    back[where] = np.arange(len(where))
    old_keys = [whole(column).take(pa.array(back, mask=~moved)) for column in left]
    # A key with the same value in another spelling is not a change of the key.
    stays = np.ones(silver.num_rows, bool)
    for one, other in zip(keys, old_keys, strict=True):
        unplain |= np.asarray(pc.is_null(one)) | (moved & np.asarray(pc.is_null(other)))
        stays &= np.asarray(pc.fill_null(pc.equal(one, other), False))
    return _Read(columns, keys, old_keys, deletes, moved & ~stays, unplain)


def _goes(silver: pa.Table) -> Flags:
    """Return for each row whether it is a delete or a before half. The key of these rows is in the before image."""
    return np.asarray(pc.or_(pc.equal(silver["op"], "DELETE"), pc.equal(silver["image"], "before_half")))


def _stretches(silver: pa.Table, wires: Wires) -> Places:
    """Return the index in `wires` for each row."""
    if len(wires) == 1:
        return np.zeros(silver.num_rows, np.int64)
    return np.asarray(silver[STRETCH]).astype(np.int64)


def read_keys(
    silver: pa.Table, reader: TableReader, wires: Wires, shard: str | None = None
) -> tuple[pa.Table, Places, pa.Table]:
    """Return the keys of whole rows, the indices of the rows that changed their key, and the old keys of these rows.

    A value that does not fit its key column is null. `wires` gives the names and types of columns in images. `shard` is
    the value of the key column that names a row's source table.
    """
    deletes, stretches = _goes(silver), _stretches(silver, wires)
    images = pc.if_else(pa.array(deletes), silver["before"], silver["after"])
    moved = np.asarray(pc.is_valid(silver["old_key_hash"]))
    names = [str(at) for at in reader.key_columns]
    keys, _ = typed_columns(images, stretches, reader, wires, shard, reader.key_columns, deletes)
    before = silver["before"].filter(pa.array(moved))
    no_deletes = np.zeros(len(before), bool)
    left, _ = typed_columns(before, stretches[moved], reader, wires, shard, reader.key_columns, no_deletes)
    return pa.table(keys, names=names), np.flatnonzero(moved), pa.table(left, names=names)


def _sequences(silver: pa.Table, with_part: bool, shard: str | None) -> pa.StructArray:
    kind = sequence_type(with_part)
    sequences, part = silver["sequence"].combine_chunks(), silver["part"]
    if shard is not None:
        part = pa.repeat(pa.scalar(join_part(shard, part[0].as_py()), pa.string()), silver.num_rows)
    members = [part if member.name == "part" else pc.struct_field(sequences, member.name) for member in kind]
    members = [whole(column).cast(member.type) for column, member in zip(members, kind, strict=True)]
    return pa.StructArray.from_arrays(members, fields=list(kind))


@dataclass(frozen=True, slots=True)
class _Entries:
    """Entries of rows. Each entry has one key: the new key of its row or, if `is_out`, the old key.

    For each entry, `places` is the index of its row, `hashes` the key's hash, and `codes` a number for the key. `parts`
    has a number for the partition of each row. `order` sorts all rows. `ranks` are in this order, and are equal for
    rows of the same sequence.
    """

    places: Places
    is_out: Flags
    hashes: Hashes
    codes: Places
    parts: Places
    order: Places
    ranks: Places

    def _by_key(self, left_out: Flags) -> tuple[Places, Places, Flags]:
        """Return the entries sorted by key and order, the codes of their keys, and which are redeliveries.

        Entries in `left_out` are skipped.
        """
        position = np.empty(len(self.order), np.int64)
        position[self.order] = np.arange(len(self.order))
        kept = np.flatnonzero(~left_out)
        kept = kept[np.lexsort((position[self.places[kept]], self.codes[kept]))]
        codes, ranks = self.codes[kept], self.ranks[position[self.places[kept]]]
        again = np.zeros(len(kept), bool)
        again[1:] = (codes[1:] == codes[:-1]) & (ranks[1:] == ranks[:-1])
        return kept, codes, again

    def undecided(self, left_out: Flags, moved: Flags) -> Hashes:
        """Return the hashes of keys whose last state cannot be decided from these entries.

        An update of a key has two entries: its row leaves the old key, and comes to the new one. `moved` are such rows.
        Entries in `left_out` are skipped. The cases are:

        - One row comes to the key, and another row leaves it for another key at the same sequence.
        - A row moves to the key, and next a row leaves it: this may be the moved row, or the one that was there before.
        - The only entry of the key is a row that leaves it. Only gold shows which row has the key.
        - The rows of the key come from several partitions, whose sequences do not compare.
        """
        kept, codes, again = self._by_key(left_out)
        is_out, parts = self.is_out[kept], self.parts[self.places[kept]]
        mixed = np.zeros(len(kept), bool)
        mixed[1:] = again[1:] & (is_out[1:] != is_out[:-1])
        mixed[1:] |= (codes[1:] == codes[:-1]) & (parts[1:] != parts[:-1])
        found = [codes[mixed]]
        kept, codes, is_out = kept[~again], codes[~again], is_out[~again]
        first, final = np.ones(len(kept), bool), np.ones(len(kept), bool)
        first[1:] = codes[1:] != codes[:-1]
        final[:-1] = first[1:]
        came = moved[self.places[kept]] & ~is_out
        onto = np.zeros(len(kept), bool)
        onto[1:] = is_out[1:] & came[:-1] & ~first[1:]
        found += [codes[onto], codes[is_out & first & final]]
        undecided: Hashes = self.hashes[np.isin(self.codes, np.concatenate(found))]
        return undecided

    def last(self, left_out: Flags, windows: Places, names: list[str]) -> tuple[Places, Counter[tuple[str, str]]]:
        """Return the last entry of every key, and the counts of rows by window name and verdict.

        If an entry was delivered again, only the first delivery counts. `windows` has the index in `names` of each
        row's window. Entries in `left_out` are skipped.
        """
        kept, codes, again = self._by_key(left_out)
        became = {"duplicate": kept[again]}
        kept, codes = kept[~again], codes[~again]
        ends = np.ones(len(kept), bool)
        ends[:-1] = codes[1:] != codes[:-1]
        last = np.sort(kept[ends])
        became |= {"applied": last, "superseded": kept[~ends]}
        verdicts: Counter[tuple[str, str]] = Counter()
        for verdict, entries in became.items():
            counts = np.bincount(windows[self.places[entries[~self.is_out[entries]]]], minlength=len(names)).tolist()
            verdicts += Counter({(name, verdict): count for name, count in zip(names, counts, strict=True)})
        return last, verdicts


def _ranked(silver: pa.Table) -> tuple[Places, Places]:
    """Return the indices that sort rows by sequence, and the ranks of the sorted rows.

    Rows of equal sequence are redeliveries. They have the same rank and are sorted by arrival.
    """
    sequences, order = sequences_of(silver), order_of_arrival(silver)
    same = np.ones(silver.num_rows, bool)
    for column in sequences.take(order).combine_chunks().columns:
        same[1:] &= np.asarray(pc.equal(column[1:], column[:-1]))
    return np.asarray(order).astype(np.int64), np.cumsum(~same)


def _codes(keys: Seq[pa.Array]) -> npt.NDArray[np.int64]:
    """Return a number for each row. Equal keys have equal numbers."""
    codes = np.zeros(len(keys[0]), np.int64)
    for column in keys:
        # A float has two zeros, and both are the same key.
        values = pc.add(column, 0.0) if pa.types.is_floating(column.type) else column
        encoded = values.dictionary_encode(null_encoding="encode")
        numbers = np.asarray(encoded.indices.cast(pa.int64()))
        codes = np.unique(codes * len(encoded.dictionary) + numbers, return_inverse=True)[1]
    return codes
