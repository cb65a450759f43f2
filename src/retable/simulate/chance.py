"""The source of all choices: any object with `random.Random`'s methods, so that a test can replay and shrink."""

from collections.abc import Sequence
from typing import Protocol, TypeVar

Item = TypeVar("Item")


class Chance(Protocol):
    """The one draw that the simulator makes; `random.Random(seed)` and Hypothesis' `st.randoms()` have it."""

    def randrange(self, start: int, stop: int, /) -> int: ...


def pick(chance: Chance, items: Sequence[Item]) -> Item:
    """Choose one item; the first is the simplest, to which a shrinking test returns."""
    return items[chance.randrange(0, len(items))]


def hits(chance: Chance, share: float) -> bool:
    """Return True in this share of the cases; a shrinking test returns to False."""
    return chance.randrange(0, 1000) >= 1000 - share * 1000


def shuffled(chance: Chance, items: Sequence[Item]) -> list[Item]:
    """Give the items in any order; a shrinking test returns to the given order."""
    rest = list(items)
    return [rest.pop(chance.randrange(0, len(rest))) for _ in range(len(rest))]
