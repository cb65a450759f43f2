"""The windows of a source: the positions of each window, recorded once and never changed."""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime
from itertools import groupby
from typing import Any, TypeVar

import pyarrow.compute as pc
from pyiceberg.expressions import In, LessThanOrEqual, Reference
from pyiceberg.expressions.literals import literal
from pyiceberg.table import Table

from retable.errors import ConflictError, NotFound
from retable.ledger.lake.catalog import Lake, widen
from retable.ledger.read import scan
from retable.ledger.windows.objects import FoundObject, plan_windows
from retable.ledger.windows.positions import FoundLog, plan_ranges
from retable.ledger.windows.recorded import RecordedItems, recorded_items
from retable.ledger.write import append_to_loaded
from retable.model.window import PartitionRange, SourceObject, Window, window_name, window_start
from retable.settings.sources import FilesSource, KafkaSource, Source, SourceSettings

_TABLE = "ops.windows"
_ATTEMPTS = 20
_OF_WINDOWS = ("ordinal", "end", "recorded_at")
_LISTS = {FilesSource: ("objects", ("key", "size", "number")), KafkaSource: ("ranges", ("topic", "partition"))}
"""For each kind of source, the column with the content of its windows, and the fields that are read of each item."""


_Settings = TypeVar("_Settings", bound=SourceSettings)
FoundPositions = list[FoundObject] | FoundLog
"""What a source contains now: the objects of a folder or bucket, or the partitions of Kafka topics."""


def read_windows(lake: Lake, source: str, since: str | None = None) -> list[Window]:
    """Return the recorded windows of a source, in order. If `since` is set, start at the window with this name."""
    return _windows(lake, lake.find(_TABLE), source, since)


def read_ordinals(lake: Lake, source: str) -> dict[str, int]:
    """Return the numbers of a source's recorded windows by name, in order. The content of the windows is not read."""
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
    """Return the number of a source's recorded windows in which no message or object arrived.

    No Python objects are made for the items of the other windows.
    """
    table = lake.find(_TABLE)
    if table is None:
        return 0
    columns = [name for name in ("count", "objects", "ranges") if name in table.schema().column_names]
    rows = scan(lake, table, columns=columns, source=source)
    has_some = {*pc.list_parent_indices(rows["objects"].combine_chunks()).to_pylist()}
    if "ranges" in columns:
        ranges = rows["ranges"].combine_chunks()
        begins, ends = (pc.struct_field(pc.list_flatten(ranges), name) for name in ("begin", "end"))
        has_some |= {*pc.list_parent_indices(ranges).filter(pc.not_equal(begins, ends)).to_pylist()}
    counts = rows["count"].to_pylist() if "count" in columns else [None] * rows.num_rows
    return sum(count or 1 for at, count in enumerate(counts) if at not in has_some)


def find_recorded(lake: Lake, source: str, name: str) -> Window | None:
    """Return the recorded window with this name, or None. Files without this window are not read."""
    begun = LessThanOrEqual(term=Reference("start"), value=literal(window_start(name).isoformat()))
    rows = scan(lake, lake.find(_TABLE), {"window": name}, begun, source=source).to_pylist()
    return next((window for row in rows for window in _read(source, row) if window.name == name), None)


def find_window(lake: Lake, source: str, name: str) -> Window:
    """Return the recorded window with this name.

    Raise NotFound if it is not recorded; the message names the first and the last recorded window.
    """
    found = find_recorded(lake, source, name)
    if found is not None:
        return found
    names = [*read_ordinals(lake, source)]
    known = f"its recorded windows are {names[0]} to {names[-1]}" if names else "no window is recorded yet"
    raise NotFound(
        f"the source {source} has no window {name}: {known}; `retable run {source}` records the windows that are due",
        source=source,
        window=name,
    )


def as_recorded(source: _Settings, window: Window) -> _Settings:
    """Return the settings of a source with the setting `source_epoch` as it was when a window was recorded.

    The `source_epoch` in `source` may have been raised since.
    """
    epoch = window.ranges[0].epoch if window.ranges else window.epoch
    return source if epoch is None else source.model_copy(update={"source_epoch": epoch})


def record_windows(
    lake: Lake, source: Source, inspect: Callable[[], FoundPositions], until: datetime, now: datetime
) -> list[Window]:
    """Record all missing windows that start before `until`, and return the windows that this call recorded.

    A window that begins after `now` is not recorded, because its content has not arrived. If the settings pause the
    source, no window is recorded. `inspect` returns what the source contains; it is called only if a window is missing.
    If two processes record at the same time, one process commits, and the other process then plans again. Raise
    ConflictError if other processes commit first, twenty times.
    """
    lake.ensure(_TABLE)
    due = min(until, now)
    for _ in range(_ATTEMPTS):
        table = lake.load(_TABLE)
        if widen(lake, table):
            table = lake.load(_TABLE)
        recorded = _items(lake, table, source.name, *_LISTS[type(source)])
        covered = source.paused is not None or (recorded.end is not None and recorded.end >= due)
        planned = [] if covered else _plan(lake, table, source, recorded, inspect(), due, now)
        if not planned or append_to_loaded(lake, table, [_record(stretch) for stretch in _stretches(planned)]):
            return planned
    raise ConflictError(
        f"the windows of {source.name} were not recorded: other runs recorded windows first, {_ATTEMPTS} times; try "
        f"again"
    )


def windows_with(lake: Lake, source: str, keys: Collection[str]) -> list[Window]:
    """Return the recorded windows of a `files` source, in order, that have an object with one of these `keys`."""
    if not keys:
        return []
    table = lake.load(_TABLE)
    return _numbered(lake, table, source, _items(lake, table, source, *_LISTS[FilesSource]).with_keys(keys))


def _plan(
    lake: Lake,
    table: Table,
    source: Source,
    recorded: RecordedItems,
    found: FoundPositions,
    due: datetime,
    now: datetime,
) -> list[Window]:
    match source, found:
        case KafkaSource(), FoundLog():
            needed = _numbered(lake, table, source.name, recorded.last_of_partitions())
            return plan_ranges(source, needed, found, due, now)
        case FilesSource(), list():
            unsure, numbers = recorded.unsure(found)
            return plan_windows(source, _numbered(lake, table, source.name, numbers), unsure, due, now)
    raise TypeError(f"a source of kind {source.kind} was listed as another kind")


def _items(lake: Lake, table: Table, source: str, column: str, fields: Sequence[str]) -> RecordedItems:
    """Read the content of a source's recorded windows from one column. Few other columns are read."""
    return recorded_items(scan(lake, table, columns=[*_OF_WINDOWS, column], source=source), column, fields)


def _numbered(lake: Lake, table: Table, source: str, numbers: Collection[int]) -> list[Window]:
    """Return the windows, in order, in the rows of ops.windows whose first window has one of these numbers."""
    if not numbers:
        return []
    wanted = In(term=Reference("ordinal"), literals={literal(number) for number in numbers})
    rows = scan(lake, table, wanted=wanted, source=source).sort_by("ordinal").to_pylist()
    return [window for row in rows for window in _read(source, row)]


def _stretches(windows: Sequence[Window]) -> Iterator[list[Window]]:
    """Group windows by row of ops.windows: consecutive empty windows share a row, each other window has its own row."""
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
    """Yield the windows of a row: one window, or `count` consecutive windows in which nothing arrived."""
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
