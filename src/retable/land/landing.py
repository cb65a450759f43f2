"""Read the messages of one window in shares, one for each Spark task, for every kind of source."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from retable.land.objects.layouts import read_messages
from retable.land.objects.source import Objects, objects_of
from retable.model.message import RawMessage
from retable.model.window import PartitionRange, SourceObject, Window
from retable.settings.sources import FilesSource, KafkaSource, Source

_LEAST_POSITIONS, _MOST_POSITIONS = 50_000, 2_000_000
"""The minimum and maximum number of positions in a share of Kafka.

Fewer positions are not worth a task. With more, a retry of the task takes too long.
"""

_Piece = TypeVar("_Piece")


class Landing(Protocol):
    """The messages of one window, in shares; it is pickled to Spark's workers."""

    @property
    def shares(self) -> int:
        """The number of shares; 0 if there is nothing to read."""
        ...

    @property
    def counts(self) -> dict[str, int]:
        """The counts that are known before reading. It has every count to which `read` adds."""
        ...

    def check(self) -> None:
        """Check that the source still has what was recorded; PositionsLost names what is missing."""
        ...

    def read(self, share: int, seen: Counter[str]) -> Iterator[RawMessage]:
        """Yield the messages of one share, and add the counts for the ledger to `seen`."""
        ...


@dataclass(frozen=True, slots=True)
class ObjectsLanding:
    """The lines of objects. `dealt` has the objects of each share; the count `skipped_lines` is of empty lines."""

    source: FilesSource
    objects: Objects
    recorded: tuple[SourceObject, ...]
    dealt: tuple[tuple[SourceObject, ...], ...]

    @property
    def shares(self) -> int:
        return len(self.dealt)

    @property
    def counts(self) -> dict[str, int]:
        size = sum(item.size for item in self.recorded)
        return {"objects": len(self.recorded), "bytes": size, "skipped_lines": 0}

    def check(self) -> None:
        self.objects.check(self.recorded)

    def read(self, share: int, seen: Counter[str]) -> Iterator[RawMessage]:
        for item in self.dealt[share]:
            for message in read_messages(self.source, item, self.objects):
                if message is None:
                    seen["skipped_lines"] += 1
                else:
                    yield message


@dataclass(frozen=True, slots=True)
class RangesLanding:
    """The messages of ranges of offsets in Kafka. `dealt` has the ranges of each share.

    The counts: `holes` are offsets without a message, `bytes` those of keys and values, `lost` offsets that are gone.
    """

    source: KafkaSource
    recorded: tuple[PartitionRange, ...]
    dealt: tuple[tuple[PartitionRange, ...], ...]

    @property
    def shares(self) -> int:
        return len(self.dealt)

    @property
    def counts(self) -> dict[str, int]:
        positions = sum(each.count for each in self.recorded)
        lost = positions - sum(each.count for share in self.dealt for each in share)
        return {"positions": positions, "bytes": 0, "holes": 0} | ({"lost": lost} if lost else {})

    def check(self) -> None:
        from retable.land.kafka.messages import find_left

        find_left(self.source, self.recorded)

    def read(self, share: int, seen: Counter[str]) -> Iterator[RawMessage]:
        from retable.land.kafka.messages import read_ranges

        yield from read_ranges(self.source, self.dealt[share], seen)


def open_landing(source: Source, window: Window, tasks: int) -> Landing:
    """Prepare to read a recorded window in about `tasks` tasks; PositionsLost names what the source no longer has."""
    if isinstance(source, FilesSource):
        filled = [item for item in window.objects if item.size]
        items = sorted(filled, key=lambda item: (-item.size, item.number))
        landing = ObjectsLanding(source, objects_of(source), window.objects, deal(items, tasks))
        landing.check()
        return landing
    from retable.land.kafka.messages import find_left, split_ranges

    pieces = split_ranges(find_left(source, window.ranges), _LEAST_POSITIONS, _MOST_POSITIONS, tasks)
    ranges = sorted(pieces, key=lambda each: (-each.count, each.address, each.begin))
    shares = max(tasks, -(-sum(each.count for each in pieces) // _MOST_POSITIONS))
    return RangesLanding(source, window.ranges, deal(ranges, shares))


def deal(biggest_first: Sequence[_Piece], most: int) -> tuple[tuple[_Piece, ...], ...]:
    """Deal pieces to at most `most` shares, the biggest first, so that no task waits long for another."""
    shares = min(most, len(biggest_first))
    return tuple(tuple(biggest_first[share::shares]) for share in range(shares))
