"""The text of a type, cut into its name, its lengths and what follows."""

from typing import NamedTuple

from retable.model.schema import GoldType

LARGEST_DECIMAL = 38
STRING = GoldType("string")


class TypeText(NamedTuple):
    """`NUMBER(10, -2)` is the name `number` and the lengths 10 and -2; None where something else stands there.

    The name has small letters and single blanks; what stands behind the lengths belongs to it.
    """

    name: str
    lengths: list[int] | None
    arguments: str


def read_type_text(source_type: str) -> TypeText:
    head, _, rest = source_type.strip().lower().partition("(")
    arguments, _, tail = rest.rpartition(")")
    return TypeText(" ".join([*head.split(), *tail.split()]), numbers(arguments), arguments.strip())


def numbers(arguments: str) -> list[int] | None:
    """The numbers between a type's parentheses; None where something else stands there."""
    parts = [part.strip() for part in arguments.split(",")] if arguments.strip() else []
    if not all(part.removeprefix("-").isdecimal() and len(part) < 9 for part in parts):
        return None
    return [int(part) for part in parts]


def decimal(precision: int, scale: int) -> GoldType:
    """A decimal of these digits; a string with every digit where none holds them."""
    return GoldType("decimal", precision, scale) if 0 < precision <= LARGEST_DECIMAL else STRING
