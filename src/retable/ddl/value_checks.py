"""Check that a column can hold a value without a change.

A `Store` is a function that takes a value and returns it as the column stores it. It raises ValueError with the reason
if the column would change or refuse the value. Most functions here return a `Store`.
"""

from collections.abc import Callable
from typing import Any

Store = Callable[[Any], Any]


def same(value: Any) -> Any:
    return value


def refuse(_: Any) -> Any:
    raise ValueError("it is not known whether the column can hold the value")


def within(low: int, high: int) -> Store:
    def store(value: int) -> int:
        if not low <= value <= high:
            raise ValueError(f"the number is not in the range of the column, {low} to {high}")
        return value

    return store


def no_longer_than(most: int, what: str, measure: Callable[[Any], int] = len) -> Store:
    def store(value: Any) -> Any:
        if measure(value) > most:
            raise ValueError(f"the value is longer than {most} {what}, the limit of the column")
        return value

    return store


def fraction_of(digits: int) -> Store:
    """Return a Store (a check of one value) for points in time, as whole microseconds.

    The Store returns the time unchanged. It raises ValueError if the second has more than `digits` fractional digits,
    the limit of the column. For example, it refuses 0.5 seconds if `digits` is 0.
    """

    def store(micros: int) -> int:
        if digits < 6 and micros % 10 ** (6 - digits):
            raise ValueError(f"the column has {digits} fractional digits of the second, and the time has more")
        return micros

    return store


def span_of(digits: int) -> Store:
    """Return a Store (a check of one value) for values of TIME as text, such as `12:30:00.5`.

    The Store returns the text unchanged. It raises ValueError if the second has more than `digits` fractional digits,
    the limit of the column. Zeros at the end do not count.
    """

    def store(text: str) -> str:
        if len(text.partition(".")[2].rstrip("0")) > digits:
            raise ValueError(f"the column has {digits} fractional digits of the second, and the time has more")
        return text

    return store


def padded(length: int, filler: str = " ") -> Store:
    """Return a Store (a function on one value) that pads text with `filler` to `length`, the length of the column.

    The Store raises ValueError for a longer text. It also raises it for text that is not ASCII, because it is not known
    how much of the length each character takes.
    """

    def store(text: str) -> str:
        if not text.isascii():
            raise ValueError(
                "the text is not ASCII: its length in bytes depends on the unknown character set of the column"
            )
        if len(text) > length:
            raise ValueError(f"the text is longer than {length} characters, the length of the column")
        return text.ljust(length, filler)

    return store


def only_ascii(store: Store) -> Store:
    """Return a Store that raises ValueError for text that is not ASCII, and passes ASCII text to `store`.

    The character set of the column is not known. It contains ASCII, as all do, but may lack other characters.
    """

    def checked(text: str) -> Any:
        if not text.isascii():
            raise ValueError("it is not known whether the character set of the column has all characters of the text")
        return store(text)

    return checked
