"""Read and write dates and times as text.

An invalid date, and a local time that does not mean exactly one point in time, raise ValueError with the reason.
"""

import re
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

from retable.values.number_text import read_whole

_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}\Z")
_CLOCK = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2}[ T][0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,6})?)(?:(?<=\.[0-9]{6})([0-9]{1,3}))?\Z"
)
_SPAN = re.compile(r"-?[0-9]{2,3}:[0-5][0-9]:[0-5][0-9](?:\.[0-9]{1,6})?\Z")
_ZONED = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2})(?:\.([0-9]{1,9}))?(Z|[+-][0-9]{2}:?[0-9]{2})\Z"
)
_ZERO = re.compile(r"(?:0000-[0-9]{2}-[0-9]{2}|[0-9]{4}-00-[0-9]{2}|[0-9]{4}-[0-9]{2}-00)(?:[ T][0-9:.]+)?\Z")
_EPOCH_DAY = date(1970, 1, 1).toordinal()
_EPOCH = datetime.fromisoformat("1970-01-01")
_MICROSECOND = timedelta(microseconds=1)
_FIRST_MICRO, _LAST_MICRO = -62_135_596_800_000_000, 253_402_300_799_999_999
MICROS_PER_DAY = 86_400_000_000


def is_zero_date(text: str) -> bool:
    """Return whether the year, the month or the day of a date is zero. MySQL can store such dates."""
    return bool(_ZERO.match(text))


def read_day(text: str) -> int:
    """Return the days since 1970-01-01 of a date as `YYYY-MM-DD`. The calendar is Gregorian, also before 1582."""
    if not _DAY.match(text):
        raise ValueError("the value is not a date such as 2026-03-01")
    return date.fromisoformat(text).toordinal() - _EPOCH_DAY


def read_wall_clock(text: str) -> int:
    """Return the microseconds since 1970-01-01T00:00:00 of a date and time without time zone."""
    return (_read(text) - _EPOCH) // _MICROSECOND


def read_instant(zone: ZoneInfo) -> Callable[[str], int]:
    """Return a function that converts text, a local date and time in `zone`, to microseconds since 1970-01-01 in UTC.

    It raises ValueError for a time that the clocks of the zone skipped or showed twice, because such a time does not
    mean exactly one point in time.
    """
    if zone.key == "UTC":
        return read_wall_clock

    def read(text: str) -> int:
        wall = _read(text).replace(tzinfo=zone)
        offset = wall.utcoffset()
        if offset is None or offset != wall.replace(fold=1).utcoffset():
            raise ValueError(
                f"the clocks of {zone.key} skipped or repeated this time, so it does not mean exactly one point in time"
            )
        return (wall.replace(tzinfo=None) - _EPOCH) // _MICROSECOND - offset // _MICROSECOND

    return read


def wall_clock_of(zone: ZoneInfo) -> Callable[[int], int]:
    """Return a function that converts microseconds since 1970-01-01 in UTC to the local date and time in `zone`.

    The function returns microseconds since 1970-01-01T00:00:00 of the local clock.
    """

    def show(instant: int) -> int:
        at = (_EPOCH + instant * _MICROSECOND).replace(tzinfo=UTC).astimezone(zone)
        return (at.replace(tzinfo=None) - _EPOCH) // _MICROSECOND

    return show


def read_epoch_millis(text: str) -> int:
    """Return the microseconds since 1970-01-01 in UTC of a text that is a number of milliseconds since then.

    A time outside the years 1 to 9999 raises ValueError.
    """
    return _of_a_year(read_whole(text) * 1000)


def read_epoch_micros(text: str) -> int:
    """Return the whole number in the text. It is a point in time in microseconds since 1970-01-01 in UTC.

    A time outside the years 1 to 9999 raises ValueError.
    """
    return _of_a_year(read_whole(text))


def _of_a_year(micros: int) -> int:
    if not _FIRST_MICRO <= micros <= _LAST_MICRO:
        raise ValueError("the value is not a point in time in the years 1 to 9999")
    return micros


def read_zoned(text: str) -> int:
    """Return the microseconds since 1970-01-01 in UTC of a text such as `2026-03-01T05:00:00.5+08:00`."""
    found = _ZONED.match(text)
    if not found:
        raise ValueError(
            "the value is not a date and time such as 2026-03-01T05:00:00.000000Z or 2026-03-01T13:00:00+08:00"
        )
    second, fraction, zone = found.groups("")
    micros = read_wall_clock(second) + _whole_micros(int(fraction.ljust(9, "0")))
    if zone == "Z":
        return micros
    hours, minutes = int(zone[:3]), int(zone[0] + zone[-2:])
    if abs(hours) > 18 or abs(minutes) > 59:
        raise ValueError(f"{zone!r} is not a valid UTC offset: at most 18 hours and 59 minutes are allowed")
    return _of_a_year(micros - (hours * 60 + minutes) * 60_000_000)


def read_wall_ticks(text: str, digits: int) -> int:
    """Return the microseconds since 1970-01-01T00:00:00 of a text that is a number of ticks since then.

    A tick is 10**-`digits` seconds. A time outside the years 1 to 9999 raises ValueError.
    """
    return _of_a_year(_whole_micros(read_whole(text) * 10 ** (9 - digits)))


def read_days(text: str) -> int:
    """Return the whole number in the text. It is a date as the number of days since 1970-01-01.

    A date outside the years 1 to 9999 raises ValueError.
    """
    days = read_whole(text)
    if not 1 <= days + _EPOCH_DAY <= date.max.toordinal():
        raise ValueError("the value is not a date in the years 1 to 9999")
    return days


def day_text(days: int) -> str:
    """Return a date as text, `YYYY-MM-DD`. `days` are the days since 1970-01-01."""
    return date.fromordinal(days + _EPOCH_DAY).isoformat()


def _whole_micros(nanos: int) -> int:
    micros, rest = divmod(nanos, 1000)
    if rest:
        raise ValueError(
            'the time has digits below the microsecond, which only text can keep: set the column to "string" in `types`'
        )
    return micros


def clock_text(micros: int) -> str:
    """Return microseconds since 1970-01-01T00:00:00 as text, `YYYY-MM-DD HH:MM:SS[.fff[fff]]`.

    The second has three fractional digits if they are exact, or else six. A whole second has none.
    """
    text = (_EPOCH + micros * _MICROSECOND).isoformat(" ", "microseconds")
    return text.removesuffix("000").removesuffix(".000")


def read_span(text: str) -> str:
    """Return a time of day or a duration unchanged. Raise ValueError if it is not valid."""
    if not _SPAN.match(text):
        raise ValueError("the value is not a time such as 23:59:59 or -838:59:59.000000")
    return text


def _read(text: str) -> datetime:
    found = _CLOCK.match(text)
    if not found:
        raise ValueError("the value is not a date and time such as 2026-03-01 05:00:00.000000")
    _whole_micros(int(found[2] or 0))
    return datetime.fromisoformat(found[1])
