"""Cut the text of a type into its name, its lengths and the rest."""

from typing import NamedTuple

from retable.model.schema import GoldType

LARGEST_DECIMAL = 38
STRING = GoldType("string")


class TypeText(NamedTuple):
    """The text of a type, cut up: `NUMBER(10, -2)` has the name `number` and the lengths 10 and -2.

    `name` is in lower case with single blanks. It includes the text after the parentheses. `lengths` is None if the
    parentheses contain anything but numbers. `arguments` is the text in the parentheses.
    """

    name: str
    lengths: list[int] | None
    arguments: str


def read_type_text(source_type: str) -> TypeText:
    head, _, rest = source_type.strip().lower().partition("(")
    arguments, _, tail = rest.rpartition(")")
    return TypeText(" ".join([*head.split(), *tail.split()]), numbers(arguments), arguments.strip())


def numbers(arguments: str) -> list[int] | None:
    """Return the numbers in the parentheses of a type. Return None if `arguments` contains anything but numbers."""
    parts = [part.strip() for part in arguments.split(",")] if arguments.strip() else []
    if not all(part.removeprefix("-").isdecimal() and len(part) < 9 for part in parts):
        return None
    return [int(part) for part in parts]


def decimal(precision: int, scale: int) -> GoldType:
    """Return the decimal type of this precision and scale. Return a string type if Iceberg has no such decimal."""
    return GoldType("decimal", precision, scale) if 0 < precision <= LARGEST_DECIMAL else STRING
