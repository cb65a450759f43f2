"""Check that a column can hold a value without a change.

Each function here returns a `Store`: a function that returns the stored value. It raises ValueError with the reason if
the column would change or refuse the value.
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
            raise ValueError(f"the number is not in the range {low} to {high}")
        return value

    return store


def no_longer_than(most: int, what: str, measure: Callable[[Any], int] = len) -> Store:
    def store(value: Any) -> Any:
        if measure(value) > most:
            raise ValueError(f"the value is longer than {most} {what}")
        return value

    return store


def fraction_of(digits: int) -> Store:
    """Accept times in microseconds that have at most `digits` fractional digits of the second."""

    def store(micros: int) -> int:
        if digits < 6 and micros % 10 ** (6 - digits):
            raise ValueError(f"the time has more than {digits} fractional digits of the second")
        return micros

    return store


def span_of(digits: int) -> Store:
    """Accept times as text that have at most `digits` fractional digits of the second."""

    def store(text: str) -> str:
        if len(text.partition(".")[2].rstrip("0")) > digits:
            raise ValueError(f"the time has more than {digits} fractional digits of the second")
        return text

    return store


def padded(length: int, filler: str = " ") -> Store:
    """Pad text with `filler` to the length of its column.

    Refuse text outside ASCII, because it is not known how much of the length each character takes.
    """

    def store(text: str) -> str:
        if not text.isascii():
            raise ValueError("the text is not ASCII, so it is not known how much of the length of the column it takes")
        if len(text) > length:
            raise ValueError(f"the text is longer than {length} characters")
        return text.ljust(length, filler)

    return store


def only_ascii(store: Store) -> Store:
    """Accept only ASCII text, which every character set contains, and pass it to `store`."""

    def checked(text: str) -> Any:
        if not text.isascii():
            raise ValueError("it is not known whether the character set of the column contains all characters")
        return store(text)

    return checked
