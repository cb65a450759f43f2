"""Cut the text of a type into its name, its lengths and the rest."""

from typing import NamedTuple

from retable.model.schema import GoldType

LARGEST_DECIMAL = 38
STRING = GoldType("string")


class TypeText(NamedTuple):
    """`NUMBER(10, -2)` has the name `number` and the lengths 10 and -2. None: the parentheses contain something else.

    The name has small letters and single blanks, and includes the text after the lengths.
    """

    name: str
    lengths: list[int] | None
    arguments: str


def read_type_text(source_type: str) -> TypeText:
    head, _, rest = source_type.strip().lower().partition("(")
    arguments, _, tail = rest.rpartition(")")
    return TypeText(" ".join([*head.split(), *tail.split()]), numbers(arguments), arguments.strip())


def numbers(arguments: str) -> list[int] | None:
    """Give the numbers in a type's parentheses. None if they contain something else."""
    parts = [part.strip() for part in arguments.split(",")] if arguments.strip() else []
    if not all(part.removeprefix("-").isdecimal() and len(part) < 9 for part in parts):
        return None
    return [int(part) for part in parts]


def decimal(precision: int, scale: int) -> GoldType:
    """Give a decimal of these digits, or a string with every digit if a decimal cannot hold them."""
    return GoldType("decimal", precision, scale) if 0 < precision <= LARGEST_DECIMAL else STRING
