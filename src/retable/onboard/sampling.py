"""Reads a few messages of a source as a sample. No window is recorded, and no offset is committed."""

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
"""If `_MANY` or more messages of a partition are read, they come from `_PLACES` ranges of offsets."""
_NEVER = -1
"""A source epoch below every real one. With it, messages that Kafka deletes during sampling are not an error."""


@dataclass(frozen=True, slots=True)
class SamplePlace:
    """An object or a Kafka partition of a source. `size` is in bytes for an object, in offsets for a partition."""

    name: str
    size: int


@dataclass(frozen=True, slots=True)
class Sampled:
    """All objects or partitions of a source, and a sample of its messages, which is read lazily.

    `cut` names the objects and partitions whose messages are not all in the sample. For objects it is complete only
    after all sampled messages were read.
    """

    places: tuple[SamplePlace, ...]
    messages: Iterator[RawMessage]
    cut: list[str]


def sample(source: Source) -> Sampled:
    """Return a sample of a source's messages: from some objects of the folder, or from every Kafka partition."""
    if isinstance(source, FilesSource):
        found = objects_of(source).list()
        places = tuple(SamplePlace(item.key, item.size) for item in found)
        chosen = some_of(found, _OBJECTS)
        cut = sorted({item.key for item in found} - {item.key for item in chosen})
        return Sampled(places, _of_objects(source, chosen, cut), cut)
    return sample_topics(source, None, _OBJECTS * _MESSAGES)


def some_of(items: Sequence[_Item], most: int) -> list[_Item]:
    """Return at most `most` items of a list, at equal distances, starting with the first item."""
    step = -(-len(items) // most) or 1
    return list(items[::step])


def spread(found: FoundPartition, most: int) -> list[PartitionRange]:
    """Select at most `most` offsets of a Kafka partition, always including the last offset.

    Return the selected offsets as one range. If 100 or more offsets are selected, but not all of the partition, return
    them as five ranges at equal distances.
    """
    count = min(most, found.end - found.low)
    places = _PLACES if _MANY <= count < found.end - found.low else 1
    each = count // places
    last = found.end - each
    begins = [last - (last - found.low) * at // max(places - 1, 1) for at in reversed(range(places))]
    return [PartitionRange(*found.address, found.topic_id, _NEVER, begin, begin + each) for begin in begins if each]


def sample_topics(source: KafkaSource, most: int | None, messages: int) -> Sampled:
    """Return a sample of about `messages` messages from all topics of a source.

    `most` is the maximum number of partitions to read; None means all. Each of these partitions gives at least one
    message, if it has any.
    EnvironmentFault if the Kafka client is not installed.
    """
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
