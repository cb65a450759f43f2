"""Convert dates and times that messages write as a number of days, as ticks (units of a second), or with a zone."""

from functools import partial
from zoneinfo import ZoneInfo

from retable.model.schema import GoldType
from retable.values.encodings import (
    ClockTicks,
    Convert,
    Day,
    EpochDays,
    SpanTicks,
    Value,
    WallClock,
    WallTicks,
    Zoned,
    Zulu,
    refuse,
)
from retable.values.far_dates import far_day, far_text, far_ticks, with_far_dates
from retable.values.number_text import fit_whole, read_exact, read_whole
from retable.values.time_text import (
    clock_text,
    day_text,
    read_days,
    read_wall_ticks,
    read_zoned,
    wall_clock_of,
)
from retable.values.times import ValueRules, time_converter

EpochEncoding = EpochDays | WallTicks | ClockTicks | SpanTicks | Zoned | Zulu

_whole = fit_whole(-(2**63), 2**63 - 1)
_LONGEST_CLOCK = 1000 * 3600
"""Seconds. No database has a TIME with four digits of hours."""


def epoch_converter(encoding: EpochEncoding, gold: GoldType, rules: ValueRules) -> Convert:
    """Return the function that converts dates and times in `encoding` to values of the type `gold`.

    If the gold type is `string`, a number becomes the text of the date or time that it means.
    """
    match encoding:
        case EpochDays():
            return with_far_dates(_days(gold, rules), far_day, gold, rules)
        case WallTicks():
            return with_far_dates(_wall_ticks(encoding, gold, rules), far_ticks(encoding.digits), gold, rules)
        case ClockTicks():
            return _clock_text(encoding) if gold.kind == "string" else refuse("a time of day")
        case SpanTicks():
            return _span_text(encoding) if gold.kind == "string" else refuse("an interval")
        case Zoned():
            return with_far_dates(_zoned(gold, rules), far_text, gold, rules)
        case Zulu():
            return _zulu(with_far_dates(time_converter(encoding.encoding, gold, rules), far_text, gold, rules))


def _days(gold: GoldType, rules: ValueRules) -> Convert:
    if gold.kind == "date":
        return read_days
    convert = time_converter(Day(), gold, rules)
    return lambda text: convert(day_text(read_days(text)))


def _wall_ticks(encoding: WallTicks, gold: GoldType, rules: ValueRules) -> Convert:
    read = partial(read_wall_ticks, digits=encoding.digits)
    match gold.kind:
        case "timestamp":
            return read
        case "string":
            return _nano_text if encoding.digits == 9 else lambda text: clock_text(read(text))
        case _:
            convert = time_converter(WallClock(), gold, rules)
            return lambda text: convert(clock_text(read(text)))


def _nano_text(text: str) -> str:
    nanos = read_whole(text)
    shown, below = clock_text(read_wall_ticks(str(nanos // 1000), 6)), nanos % 1000
    if not below:
        return shown
    second, _, fraction = shown.partition(".")
    return f"{second}.{fraction:0<6}{below:03}"


def _clock_text(encoding: ClockTicks) -> Convert:
    """Return a converter to `[-]HH:MM:SS[.f…]`. The hours may be greater than 24.

    The second has at least the fractional digits that the source shows, `encoding.shown`.
    """

    def show(text: str) -> str:
        ticks = read_whole(text)
        seconds, part = divmod(abs(ticks), 10**encoding.digits)
        if seconds >= _LONGEST_CLOCK:
            raise ValueError("the time has a thousand hours or more; no database stores such a time")
        fraction = f"{part:0{encoding.digits}}".rstrip("0")
        fraction = fraction.ljust(encoding.shown or 0, "0")
        minutes, second = divmod(seconds, 60)
        clock = f"{minutes // 60:02}:{minutes % 60:02}:{second:02}"
        return f"{'-' if ticks < 0 else ''}{clock}{'.' if fraction else ''}{fraction}"

    return show


def _span_text(encoding: SpanTicks) -> Convert:
    """Return a converter to an ISO 8601 duration of days, hours, minutes and seconds.

    If the interval is negative, each of these numbers has a minus sign.
    """

    def show(text: str) -> str:
        ticks = _whole(read_exact(text))
        seconds, part = divmod(abs(ticks), 10**encoding.digits)
        minutes, second = divmod(seconds, 60)
        shown = f"{second}.{part:0{encoding.digits}}".rstrip("0").rstrip(".") if part else str(second)
        parts = [(minutes // 1440, "D"), (minutes // 60 % 24, "H"), (minutes % 60, "M"), (shown, "S")]
        sign = "-" if ticks < 0 else ""
        day, *clock = [f"{sign}{number}{unit}" if str(number) != "0" else "" for number, unit in parts]
        return f"P{day}T{''.join(clock)}".removesuffix("T") if ticks else "PT0S"

    return show


def _zoned(gold: GoldType, rules: ValueRules) -> Convert:
    show = wall_clock_of(ZoneInfo(rules.time_zone))
    match gold.kind:
        case "timestamptz":
            return read_zoned
        case "timestamp":
            return lambda text: show(read_zoned(text))
        case "string":
            return _checked_zoned
        case _:
            convert = time_converter(WallClock(), gold, rules)
            return lambda text: convert(clock_text(show(read_zoned(text))))


def _checked_zoned(text: str) -> Value:
    """Check a point in time and return its text unchanged, with any digits below the microsecond."""
    second, dot, rest = text.partition(".")
    read_zoned(second + rest.lstrip("0123456789") if dot else text)
    return text


def _zulu(convert: Convert) -> Convert:
    def read(text: str) -> Value:
        if not text.endswith("Z"):
            raise ValueError("the value does not end in 'Z': expected a 'Z' after the date or time")
        return convert(text[:-1])

    return read
