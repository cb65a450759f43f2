"""Checks that a value fits its column whole. The ValueError says why it does not."""

from collections.abc import Callable
from typing import Any

Store = Callable[[Any], Any]


def same(value: Any) -> Any:
    return value


def refuse(_: Any) -> Any:
    raise ValueError("it is not known whether it fits")


def within(low: int, high: int) -> Store:
    def store(value: int) -> int:
        if not low <= value <= high:
            raise ValueError(f"not from {low} to {high}")
        return value

    return store


def no_longer_than(most: int, what: str, measure: Callable[[Any], int] = len) -> Store:
    def store(value: Any) -> Any:
        if measure(value) > most:
            raise ValueError(f"longer than {most} {what}")
        return value

    return store


def fraction_of(digits: int) -> Store:
    """Accept times, in microseconds, with at most this many fractional digits of the second."""

    def store(micros: int) -> int:
        if digits < 6 and micros % 10 ** (6 - digits):
            raise ValueError(f"more than {digits} digits of the second")
        return micros

    return store


def span_of(digits: int) -> Store:
    """Accept times as text, with at most this many fractional digits of the second."""

    def store(text: str) -> str:
        if len(text.partition(".")[2].rstrip("0")) > digits:
            raise ValueError(f"more than {digits} digits of the second")
        return text

    return store


def padded(length: int, filler: str = " ") -> Store:
    """Pad text to its column's length. Refuse text outside ASCII, because the width of its characters is unknown."""

    def store(text: str) -> str:
        if not text.isascii():
            raise ValueError("the width of its characters in the column is not known")
        if len(text) > length:
            raise ValueError(f"longer than {length} characters")
        return text.ljust(length, filler)

    return store


def only_ascii(store: Store) -> Store:
    """Accept only text that every character set encodes alike."""

    def checked(text: str) -> Any:
        if not text.isascii():
            raise ValueError("it is not known whether its characters are in the column's character set")
        return store(text)

    return checked
