"""A window: the range of positions that one run takes."""

import re
from dataclasses import dataclass
from datetime import UTC, datetime

from retable.errors import InvalidSetting

_WINDOW = re.compile(r"\d{8}T\d{4}Z\Z")


def window_name(start: datetime) -> str:
    """Name a window by its start in UTC: `20260301T0500Z`."""
    return start.astimezone(UTC).strftime("%Y%m%dT%H%MZ")


def window_start(name: str) -> datetime:
    """Read a window's name; InvalidSetting says how one looks."""
    if not _WINDOW.match(name):
        raise InvalidSetting(f"{name!r} is not a window; a window is named by its start in UTC, as 20260301T0500Z")
    try:
        return datetime.strptime(name, "%Y%m%dT%H%MZ").replace(tzinfo=UTC)
    except ValueError as error:
        raise InvalidSetting(f"{name!r} is not a window: no such time") from error


@dataclass(frozen=True, slots=True)
class SourceObject:
    """One object of a `files` source: `number` is its place in recorded order, from 0 over all windows."""

    number: int
    key: str
    etag: str
    size: int


@dataclass(frozen=True, slots=True)
class PartitionRange:
    """The positions of one partition of a topic that a window has: from `begin` on, and before `end`.

    `topic_id` is the brokers' own id of the topic, which one made anew under the same name has not; "" where they give
    none. `epoch` is the source epoch under which the range was recorded.
    """

    topic: str
    partition: int
    topic_id: str
    epoch: int
    begin: int
    end: int

    @property
    def address(self) -> tuple[str, int]:
        return self.topic, self.partition

    @property
    def count(self) -> int:
        """How many positions there are; not each of them needs to hold a message."""
        return self.end - self.begin


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """A recorded window of a source: it never changes. `ordinal` counts from 0 and leaves no gap.

    A `files` source has objects, a `kafka` source a range of every partition that it knew, empty ones too. `epoch` is
    the source epoch under which it was recorded; None where an earlier version did not say it of objects.
    """

    source: str
    ordinal: int
    start: datetime
    end: datetime
    objects: tuple[SourceObject, ...]
    recorded_at: datetime
    ranges: tuple[PartitionRange, ...] = ()
    epoch: int | None = None

    @property
    def name(self) -> str:
        return window_name(self.start)

    @property
    def is_empty(self) -> bool:
        """Say whether nothing arrived: there is nothing for any stage to do."""
        return not self.objects and not any(each.count for each in self.ranges)
