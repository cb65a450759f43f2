"""The windows of a source: which positions each run takes, recorded once and for ever."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime
from itertools import groupby
from typing import Any, TypeVar

from pyiceberg.expressions import EqualTo, LessThanOrEqual, Reference
from pyiceberg.expressions.literals import literal
from pyiceberg.table import Table

from retable.errors import ConflictError, NotFound
from retable.ledger.lake.catalog import Lake
from retable.ledger.lake.error_translation import explained
from retable.ledger.read import scan
from retable.ledger.windows.objects import FoundObject, plan_windows
from retable.ledger.windows.positions import FoundLog, plan_ranges
from retable.ledger.write import append_to_loaded
from retable.model.window import PartitionRange, SourceObject, Window, window_name, window_start
from retable.settings.sources import FilesSource, KafkaSource, Source, SourceSettings

_TABLE = "ops.windows"
_ATTEMPTS = 20
_MEASURES = ("count", "ranges.element.begin", "ranges.element.end")

_Settings = TypeVar("_Settings", bound=SourceSettings)
FoundPositions = list[FoundObject] | FoundLog
"""What there is at a source now: the objects of a folder, or the partitions of topics."""


def read_windows(lake: Lake, source: str, since: str | None = None) -> list[Window]:
    """Give the recorded windows of a source, in order: all, or those from the named one on."""
    return _windows(lake, lake.find(_TABLE), source, since)


def read_ordinals(lake: Lake, source: str) -> dict[str, int]:
    """Give the numbers of the recorded windows of a source, by name, in order; nothing else is read of them."""
    table = lake.find(_TABLE)
    if table is None:
        return {}
    columns = ["ordinal", "window", "start", "end", *(["count"] if "count" in table.schema().column_names else [])]
    rows = scan(lake, table, columns=columns, source=source).sort_by("ordinal")
    counts = rows["count"].to_pylist() if "count" in columns else [None] * rows.num_rows
    found: dict[str, int] = {}
    for at, (ordinal, name, count) in enumerate(
        zip(rows["ordinal"].to_pylist(), rows["window"].to_pylist(), counts, strict=True)
    ):
        if (count or 1) == 1:
            found[name] = ordinal
            continue
        start, end = rows["start"][at].as_py(), rows["end"][at].as_py()
        found |= {window_name(start + step * (end - start) / count): ordinal + step for step in range(count)}
    return found


def count_empty(lake: Lake, source: str) -> int:
    """Count the recorded windows of a source in which nothing arrived, without reading what arrived in others."""
    table = lake.find(_TABLE)
    if table is None:
        return 0
    columns = ["objects.element.number"]
    columns += [name for name in _MEASURES if name.partition(".")[0] in table.schema().column_names]
    mine = EqualTo(term=Reference("source"), value=literal(source))
    with explained(lake.settings.lake):
        rows = table.scan(row_filter=mine, selected_fields=tuple(columns)).to_arrow().to_pylist()
    return sum(row.get("count") or 1 for row in rows if not row["objects"] and not _positions(row))


def _positions(row: Mapping[str, Any]) -> int:
    return sum(int(each["end"] - each["begin"]) for each in row.get("ranges") or ())


def find_window(lake: Lake, source: str, name: str) -> Window:
    """Give a recorded window; NotFound says which ones there are."""
    begun = LessThanOrEqual(term=Reference("start"), value=literal(window_start(name).isoformat()))
    rows = scan(lake, lake.find(_TABLE), {"window": name}, begun, source=source).to_pylist()
    for window in (window for row in rows for window in _read(source, row)):
        if window.name == name:
            return window
    names = [*read_ordinals(lake, source)]
    known = f"recorded are {names[0]} to {names[-1]}" if names else "none is recorded yet"
    raise NotFound(
        f"the source {source} has no window {name}: {known}; `retable run {source}` records what is due",
        source=source,
        window=name,
    )


def as_recorded(source: _Settings, window: Window) -> _Settings:
    """Give a source with the source epoch under which a window was recorded; one that was raised later is not its."""
    epoch = window.ranges[0].epoch if window.ranges else window.epoch
    return source if epoch is None else source.model_copy(update={"source_epoch": epoch})


def record_windows(
    lake: Lake, source: Source, inspect: Callable[[], FoundPositions], until: datetime, now: datetime
) -> list[Window]:
    """Record every window that starts before `until` and is not recorded; give all that start before it, in order.

    A window that has not begun by `now` is not recorded: what it will hold has not arrived; nor is any of a source that
    the settings pause. Of two processes that record at once one wins, and the other one looks again and finds the
    winner's windows.
    """
    lake.ensure(_TABLE)
    due = min(until, now)
    for _ in range(_ATTEMPTS):
        table = lake.load(_TABLE)
        recorded = _windows(lake, table, source.name)
        covered = source.paused is not None or (bool(recorded) and recorded[-1].end >= due)
        planned = [] if covered else _plan(source, recorded, inspect(), due, now)
        if not planned or append_to_loaded(lake, table, [_record(stretch) for stretch in _stretches(planned)]):
            return [window for window in (*recorded, *planned) if window.start < until]
    raise ConflictError(f"the windows of {source.name}: other runs recorded first, {_ATTEMPTS} times; try again")


def _plan(source: Source, recorded: list[Window], found: FoundPositions, due: datetime, now: datetime) -> list[Window]:
    match source, found:
        case KafkaSource(), FoundLog():
            return plan_ranges(source, recorded, found, due, now)
        case FilesSource(), list():
            return plan_windows(source, recorded, found, due, now)
    raise TypeError(f"a source of kind {source.kind} was looked at as another one")


def _stretches(windows: Sequence[Window]) -> Iterator[list[Window]]:
    """Cut windows into those of one row each: what something arrived in stands alone."""
    for (is_empty, *_), group in groupby(windows, key=lambda each: (each.is_empty, each.ranges, each.epoch)):
        stretch = list(group)
        yield from [stretch] if is_empty else ([window] for window in stretch)


def _record(stretch: Sequence[Window]) -> dict[str, object]:
    last = stretch[-1]
    return {**asdict(stretch[0]), "window": last.name, "end": last.end, "count": len(stretch)}


def _windows(lake: Lake, table: Table | None, source: str, since: str | None = None) -> list[Window]:
    rows = scan(lake, table, {"window": since} if since else None, source=source).to_pylist()
    windows = [window for row in rows for window in _read(source, row) if since is None or window.name >= since]
    return sorted(windows, key=lambda window: window.ordinal)


def _read(source: str, row: dict[str, Any]) -> Iterator[Window]:
    """Read a row: a window, or so many in a row in which nothing arrived."""
    count, start, end = row.get("count") or 1, row["start"].astimezone(UTC), row["end"].astimezone(UTC)
    every = (end - start) / count
    first = Window(
        source=source,
        ordinal=row["ordinal"],
        start=start,
        end=start + every,
        objects=tuple(SourceObject(**item) for item in row["objects"]),
        recorded_at=row["recorded_at"].astimezone(UTC),
        ranges=tuple(PartitionRange(**each) for each in row.get("ranges") or ()),
        epoch=row.get("epoch"),
    )
    for at in range(count):
        yield replace(first, ordinal=first.ordinal + at, start=start + at * every, end=start + (at + 1) * every)
