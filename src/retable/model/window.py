"""A window: the range of positions that one run takes."""

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from retable.errors import InvalidSetting

_WINDOW = re.compile(r"\d{8}T\d{4}Z\Z")


def window_name(start: datetime) -> str:
    """Name a window by its start in UTC: `20260301T0500Z`."""
    return start.astimezone(UTC).strftime("%Y%m%dT%H%MZ")


def opening(last: str, every: timedelta, now: datetime) -> datetime | None:
    """Give when the window after the last recorded one can be recorded; None if that is already possible."""
    end = window_start(last) + every
    return end if end > now else None


def is_window_name(text: str) -> bool:
    """Whether a text has the form of a window's name."""
    return _WINDOW.match(text) is not None


def window_start(name: str) -> datetime:
    """Read a window's name; InvalidSetting says how a name looks."""
    if not _WINDOW.match(name):
        raise InvalidSetting(f"{name!r} is not a window; a window is named by its start in UTC, as 20260301T0500Z")
    try:
        return datetime.strptime(name, "%Y%m%dT%H%MZ").replace(tzinfo=UTC)
    except ValueError as error:
        raise InvalidSetting(f"{name!r} is not a window: there is no such time") from error


@dataclass(frozen=True, slots=True)
class SourceObject:
    """One object of a `files` source: `number` is its position in recorded order, from 0 over all windows."""

    number: int
    key: str
    etag: str
    size: int


@dataclass(frozen=True, slots=True)
class PartitionRange:
    """The positions of one partition of a topic in a window: from `begin` (inclusive) to `end` (exclusive).

    `topic_id` is the brokers' id of the topic; a topic that was created again under the same name has another one. It
    is "" if the brokers give none. `epoch` is the source epoch under which the range was recorded.
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
        """The number of positions; not every position needs to hold a message."""
        return self.end - self.begin


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """A recorded window of a source: it never changes. `ordinal` counts from 0 without gaps.

    A `files` source has objects; a `kafka` source has a range of every partition that it knew, also empty ones. `epoch`
    is the source epoch under which it was recorded; None if an earlier version did not record it for objects.
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
        """Say whether nothing arrived, so that no stage has anything to do."""
        return not self.objects and not any(each.count for each in self.ranges)
