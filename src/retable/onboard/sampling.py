"""A few messages of a source, to look at: nothing is recorded, and nothing moves."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from retable.errors import EnvironmentFault
from retable.land.due import NO_KAFKA
from retable.land.layouts import read_messages
from retable.land.objects import objects_of
from retable.ledger.plan import FoundObject
from retable.model.message import RawMessage
from retable.model.window import SourceObject
from retable.source_settings import FilesSource, Source

_OBJECTS, _MESSAGES = 20, 500


@dataclass(frozen=True, slots=True)
class Place:
    """An object, or a partition of a topic, and how much it holds: bytes or positions."""

    name: str
    size: int


@dataclass(frozen=True, slots=True)
class Sampled:
    """What a source has, and some of its messages."""

    places: tuple[Place, ...]
    messages: Iterator[RawMessage]


def sample(source: Source) -> Sampled:
    """List a source and read messages of some objects all over it, or the last ones of every partition."""
    if isinstance(source, FilesSource):
        found = objects_of(source).list()
        step = max(1, len(found) // _OBJECTS)
        chosen = found[::step][:_OBJECTS]
        return Sampled(tuple(Place(item.key, item.size) for item in found), _of_objects(source, chosen))
    try:
        from retable.land.kafka import read_last
        from retable.land.kafka_client import Brokers
        from retable.land.kafka_positions import find_partitions
    except ModuleNotFoundError as error:
        raise EnvironmentFault(NO_KAFKA) from error
    partitions = find_partitions(source, Brokers(source))
    share = min(_MESSAGES, max(1, _OBJECTS * _MESSAGES // max(len(partitions), 1)))
    places = tuple(Place(f"{each.address[0]}/{each.address[1]}", each.end - each.low) for each in partitions)
    return Sampled(
        places, (message for each in partitions for message in read_last(source, each, min(share, _MESSAGES)))
    )


def _of_objects(source: FilesSource, items: list[FoundObject]) -> Iterator[RawMessage]:
    for item in items:
        yield from islice(filter(None, read_messages(source, SourceObject(0, item.key, "", item.size))), _MESSAGES)
