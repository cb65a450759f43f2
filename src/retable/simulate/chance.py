"""Makes all random choices of the simulator.

Hypothesis can be the source of the random numbers, so that it can shrink a failing test's choices to simpler choices.
"""

from collections.abc import Sequence
from typing import Protocol, TypeVar

Item = TypeVar("Item")


class Chance(Protocol):
    """The source of random numbers that the simulator needs: `random.Random`, or Hypothesis' `st.randoms()`."""

    def randrange(self, start: int, stop: int, /) -> int: ...


def pick(chance: Chance, items: Sequence[Item]) -> Item:
    """Return one item at random. Hypothesis shrinks to the first item, so the simplest item should be first."""
    return items[chance.randrange(0, len(items))]


def hits(chance: Chance, share: float) -> bool:
    """Return True with the probability `share`, from 0 to 1. Hypothesis shrinks to False."""
    return chance.randrange(0, 1000) >= 1000 - share * 1000


def shuffled(chance: Chance, items: Sequence[Item]) -> list[Item]:
    """Return the items in a random order. Hypothesis shrinks to the given order."""
    rest = list(items)
    return [rest.pop(chance.randrange(0, len(rest))) for _ in range(len(rest))]
