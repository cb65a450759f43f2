"""A row change as silver (the table of all change events) has it, and the values that identify it."""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Set
from itertools import pairwise
from typing import Literal, NamedTuple

from retable.model.sequence import Sequence

Half = Literal["before", "after"]
Pair = tuple[int, int, str | None]
_NONE: frozenset[int] = frozenset()


class RowEvent(NamedTuple):
    """A row change, read from silver to be folded (reduced to the last state of its key).

    `sequence` is its position in the source's log. `part` is its Kafka partition if sequences compare only inside one
    partition. `ordinal` is the number of its window. `counted` is False for a row of another window, which is read only
    because a late key (a key with an event older than gold's rows) needs it. If `partial` is True, a column that
    `after` lacks is unchanged.

    Some sources write an update as two messages (halves). Then `half` says whether this one has the row before or after
    the update. Both halves have the same `epoch` and `hi` in their sequences. `key_hash` is the hash of the key after
    the change. `old_key_hash` is that of the key before the change, or None if the key stays. `shard` names the row's
    source table if several source tables go into one gold table.

    A fold is made for certain keys. If the key before or after the change is not one of them, its hash is in `apart`.
    The fold does not have all events of that key, so it must not change that key.
    """

    op: str
    before: str | None
    after: str | None
    types: dict[str, str] | None
    keys: tuple[str, ...] | None
    sequence: Sequence
    part: str | None
    ordinal: int
    topic: str
    partition: int
    offset: int
    row_index: int
    key_hash: int | None
    old_key_hash: int | None
    counted: bool
    half: Half | None = None
    partial: bool = False
    shard: str | None = None
    apart: frozenset[int] = _NONE

    @property
    def left_hash(self) -> int | None:
        """The hash of the row's key before the change. It is `key_hash` if the change keeps the key."""
        return self.key_hash if self.old_key_hash is None else self.old_key_hash

    @property
    def pair(self) -> Pair:
        """The identity of an update in two messages: source epoch, `hi` and partition, equal in both messages."""
        return (self.sequence.epoch, self.sequence.hi, self.part)

    @property
    def arrival(self) -> tuple[Sequence, int, str, int, int, int]:
        """The sort key of events: first the sequence, then the window and the address of the message.

        The window and the address order the copies of a message that came twice, so no two events have the same sort
        key.
        """
        return (self.sequence, self.ordinal, self.topic, self.partition, self.offset, self.row_index)

    def of_keys(self, hashes: frozenset[int]) -> "RowEvent":
        """Return this event for a fold that may change only the keys with these hashes.

        A change of a key has two hashes, of the old and of the new key. A hash that is not in `hashes` is put into
        `apart`: the fold does not have all events of this key, so it must not change the key.
        """
        apart = frozenset(h for h in (self.key_hash, self.old_key_hash) if h is not None) - hashes
        return self._replace(apart=apart) if apart else self


def unpaired(events: Iterable[RowEvent]) -> set[Pair]:
    """Return the updates (by `RowEvent.pair`) of which one half is in `events`, and the other is not.

    A half is one of the two messages in which some sources write an update. Several updates of one transaction may have
    the same pair. If one of them lacks a half, the pair is in the result, because it is not known which update it is.
    """
    halves: dict[Pair, dict[Half, set[Sequence]]] = {}
    for event in events:
        if event.half is not None:
            halves.setdefault(event.pair, {"before": set(), "after": set()})[event.half].add(event.sequence)
    return {pair for pair, found in halves.items() if len(found["before"]) != len(found["after"])}


def lone_halves(keyed: Iterable[tuple[RowEvent, Hashable]], incomplete: Set[Pair]) -> set[tuple[Pair, Sequence, Half]]:
    """Return the halves of updates whose other half is not in `keyed`, which has each event with the key of its row.

    A transaction may have several updates, all with one pair. If it lacks a half, an update that keeps its key is still
    known to be whole: in the order of the log, the before half of a key is followed by an after half of this key. It is
    not known which of the other halves belong together, so all of these are in the result. `incomplete` has pairs that
    lack a half for sure: it cannot be read, for example.
    """
    keyed = list(keyed)
    pairs = incomplete | unpaired(event for event, _ in keyed)
    halves = defaultdict[tuple[Pair, Hashable], set[tuple[Sequence, bool]]](set)
    for event, key in keyed:
        if event.half is not None and event.pair in pairs:
            halves[event.pair, key].add((event.sequence, event.half == "after"))
    alone = set[tuple[Pair, Sequence, Half]]()
    for (pair, _), mine in halves.items():
        updates = ((one, next_one) for one, next_one in pairwise(sorted(mine)) if not one[1] and next_one[1])
        whole = {half for update in updates for half in update}
        alone |= {(pair, sequence, "after" if is_after else "before") for sequence, is_after in mine - whole}
    return alone


def row_text(event: RowEvent) -> str:
    """Return the first 500 characters of the row after (or before) the change, to show it in a hold."""
    return (event.after or event.before or "")[:500]
