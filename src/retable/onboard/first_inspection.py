"""Inspects a folder or topics for `retable init`: finds the layout of a line, the message format and the tables."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Literal, get_args

from retable.errors import NotFound
from retable.formats.registry import FORMATS
from retable.land.objects.files import list_objects
from retable.land.objects.layouts import read_messages
from retable.ledger.windows.objects import FoundObject
from retable.model.message import RawMessage
from retable.model.window import SourceObject
from retable.onboard.hours import Hours, find_hours
from retable.onboard.recognition import Reading, best_of, bounded, read_all
from retable.onboard.sampling import sample_topics, some_of
from retable.settings.sources import FilesSource, KafkaSource

Layout = Literal["kafka_dump", "lines"]

_OBJECTS, _MESSAGES = 5, 200
_PARTITIONS, _OF_TOPICS, _BYTES = 200, 2_000, 64 << 20
"""Limits for topics: the partitions and messages that are read, and the bytes of messages."""


@dataclass(frozen=True, slots=True)
class FirstInspection:
    """What `inspect_folder` or `inspect_topics` found: the format that fits best, and facts for the first settings.

    `reading` has the format, and the counts of decoding the sample with it.
    For a folder, `count` is the number of objects. `layout` is the content of a line: a Kafka record (`kafka_dump`) or
    only the message (`lines`). `hours` is None if object names show no hour or day.
    For topics, `count` is the number of partitions, and `positions` the number of offsets in all partitions. `layout`
    and `hours` are None.
    """

    reading: Reading
    count: int
    layout: Layout | None = None
    hours: Hours | None = None
    positions: int = 0


def inspect_folder(path: Path) -> FirstInspection:
    """Inspect a few objects of a folder. Return the message format that fits best, and facts about the folder.

    The facts are the number of objects, the layout of a line, and the hour or day in the names of the objects.
    NotFound if the folder has no objects or no messages. Malformed if no format fits.
    """
    objects = list_objects(_draft(path, "lines", next(iter(FORMATS)), {}))
    if not objects:
        raise NotFound(
            f"the folder {path} holds no files yet; put files with messages there, so that their format can be "
            f"recognised"
        )
    readings = [(reading, layout) for layout in get_args(Layout) for reading in _read_folder(path, layout, objects)]
    if not any(reading.read for reading, _ in readings):
        raise NotFound(
            f"the objects in {path} hold no messages yet; put messages there, so that their format can be recognised"
        )
    best = best_of([reading for reading, _ in readings], str(path))
    layout = next(layout for reading, layout in readings if reading is best)
    return FirstInspection(best, len(objects), layout, find_hours([item.key for item in objects]))


def inspect_topics(facts: Mapping[str, object]) -> FirstInspection:
    """Inspect some messages of topics. Return the format that fits best, and the number of partitions and offsets.

    `facts` are the settings of a `kafka` source, without `format`. No offset is committed.
    At most 2,000 messages are read, from at most 200 partitions, and about 64 MiB in all. NotFound if there is no such
    topic or no message in it. Malformed if no format fits.
    """

    def draft(source_format: str, options: Mapping[str, str]) -> KafkaSource:
        return KafkaSource.model_validate({**facts, "format": source_format, **options})

    source = draft(next(iter(FORMATS)), {})
    found = sample_topics(source, _PARTITIONS, _OF_TOPICS)
    where = " and ".join(map(repr, source.topics))
    readings = read_all(bounded(found.messages, _OF_TOPICS, _BYTES), draft)
    if not readings[0].read:
        raise NotFound(
            f"the topics {where} hold no messages yet; produce messages, so that their format can be recognised"
        )
    positions = sum(place.size for place in found.places)
    best = best_of(readings, f"the messages of the topics {where}")
    return FirstInspection(best, len(found.places), positions=positions)


def _read_folder(path: Path, layout: Layout, objects: list[FoundObject]) -> list[Reading]:
    source = _draft(path, layout, next(iter(FORMATS)), {})
    return read_all(_messages(source, objects), partial(_draft, path, layout))


def _draft(path: Path, layout: Layout, source_format: str, options: Mapping[str, str]) -> FilesSource:
    facts = {"name": "sample", "kind": "files", "format": source_format, "path": path, "layout": layout}
    return FilesSource.model_validate({**facts, **options})


def _messages(source: FilesSource, objects: list[FoundObject]) -> Iterator[RawMessage]:
    for item in some_of(objects, _OBJECTS):
        messages = filter(None, read_messages(source, SourceObject(0, item.key, "", item.size)))
        yield from islice(messages, _MESSAGES)
