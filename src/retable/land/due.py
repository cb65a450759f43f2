"""Find and record the windows that are due, for every kind of source."""

from datetime import datetime, timedelta
from time import sleep

from retable.errors import EnvironmentFault, InvalidSetting
from retable.land.objects.source import objects_of
from retable.ledger.lake.catalog import Lake
from retable.ledger.windows.recording import FoundPositions, find_recorded, find_window, record_windows
from retable.model.window import Window, window_start
from retable.settings.sources import FilesSource, KafkaSource, Source

NO_KAFKA = "reading Kafka needs the package confluent-kafka: `pip install 'retable[kafka]'`"


def inspect_arrivals(source: Source, now: datetime) -> FoundPositions:
    """Return what a source contains now: its objects, or its Kafka partitions with their offsets."""
    if isinstance(source, FilesSource):
        return objects_of(source).list()
    try:
        from retable.land.kafka.positions import find_log
    except ModuleNotFoundError as error:
        raise EnvironmentFault(NO_KAFKA) from error
    return find_log(source, now)


def record_due(lake: Lake, source: Source, window: str, now: datetime) -> Window:
    """Record all due windows up to and including `window`, and return this window.

    If the window has ended, but the setting `delay` of the source has not passed since, first wait until it has. Raise
    NotFound if the window has not begun by `now`. Raise InvalidSetting if the settings pause the source and the window
    is not recorded.
    """
    end = window_start(window) + source.every
    check_paused(lake, source, window)
    wait = _wait(source, end, now)
    if wait:
        sleep(wait.total_seconds())
    record_windows(lake, source, lambda: inspect_arrivals(source, now + wait), end, now + wait)
    return find_window(lake, source.name, window)


def check_paused(lake: Lake, source: Source, window: str) -> None:
    """Raise InvalidSetting if the settings pause a source and the window is not recorded."""
    if source.paused is not None and find_recorded(lake, source.name, window) is None:
        raise InvalidSetting(
            f"sources.{source.name} is paused ({source.paused}), and the window {window} is not recorded; remove "
            f"`paused` from its settings to continue",
            source=source.name,
            window=window,
        )


def _wait(source: Source, end: datetime, now: datetime) -> timedelta:
    """Return the time until a window is due, if it has ended; zero if it is due or has not ended."""
    if not isinstance(source, KafkaSource) or now < end:
        return timedelta(0)
    return max(timedelta(0), end + source.delay - now)
