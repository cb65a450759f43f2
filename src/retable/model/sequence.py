"""The position of a change in the order of its source."""

from typing import NamedTuple


class Sequence(NamedTuple):
    """The position of a change in the order of the source database. Its integers compare from left to right.

    `epoch` is the source epoch: a number in the settings that is raised if positions of the source start again. `hi`
    and `lo` are two numbers that each format makes from its messages, such as a log position (docs/formats.md). In some
    formats, sequences can be compared only inside one Kafka partition (docs/concepts/flow.md, order across partitions).
    """

    epoch: int
    hi: int
    lo: int

    def __str__(self) -> str:
        return f"{self.epoch}.{self.hi}.{self.lo}"


LOWEST = Sequence(0, -(10**37), 0)
"""A sequence that is lower than every sequence of any format."""


def parse_sequence(text: str) -> Sequence:
    """Read a sequence from the text that `str(sequence)` wrote."""
    epoch, hi, lo = text.split(".")
    return Sequence(int(epoch), int(hi), int(lo))
