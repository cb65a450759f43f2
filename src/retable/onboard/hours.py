"""Finds a pattern that reads the hour or the day of an object from its name."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Literal

_HOURS = (
    r"(?:^|\D)(\d{4}-\d{2}-\d{2}[T_ -]\d{2})",
    r"(?:^|\D)(\d{8}[T_-]\d{2})",
    r"(?:^|\D)(\d{10})(?:\D|$)",
    r"(?:^|\D)(\d{4}/\d{2}/\d{2}/\d{2})(?:\D|$)",
    r"(?:^|\D)(\d{4}-\d{2}-\d{2}/[a-z]+=\d{2})(?:\D|$)",
    r"(?:^|\D)(\d{4}/[a-z]+=\d{2}/[a-z]+=\d{2}/[a-z]+=\d{2})(?:\D|$)",
)
_DAYS = (r"(?:^|\D)(\d{4}-\d{2}-\d{2})(?:\D|$)", r"(?:^|\D)(\d{8})(?:\D|$)", r"(?:^|\D)(\d{4}/\d{2}/\d{2})(?:\D|$)")
_FIRST_YEAR, _LAST_YEAR = 2000, 2100


@dataclass(frozen=True, slots=True)
class Hours:
    """How the names of a source's objects show the hour or day of the objects. `find_hours` makes it.

    `pattern` is a regular expression for the setting `hour`. It finds the hour or day in a name. `every` is the length
    of a window for the setting `every`: `1h` or `1d`. `last` is the start of the last hour or day in the names.
    """

    pattern: str
    every: Literal["1h", "1d"]
    last: datetime

    @property
    def end(self) -> datetime:
        """The end of the last hour or day in the names."""
        return self.last + (timedelta(hours=1) if self.every == "1h" else timedelta(days=1))


def find_hours(keys: Sequence[str]) -> Hours | None:
    """Find how object names show their hour, or else their day. `keys` are the names of objects.

    Return the first pattern that reads a time from every name, or None if there is no such pattern.
    """
    patterns: list[tuple[str, Literal["1h", "1d"]]] = [(pattern, "1h") for pattern in _HOURS]
    for pattern, every in [*patterns, *((pattern, "1d") for pattern in _DAYS)]:
        times = [_time(match[1]) if (match := re.search(pattern, key)) else None for key in keys]
        known = [time for time in times if time is not None]
        if known and len(known) == len(keys):
            return Hours(pattern, every, max(known))
    return None


def _time(text: str) -> datetime | None:
    digits = re.sub(r"\D", "", text).ljust(10, "0")
    try:
        time = datetime.strptime(digits, "%Y%m%d%H").replace(tzinfo=UTC)
    except ValueError:
        return None
    return time if _FIRST_YEAR <= time.year < _LAST_YEAR else None
