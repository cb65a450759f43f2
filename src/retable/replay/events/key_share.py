"""Some keys of a big window with all their events, which are folded together and apart from all other keys."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

import numpy as np

from retable.fold.bag import fold_bag
from retable.fold.bounds import Bounds
from retable.fold.exactness import inexact_hold, reader_at, rows_of
from retable.fold.fold import Folded, RowAction, Values, fold_keys
from retable.fold.images import TableReader
from retable.model.row_event import RowEvent
from retable.model.sequence import Sequence
from retable.replay.batch.row_kinds import Flags, Hashes
from retable.schema_history.history import Hold


class NotParted(Exception):
    """The events cannot be divided into shares. They must be folded all at once. `reason` is a clause that says why."""

    def __init__(self, reason: str = "its rows depend on each other") -> None:
        super().__init__(reason)


class OthersNeeded(NotParted):
    """Tasks cannot bring the rows of this window together with rows of other windows, which they need.

    Tasks that fold all rows of the table again need no others.
    """


class SpelledTwice(NotParted):
    """A key has two spellings, such as `1.5` and `1.50`, so that one key hash does not find all events of the key."""


@dataclass(frozen=True, slots=True)
class KeyShare:
    """Some keys of a table: those for whose hashes `owns` returns True. Without a key, whole rows are used as keys.

    `events` are all events of these keys. An event that changes the key of a row is in the shares of both keys. It is
    counted in the share of the new key. The share of the old key has its `RowEvent.arrival` in `foreign`. `over` are
    the rows that these keys have before the events; None if there are none.
    """

    events: list[RowEvent]
    foreign: frozenset[tuple[object, ...]]
    owns: Callable[[Hashes], Flags]
    over: Folded | None = None

    def fold(self, reader: TableReader, bounds: Bounds) -> Folded:
        """Fold the events of this share to the last state of each key.

        Events that `bounds` excludes are skipped, for example those below a truncation point. Raise SpelledTwice if a
        key has two spellings (`1.5`, `1.50`), and this share has only one of their hashes.
        """
        return self._folded(reader, bounds)[0]

    def fold_own(self, reader: TableReader, bounds: Bounds) -> Folded:
        """Return what `fold` returns, without the last states of keys of other shares."""
        folded, own = self._folded(reader, bounds)
        folded.winners = {key: winner for key, winner in folded.winners.items() if key in own}
        return folded

    def cast_hold(self, reader: TableReader) -> Hold | None:
        """Return the hold at the first type change that loses part of a value of the share's keys; else None.

        Raise NotParted if the table did not have its key yet before such a type change.
        """

        def standing(at: Sequence, older: list[RowEvent]) -> Iterable[Values]:
            then, bounds = reader_at(at, reader.history, reader)
            if bool(then.keys) != bool(reader.keys):
                raise NotParted("it had no key before a type change that may lose a part of a value")
            return rows_of(replace(self, events=older).fold_own(then, bounds))

        return inexact_hold(reader.history, self.events, standing)

    def _folded(self, reader: TableReader, bounds: Bounds) -> tuple[Folded, set[tuple[object, ...]]]:
        """Return the fold of the events, and the keys (or rows, without a key) of this share in it."""
        hashes: dict[tuple[object, ...], int] = {}
        others: dict[tuple[object, ...], set[int]] = {}
        left: set[tuple[object, ...]] = set()
        halved: set[tuple[object, ...]] = set()
        halves = [event for event in self.events if event.half is not None]
        updates = {event.pair for event in halves if event.counted or event.arrival in self.foreign}

        def read(event: RowEvent) -> RowAction:
            action = reader.read(event)
            is_moved = event.old_key_hash is not None and event.half is None
            new, old = event.key_hash or 0, event.old_key_hash if is_moved else event.key_hash
            for key, key_hash in ((action.key if reader.keys else action.row, new), (action.gone, old or 0)):
                if key is not None and hashes.setdefault(key, key_hash) != key_hash:
                    others.setdefault(key, set()).add(key_hash)
            if action.gone is not None and event.arrival in self.foreign:
                left.add(action.gone)
            if event.half is not None and event.pair in updates:
                halved.update(
                    key for key in (action.gone, action.key if reader.keys else action.row) if key is not None
                )
            return action

        before = set() if self.over is None else self.over.winners.keys() | self.over.counts.keys()
        folded = (fold_keys if reader.keys else fold_bag)(self.events, read, bounds, self.over)
        are_own = self.owns(np.fromiter(hashes.values(), np.int64, len(hashes)))
        own = {key for key, is_own in zip(hashes, are_own.tolist(), strict=True) if is_own}
        if self.over is not None:
            own |= before
        for key, written in others.items():
            if {key in own, *self.owns(np.array([*written])).tolist()} == {True, False}:
                raise SpelledTwice
        left |= halved & (folded.winners.keys() | folded.counts.keys())
        folded.touched = (folded.touched | left) & own
        folded.counts = {row: count for row, count in folded.counts.items() if row in own}
        folded.rejects = [reject for reject in folded.rejects if reject.event.arrival not in self.foreign]
        return folded, own


def share(
    here: list[RowEvent],
    are_home: list[bool],
    more: list[RowEvent],
    owns: Callable[[Hashes], Flags],
    over: Folded | None = None,
) -> KeyShare:
    """Return the share of the keys for whose hashes `owns` returns True, with the events `here` and `more`.

    `here` are the window's events with a new or old key in the share. `are_home` has a flag for each of them. It is
    True if the new key is in the share. It is False if only the old key is: the event is then counted in the share of
    the new key, and not in this share. `more` are other events of these keys, usually of other windows. If an event in
    `more` is of the window (`RowEvent.counted`), it is not counted in this share, either.
    `over` are the rows that the keys have before the events; None if there are none.
    """
    guests = [event for event, home in zip(here, are_home, strict=True) if not home]
    guests += [event for event in more if event.counted]
    foreign = frozenset(event.arrival for event in guests)
    events = [event._replace(counted=False) if event.arrival in foreign else event for event in [*here, *more]]
    return KeyShare(events, foreign, owns, over)
