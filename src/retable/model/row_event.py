"""A row change as silver has it, and its identity."""

from collections.abc import Iterable
from typing import Literal, NamedTuple

from retable.model.sequence import Sequence

Half = Literal["before", "after"]
Pair = tuple[int, int, str | None]
_NONE: frozenset[int] = frozenset()


class RowEvent(NamedTuple):
    """A row change as silver has it. `counted` is False for rows of other windows that a late key needs.

    `partial`: a column that `after` leaves out is unchanged. `half` says which half of an update this is, if the source
    writes an update as two messages; both halves have the source epoch and the `hi` of one sequence. `shard` is the
    source table of the row, if several go into one. `apart`: the hashes of keys of this event that a fold must not
    change by it, because their other events are not given.
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
        """The hash of the key that the row leaves, or keeps."""
        return self.key_hash if self.old_key_hash is None else self.old_key_hash

    @property
    def pair(self) -> Pair:
        """The value that the two halves of an update share."""
        return (self.sequence.epoch, self.sequence.hi, self.part)

    @property
    def arrival(self) -> tuple[Sequence, int, str, int, int, int]:
        """Total order: by sequence; the same sequence again (a redelivery) by where it arrived."""
        return (self.sequence, self.ordinal, self.topic, self.partition, self.offset, self.row_index)

    def of_keys(self, hashes: frozenset[int]) -> "RowEvent":
        """This event of another window for a fold that is given all events of the keys with these hashes."""
        apart = frozenset(h for h in (self.key_hash, self.old_key_hash) if h is not None) - hashes
        return self._replace(apart=apart) if apart else self


def unpaired(events: Iterable[RowEvent]) -> dict[Pair, RowEvent]:
    """The halves of updates whose other half is not among these events."""
    halves: dict[Pair, dict[Half, RowEvent]] = {}
    for event in events:
        if event.half is not None:
            halves.setdefault(event.pair, {})[event.half] = event
    return {pair: next(iter(found.values())) for pair, found in halves.items() if len(found) == 1}


def row_text(event: RowEvent) -> str:
    """The beginning of a row, as a hold shows it."""
    return (event.after or event.before or "")[:500]
