"""Divide the rows of a big window into shares by their keys.

Each share is folded separately, so that only the rows of one share are Python objects at a time.
"""

from collections.abc import Callable
from collections.abc import Sequence as Seq
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from retable.fold.fold import Bounds, Folded
from retable.fold.images import TableReader
from retable.fold.key_changes import KeyChange, fold_key_changes
from retable.gold.rows import to_keys, to_table
from retable.gold.store import LateKeys
from retable.model.row_event import RowEvent, unpaired
from retable.model.schema import GoldType
from retable.replay.batch.half_rows import PAIR, of_pairs, pair_table
from retable.replay.batch.ranges import has_twice, range_numbers, ranges_of
from retable.replay.batch.row_batch import RowBatch, batch_of, sequences_of, to_events, up_to
from retable.replay.batch.row_kinds import Flags, Hashes
from retable.replay.batch.silver_rows import HALVES
from retable.replay.batch.vectorized import VectorizedRows, hashes_of, join_vectorized
from retable.replay.events.key_share import KeyShare, NotParted, share
from retable.replay.events.related import other_halves
from retable.replay.table.horizon import older, retention_floor
from retable.replay.table.replace import Replacement
from retable.replay.table.table_replay import Change, TableReplay
from retable.schema_history.policies import casts_of

EVENTS_AT_ONCE = 100_000


Fold = Callable[[], tuple[list[RowEvent], Folded]]


@dataclass(frozen=True, slots=True)
class Gathered:
    """The events from which the change of a table is made. If they are many, each function in `shares` reads some.

    `sample` are all events or, if there are shares, some events that represent all events. `in_gold` are events that
    gold already has. If `in_tasks`, Spark tasks read and fold the events.
    """

    sample: list[RowEvent]
    in_gold: list[RowEvent] = field(default_factory=list)
    shares: Seq[Callable[[], KeyShare]] = ()
    in_tasks: bool = False

    def folds(self, key_changes: Seq[KeyChange], reader: TableReader, bounds: Bounds) -> list[Fold]:
        """Return, for each share, a function that returns its events and their fold.

        Call the functions one at a time, because each makes all events of its share in memory. Without shares, there is
        one function for all events. It also needs `key_changes`: readers for the former keys of the table. `bounds`
        decides which events count.
        """

        def fold(share: Callable[[], KeyShare]) -> tuple[list[RowEvent], Folded]:
            made = share()
            return made.events, made.fold(reader, bounds)

        if self.shares:
            return [partial(fold, share) for share in self.shares]
        return [lambda: (self.sample, fold_key_changes(self.sample, key_changes, reader, bounds))]

    def kept(self, replacement: Replacement, folded: Folded, reader: TableReader, with_part: bool) -> "ShareOutcome":
        """Return the result of a share, to keep until all shares are folded. Columns take less memory than objects.

        `replacement` is the change of gold, made from `folded`. `with_part` adds the partition to the sequences.
        """
        if not self.shares:
            return ShareOutcome(replacement)
        rows = to_table(replacement.rows, columns_of(reader), with_part)
        changes = VectorizedRows(to_keys(replacement.deletes, key_of(reader)), rows)
        return ShareOutcome(Replacement([], [], replacement.debts), changes, touched_keys(folded, reader))


def touched_keys(folded: Folded, reader: TableReader) -> pa.Table:
    """Return the keys (or rows, without a key) that the fold may change in gold. Columns are named by their index."""
    return to_keys([*folded.touched], key_of(reader))


def key_of(reader: TableReader) -> list[tuple[str, GoldType]]:
    """Return the index, as text, and the type of each key column or, in a table without a key, of each column."""
    columns = columns_of(reader)
    return [columns[at] for at in reader.key_columns] or columns


def columns_of(reader: TableReader) -> list[tuple[str, GoldType]]:
    """Return the index in `reader.columns`, as text, and the type of each column."""
    return [(str(at), column.type) for at, column in enumerate(reader.columns)]


@dataclass(frozen=True, slots=True)
class ShareOutcome:
    """The change of gold by the events of one share.

    If all events were folded at once, `replacement` has the change, as Python objects, and the other fields are None.
    If there are several shares, `columns` has the change as Arrow columns, and `touched` the keys that the share may
    change. `replacement` then has only the number `debts`.
    """

    replacement: Replacement
    columns: VectorizedRows | None = None
    touched: pa.Table | None = None


def join_outcomes(change: Change, outcomes: list[ShareOutcome]) -> Change:
    """Return `change` with the results of all shares. Raise NotParted if a key with two spellings is in two shares."""
    debts = None if change.debts is None else change.debts + sum(each.replacement.debts for each in outcomes)
    columns = [each.columns for each in outcomes if each.columns is not None]
    if not columns:
        return replace(change, replacement=outcomes[0].replacement, debts=debts)
    if has_twice(pa.concat_tables(each.touched for each in outcomes if each.touched is not None)):
        raise NotParted
    joined = join_vectorized(columns)
    return replace(change, vectorized=joined if joined.keys.num_rows or joined.rows.num_rows else None, debts=debts)


def is_big(work: TableReplay) -> bool:
    """Return whether the rows of a window and a table are too many, or too large, to be folded at once."""
    rows, size = (sum(getattr(batch.source, what) for batch in work.batches) for what in ("num_rows", "nbytes"))
    return work.mode == "replay" and ranges_of(rows, size, EVENTS_AT_ONCE) > 1


def _rows(work: TableReplay) -> pa.Table:
    return pa.concat_tables([batch.rows for batch in work.batches])


def check_parted(work: TableReplay, reader: TableReader) -> None:
    """Raise NotParted if a key's hash may not find all events on which the key's last state depends."""
    check_apart(work, reader)
    if not are_hashed(work, reader):
        raise NotParted


def are_hashed(work: TableReplay, reader: TableReader) -> bool:
    """Return whether silver has the hash of each key or, in a table without a key, of all values of each row."""
    return work.hashed if reader.keys else not any(event.keys or event.partial for event in work.events)


def check_apart(work: TableReplay, reader: TableReader) -> None:
    """Raise NotParted if the last state of a key may depend on events of other keys."""
    history = reader.history
    columns = [column for epoch in history.epochs for column in epoch.columns]
    depends = history.shards or history.rekeyed or any(casts_of(columns)) or retention_floor(work.state, history)
    if work.mode not in ("replay", "rebuild") or depends:
        raise NotParted


def part(work: TableReplay, window: str) -> Gathered:
    """Divide the rows of a window into shares by key, and add events of other windows that these keys need.

    If an update comes as two messages (halves), the keys of both halves are in one share. If rows have partial images,
    the old and the new key of a row are in one share, because the missing columns have the values of the old row.

    Raise NotParted if a table without a key has different rows at one position, because the fold takes the second row
    as a redelivery of the first row.
    """
    rows = _rows(work)
    if not work.events[0].keys and _has_others_at_one_place(rows):
        raise NotParted
    halves = rows.filter(pc.is_in(rows["image"], pa.array(HALVES)))
    others = _related(work, rows, halves, window)
    linked = _linked(rows, halves, others)
    count = ranges_of(2 * rows.num_rows - rows["old_key_hash"].null_count, rows.nbytes, EVENTS_AT_ONCE)

    def number(hashes: Hashes) -> Hashes:
        numbers = range_numbers(hashes, count)
        numbers[np.isin(hashes, linked)] = count
        return numbers

    left = pc.coalesce(rows["old_key_hash"], rows["key_hash"], pa.scalar(0, pa.int64()))
    homes, leaves = number(hashes_of(rows)), number(np.asarray(left))
    theirs = [
        (event, *number(np.array([event.key_hash or 0, event.left_hash or 0], np.int64)).tolist()) for event in others
    ]

    def owns(at: int, hashes: Hashes) -> Flags:
        return np.equal(number(hashes), at)

    def share_at(at: int) -> KeyShare:
        is_here = (homes == at) | (leaves == at)
        here = to_events(rows.filter(pa.array(is_here)), work.ordinals)
        more = [event for event, *places in theirs if at in places]
        return share(here, (homes[is_here] == at).tolist(), more, partial(owns, at))

    return Gathered([*work.events, *others], shares=[partial(share_at, at) for at in range(count + 1)])


def _has_others_at_one_place(rows: pa.Table) -> bool:
    """Return whether different rows have the same sequence and partition. Rows of a full load are ignored."""
    changes = rows.filter(pc.not_equal(rows["op"], "READ"))
    places = sequences_of(changes).append_column("part", changes["part"])
    hashes = places.append_column("key_hash", changes["key_hash"])
    found = hashes.group_by(places.column_names).aggregate([("key_hash", "min"), ("key_hash", "max")])
    return bool(pc.any(pc.not_equal(found["key_hash_min"], found["key_hash_max"])).as_py())


def is_much(batch: RowBatch, hashes: Hashes) -> bool:
    """Return whether the keys with these hashes have too many rows in the batch to make events of all these rows."""
    return bool(speak_of(batch.rows, hashes).sum() > EVENTS_AT_ONCE)


def share_of(
    rows: pa.Table,
    hashes: Hashes,
    events_of: Callable[[pa.Table], list[RowEvent]],
    more: Seq[RowEvent] = (),
) -> KeyShare:
    """Return the keys with these hashes, and all their events, as a share.

    `rows` are all rows of the table in the window. `events_of` converts rows to events. `more` are events of the same
    keys in other windows.
    """
    rows = rows.filter(pa.array(speak_of(rows, hashes)))
    are_home = np.isin(hashes_of(rows), hashes).tolist()
    return share(events_of(rows), are_home, [*more], lambda found: np.isin(found, hashes))


def speak_of(rows: pa.Table, hashes: Hashes) -> Flags:
    """Return True for each row if its key has one of these hashes, or if its old key has one of them.

    Only a row that changed its key has an old key.
    """
    left = np.asarray(pc.is_valid(rows["old_key_hash"])) & np.isin(hashes_of(rows, "old_key_hash"), hashes)
    return np.isin(hashes_of(rows), hashes) | left


def _linked(rows: pa.Table, halves: pa.Table, others: list[RowEvent]) -> Hashes:
    """Return the hashes of keys that must be in one share, because one update has two of these keys."""
    moved = rows.filter(pc.is_valid(rows["old_key_hash"]))
    if not pc.any(rows["partial_after"]).as_py():
        moved = moved.slice(0, 0)
    found = [hashes_of(moved), hashes_of(moved, "old_key_hash")]
    pairs = pair_table(halves).group_by(PAIR).aggregate([("key_hash", "min"), ("key_hash", "max")])
    apart = pairs.filter(pc.not_equal(pairs["key_hash_min"], pairs["key_hash_max"]))
    found += [np.asarray(apart["key_hash_min"]), np.asarray(apart["key_hash_max"])]
    other_halves = [event for event in others if event.half is not None]
    found.append(np.array([event.key_hash or 0 for event in other_halves], np.int64))
    found.append(hashes_of(of_pairs(halves, {event.pair for event in other_halves})))
    return np.unique(np.concatenate(found))


def _related(work: TableReplay, rows: pa.Table, halves: pa.Table, window: str) -> list[RowEvent]:
    """Return the events of other windows that the rows need, as `related.events_of` does.

    These are all other events of the keys of late rows, and the other halves of updates. Raise NotParted if rows have
    partial images, because they need more events.
    """
    if work.state is None:
        return []
    grouped = pair_table(halves).group_by(PAIR).aggregate([("image", "min"), ("image", "max")])
    lone = grouped.filter(pc.equal(grouped["image_min"], grouped["image_max"])).select(PAIR).to_pylist()
    alone = {(pair["epoch"], int(pair["hi"]), pair["part"]) for pair in lone}
    joined = {event.pair for event in other_halves(work, alone)}
    settled = [event for event in to_events(of_pairs(halves, joined), work.ordinals) if event.pair in joined]
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
    asked = frozenset(h for h in hashes if h is not None)
    found = older(work, LateKeys(asked, keys, since))
    if any(event.partial or event.keys != keys for event in found):
        raise NotParted
    near = to_events(of_pairs(halves, {event.pair for event in found if event.half is not None} | alone), work.ordinals)
    found += other_halves(work, set(unpaired([*near, *found])) - (alone - joined))
    return [event.of_keys(asked) for event in found]


def _late(work: TableReplay, rows: pa.Table, window: str) -> Flags:
    """Return for each row whether it may be older than gold. If gold already has the window, all rows may be."""
    state = work.state
    if state is None or window in state.applied:
        return np.full(rows.num_rows, state is not None)
    return up_to(rows, state.high_water)
