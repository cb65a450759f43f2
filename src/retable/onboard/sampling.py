"""A few messages of a source, to look at: nothing is recorded or committed."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TypeVar

from retable.errors import EnvironmentFault
from retable.land.due import NO_KAFKA
from retable.land.objects.layouts import read_messages
from retable.land.objects.source import objects_of
from retable.ledger.windows.objects import FoundObject
from retable.ledger.windows.positions import FoundPartition
from retable.model.message import RawMessage
from retable.model.window import PartitionRange, SourceObject
from retable.settings.sources import FilesSource, KafkaSource, Source

_Item = TypeVar("_Item")

_OBJECTS, _MESSAGES = 20, 500
_PLACES, _MANY = 5, 100
"""If many messages of a partition are read, they come from so many locations in it."""
_NEVER = -1
"""A source epoch below every other: messages that retention deletes during the look are no loss."""


@dataclass(frozen=True, slots=True)
class SamplePlace:
    """An object, or a partition of a topic, and its size: bytes or positions."""

    name: str
    size: int


@dataclass(frozen=True, slots=True)
class Sampled:
    """What a source has, and some of its messages, which are read lazily.

    `cut` names, as far as messages were read, objects and partitions that are only partly among these.
    """

    places: tuple[SamplePlace, ...]
    messages: Iterator[RawMessage]
    cut: list[str]


def sample(source: Source) -> Sampled:
    """List a source, to read messages of some objects spread over it, or of every partition."""
    if isinstance(source, FilesSource):
        found = objects_of(source).list()
        places = tuple(SamplePlace(item.key, item.size) for item in found)
        chosen = some_of(found, _OBJECTS)
        cut = sorted({item.key for item in found} - {item.key for item in chosen})
        return Sampled(places, _of_objects(source, chosen, cut), cut)
    return sample_topics(source, None, _OBJECTS * _MESSAGES)


def some_of(items: Sequence[_Item], most: int) -> list[_Item]:
    """Give at most so many of some items, spread over all of them."""
    step = -(-len(items) // most) or 1
    return list(items[::step])


def spread(found: FoundPartition, most: int) -> list[PartitionRange]:
    """Select at most so many positions of a partition, its last ones included; many come from several locations."""
    count = min(most, found.end - found.low)
    places = _PLACES if _MANY <= count < found.end - found.low else 1
    each = count // places
    last = found.end - each
    begins = [last - (last - found.low) * at // max(places - 1, 1) for at in reversed(range(places))]
    return [PartitionRange(*found.address, found.topic_id, _NEVER, begin, begin + each) for begin in begins if each]


def sample_topics(source: KafkaSource, most: int | None, messages: int) -> Sampled:
    """List topics, to read about so many messages of at most so many partitions, at least one of each."""
    try:
        from retable.land.kafka.client import Brokers
        from retable.land.kafka.messages import read_ranges
        from retable.land.kafka.positions import find_partitions
    except ModuleNotFoundError as error:
        raise EnvironmentFault(NO_KAFKA) from error
    partitions = find_partitions(source, Brokers(source))
    full = [each for each in partitions if each.end > each.low]
    chosen = full if most is None else some_of(full, most)
    share = min(_MESSAGES, max(1, messages // max(len(chosen), 1)))
    ranges = [piece for each in chosen for piece in spread(each, share)]
    places = tuple(SamplePlace(f"{each.topic}/{each.partition}", each.end - each.low) for each in partitions)
    read = Counter[tuple[str, int]]()
    for piece in ranges:
        read[piece.address] += piece.count
    cut = [f"{each.topic}/{each.partition}" for each in full if read[each.address] < each.end - each.low]
    return Sampled(places, read_ranges(source, ranges, Counter()), cut)


def _of_objects(source: FilesSource, items: Sequence[FoundObject], cut: list[str]) -> Iterator[RawMessage]:
    for item in items:
        messages = filter(None, read_messages(source, SourceObject(0, item.key, "", item.size)))
        yield from islice(messages, _MESSAGES)
        cut += [item.key for _ in islice(messages, 1)]
