"""Windows recorded, and read back."""

from collections.abc import Callable
from datetime import datetime

from retable.ledger.lake.catalog import Lake
from retable.ledger.windows import recording
from retable.model.window import Window
from retable.settings.sources import Source


def record_windows(
    lake: Lake, source: Source, inspect: Callable[[], recording.FoundPositions], until: datetime, now: datetime
) -> list[Window]:
    """Record what is due, and give every recorded window that starts before `until`, in order."""
    recording.record_windows(lake, source, inspect, until, now)
    return [window for window in recording.read_windows(lake, source.name) if window.start < until]
