"""Dates and times as text, read exactly: what is no date, or no one instant, is a ValueError with its reason."""

import re
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}\Z")
_CLOCK = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}[ T][0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,6})?\Z")
_SPAN = re.compile(r"-?[0-9]{2,3}:[0-5][0-9]:[0-5][0-9](?:\.[0-9]{1,6})?\Z")
_ZERO = re.compile(r"(?:0000-[0-9]{2}-[0-9]{2}|[0-9]{4}-00-[0-9]{2}|[0-9]{4}-[0-9]{2}-00)(?:[ T][0-9:.]+)?\Z")
_EPOCH_DAY = date(1970, 1, 1).toordinal()
_EPOCH = datetime.fromisoformat("1970-01-01")
_MICROSECOND = timedelta(microseconds=1)
MICROS_PER_DAY = 86_400_000_000


def is_zero_date(text: str) -> bool:
    """Say whether a date has year, month or day zero, which no calendar has and MySQL stores."""
    return bool(_ZERO.match(text))


def read_day(text: str) -> int:
    """Read a date as days since 1970-01-01; years 1 to 9999 of the Gregorian calendar, also before 1582."""
    if not _DAY.match(text):
        raise ValueError("not a date such as 2026-03-01")
    return date.fromisoformat(text).toordinal() - _EPOCH_DAY


def read_wall_clock(text: str) -> int:
    """Read a date and time of no zone as microseconds since 1970-01-01T00:00:00."""
    return (_read(text) - _EPOCH) // _MICROSECOND


def read_instant(zone: ZoneInfo) -> Callable[[str], int]:
    """Read wall-clock times of a zone as microseconds since the epoch.

    A time that the zone's clocks skipped or showed twice is no one instant, and is refused.
    """
    if zone.key == "UTC":
        return read_wall_clock

    def read(text: str) -> int:
        wall = _read(text).replace(tzinfo=zone)
        offset = wall.utcoffset()
        if offset is None or offset != wall.replace(fold=1).utcoffset():
            raise ValueError(f"the clocks of {zone.key} were changed then, so it is no one instant")
        return (wall.replace(tzinfo=None) - _EPOCH) // _MICROSECOND - offset // _MICROSECOND

    return read


def wall_clock_of(zone: ZoneInfo) -> Callable[[int], int]:
    """Give the wall clock that a zone shows at an instant."""

    def show(instant: int) -> int:
        at = (_EPOCH + instant * _MICROSECOND).replace(tzinfo=UTC).astimezone(zone)
        return (at.replace(tzinfo=None) - _EPOCH) // _MICROSECOND

    return show


def read_span(text: str) -> str:
    """Check a time of day or a span, and give it as it is."""
    if not _SPAN.match(text):
        raise ValueError("not a time such as 23:59:59 or -838:59:59.000000")
    return text


def _read(text: str) -> datetime:
    if not _CLOCK.match(text):
        raise ValueError("not a date and time such as 2026-03-01 05:00:00.000000")
    return datetime.fromisoformat(text)
