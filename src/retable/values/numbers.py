"""Convert the numbers of a message to values of gold."""

from collections.abc import Callable
from decimal import Decimal
from functools import partial

import msgspec

from retable.model.schema import GoldType
from retable.values.encodings import (
    Bits,
    Convert,
    Exact,
    Numeral,
    PackedBits,
    Real,
    SelfScaled,
    Unscaled,
    Value,
    Whole,
    Wrapped,
    Year,
    refuse,
)
from retable.values.number_text import (
    exact_text,
    fit_decimal,
    fit_double,
    fit_float,
    fit_whole,
    float_text,
    narrow_double,
    read_declared_double,
    read_declared_float,
    read_double,
    read_exact,
    read_float,
    read_packed_bits,
    read_unscaled,
    read_whole,
    read_wrapped,
)

_INT = (-(2**31), 2**31 - 1)
_LONG = (-(2**63), 2**63 - 1)
_BIT = {"true": 1, "false": 0}
NAN = float("nan")
"""The only NaN object. All rows use it, so that rows with NaN compare as equal: two different NaN objects do not."""

_NAMED = {"NaN": NAN, "Infinity": float("inf"), "-Infinity": float("-inf")}

_Read = Callable[[str], int | Decimal]


NumberForm = Whole | Year | Bits | Exact | Real | Numeral | Wrapped | Unscaled | SelfScaled | PackedBits


class _SelfScaled(msgspec.Struct, gc=False):
    scale: int
    value: str


_SELF_SCALED = msgspec.json.Decoder(_SelfScaled)


def number_converter(encoding: NumberForm, gold: GoldType) -> Convert:
    """Return the function that converts numbers in `encoding` to values of the type `gold`.

    It raises ValueError for a number that the gold type cannot hold exactly.
    """
    match encoding:
        case Whole(truths):
            read_number = _read_truth if truths else read_whole
            return _number(read_number, lambda text: str(read_number(text)), gold)
        case Wrapped(bits):
            read_unsigned = partial(read_wrapped, bits=bits)
            return _number(read_unsigned, lambda text: str(read_unsigned(text)), gold)
        case Year(zero):
            read_year = _year_reader(zero)
            return _number(read_year, lambda text: str(read_year(text)), gold)
        case Bits(width):
            read_bits = _bits_reader(width)
            return _number(read_bits, lambda text: str(read_bits(text)), gold)
        case Exact(scale):
            return _number(read_exact, lambda text: exact_text(read_exact(text), scale), gold)
        case Unscaled(scale):
            read = _unscaled_reader(scale)
            return _number(read, lambda text: exact_text(read(text), scale), gold)
        case SelfScaled():
            return _number(_read_self_scaled, lambda text: exact_text(_read_self_scaled(text), None), gold)
        case PackedBits(width):
            read_packed = _packed_reader(width)
            return _number(read_packed, lambda text: str(read_packed(text)), gold)
        case Real(named=True):
            return _named(_real(encoding, gold), gold)
        case Real():
            return _real(encoding, gold)
        case Numeral():
            return _numeral(gold)


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


def _real(encoding: Real, gold: GoldType) -> Convert:
    """Return the converter of floating-point numbers. A 32-bit float becomes the double of the same value."""
    read = read_float if encoding.width == 32 else read_double
    match gold.kind:
        case "double":
            return read
        case "float":
            return lambda text: narrow_double(read(text))
        case "string":
            show = float_text if encoding.width == 32 else repr
            return lambda text: show(read(text))
        case _:
            return _number(read_exact, repr, gold)


def _numeral(gold: GoldType) -> Convert:
    """Return the converter of digits whose type in the source is not known.

    They may be those of a 32-bit float that was written as a double, or of a decimal that no double holds. So each
    value is checked.
    """
    match gold.kind:
        case "double":
            return read_declared_double
        case "float":
            return read_declared_float
        case _:
            return number_converter(Exact(None), gold)


def _named(convert: Convert, gold: GoldType) -> Convert:
    def read(text: str) -> Value:
        if text not in _NAMED or gold.kind not in ("double", "float", "string"):
            return convert(text)
        return text if gold.kind == "string" else _NAMED[text]

    return read


def _read_self_scaled(text: str) -> Decimal:
    try:
        number = _SELF_SCALED.decode(text)
    except msgspec.DecodeError as error:
        raise ValueError("the value is not a JSON object with `scale` and `value`") from error
    return read_unscaled(number.value, number.scale)


def _read_truth(text: str) -> int:
    return _BIT[text] if text in _BIT else read_whole(text)


def _unscaled_reader(scale: int) -> Callable[[str], Decimal]:
    return lambda text: _read_self_scaled(text) if text.startswith("{") else read_unscaled(text, scale)


def _packed_reader(width: int | None) -> Callable[[str], int]:
    def read(text: str) -> int:
        bits = read_packed_bits(text)
        if width is not None and bits.bit_length() > width:
            raise ValueError(f"the number has more than {width} bits, the width of the column")
        return bits

    return read


def _year_reader(zero: int) -> Callable[[str], int]:
    def read(text: str) -> int:
        year = read_whole(text)
        if year not in (0, zero) and not 1901 <= year <= 2155:
            raise ValueError("the year is not 0 and not from 1901 to 2155")
        return 0 if year == zero else year

    return read


def _bits_reader(width: int | None) -> Callable[[str], int]:
    fit = fit_whole(0, 2 ** (width or 64) - 1)
    return lambda text: fit(_read_truth(text))
