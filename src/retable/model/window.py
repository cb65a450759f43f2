"""A window: the range of source positions (Kafka offsets or files) that one run processes."""

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from retable.errors import InvalidSetting

_WINDOW = re.compile(r"\d{8}T\d{4}Z\Z")


def window_name(start: datetime) -> str:
    """Return the name of the window that starts at this time: the time in UTC, such as `20260301T0500Z`."""
    return start.astimezone(UTC).strftime("%Y%m%dT%H%MZ")


def opening(last: str, every: timedelta, now: datetime) -> datetime | None:
    """Return the time from which the next window can be recorded. Return None if it can be recorded `now`.

    `last` is the name of the newest recorded window, and `every` the length of a window. The next window can be
    recorded after the end of the newest one.
    """
    end = window_start(last) + every
    return end if end > now else None


def is_window_name(text: str) -> bool:
    """Return whether a text has the form of a window name."""
    return _WINDOW.match(text) is not None


def window_start(name: str) -> datetime:
    """Return the start of a window, in UTC, from its name. Raise InvalidSetting if the text is not a window name."""
    if not _WINDOW.match(name):
        raise InvalidSetting(f"{name!r} is not a window; write the start of a window in UTC, such as 20260301T0500Z")
    try:
        return datetime.strptime(name, "%Y%m%dT%H%MZ").replace(tzinfo=UTC)
    except ValueError as error:
        raise InvalidSetting(f"{name!r} is not a window: there is no such time in the calendar") from error


@dataclass(frozen=True, slots=True)
class SourceObject:
    """One file (object) of a `files` source. `key` is its path in the source, and `etag` identifies its content.

    `number` counts the recorded files of all windows, from 0, in the order of their lines. A file that has only grown
    since it was recorded keeps its number. A file that came late has no place in this order. It has the negative number
    `~n` (-1 - n) instead of the next number n.
    """

    number: int
    key: str
    etag: str
    size: int

    @property
    def count(self) -> int:
        """How many files had been recorded before this one, with other numbers."""
        return self.number if self.number >= 0 else ~self.number


@dataclass(frozen=True, slots=True)
class PartitionRange:
    """The positions of one partition of a topic in a window: from `begin` (inclusive) to `end` (exclusive).

    `topic_id` is the id that the brokers give the topic, or "" if they give none. If a topic is deleted and created
    again under the same name, the new topic has another id. `epoch` is the source epoch (a number in the settings that
    is raised when positions start again) at the time of recording.
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
        """The number of positions. Some positions may have no message."""
        return self.end - self.begin


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """A recorded window of a source: what one run processes. A window never changes after it was recorded.

    `ordinal` is the window's number, from 0 without gaps. A window of a `files` source has `objects`. A window of a
    `kafka` source has in `ranges` one range for every known partition of the topics; ranges may be empty. `epoch` is
    the source epoch at the time of recording; it is None in windows of objects from earlier versions of Retable.
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
        """Whether the window has no object and no position, so that no stage has anything to do."""
        return not self.objects and not any(each.count for each in self.ranges)
