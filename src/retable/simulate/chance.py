"""The source of all random choices of the simulator. Hypothesis can be the source, so that a test can shrink them."""

from collections.abc import Sequence
from typing import Protocol, TypeVar

Item = TypeVar("Item")


class Chance(Protocol):
    """What the simulator needs of a random source: `random.Random` and Hypothesis' `st.randoms()` have this method."""

    def randrange(self, start: int, stop: int, /) -> int: ...


def pick(chance: Chance, items: Sequence[Item]) -> Item:
    """Return one item at random. A test that shrinks prefers the first item, so the simplest item should be first."""
    return items[chance.randrange(0, len(items))]


def hits(chance: Chance, share: float) -> bool:
    """Return True with the probability `share`, from 0 to 1. A test that shrinks prefers False."""
    return chance.randrange(0, 1000) >= 1000 - share * 1000


def shuffled(chance: Chance, items: Sequence[Item]) -> list[Item]:
    """Return the items in a random order. A test that shrinks prefers the given order."""
    rest = list(items)
    return [rest.pop(chance.randrange(0, len(rest))) for _ in range(len(rest))]
