"""Source types that settings may name as a column's type: `time(3)`, `bit(8)`, `point`.

The settings name them if the gold type does not show how messages write the values.
"""

import re
from dataclasses import dataclass

from retable.model.schema import GoldType

_TYPE = re.compile(r"(time|bit|point)\s*(?:\(\s*([0-9]{1,3})\s*\))?\Z")
_MOST_DIGITS = 38
_MOST_BITS = 126
"""The largest number of bits whose numbers have at most 38 digits."""


@dataclass(frozen=True, slots=True)
class SourceType(GoldType):
    """A source type with its gold type (`kind`, `precision`, `scale`). `text` is the source type, such as `time(3)`."""

    text: str = ""

    def __str__(self) -> str:
        return self.text

    @property
    def plain(self) -> GoldType:
        """The gold type alone, without the text of the source type."""
        return GoldType(self.kind, self.precision, self.scale)


def parse_source_type(text: str) -> SourceType | None:
    """Read a source type such as `time(3)`, `bit(8)` or `point`. Return None for every other text."""
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
    """Return the gold type for a bit field of `width` bits.

    The type is `string` if no gold number holds so many bits, or if `width` is None because it is not known.
    """
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
