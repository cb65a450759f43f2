"""Numbers as text, read exactly: a number that does not fit is a ValueError or an ArithmeticError, never rounded."""

import re
import struct
from base64 import b64decode
from collections.abc import Callable
from decimal import Context, Decimal, DivisionByZero, Inexact, InvalidOperation, Overflow

MAX_DIGITS = 1_000

_WHOLE = re.compile(r"-?[0-9]+\Z")
_NUMBER = re.compile(r"-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]{1,9})?\Z")
_FLOAT32 = struct.Struct("<f")
_TRAPS = [Inexact, InvalidOperation, Overflow, DivisionByZero]


def read_whole(text: str) -> int:
    """Read decimal digits; `+1`, `1.0` and spaces are no whole number."""
    if not _WHOLE.match(text):
        raise ValueError("not a whole number")
    return int(text)


def read_exact(text: str) -> Decimal:
    """Read a decimal number with every digit; `1E+2` is 100, minus zero is zero."""
    if not _NUMBER.match(text):
        raise ValueError("not a number")
    number = Decimal(text)
    if len(text) > MAX_DIGITS or abs(number.adjusted()) > MAX_DIGITS:
        raise ValueError(f"more than {MAX_DIGITS} digits")
    return number or abs(number)


def read_wrapped(text: str, bits: int) -> int:
    """Read an unsigned whole number of so many bits that was written as signed: -1 is 2**bits - 1."""
    number = read_whole(text)
    if not -(2 ** (bits - 1)) <= number < 2**64:
        raise ValueError(f"not a number of {bits} bits")
    return number + 2**bits if number < 0 else number


def read_unscaled(text: str, scale: int) -> Decimal:
    """Read base64 of a big-endian integer in two's complement, as a decimal of this scale."""
    octets = b64decode(text, validate=True)
    if not octets:
        raise ValueError("no bytes, so no number")
    if len(octets) > MAX_DIGITS // 3 or abs(scale) > MAX_DIGITS:
        raise ValueError(f"more than {MAX_DIGITS} digits")
    return Decimal(int.from_bytes(octets, "big", signed=True)).scaleb(-scale, Context(2 * MAX_DIGITS))


def read_packed_bits(text: str) -> int:
    """Read base64 of the little-endian bytes of an unsigned number; no bytes are 0."""
    return int.from_bytes(b64decode(text, validate=True), "little")


def read_double(text: str) -> float:
    """Read the double nearest to the digits."""
    if not _NUMBER.match(text):
        raise ValueError("not a number")
    number = float(text)
    if number in (float("inf"), float("-inf")):
        raise ValueError("too large for a double")
    return number


def read_float(text: str) -> float:
    """Read the 32-bit float nearest to the digits."""
    return as_float(read_double(text))


def read_declared_double(text: str) -> float:
    """Read digits as a double that they identify: its shortest digits, or the double rounded to as many digits."""
    return _telling(read_double(text), read_exact(text))


def read_declared_float(text: str) -> float:
    """Read digits as a 32-bit float that they identify: its shortest digits, or the float rounded to as many digits."""
    return _telling(read_float(text), read_exact(text))


def _telling(nearest: float, number: Decimal) -> float:
    if Decimal(repr(nearest)) != number:
        digits = "".join(map(str, number.as_tuple().digits)).rstrip("0")
        if Decimal(f"{nearest:.{max(len(digits) - 1, 0)}e}") != number:
            raise ValueError("more digits than the type holds")
    return nearest


def as_float(number: float) -> float:
    """Round to 32 bits, for numbers that have that width in their source."""
    narrowed: float = _FLOAT32.unpack(_FLOAT32.pack(number))[0]
    return narrowed


def float_text(number: float) -> str:
    """Write the fewest digits that read back as this 32-bit float."""
    candidates = (float(f"{number:.{digits}g}") for digits in range(1, 10))
    return repr(next(candidate for candidate in candidates if _narrows_to(candidate, number)))


def _narrows_to(number: float, narrow: float) -> bool:
    try:
        return as_float(number) == narrow
    except OverflowError:
        return False


def exact_text(number: Decimal, scale: int | None) -> str:
    """Write all digits, without an exponent, with zeros after the point up to the source's scale."""
    _, digits, exponent = number.as_tuple()
    shown = max(scale or 0, -exponent if isinstance(exponent, int) else 0)
    return f"{number.quantize(Decimal(1).scaleb(-shown), context=Context(len(digits) + 2 * MAX_DIGITS)):f}"


def fit_whole(low: int, high: int) -> Callable[[int | Decimal], int]:
    """Accept whole numbers from `low` to `high`."""

    def fit(number: int | Decimal) -> int:
        whole = int(number)
        if whole != number:
            raise ValueError("not a whole number")
        if not low <= whole <= high:
            raise ValueError(f"not from {low} to {high}")
        return whole

    return fit


def fit_decimal(precision: int, scale: int) -> Callable[[int | Decimal], Decimal]:
    """Accept numbers that `decimal(precision,scale)` holds exactly."""
    unit, exactly = Decimal(1).scaleb(-scale), Context(precision, traps=_TRAPS)

    def fit(number: int | Decimal) -> Decimal:
        try:
            return Decimal(number).quantize(unit, context=exactly)
        except ArithmeticError:
            raise ValueError("more digits than the type holds") from None

    return fit


def fit_double(number: int | Decimal) -> float:
    """Accept numbers whose digits a double gives back."""
    nearest = float(number)
    if Decimal(repr(nearest)) != number:
        raise ValueError("more digits than the type holds")
    return nearest


def fit_float(number: int | Decimal) -> float:
    """Accept numbers whose digits a 32-bit float gives back."""
    nearest = as_float(float(number))
    if Decimal(float_text(nearest)) != number:
        raise ValueError("more digits than the type holds")
    return nearest


def narrow_double(number: float) -> float:
    """Accept doubles that are a 32-bit float already."""
    if as_float(number) != number:
        raise ValueError("more digits than the type holds")
    return number
