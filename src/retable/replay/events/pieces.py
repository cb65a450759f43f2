"""The rows of a big window by their keys: each piece is folded as if it were all, so few lie in memory as objects."""

from collections import Counter
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from retable.fold.fold import Folded, unpaired
from retable.fold.images import TableReader
from retable.gold.rows import to_keys, to_table
from retable.gold.store import LateKeys
from retable.model.row_event import Pair, RowEvent
from retable.replay.batch.ranges import has_twice
from retable.replay.batch.row_batch import above, batch_of, to_events
from retable.replay.batch.vectorized import VectorizedRows, join_vectorized
from retable.replay.events.related import other_halves
from retable.replay.inputs.silver import HALVES
from retable.replay.table.horizon import older, retention_floor
from retable.replay.table.replace import Replacement
from retable.replay.table.table_replay import Change, TableReplay
from retable.schema_history.policies import casts_of

EVENTS_AT_ONCE = 100_000
_HASHES = 2.0**64
_PAIR = ["epoch", "hi", "part"]

_Flags = npt.NDArray[np.bool_]
_Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Gathered:
    """What a table is decided by: `pieces` of events, each with all those of its keys.

    `sample` stands for all of them where rules ask; `in_gold` are those that gold has from before.
    """

    sample: list[RowEvent]
    pieces: Callable[[], Iterator[list[RowEvent]]]
    in_gold: list[RowEvent]
    is_parted: bool = False

    def kept(self, replacement: Replacement, folded: Folded, reader: TableReader, with_part: bool) -> "Piece":
        """What a piece comes to: as columns, where there are others, which take less memory."""
        if not self.is_parted:
            return Piece(replacement)
        columns = [(str(at), column.type) for at, column in enumerate(reader.columns)]
        key = [columns[at] for at in reader.key_columns]
        rows = to_table(replacement.rows, columns, with_part)
        changes = VectorizedRows(to_keys(replacement.deletes, key), rows, Counter(), pa.table({}))
        return Piece(Replacement([], []), changes, to_keys([*folded.touched], key))


@dataclass(frozen=True, slots=True)
class Piece:
    """What becomes of the keys of a piece; of several, as columns, with all keys that it speaks of."""

    replacement: Replacement
    columns: VectorizedRows | None = None
    touched: pa.Table | None = None


def join_pieces(change: Change, pieces: list[Piece]) -> Change:
    """What becomes of all keys. NotParted where a key is in two pieces, as it is written in two ways."""
    columns = [piece.columns for piece in pieces if piece.columns is not None]
    if not columns:
        return replace(change, replacement=pieces[0].replacement)
    if has_twice(pa.concat_tables(piece.touched for piece in pieces if piece.touched is not None)):
        raise NotParted
    joined = join_vectorized(columns)
    return replace(change, vectorized=joined if joined.keys.num_rows or joined.rows.num_rows else None)


class NotParted(Exception):
    """The events are to be looked at all at once."""


def is_big(work: TableReplay) -> bool:
    """Whether a window has more rows of a table than are folded at once."""
    rows: int = sum(batch.rows.num_rows for batch in work.batches)
    return rows > EVENTS_AT_ONCE


def check_parted(work: TableReplay, reader: TableReader) -> None:
    """NotParted unless what becomes of a key depends on the events of that key alone, which its hash tells."""
    history = reader.history
    columns = [column for epoch in history.epochs for column in epoch.columns]
    depends = history.shards or history.rekeyed or any(casts_of(columns)) or retention_floor(work.state, history)
    if work.mode != "replay" or not reader.keys or not work.hashed or depends:
        raise NotParted


def part(work: TableReplay, window: str) -> Gathered:
    """Part the rows of a window, and the events of other windows that their keys need, by their keys.

    Keys that a row leaves for another one, or halves of an update have, are one piece with these others.
    """
    rows = pa.concat_tables([batch.rows for batch in work.batches])
    halves = rows.filter(pc.is_in(rows["image"], pa.array(HALVES)))
    others = _related(work, rows, halves, window)
    linked = _linked(rows, halves, others)
    count = -(-rows.num_rows // EVENTS_AT_ONCE)

    def number(hashes: _Numbers) -> _Numbers:
        numbers: _Numbers = np.floor((hashes / _HASHES + 0.5) * count).clip(0, count - 1).astype(np.int64)
        numbers[np.isin(hashes, linked)] = count
        return numbers

    mine = number(_hashes(rows))
    theirs = number(np.array([event.key_hash or 0 for event in others], np.int64))

    def pieces() -> Iterator[list[RowEvent]]:
        for at in range(count + 1):
            own = to_events(rows.filter(pa.array(mine == at)), work.ordinals)
            if events := own + [others[place] for place in np.flatnonzero(theirs == at)]:
                yield events

    sample = [event for batch in work.batches for event in batch.sample]
    return Gathered([*sample, *others], pieces, [], is_parted=True)


def _hashes(rows: pa.Table) -> _Numbers:
    return np.asarray(pc.fill_null(rows["key_hash"], 0))


def _linked(rows: pa.Table, halves: pa.Table, others: list[RowEvent]) -> _Numbers:
    """The hashes of keys that have a row, or an update, in common with another key."""
    moved = rows.filter(pc.is_valid(rows["old_key_hash"]))
    found = [_hashes(moved), np.asarray(moved["old_key_hash"])]
    pairs = _pairs(halves).group_by(_PAIR).aggregate([("key_hash", "min"), ("key_hash", "max")])
    apart = pairs.filter(pc.not_equal(pairs["key_hash_min"], pairs["key_hash_max"]))
    found += [np.asarray(apart["key_hash_min"]), np.asarray(apart["key_hash_max"])]
    leaving = [event for event in others if event.old_key_hash is not None or event.half is not None]
    found.append(np.array([h for e in leaving for h in (e.key_hash, e.old_key_hash) if h is not None], np.int64))
    settled = {event.pair for event in leaving if event.half is not None}
    near = to_pairs(halves, settled)
    found.append(_hashes(near))
    return np.unique(np.concatenate(found))


def _pairs(halves: pa.Table) -> pa.Table:
    """The halves of updates, with what the two of one have in common."""
    members = [pc.struct_field(halves["sequence"], "epoch"), pc.struct_field(halves["sequence"], "hi"), halves["part"]]
    rest = [halves["image"], pc.fill_null(halves["key_hash"], 0)]
    return pa.table([*members, *rest], names=[*_PAIR, "image", "key_hash"])


def to_pairs(halves: pa.Table, pairs: Collection[Pair]) -> pa.Table:
    """The halves that are of one of these pairs, or of another one with the same number."""
    his = pa.array(sorted({hi for _, hi, _ in pairs}), pc.struct_field(halves["sequence"], "hi").type)
    return halves.filter(pc.is_in(pc.struct_field(halves["sequence"], "hi"), his))


def _related(work: TableReplay, rows: pa.Table, halves: pa.Table, window: str) -> list[RowEvent]:
    """The events of other windows: for late rows all others of their keys, and the other halves of updates.

    They are those of `related.events_of`. NotParted where rows tell only some columns: then it takes more.
    """
    if work.state is None:
        return []
    grouped = _pairs(halves).group_by(_PAIR).aggregate([("image", "min"), ("image", "max")])
    lone = grouped.filter(pc.equal(grouped["image_min"], grouped["image_max"])).select(_PAIR).to_pylist()
    alone = {(pair["epoch"], int(pair["hi"]), pair["part"]) for pair in lone}
    joined = {event.pair for event in other_halves(work, alone)}
    settled = [event for event in to_events(to_pairs(halves, joined), work.ordinals) if event.pair in joined]
    late = rows.filter(pa.array(_late(work, rows, window)))
    if not late.num_rows and not settled:
        return []
    if pc.any(rows["partial_after"]).as_py():
        raise NotParted
    keys = work.events[0].keys or ()
    hashes = {*late["key_hash"].unique().to_pylist(), *late["old_key_hash"].unique().to_pylist()}
    others = other_halves(work, joined)
    hashes |= {h for event in (*settled, *others) for h in (event.key_hash, event.old_key_hash)}
    sample = batch_of(late, work.ordinals).sample if late.num_rows else []
    since = min(event.sequence for event in (*settled, *others, *sample))
    found = older(work, LateKeys(frozenset(h for h in hashes if h is not None), keys, since))
    if any(event.partial or event.keys != keys for event in found):
        raise NotParted
    near = to_events(to_pairs(halves, {event.pair for event in found if event.half is not None} | alone), work.ordinals)
    return found + other_halves(work, set(unpaired([*near, *found])) - (alone - joined))


def _late(work: TableReplay, rows: pa.Table, window: str) -> _Flags:
    """Which rows gold may be ahead of: all where it has the window."""
    state = work.state
    if state is None or window in state.applied:
        return np.full(rows.num_rows, state is not None)
    late = np.zeros(rows.num_rows, bool)
    for place in rows["part"].unique().to_pylist():
        mark = state.high_water.get(place or "")
        if mark is not None:
            mine = pc.is_null(rows["part"]) if place is None else pc.fill_null(pc.equal(rows["part"], place), False)
            late |= np.asarray(mine) & ~above(rows, mark)
    return late
