"""Read the messages of one window of any source in shares. A share is what one Spark task reads."""

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
"""The minimum and maximum number of Kafka offsets in a share.

Fewer offsets are not worth a task. With more offsets, a retry of the task takes too long.
"""

_Piece = TypeVar("_Piece")


class Landing(Protocol):
    """Reads the messages of one window in shares. It is pickled and sent to Spark's workers."""

    @property
    def shares(self) -> int:
        """The number of shares; 0 if there is nothing to read."""
        ...

    @property
    def counts(self) -> dict[str, int]:
        """The counts for the ledger, by name, as they are before any message is read.

        A count that is only known after `read` is 0 here. The caller adds the count from `read` to it.
        """
        ...

    def check(self) -> None:
        """Raise PositionsLost if the source no longer has the recorded objects or offsets of the window."""
        ...

    def read(self, share: int, seen: Counter[str]) -> Iterator[RawMessage]:
        """Yield the messages of the share with this number, and add the counts for the ledger to `seen`."""
        ...


@dataclass(frozen=True, slots=True)
class ObjectsLanding:
    """Reads the lines of a window's objects. `recorded` are all objects, and `dealt` has the objects of each share.

    The count `skipped_lines` is the number of empty lines.
    """

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
    """Reads the messages of a window's ranges of Kafka offsets. `dealt` has the ranges of each share.

    Its counts: `positions` is the number of offsets, and `holes` the number of offsets without a message. `lost` is the
    number of offsets that the brokers no longer have. `bytes` is the size of keys and values.
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
    """Return a Landing that reads a recorded window in about `tasks` Spark tasks.

    Raise PositionsLost if the source no longer has some of the window's objects or offsets.
    """
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
    """Distribute pieces to at most `most` shares of similar size, and return the pieces of each share.

    The pieces must be sorted by size, the biggest first. Each share gets one piece in turn, until none is left.
    """
    shares = min(most, len(biggest_first))
    return tuple(tuple(biggest_first[share::shares]) for share in range(shares))
