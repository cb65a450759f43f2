"""Dates and times of a message to values of gold."""

from dataclasses import dataclass
from typing import Literal
from zoneinfo import ZoneInfo

from retable.decode.time_text import (
    MICROS_PER_DAY,
    is_zero_date,
    read_day,
    read_instant,
    read_span,
    read_wall_clock,
    wall_clock_of,
)
from retable.decode.wire import ClockTime, Convert, Day, Instant, Value, WallClock, refuse
from retable.errors import ZeroDate
from retable.model.schema import GoldType


@dataclass(frozen=True, slots=True)
class ValueRules:
    """How a table's dates and times are read: names of zones, and what a zero or partial date does.

    `time_zone` is the zone of wall clocks that come without one, `timestamp_zone` that of zoned timestamps as text.
    """

    time_zone: str = "UTC"
    timestamp_zone: str = "UTC"
    zero_date: Literal["hold", "null", "string"] = "hold"


def time_converter(form: Day | WallClock | Instant | ClockTime, gold: GoldType, rules: ValueRules) -> Convert:
    """Compile dates and times of a form to a gold type; as text they stay as the source wrote them."""
    match form:
        case Day():
            return _zero_dates(_day(gold, rules), gold, rules)
        case WallClock():
            return _zero_dates(_wall_clock(gold, rules), gold, rules)
        case Instant():
            return _zero_dates(_instant(gold, rules), gold, rules)
        case ClockTime():
            return read_span if gold.kind == "string" else refuse("a time of day")


def _day(gold: GoldType, rules: ValueRules) -> Convert:
    match gold.kind:
        case "date":
            return read_day
        case "timestamp":
            return lambda text: read_day(text) * MICROS_PER_DAY
        case "timestamptz":
            read = read_instant(ZoneInfo(rules.time_zone))
            return lambda text: read(f"{text} 00:00:00")
        case "string":
            return _checked(read_day)
        case _:
            return refuse("a date")


def _wall_clock(gold: GoldType, rules: ValueRules) -> Convert:
    match gold.kind:
        case "timestamp":
            return read_wall_clock
        case "timestamptz":
            return read_instant(ZoneInfo(rules.time_zone))
        case "date":
            return lambda text: _midnight(read_wall_clock(text))
        case "string":
            return _checked(read_wall_clock)
        case _:
            return refuse("a date and time")


def _instant(gold: GoldType, rules: ValueRules) -> Convert:
    read, show = read_instant(ZoneInfo(rules.timestamp_zone)), wall_clock_of(ZoneInfo(rules.time_zone))
    match gold.kind:
        case "timestamptz":
            return read
        case "timestamp":
            return lambda text: show(read(text))
        case "date":
            return lambda text: _midnight(show(read(text)))
        case "string":
            return _checked(read)
        case _:
            return refuse("a point in time")


def _midnight(micros: int) -> int:
    days, rest = divmod(micros, MICROS_PER_DAY)
    if rest:
        raise ValueError("it has a time of day, which a date does not hold")
    return days


def _checked(read: Convert) -> Convert:
    def check(text: str) -> Value:
        read(text)
        return text

    return check


def _zero_dates(convert: Convert, gold: GoldType, rules: ValueRules) -> Convert:
    """A zero date fails to convert like any nonsense; only then is it looked at."""

    def read(text: str) -> Value:
        try:
            return convert(text)
        except ValueError:
            if not is_zero_date(text):
                raise
        if rules.zero_date == "null":
            return None
        if gold.kind == "string":
            return text
        raise ZeroDate(
            f"{text!r} is a date with a zero in it, which no {gold} holds; set `zero_date` of the table's settings to "
            f'"null" or "string"',
            value=text,
        )

    return read
