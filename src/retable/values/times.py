"""Convert the dates and times of a message to values of gold."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal
from zoneinfo import ZoneInfo

from retable.errors import ZeroDate
from retable.model.policies import OnFarDate
from retable.model.schema import GoldType
from retable.values.encodings import (
    ClockTime,
    Convert,
    Day,
    EpochClock,
    EpochMicros,
    EpochMillis,
    Instant,
    Value,
    WallClock,
    refuse,
)
from retable.values.time_text import (
    MICROS_PER_DAY,
    clock_text,
    is_zero_date,
    read_day,
    read_epoch_micros,
    read_epoch_millis,
    read_instant,
    read_span,
    read_wall_clock,
    wall_clock_of,
)


@dataclass(frozen=True, slots=True)
class ValueRules:
    """The settings of a table for reading values whose meaning the message does not show completely.

    `time_zone` is the zone of dates and times that messages write without a zone, and the zone in which points in time
    are shown as local time. `timestamp_zone` is the zone in which messages write points in time as text. `zero_date`
    says what happens to a date with year, month or day zero. `far_date` says what happens to a date outside the years 1
    to 9999, and to infinity. `binary_encoding` is the encoding of bytes in text. `system` is the database whose types
    the statements declare. `options` are the options of the source's message format, which only this format reads
    (`formats.options`).
    """

    time_zone: str = "UTC"
    timestamp_zone: str = "UTC"
    zero_date: Literal["hold", "null", "string"] = "hold"
    binary_encoding: Literal["utf-8", "base64", "hex"] = "utf-8"
    system: str = "mysql"
    far_date: OnFarDate = "reject"
    options: object = None


TimeForm = Day | WallClock | Instant | ClockTime | EpochMillis | EpochMicros | EpochClock


def time_converter(encoding: TimeForm, gold: GoldType, rules: ValueRules) -> Convert:
    """Return the function that converts dates and times in `encoding` to values of the type `gold`.

    If the gold type is `string`, the text of the message is kept. A point in time that is written as a number becomes
    the text of the local date and time in `time_zone`.
    """
    match encoding:
        case Day():
            return _zero_dates(_day(gold, rules), gold, rules)
        case WallClock():
            return _zero_dates(_wall_clock(gold, rules), gold, rules)
        case Instant(zone):
            return _zero_dates(_instant(gold, rules, zone or rules.timestamp_zone), gold, rules)
        case ClockTime():
            return read_span if gold.kind == "string" else refuse("a time of day")
        case EpochMillis():
            return _epoch(read_epoch_millis, gold, rules)
        case EpochMicros():
            return _zero_dates(_epoch(read_epoch_micros, gold, rules), gold, rules)
        case EpochClock():
            return _epoch_clock(rules) if gold.kind == "string" else refuse("a time of day")


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


def _instant(gold: GoldType, rules: ValueRules, zone: str) -> Convert:
    read, show = read_instant(ZoneInfo(zone)), wall_clock_of(ZoneInfo(rules.time_zone))
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


def _epoch(read: Callable[[str], int], gold: GoldType, rules: ValueRules) -> Convert:
    show = wall_clock_of(ZoneInfo(rules.time_zone))
    match gold.kind:
        case "timestamptz":
            return read
        case "timestamp":
            return lambda text: show(read(text))
        case "date":
            return lambda text: _midnight(show(read(text)))
        case "string":
            return lambda text: clock_text(show(read(text)))
        case _:
            return refuse("a point in time")


def _epoch_clock(rules: ValueRules) -> Convert:
    show = wall_clock_of(ZoneInfo(rules.time_zone))

    def read(text: str) -> Value:
        micros = show(read_epoch_millis(text))
        if not 0 <= micros < MICROS_PER_DAY:
            raise ValueError(
                f"the value is {clock_text(micros)} in `time_zone` {rules.time_zone}, but a time must be on 1970-01-01"
            )
        return clock_text(micros).partition(" ")[2]

    return read


def _midnight(micros: int) -> int:
    days, rest = divmod(micros, MICROS_PER_DAY)
    if rest:
        raise ValueError("the value has a time of day, which a date cannot hold")
    return days


def _checked(read: Convert) -> Convert:
    def check(text: str) -> Value:
        read(text)
        return text

    return check


def _zero_dates(convert: Convert, gold: GoldType, rules: ValueRules) -> Convert:
    """Return a converter that also handles zero dates. It looks for a zero date only after `convert` failed.

    The setting `zero_date` makes a zero date null. A gold type `string` keeps its text. Otherwise the converter raises
    ZeroDate.
    """

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
            f"{text!r} has a zero as year, month or day, and a {gold} cannot hold it; set `zero_date` of the table's "
            f'settings to "null" or "string"',
            value=text,
        )

    return read
