"""Types of a source that settings name where no type of gold tells how values stand: `time(3)`, `bit(8)`, `point`."""

import re
from dataclasses import dataclass

from retable.model.schema import GoldType

_TYPE = re.compile(r"(time|bit|point)\s*(?:\(\s*([0-9]{1,3})\s*\))?\Z")
_MOST_DIGITS = 38
_MOST_BITS = 126
"""A number of so many bits has at most 38 digits."""


@dataclass(frozen=True, slots=True)
class SourceType(GoldType):
    """A type of the source, `text`, beside the type that it has in gold."""

    text: str = ""

    def __str__(self) -> str:
        return self.text

    @property
    def plain(self) -> GoldType:
        """The type in gold alone."""
        return GoldType(self.kind, self.precision, self.scale)


def parse_source_type(text: str) -> SourceType | None:
    """Read a type of the source; None where it is none of those that settings may name."""
    found = _TYPE.match(text.strip().lower())
    if found is None:
        return None
    name, digits = found[1], int(found[2]) if found[2] else None
    match name:
        case "time" if digits is None or digits <= 9:
            gold = GoldType("string")
        case "bit":
            gold = gold_of_bits(1 if digits is None else digits)
        case "point" if digits is None:
            gold = GoldType("binary")
        case _:
            return None
    return SourceType(gold.kind, gold.precision, gold.scale, found[0])


def gold_of_bits(width: int | None) -> GoldType:
    """The type of gold for so many bits; text where no number of gold holds them all, or nothing tells how many."""
    match width:
        case 1:
            return GoldType("boolean")
        case int() if 1 < width < 64:
            return GoldType("long")
        case 64:
            return GoldType("decimal", 20, 0)
        case int() if 64 < width <= _MOST_BITS:
            return GoldType("decimal", _MOST_DIGITS, 0)
    return GoldType("string")
