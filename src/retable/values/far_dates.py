"""Read far dates: dates and times of PostgreSQL that gold cannot hold, as Debezium writes them.

A far date has a year before 1 or after 9999, or is infinity.
"""

import re
from collections.abc import Callable

from retable.model.schema import GoldType
from retable.values.encodings import Convert, Value
from retable.values.number_text import read_whole
from retable.values.times import ValueRules

_INFINITE_DAYS = {-2_147_472_692: "infinity", -2_147_472_691: "-infinity", 2_146_033_979: "infinity"}
"""The days that the connector (PostgresValueConverter) writes: -5877611-06-21 for infinity (+5877611-06-21 in later
versions), and -5877611-06-22 for -infinity."""

_INFINITE_MICROS = {9_223_372_036_825_200_000: "infinity", -9_223_372_036_832_400_000: "-infinity"}
"""PGStatement.DATE_POSITIVE_INFINITY and DATE_NEGATIVE_INFINITY in milliseconds. The connector uses them as
microseconds."""

_INFINITE_YEARS = {"+292278994": "infinity", "-292269055": "-infinity"}
"""The years of the same values as milliseconds. They occur in a time with a time zone."""

_FIRST_DAY, _LAST_DAY = -2_440_588, 2_145_042_905
"""The range of dates in PostgreSQL, years 4713 BC to 5874897, as days since 1970-01-01."""

_YEAR_1, _YEAR_10000 = -719_162, 2_932_897
_ISO = re.compile(r"([+-][0-9]{4,9})-[0-9]{2}-[0-9]{2}(?:T[0-9:.]+)?(?:Z|[+-][0-9:]+)?\Z")
_DAYS_OF_ERA, _DAYS_TO_1970 = 146_097, 719_468

Show = Callable[[str], str | None]
"""A function that converts a raw value to the text of a far date, as PostgreSQL writes it.

It returns None for a date that gold can hold, and for invalid text.
"""


def with_far_dates(convert: Convert, show: Show, gold: GoldType, rules: ValueRules) -> Convert:
    """Return a converter that also accepts far dates (years before 1 or after 9999, infinity).

    It first calls `convert`, the converter for other dates. If `convert` raises ValueError, it calls `show`, which
    returns the text of a far date, or None for all other values. A far date becomes this text if the type `gold` is
    `string`. Else it becomes null if the setting `far_date` is `null`, and otherwise the converter raises ValueError.
    """

    def read(text: str) -> Value:
        try:
            return convert(text)
        except ValueError:
            shown = show(text)
            if shown is None:
                raise
        if gold.kind == "string":
            return shown
        if rules.far_date == "null":
            return None
        raise ValueError(
            f"the value is {shown}, but a {gold} has only the years 1 to 9999: set `far_date` of the table's settings "
            f'to "null" or "string"'
        )

    return read


def far_day(text: str) -> str | None:
    """Return a far date (a year before 1 or after 9999, or infinity) as PostgreSQL writes it.

    `text` is its number of days since 1970-01-01. Return None if gold can hold the date, or PostgreSQL cannot.
    """
    days = read_whole(text)
    return _INFINITE_DAYS.get(days) or _format(days, "")


def far_ticks(digits: int) -> Show:
    """Return a function that converts a number of ticks since 1970-01-01T00:00:00 to the text of a far date.

    A far date has a year before 1 or after 9999, or is infinity. For other dates the function returns None. A tick is
    10**-`digits` seconds.
    """

    def show(text: str) -> str | None:
        ticks = read_whole(text)
        if digits in (3, 6) and (found := _INFINITE_MICROS.get(ticks * 10 ** (6 - digits))):
            return found
        days, rest = divmod(ticks, 86_400 * 10**digits)
        seconds, part = divmod(rest, 10**digits)
        clock = f" {seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
        return _format(days, f"{clock}.{part:0{digits}}".rstrip("0").rstrip(".") if part else clock)

    return show


def far_text(text: str) -> str | None:
    """Return a far date in ISO 8601 unchanged: its year has a sign, as in `+10000-01-01`. Return None for other text.

    Debezium writes a certain year for infinity and another one for -infinity. For these two years, return `infinity`
    or `-infinity`.
    """
    found = _ISO.match(text)
    return None if found is None else _INFINITE_YEARS.get(found[1], text)


def _format(days: int, clock: str) -> str | None:
    """Return a far date of the Gregorian calendar as PostgreSQL writes it. Return None if gold can hold the date.

    `clock` is the text of the time of day, with a blank before it, or empty.
    """
    if not _FIRST_DAY <= days <= _LAST_DAY or _YEAR_1 <= days < _YEAR_10000:
        return None
    # Howard Hinnant, chrono-compatible low-level date algorithms: civil_from_days.
    era, of_era = divmod(days + _DAYS_TO_1970, _DAYS_OF_ERA)
    year_of_era = (of_era - of_era // 1460 + of_era // 36_524 - of_era // 146_096) // 365
    of_year = of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    month = (5 * of_year + 2) // 153
    day = of_year - (153 * month + 2) // 5 + 1
    month = month + 3 if month < 10 else month - 9
    year = year_of_era + era * 400 + (month <= 2)
    shown = f"{year if year > 0 else 1 - year:04}-{month:02}-{day:02}{clock}"
    return shown if year > 0 else f"{shown} BC"
