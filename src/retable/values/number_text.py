"""Read and write numbers as text, without rounding.

A number that does not fit its type raises ValueError or ArithmeticError.
"""

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
    """Return the whole number that the text shows. `+1`, `1.0` and text with spaces raise ValueError."""
    if not _WHOLE.match(text):
        raise ValueError("the value is not a whole number: expected only digits, and no sign except '-'")
    return int(text)


def read_exact(text: str) -> Decimal:
    """Return the decimal number that the text shows, with all digits. `1E+2` is 100, and minus zero is zero."""
    if not _NUMBER.match(text):
        raise ValueError("the value is not a number such as -12.5 or 1E+3")
    number = Decimal(text)
    if len(text) > MAX_DIGITS or abs(number.adjusted()) > MAX_DIGITS:
        raise ValueError(f"the number has more than {MAX_DIGITS} digits")
    return number or abs(number)


def read_wrapped(text: str, bits: int) -> int:
    """Return an unsigned whole number of `bits` bits that may be written as a signed number: -1 is 2**bits - 1."""
    number = read_whole(text)
    if not -(2 ** (bits - 1)) <= number < 2**64:
        raise ValueError(f"the number does not fit in {bits} bits")
    return number + 2**bits if number < 0 else number


def read_unscaled(text: str, scale: int) -> Decimal:
    """Return the decimal number that is written as base64 of its digits without the point.

    The digits are a big-endian integer in two's complement. `scale` is the number of digits after the point.
    """
    octets = b64decode(text, validate=True)
    if not octets:
        raise ValueError("the value has no bytes: expected base64 of the bytes of a number")
    if len(octets) > MAX_DIGITS // 3 or abs(scale) > MAX_DIGITS:
        raise ValueError(f"the number has more than {MAX_DIGITS} digits")
    return Decimal(int.from_bytes(octets, "big", signed=True)).scaleb(-scale, Context(2 * MAX_DIGITS))


def read_packed_bits(text: str) -> int:
    """Return the unsigned number whose little-endian bytes are in base64 text. No bytes mean 0."""
    return int.from_bytes(b64decode(text, validate=True), "little")


def read_double(text: str) -> float:
    """Return the double that is nearest to the number in the text."""
    if not _NUMBER.match(text):
        raise ValueError("the value is not a number such as -12.5 or 1E+3")
    number = float(text)
    if number in (float("inf"), float("-inf")):
        raise ValueError("the number is too large for a double")
    return number


def read_float(text: str) -> float:
    """Return the 32-bit float that is nearest to the number in the text."""
    return as_float(read_double(text))


def read_declared_double(text: str) -> float:
    """Return the double that is nearest to the number in the text. Raise ValueError if the text has too many digits.

    The double, rounded to the number of digits in the text, must be the number in the text again. So `0.1` is accepted,
    but `0.1234567890123456789` is not: the nearest double has other digits.
    """
    return _telling(read_double(text), read_exact(text))


def read_declared_float(text: str) -> float:
    """Return the 32-bit float nearest to the number in the text. Raise ValueError if the text has too many digits.

    The float, rounded to the number of digits in the text, must be the number in the text again. So `0.1` is accepted,
    but `0.1234567891` is not: the nearest float has other digits.
    """
    return _telling(read_float(text), read_exact(text))


def _telling(nearest: float, number: Decimal) -> float:
    if Decimal(repr(nearest)) != number:
        digits = "".join(map(str, number.as_tuple().digits)).rstrip("0")
        if Decimal(f"{nearest:.{max(len(digits) - 1, 0)}e}") != number:
            raise ValueError("the number has more digits than the type can hold")
    return nearest


def as_float(number: float) -> float:
    """Return a number rounded to a 32-bit float, for values that are 32-bit floats in the source."""
    narrowed: float = _FLOAT32.unpack(_FLOAT32.pack(number))[0]
    return narrowed


def float_text(number: float) -> str:
    """Return the shortest decimal text that reads back as this 32-bit float."""
    candidates = (float(f"{number:.{digits}g}") for digits in range(1, 10))
    return repr(next(candidate for candidate in candidates if _narrows_to(candidate, number)))


def _narrows_to(number: float, narrow: float) -> bool:
    try:
        return as_float(number) == narrow
    except OverflowError:
        return False


def exact_text(number: Decimal, scale: int | None) -> str:
    """Return all digits of a number without an exponent.

    Zeros are added until the number has `scale` digits after the point. If `scale` is None, no zeros are added.
    """
    _, digits, exponent = number.as_tuple()
    shown = max(scale or 0, -exponent if isinstance(exponent, int) else 0)
    return f"{number.quantize(Decimal(1).scaleb(-shown), context=Context(len(digits) + 2 * MAX_DIGITS)):f}"


def fit_whole(low: int, high: int) -> Callable[[int | Decimal], int]:
    """Return a function that returns whole numbers from `low` to `high`, and raises ValueError for other numbers."""

    def fit(number: int | Decimal) -> int:
        whole = int(number)
        if whole != number:
            raise ValueError("the number is not a whole number")
        if not low <= whole <= high:
            raise ValueError(f"the number is not in the range {low} to {high}")
        return whole

    return fit


def fit_decimal(precision: int, scale: int) -> Callable[[int | Decimal], Decimal]:
    """Return a function that converts numbers to `decimal(precision,scale)`.

    It raises ValueError for a number that this type does not hold exactly.
    """
    unit, exactly = Decimal(1).scaleb(-scale), Context(precision, traps=_TRAPS)

    def fit(number: int | Decimal) -> Decimal:
        try:
            return Decimal(number).quantize(unit, context=exactly)
        except ArithmeticError:
            raise ValueError("the number has more digits than the type can hold") from None

    return fit


def fit_double(number: int | Decimal) -> float:
    """Return the double nearest to a number. Raise ValueError if the number has more digits than a double can hold.

    The shortest decimal text of the double must be the same number. So 0.1 is accepted, but 0.1234567890123456789 is
    not: its nearest double is 0.12345678901234568.
    """
    nearest = float(number)
    if Decimal(repr(nearest)) != number:
        raise ValueError("the number has more digits than the type can hold")
    return nearest


def fit_float(number: int | Decimal) -> float:
    """Return the 32-bit float nearest to a number. Raise ValueError if the number has more digits than it can hold.

    The shortest decimal text of the float must be the same number. So 0.1 is accepted, but 0.123456789 is not: its
    nearest float is 0.12345679.
    """
    nearest = as_float(float(number))
    if Decimal(float_text(nearest)) != number:
        raise ValueError("the number has more digits than the type can hold")
    return nearest


def narrow_double(number: float) -> float:
    """Return a double unchanged. Raise ValueError if a 32-bit float cannot hold it exactly."""
    if as_float(number) != number:
        raise ValueError("the number has more digits than the type can hold")
    return number
