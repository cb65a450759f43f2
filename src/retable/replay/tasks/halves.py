"""Match the halves of updates, if the source writes an update as two messages (before and after image).

If the two halves have different keys, they can be in the key ranges of different tasks. Then each half is copied to the
task of the other half.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from retable.fold.fold import Folded
from retable.gold.store import Exchange, RowStore
from retable.model.row_event import Pair, RowEvent
from retable.model.sequence import Sequence
from retable.replay.batch.half_rows import foreign_halves, keep_their_keys, lack_other_half, pair_columns
from retable.replay.batch.ranges import KeyRanges, range_numbers
from retable.replay.batch.silver_rows import ROW_COLUMNS
from retable.replay.batch.typed_hashes import typed_hashes
from retable.replay.batch.vectorized import hashes_of
from retable.replay.events.key_share import NotParted, OthersNeeded
from retable.replay.tasks.others import event_hashes
from retable.replay.tasks.task_rows import Plain, RangeRows, TaskRows, events_of, left_in_parts, not_read

_LOOKS_AT = {"key_hash", "old_key_hash", "image", "sequence", "part"}
_FEW_ALONE = 10_000
"""The largest number of halves with the other half in another window. These halves are collected in one process."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Leave:
    """Write the halves of a task's ranges that lack the other half in the same range to the exchange.

    They are divided by the hash of their pair, so both halves of an update are in the same part. Return the name in the
    exchange; None if there is no such half.
    """

    rows: RangeRows
    ranges: KeyRanges
    exchange: Exchange
    without: Collection[str]

    def __call__(self) -> str | None:
        rows = self.rows.read(self.ranges, self.without)
        rows = rows.filter(pa.array(self.ranges.owns(hashes_of(rows))))
        alone = rows.filter(pa.array(lack_other_half(rows, range_numbers(hashes_of(rows), self.ranges.count))))
        if not alone.num_rows:
            return None
        return left_in_parts(self.exchange, alone, typed_hashes(pa.table(pair_columns(alone))), self.ranges)


@dataclass(frozen=True, slots=True)
class _Meet:
    """Match the halves in one part of what `_Leave` wrote to the exchange.

    Write each matched half to the exchange for the range of its other half. Return the name in the exchange (None if
    there is none) and the halves that are not matched.
    """

    exchange: Exchange
    names: tuple[str, ...]
    part: int
    ranges: tuple[KeyRanges, ...]

    def __call__(self) -> tuple[str | None, pa.Table]:
        halves = pa.concat_tables([self.exchange.get(name, self.part) for name in self.names])
        alone = halves.filter(pa.array(lack_other_half(halves, np.zeros(halves.num_rows, np.int64))))
        alone = alone.take(pa.array(np.arange(min(alone.num_rows, _FEW_ALONE + 1))))
        met = foreign_halves(halves)
        if not met.num_rows:
            return None, alone
        where = hashes_of(met, "old_key_hash")
        return self.exchange.put(met.filter(pa.array(each.owns(where))) for each in self.ranges), alone


@dataclass(frozen=True, slots=True, kw_only=True)
class Met:
    """The halves of updates of a window, after tasks matched them.

    Halves whose other half is in the key ranges of another task are in the exchange under `names`, with one part for
    each task. `alone` are the halves whose other half is not in this window, and `joined` are the other halves of
    these from other windows. `waiting` has the sequences of the halves that, by gold's state, lacked their other half
    before this run.
    """

    exchange: Exchange
    names: tuple[str, ...] = ()
    alone: tuple[RowEvent, ...] = ()
    joined: tuple[RowEvent, ...] = ()
    waiting: frozenset[Sequence] = frozenset()

    def beside(self, own: pa.Table, ranges: KeyRanges) -> TaskRows:
        """Return a task's `own` rows with the halves from other ranges whose other half is in its `ranges`.

        Each of these halves has the key of its other half as its old key.
        """
        halves = [self.exchange.get(name, part) for name in self.names for part in ranges.own_parts]
        rows = pa.concat_tables([own, *(each.filter(pa.array(ranges.speak_of(each))) for each in halves)])
        return TaskRows(rows, np.arange(rows.num_rows) >= own.num_rows)

    def stories(self, ranges: KeyRanges) -> list[RowEvent]:
        """Return both halves of each update whose halves are in two windows, if one half has a key in these ranges."""
        pairs = {event.pair for event in self.joined}
        events = [*self.joined, *(event for event in self.alone if event.pair in pairs)]
        are_here = ranges.owns(event_hashes(events)).tolist()
        here = {event.pair for event, is_here in zip(events, are_here, strict=True) if is_here}
        return [event for event in events if event.pair in here]

    def waiting_here(self) -> set[Pair]:
        """Return the updates (by `RowEvent.pair`) with one half in this window and no other half in any window."""
        return {event.pair for event in self.alone} - {event.pair for event in self.joined}

    def own_results(self, folded: Folded) -> Folded:
        """Leave out of a fold of some ranges what other tasks and windows report.

        These are rejects of events that are not counted, and halves that gold's state does not have as waiting.
        """
        folded.rejects = [reject for reject in folded.rejects if reject.event.counted]
        folded.settled &= self.waiting
        return folded


@dataclass(frozen=True, slots=True)
class _KeepKeys:
    """Return whether no update of a task's ranges has halves with different keys, or a half in another window."""

    rows: RangeRows
    ranges: KeyRanges

    def __call__(self) -> bool:
        rows = self.rows.read(self.ranges, [name for name in ROW_COLUMNS if name not in _LOOKS_AT])
        return keep_their_keys(rows.filter(pa.array(self.ranges.owns(hashes_of(rows)))))


def check_keys_stay(store: RowStore, rows: RangeRows, ranges: tuple[KeyRanges, ...]) -> None:
    """Let tasks check that both halves of each update in `rows` have the same key. If not, raise NotParted.

    This is needed if some rows have only some columns: the after half of an update then needs the row that its before
    half shows, and it may not be known which of several before halves in a transaction this is.
    """
    if not all(store.run([_KeepKeys(rows, each) for each in ranges])):
        raise NotParted(
            "some rows have only some columns, and an update in two messages changes its key or has one message in "
            "another window"
        )


def meet(
    store: RowStore,
    exchange: Exchange,
    rows: RangeRows,
    ranges: tuple[KeyRanges, ...],
    plain: Plain | None,
    ordinals: Mapping[str, int],
    shard: str | None,
    left: set[str],
) -> Met:
    """Let tasks match the halves of updates in `rows` (the rows of one window), and return the result.

    The result has no halves from other windows yet. `ranges` are the key ranges of each fold task. `plain` says which
    columns of silver need not be read. `ordinals` are window numbers by name. If several source tables go into the gold
    table, `shard` is the label of the rows' source table. Add the names under which tasks wrote to the exchange to
    `left`, so that they can be removed. Raise OthersNeeded if too many halves have no other half in this window.
    """
    without = not_read(plain)
    leaving = [_Leave(rows=rows, ranges=each, exchange=exchange, without=without) for each in ranges]
    names = [name for name in store.run(leaving) if name]
    left.update(names)
    if not names:
        return Met(exchange=exchange)
    found = store.run([_Meet(exchange, tuple(names), part, ranges) for part in range(len(ranges))])
    met = [name for name, _ in found if name]
    left.update(met)
    alone = pa.concat_tables([rows for _, rows in found])
    if alone.num_rows > _FEW_ALONE:
        raise OthersNeeded(f"more than {_FEW_ALONE:,} updates have one of their two messages in another window")
    return Met(exchange=exchange, names=tuple(met), alone=tuple(events_of(alone, plain, ordinals, shard)))
