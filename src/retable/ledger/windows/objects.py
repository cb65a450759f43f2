"""Assign the objects of a `files` source to windows. The functions do not read or write tables."""

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
    """An object that the folder or bucket of a `files` source contains.

    `key` is its name in the folder or bucket. `modified` is the modification time that the writer set. `changed` is the
    time of the last change in the storage. `etag` is a function that returns a digest of the first `size` bytes. If the
    same key has another etag, it is another object. `has_grown` returns whether the object has the bytes of an earlier
    version, and more bytes after them.
    """

    key: str
    size: int
    modified: datetime
    changed: datetime
    etag: Callable[[], str]
    has_grown: Callable[[SourceObject], bool]


@dataclass(frozen=True, slots=True)
class _Waiting:
    """An object that no window has, with its time.

    `place` is its place in the order of all objects. `earlier` is its newest version that a window of this source epoch
    has.
    """

    hour: datetime
    place: tuple[datetime, str]
    item: FoundObject
    earlier: SourceObject | None


def plan_windows(
    source: FilesSource, recorded: Sequence[Window], found: Iterable[FoundObject], due: datetime, now: datetime
) -> list[Window]:
    """Return the windows after `recorded` that start before `due`. Each object is then in exactly one window.

    A window takes all objects that no window has yet and whose time is before the end of the window. So an object that
    arrives late goes into a later window. The time of an object is in its name (setting `hour`), or is its modification
    time. The first window of a source contains the setting `start`, or else the time of the earliest object. Objects
    before `start` are left out. `now` becomes the `recorded_at` of the windows.

    Objects are numbered in the order of their times, and at the same time in the order of their names. An object is
    late if it is not after the newest object in this order, or if it was changed. If the source epoch was raised,
    objects of the epoch before do not count.

    `recorded` has recorded windows of the source, in order. Not all are needed. The last window is needed, because the
    new windows follow it. The windows with the highest and the lowest number of an object are needed, because the
    numbers continue. A window that has an object with the name of a found object is needed, because it shows if this
    object is recorded.

    Raise InvalidSetting if the setting `every` was changed, an object name has no valid hour, or there are too many
    windows.
    """
    waiting = _waiting(source, recorded, found)
    begin = _begin(source, recorded, waiting)
    if begin is None or begin >= due:
        return []
    groups: dict[int, list[_Waiting]] = defaultdict(list)
    for one in waiting:
        groups[max(0, (one.hour - begin) // source.every)].append(one)
    windows: list[Window] = []
    numbers = _Numbers(source, recorded)
    for step in range(count_windows(source, begin, due, _because(waiting))):
        objects = tuple(numbers.give(one) for one in sorted(groups[step], key=lambda one: one.place))
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
    return windows


class _Numbers:
    """Gives the objects of new windows their numbers. `recorded` are the windows before them (see `plan_windows`)."""

    def __init__(self, source: FilesSource, recorded: Sequence[Window]) -> None:
        items = [(item, window) for window in recorded for item in window.objects]
        self._next = max((item.count for item, _ in items), default=-1) + 1
        # Of several versions of an object, with the same number, the first one counts.
        newest = max(items, key=lambda each: each[0].number, default=None)
        self._newest: tuple[datetime, str] | None = None
        if newest is not None and _is_of_epoch(source, newest[1]):
            self._newest = (_hour_in_name(source, newest[0].key) or newest[1].start, newest[0].key)

    def give(self, one: _Waiting) -> SourceObject:
        if one.earlier is not None and one.item.has_grown(one.earlier):
            number = one.earlier.number
        else:
            is_late = one.earlier is not None or (self._newest is not None and one.place <= self._newest)
            number = ~self._next if is_late else self._next
            self._next += 1
        return SourceObject(number, one.item.key, one.item.etag(), one.item.size)


def _waiting(source: FilesSource, recorded: Sequence[Window], found: Iterable[FoundObject]) -> list[_Waiting]:
    versions: dict[str, list[tuple[SourceObject, datetime]]] = defaultdict(list)
    earlier: dict[str, SourceObject] = {}
    for window in recorded:
        for each in window.objects:
            versions[each.key].append((each, window.recorded_at))
        if _is_of_epoch(source, window):
            earlier |= {each.key: each for each in window.objects}
    new = [
        _Waiting(hour or item.modified, (hour or floor(source, item.modified), item.key), item, earlier.get(item.key))
        for item in found
        if not _is_recorded(item, versions[item.key])
        for hour in [_hour_in_name(source, item.key)]
    ]
    return [one for one in new if source.start is None or one.hour >= floor(source, source.start)]


def _is_of_epoch(source: FilesSource, window: Window) -> bool:
    return window.epoch in (None, source.source_epoch)


def _is_recorded(item: FoundObject, versions: Sequence[tuple[SourceObject, datetime]]) -> bool:
    """Return whether a recorded window has this object.

    `versions` are the recorded objects with the same name, each with the time when it was recorded, oldest first. The
    object is read only if it was changed after that time.
    """
    if not versions:
        return False
    newest, recorded_at = versions[-1]
    if is_untouched(item, newest.size, recorded_at):
        return True
    etag = item.etag()
    return any(version.etag == etag for version, _ in versions)


def is_untouched(item: FoundObject, size: int, recorded_at: datetime) -> bool:
    """Return whether it is certain that an object has not changed since it was recorded with this size at this time.

    Its size must be the same, and its last change more than an hour before this time, because clocks may differ.
    """
    return item.size == size and item.changed < recorded_at - _CLOCKS_APART


def next_ordinal(recorded: Sequence[Window]) -> int:
    """Return the number of the window that follows the last recorded window; the first window has the number 0."""
    return recorded[-1].ordinal + 1 if recorded else 0


def _begin(source: FilesSource, recorded: Sequence[Window], waiting: Collection[_Waiting]) -> datetime | None:
    if recorded:
        return next_start(source, recorded)
    first = source.start or min((one.hour for one in waiting), default=None)
    return first and floor(source, first)


def next_start(source: SourceSettings, recorded: Sequence[Window]) -> datetime:
    """Return the start of the next window, which is the end of the last recorded window.

    Raise InvalidSetting if the length of windows (`every`) in the settings is not that of the last recorded window.
    """
    every = recorded[-1].end - recorded[-1].start
    if every != source.every:
        raise InvalidSetting(
            f"sources.{source.name}.every is {source.every}, but the recorded windows of this source are {every} long, "
            f"and this length cannot change; set `every` back to {every}, or give the source a new name"
        )
    return recorded[-1].end


def floor(source: SourceSettings, time: datetime) -> datetime:
    """Return the start of the window that contains a time."""
    return time - (time - _EPOCH) % source.every


def count_windows(source: SourceSettings, begin: datetime, due: datetime, because: str = "") -> int:
    """Return the number of windows that start at or after `begin` and before `due`.

    Raise InvalidSetting if there are too many. `because` is a part of its message: why the source begins at `begin`.
    """
    count = -((begin - due) // source.every)
    if count > _MOST_WINDOWS:
        raise InvalidSetting(
            f"the source {source.name} would begin at {begin:%Y-%m-%dT%H:%MZ}{because}, and get {count} windows, which "
            f"is more than {_MOST_WINDOWS:,}; set sources.{source.name}.start to the time of its first message"
        )
    return count


def _because(waiting: Collection[_Waiting]) -> str:
    oldest = min(waiting, key=lambda one: one.hour, default=None)
    return f" because of the time of the object {oldest.item.key!r} (see the setting `hour`)" if oldest else ""


def _hour_in_name(source: FilesSource, key: str) -> datetime | None:
    """Return the time that the setting `hour` finds in an object's name, in UTC; None if there is none.

    Raise InvalidSetting if the matched text is not a time.
    """
    match = linear_pattern(source.hour).search(key) if source.hour else None
    text = match[1] if match else None
    if text is None:
        return None
    digits = re.sub(r"\D", "", text)
    try:
        return datetime.strptime(digits.ljust(12, "0")[:12], "%Y%m%d%H%M").replace(tzinfo=UTC)
    except ValueError:
        raise InvalidSetting(
            f"sources.{source.name}.hour finds {text!r} in the object name {key!r}; this text is not an hour such "
            f"as 2026-03-01T05; correct the pattern, or rename the object"
        ) from None
