"""Numbers of a message to values of gold."""

from collections.abc import Callable
from decimal import Decimal

from retable.decode.number_text import (
    exact_text,
    fit_decimal,
    fit_double,
    fit_float,
    fit_whole,
    float_text,
    narrow_double,
    read_double,
    read_exact,
    read_float,
    read_whole,
)
from retable.decode.wire import Bits, Convert, Exact, Real, Whole, Year, refuse
from retable.model.schema import GoldType

_INT = (-(2**31), 2**31 - 1)
_LONG = (-(2**63), 2**63 - 1)
_BIT = {"true": 1, "false": 0}

_Read = Callable[[str], int | Decimal]


def number_converter(form: Whole | Year | Bits | Exact | Real, gold: GoldType) -> Convert:
    """Compile numbers of a form to a gold type; what it does not hold exactly is refused."""
    match form:
        case Whole():
            return _number(read_whole, lambda text: str(read_whole(text)), gold)
        case Year():
            return _number(_read_year, lambda text: str(_read_year(text)), gold)
        case Bits(width):
            read_bits = _bits_reader(width)
            return _number(read_bits, lambda text: str(read_bits(text)), gold)
        case Exact(scale):
            return _number(read_exact, lambda text: exact_text(read_exact(text), scale), gold)
        case Real():
            return _real(form, gold)


def _number(read: _Read, show: Convert, gold: GoldType) -> Convert:
    match gold.kind:
        case "string":
            return show
        case "boolean":
            truth = fit_whole(0, 1)
            return lambda text: truth(read(text)) == 1
        case "int":
            return _fitted(read, fit_whole(*_INT))
        case "long":
            return _fitted(read, fit_whole(*_LONG))
        case "decimal":
            return _fitted(read, fit_decimal(gold.precision, gold.scale))
        case "float":
            return _fitted(read, fit_float)
        case "double":
            return _fitted(read, fit_double)
        case _:
            return refuse("a number")


def _fitted(read: _Read, fit: Callable[[int | Decimal], int | float | Decimal]) -> Convert:
    return lambda text: fit(read(text))


def _real(form: Real, gold: GoldType) -> Convert:
    """A 32-bit float becomes the double that equals it, as the source itself would widen it."""
    read = read_float if form.width == 32 else read_double
    match gold.kind:
        case "double":
            return read
        case "float":
            return lambda text: narrow_double(read(text))
        case "string":
            show = float_text if form.width == 32 else repr
            return lambda text: show(read(text))
        case _:
            return _number(read_exact, repr, gold)


def _read_year(text: str) -> int:
    year = read_whole(text)
    if year and not 1901 <= year <= 2155:
        raise ValueError("not 0 and not from 1901 to 2155")
    return year


def _bits_reader(width: int | None) -> Callable[[str], int]:
    fit = fit_whole(0, 2 ** (width or 64) - 1)
    return lambda text: fit(_BIT[text] if text in _BIT else read_whole(text))
