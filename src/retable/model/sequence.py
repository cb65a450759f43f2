"""The position of a change in the order of its source."""

from typing import NamedTuple


class Sequence(NamedTuple):
    """A position in the source database's order, compared as integers, left to right.

    `epoch` is the source epoch of the settings, `hi` and `lo` are the format's own two numbers (docs/formats.md). Two
    sequences of different `part` do not compare if the scope is the partition: the caller must hold the table instead
    (docs/concepts/flow.md, order across partitions).
    """

    epoch: int
    hi: int
    lo: int

    def __str__(self) -> str:
        return f"{self.epoch}.{self.hi}.{self.lo}"


LOWEST = Sequence(0, -(10**37), 0)
"""Below every sequence of any format."""


def parse_sequence(text: str) -> Sequence:
    """Read what `str(sequence)` wrote."""
    epoch, hi, lo = text.split(".")
    return Sequence(int(epoch), int(hi), int(lo))
