"""Types of a source that settings may name if no gold type decides the encoding: `time(3)`, `bit(8)`, `point`."""

import re
from dataclasses import dataclass

from retable.model.schema import GoldType

_TYPE = re.compile(r"(time|bit|point)\s*(?:\(\s*([0-9]{1,3})\s*\))?\Z")
_MOST_DIGITS = 38
_MOST_BITS = 126
"""A number of so many bits has at most 38 digits."""


@dataclass(frozen=True, slots=True)
class SourceType(GoldType):
    """A type of the source, `text`, together with its type in gold."""

    text: str = ""

    def __str__(self) -> str:
        return self.text

    @property
    def plain(self) -> GoldType:
        """The gold type alone."""
        return GoldType(self.kind, self.precision, self.scale)


def parse_source_type(text: str) -> SourceType | None:
    """Read a type of the source; None if it is not a type that settings may name."""
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
    """The gold type for so many bits; text if no gold number holds them, or if the width is unknown."""
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
