"""Assign objects to windows; the functions are pure, so that their properties can be tested."""

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from retable.errors import InvalidSetting
from retable.model.window import SourceObject, Window
from retable.settings.sources import FilesSource, SourceSettings
from retable.settings.types import linear_pattern

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MOST_WINDOWS = 100_000
_CLOCKS_APART = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class FoundObject:
    """An object as a `files` source lists it.

    `modified` is the time from its writer, `changed` the time of its last change in the storage. `etag` digests its
    first `size` bytes when called; the same key with another etag is another object.
    """

    key: str
    size: int
    modified: datetime
    changed: datetime
    etag: Callable[[], str]


@dataclass(frozen=True, slots=True)
class _Waiting:
    hour: datetime
    item: FoundObject


def plan_windows(
    source: FilesSource, recorded: Sequence[Window], found: Iterable[FoundObject], due: datetime, now: datetime
) -> list[Window]:
    """Continue `recorded` by the windows that start before `due`; each object is then in exactly one window.

    `recorded` must contain, in order, the windows that have a version of a found object, the last window with any
    object, and the last window. A window takes the remaining objects whose hour is before its end, so a late object
    goes to the next window. The first window is that of the earliest object, or of `start`.
    """
    waiting = _waiting(source, recorded, found)
    begin = _begin(source, recorded, waiting)
    if begin is None or begin >= due:
        return []
    groups: dict[int, list[_Waiting]] = defaultdict(list)
    for one in waiting:
        groups[max(0, (one.hour - begin) // source.every)].append(one)
    windows: list[Window] = []
    number = max((item.number + 1 for window in recorded for item in window.objects), default=0)
    for step in range(count_windows(source, begin, due, _because(waiting))):
        items = [one.item for one in sorted(groups[step], key=lambda one: one.item.key)]
        objects = tuple(SourceObject(number + at, item.key, item.etag(), item.size) for at, item in enumerate(items))
        start = begin + step * source.every
        end, epoch = start + source.every, source.source_epoch
        windows.append(
            Window(
                source=source.name,
                ordinal=next_ordinal(recorded) + step,
                start=start,
                end=end,
                objects=objects,
                recorded_at=now,
                epoch=epoch,
            )
        )
        number += len(objects)
    return windows


def _waiting(source: FilesSource, recorded: Sequence[Window], found: Iterable[FoundObject]) -> list[_Waiting]:
    versions: dict[str, list[tuple[SourceObject, datetime]]] = defaultdict(list)
    for window in recorded:
        for item in window.objects:
            versions[item.key].append((item, window.recorded_at))
    new = [_Waiting(_hour(source, item), item) for item in found if not _is_recorded(item, versions[item.key])]
    return [one for one in new if source.start is None or one.hour >= floor(source, source.start)]


def _is_recorded(item: FoundObject, versions: Sequence[tuple[SourceObject, datetime]]) -> bool:
    """Say whether a window has this object; an object that was not touched since its recording is not read."""
    if not versions:
        return False
    newest, recorded_at = versions[-1]
    if is_untouched(item, newest.size, recorded_at):
        return True
    etag = item.etag()
    return any(version.etag == etag for version, _ in versions)


def is_untouched(item: FoundObject, size: int, recorded_at: datetime) -> bool:
    """Whether an object was not touched since the newest version of its name, with this size, was recorded."""
    return item.size == size and item.changed < recorded_at - _CLOCKS_APART


def next_ordinal(recorded: Sequence[Window]) -> int:
    """The number of the window after the last recorded one."""
    return recorded[-1].ordinal + 1 if recorded else 0


def _begin(source: FilesSource, recorded: Sequence[Window], waiting: Collection[_Waiting]) -> datetime | None:
    if recorded:
        return next_start(source, recorded)
    first = source.start or min((one.hour for one in waiting), default=None)
    return first and floor(source, first)


def next_start(source: SourceSettings, recorded: Sequence[Window]) -> datetime:
    """Give the end of the last recorded window; InvalidSetting if the settings give windows another length now."""
    every = recorded[-1].end - recorded[-1].start
    if every != source.every:
        raise InvalidSetting(
            f"sources.{source.name}.every is {source.every}, but its recorded windows are {every} long, and "
            f"this length cannot change; set it back, or give the source a new name"
        )
    return recorded[-1].end


def floor(source: SourceSettings, time: datetime) -> datetime:
    """Give the start of the window that contains a time."""
    return time - (time - _EPOCH) % source.every


def count_windows(source: SourceSettings, begin: datetime, due: datetime, because: str = "") -> int:
    """Count the windows that start at or after `begin` and before `due`; InvalidSetting if there are too many."""
    count = -((begin - due) // source.every)
    if count > _MOST_WINDOWS:
        raise InvalidSetting(
            f"the source {source.name} would begin at {begin:%Y-%m-%dT%H:%MZ}{because}, {count} windows ago; set "
            f"sources.{source.name}.start to the time when it really begins"
        )
    return count


def _because(waiting: Collection[_Waiting]) -> str:
    oldest = min(waiting, key=lambda one: one.hour, default=None)
    return f" because of {oldest.item.key!r} (see `hour`)" if oldest else ""


def _hour(source: FilesSource, item: FoundObject) -> datetime:
    """Give the time of an object: from its name, in UTC, else its modification time."""
    match = linear_pattern(source.hour).search(item.key) if source.hour else None
    text = match[1] if match else None
    if text is None:
        return item.modified
    digits = re.sub(r"\D", "", text)
    try:
        return datetime.strptime(digits.ljust(12, "0")[:12], "%Y%m%d%H%M").replace(tzinfo=UTC)
    except ValueError:
        raise InvalidSetting(
            f"sources.{source.name}.hour finds {text!r} in the name {item.key!r}, which is not an hour such as "
            f"2026-03-01T05; correct the pattern, or rename the object"
        ) from None
