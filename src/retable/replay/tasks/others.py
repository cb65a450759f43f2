"""Read, in a task, the events of other windows that late rows (not newer than gold) of a big window need."""

from collections.abc import Mapping
from collections.abc import Sequence as Seq
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from retable.fold.images import TableReader
from retable.gold.state import RetentionFloor
from retable.gold.store import RowStore, WindowRows
from retable.model.event import TableName
from retable.model.row_event import RowEvent
from retable.model.sequence import LOWEST, Sequence
from retable.replay.batch.ranges import KeyRanges
from retable.replay.batch.row_batch import EACH_FILE, above, ends_of, to_events, up_to
from retable.replay.batch.row_kinds import Flags, Hashes, have_keys
from retable.replay.batch.silver_rows import ROW_COLUMNS, sequence_of
from retable.replay.events.key_share import OthersNeeded
from retable.replay.events.related import late_events
from retable.replay.events.shares import speak_of
from retable.replay.table.horizon import retention_floor
from retable.replay.table.table_replay import TableReplay
from retable.replay.tasks.apart import is_cast_from, is_rekeyed_from, sources_of
from retable.schema_history.history import Claim
from retable.schema_history.shards.parts import shard_of, source_part

_HASHES = ("key_hash", "old_key_hash")


@dataclass(frozen=True, slots=True, kw_only=True)
class Others:
    """Reads the events of other windows of a table (`window`, read from silver) that late rows of its big window need.

    Rows are late if their sequence is not above `marks`, gold's highest sequences by Kafka partition. If `again` is
    True, gold already has the window, and all rows are late. `of_parts` is True if some rows have partial images; then
    all events of a key are needed. Events below the retention `floor` are not read, because gold has their result.
    `claims` say, by table name, which rows belong to the table. `shard` is the label of the rows' source table if
    several source tables go into the gold table, otherwise None.
    """

    window: WindowRows
    claims: Mapping[TableName, Seq[Claim]]
    ordinals: Mapping[str, int]
    marks: Mapping[str, Sequence]
    again: bool
    of_parts: bool
    floor: RetentionFloor | None
    shard: str | None

    def late(self, rows: pa.Table) -> Flags:
        """Return a flag for each row: whether it is late, that is, it may be older than gold's rows."""
        if self.again:
            return np.ones(rows.num_rows, bool)
        return up_to(rows, self.marks)

    def elsewhere(self, rows: pa.Table, late: Flags, ranges: KeyRanges) -> Flags:
        """Return a flag for each row: whether it is late, and other windows have events of its keys.

        `late` are the flags that `late()` returned. Only keys in `ranges` are searched for. If gold already has this
        window, return `late` as it is.
        """
        if self.again or not late.any():
            return late
        hashes = _spoken_of(rows.filter(pa.array(late)), ranges)
        there = [np.zeros(0, np.int64)]
        for table in self.claims:
            for piece in self.window.pieces(EACH_FILE):
                near = piece.read(table, (int(hashes[0]), int(hashes[-1])), without={*ROW_COLUMNS} - {*_HASHES})
                there.append(np.intersect1d(hashes, _spoken_of(near, ranges)))
        return late & speak_of(rows, np.concatenate(there))

    def of(self, late: pa.Table, joined: Seq[RowEvent], ranges: KeyRanges) -> list[RowEvent]:
        """Return the events of other windows that have a key of `late` rows or of `joined` events, in these ranges.

        `joined` are updates with halves in two windows. The events start at the lowest sequence of these rows. If
        `of_parts` is True, return all events of the keys, and of the keys to or from which a partial image moved a row.
        Raise OthersNeeded if `of_parts` is False but some events have partial images.
        """
        of_joined = event_hashes(joined)
        hashes = np.union1d(_spoken_of(late, ranges), of_joined[ranges.owns(of_joined)])
        lowest = [sequence_of(late.take([ends_of(late)[0]]).to_pylist()[0])] if late.num_rows else []
        since = LOWEST if self.of_parts else min([*lowest, *(event.sequence for event in joined)])
        while True:
            found = self._of_hashes(hashes, since)
            partial = [event for event in found if event.partial]
            if partial and not self.of_parts:
                raise OthersNeeded("rows of other windows, which late rows need, have only some columns")
            spoken = (h for event in partial for h in (event.key_hash, event.old_key_hash))
            more = np.array([h for h in spoken if h is not None], np.int64)
            if np.isin(more, hashes).all():
                return found
            hashes = np.union1d(hashes, more)

    def _of_hashes(self, hashes: Hashes, since: Sequence) -> list[RowEvent]:
        """Return the events, from a sequence on, whose new or old key has one of these hashes."""
        found, asked = [], frozenset(hashes.tolist())
        for table, claims in self.claims.items():
            for piece in self.window.pieces(EACH_FILE):
                rows = piece.read(table, (int(hashes[0]), int(hashes[-1])))
                rows = rows.filter(pa.array(speak_of(rows, hashes) & above(rows, since, or_at=True)))
                events = [
                    event._replace(counted=False).of_keys(asked) for event in to_events(rows, self.ordinals, self.shard)
                ]
                found += [event for event in events if is_owned(claims, event.sequence) and self._counts(event)]
        return found

    def _counts(self, event: RowEvent) -> bool:
        return self.floor is None or not self.floor.covers(event.part, event.sequence)


def _spoken_of(rows: pa.Table, ranges: KeyRanges) -> Hashes:
    """Return the hashes of the new and old keys of rows, if they are in these ranges."""
    found = np.unique(np.concatenate([np.asarray(rows[name].drop_null()) for name in _HASHES]))
    return found[ranges.owns(found)]


def event_hashes(events: Seq[RowEvent]) -> Hashes:
    """Return the key hash of each event, or 0 for an event without one."""
    return np.array([event.key_hash or 0 for event in events], np.int64)


def is_owned(claims: Seq[Claim], sequence: Sequence) -> bool:
    """Return whether a row at this sequence belongs to the table.

    `claims` are for the table name of the row; the first one that covers the sequence decides.
    """
    return next((claim.is_own for claim in claims if claim.span.covers(sequence)), False)


@dataclass(frozen=True, slots=True)
class AreKeyedSo:
    """A task that returns whether all rows of a piece of silver, from `since` on, have exactly `keys` as key columns.

    `tables` are the names of the table in messages.
    """

    piece: WindowRows
    tables: tuple[TableName, ...]
    keys: tuple[str, ...]
    since: Sequence

    def __call__(self) -> bool:
        rest = {*ROW_COLUMNS} - {"keys", "sequence"}
        found = (self.piece.read(table, without=rest) for table in self.tables)
        return all(have_keys(rows.filter(pa.array(above(rows, self.since, or_at=True))), self.keys) for rows in found)


def _since(work: TableReplay, window: str) -> Sequence | None:
    """Return the lowest sequence of a late row of the window; None if no row is late."""
    late = () if work.has_all else late_events(work, window)
    return min((event.sequence for event in late), default=None)


def others_of(
    work: TableReplay, reader: TableReader, store: RowStore, window: str, joined: Seq[RowEvent], shard: str | None
) -> Others | None:
    """Return the reader of the other windows of a table; None if it is not needed.

    It is needed if rows of the window are late, or if other windows have halves of the window's updates (`joined`).
    Raise OthersNeeded if tasks cannot find the rows of the other windows by key, for example because their messages
    name other key columns.
    """
    since = min((each for each in (_since(work, window), *(e.sequence for e in joined)) if each), default=None)
    if work.state is None or since is None:
        return None
    of_parts, floor = any(each.is_partial for each in sources_of(work)), retention_floor(work.state, reader.history)
    if of_parts:
        since = LOWEST
    if is_rekeyed_from(reader, since) or is_cast_from(reader, since) or (of_parts and floor is not None):
        raise OthersNeeded("some rows are late, and its key or a type changed, or retention removed rows from silver")
    until = work.windows[work.horizon]
    windows = [name for name in work.others if name <= until]
    rows = store.big_table(windows, work.claims.keys(), since)
    keys = work.events[0].keys or ()
    asked = [AreKeyedSo(piece, tuple(work.claims), keys, since) for piece in rows.pieces(store.slots())]
    if not all(store.run(asked)):
        raise OthersNeeded("some rows are late, and messages of other windows name another key")
    return Others(
        window=rows,
        claims=work.claims,
        ordinals={name: work.ordinals[name] for name in windows},
        marks=work.state.high_water if shard is None else _marks_of(work.state.high_water, shard),
        again=window in work.state.applied,
        of_parts=of_parts,
        floor=floor,
        shard=shard,
    )


def _marks_of(high_water: Mapping[str, Sequence], shard: str) -> dict[str, Sequence]:
    """Return the high-water marks of one shard, by Kafka partition."""
    return {source_part(part) or "": mark for part, mark in high_water.items() if shard_of(part) == shard}
