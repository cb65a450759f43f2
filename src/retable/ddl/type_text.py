"""Split the text of a column type, such as `NUMBER(10, 2)`, into its name and its lengths."""

from typing import NamedTuple

from retable.model.schema import GoldType

LARGEST_DECIMAL = 38
STRING = GoldType("string")


class TypeText(NamedTuple):
    """The parts of the text of a column type: `NUMBER(10, -2)` has the name `number` and the lengths 10 and -2.

    `name` is in lower case with single blanks, and includes words after the parentheses. `lengths` are the numbers in
    the parentheses, or None if these contain anything else. `arguments` is the text in the parentheses.
    """

    name: str
    lengths: list[int] | None
    arguments: str


def read_type_text(source_type: str) -> TypeText:
    head, _, rest = source_type.strip().lower().partition("(")
    arguments, _, tail = rest.rpartition(")")
    return TypeText(" ".join([*head.split(), *tail.split()]), numbers(arguments), arguments.strip())


def numbers(arguments: str) -> list[int] | None:
    """Return the numbers in `arguments`, the text in the parentheses of a type. Return None if not all are numbers."""
    parts = [part.strip() for part in arguments.split(",")] if arguments.strip() else []
    if not all(part.removeprefix("-").isdecimal() and len(part) < 9 for part in parts):
        return None
    return [int(part) for part in parts]


def decimal(precision: int, scale: int) -> GoldType:
    """Return the decimal type of this precision and scale. Return a string type if Iceberg has no such decimal."""
    return GoldType("decimal", precision, scale) if 0 < precision <= LARGEST_DECIMAL else STRING
