"""Match updates in two halves whose keys differ: tasks bring each half to the range of the other one."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from retable.gold.store import Exchange, RowStore
from retable.model.row_event import Pair, RowEvent
from retable.replay.batch.half_rows import foreign_halves, lack_other_half, pair_columns
from retable.replay.batch.ranges import KeyRanges, range_numbers
from retable.replay.batch.typed_hashes import typed_hashes
from retable.replay.batch.vectorized import hashes_of
from retable.replay.events.shares import NotParted
from retable.replay.tasks.others import event_hashes
from retable.replay.tasks.task_rows import Plain, RangeRows, events_of, left_in_parts, not_read

_FEW_ALONE = 10_000
"""If more halves than this have their other half in another window, they do not come to one process."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Leave:
    """Leave the halves of a task's ranges whose other half is not in the same range, in parts by their pair."""

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
        return left_in_parts(self.exchange, alone, typed_hashes(pa.table(pair_columns(alone))), self.ranges.parts)


@dataclass(frozen=True, slots=True)
class _Meet:
    """Match halves in one part of what tasks left; give the rest, and leave each half for the other's range."""

    exchange: Exchange
    names: tuple[str, ...]
    part: int
    ranges: tuple[KeyRanges, ...]

    def __call__(self) -> tuple[str | None, pa.Table]:
        halves = pa.concat_tables([self.exchange.get(name, self.part) for name in self.names])
        alone = halves.filter(pa.array(lack_other_half(halves, np.zeros(halves.num_rows, np.int64))))
        alone = alone.slice(0, _FEW_ALONE + 1)
        met = foreign_halves(halves)
        if not met.num_rows:
            return None, alone
        where = hashes_of(met, "old_key_hash")
        return self.exchange.put(*(met.filter(pa.array(each.owns(where))) for each in self.ranges)), alone


@dataclass(frozen=True, slots=True, kw_only=True)
class Met:
    """The matched halves, a part for each range of a task, and the halves of the window that are `alone`.

    `joined` are their other halves, from other windows; `waiting` are the halves that earlier windows had alone, by
    source epoch and `hi`.
    """

    exchange: Exchange
    names: tuple[str, ...] = ()
    alone: tuple[RowEvent, ...] = ()
    joined: tuple[RowEvent, ...] = ()
    waiting: frozenset[tuple[int, int]] = frozenset()

    def read(self, ranges: KeyRanges) -> list[pa.Table]:
        """The other halves of rows of a task's ranges, each as a row that left the key of its other half."""
        return [self.exchange.get(name, ranges.part) for name in self.names]

    def stories(self, ranges: KeyRanges) -> list[RowEvent]:
        """Both halves of the updates that two windows share, if one of the halves has a key of these ranges."""
        pairs = {event.pair for event in self.joined}
        events = [*self.joined, *(event for event in self.alone if event.pair in pairs)]
        are_here = ranges.owns(event_hashes(events)).tolist()
        here = {event.pair for event, is_here in zip(events, are_here, strict=True) if is_here}
        return [event for event in events if event.pair in here]

    def waiting_here(self) -> set[Pair]:
        """The updates of which this window has one half, and no window the other half."""
        return {event.pair for event in self.alone} - {event.pair for event in self.joined}


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
    """Let tasks match halves; the names of what they left are added to `left`."""
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
        raise NotParted
    return Met(exchange=exchange, names=tuple(met), alone=tuple(events_of(alone, plain, ordinals, shard)))
