"""The position of a change in the order of its source."""

from typing import NamedTuple


class Sequence(NamedTuple):
    """The position of a change in the order of the source database. Its integers compare from left to right.

    `epoch` is the source epoch of the settings. `hi` and `lo` are two numbers of the format (docs/formats.md). If the
    scope of sequences is the Kafka partition, sequences of two partitions do not compare: the caller must hold the
    table (docs/concepts/flow.md, order across partitions).
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
