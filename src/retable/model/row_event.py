"""A row change as it is in silver, and the values that identify it."""

from collections.abc import Iterable
from typing import Literal, NamedTuple

from retable.model.sequence import Sequence

Half = Literal["before", "after"]
Pair = tuple[int, int, str | None]
_NONE: frozenset[int] = frozenset()


class RowEvent(NamedTuple):
    """A row change as it is in silver.

    `ordinal` is the number of its window. `counted` is False for a row of another window, which a fold reads only
    because a late key needs it. If `partial` is True, a column that `after` does not have is unchanged. If the source
    writes an update as two messages, `half` says which half this is; both halves have the same source epoch and `hi` in
    their sequences. `shard` is the row's source table, if several source tables go into one gold table. `apart` has the
    hashes of those keys of this event that a fold must not change, because it does not get all events of these keys.
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
        """The hash of the key that the row had before the change."""
        return self.key_hash if self.old_key_hash is None else self.old_key_hash

    @property
    def pair(self) -> Pair:
        """The value that identifies an update: both of its halves have the same one."""
        return (self.sequence.epoch, self.sequence.hi, self.part)

    @property
    def arrival(self) -> tuple[Sequence, int, str, int, int, int]:
        """The sort key of events: the sequence and, for redeliveries of the same sequence, the address of the message.

        No two events have the same value.
        """
        return (self.sequence, self.ordinal, self.topic, self.partition, self.offset, self.row_index)

    def of_keys(self, hashes: frozenset[int]) -> "RowEvent":
        """Return this event for a fold that gets all events of the keys with these hashes, but not of other keys.

        The other keys of the event are then `apart`: the fold does not change them.
        """
        apart = frozenset(h for h in (self.key_hash, self.old_key_hash) if h is not None) - hashes
        return self._replace(apart=apart) if apart else self


def unpaired(events: Iterable[RowEvent]) -> dict[Pair, RowEvent]:
    """Return the halves of updates whose other half is not among these events, by `pair`."""
    halves: dict[Pair, dict[Half, RowEvent]] = {}
    for event in events:
        if event.half is not None:
            halves.setdefault(event.pair, {})[event.half] = event
    return {pair: next(iter(found.values())) for pair, found in halves.items() if len(found) == 1}


def row_text(event: RowEvent) -> str:
    """Return the first 500 characters of the row image, for the text of a hold."""
    return (event.after or event.before or "")[:500]
