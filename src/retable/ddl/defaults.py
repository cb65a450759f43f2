"""The meaning of the DEFAULT of a column.

It is for dialects (Oracle, SQL Server) in which rows may show a constant in another spelling than the statement.
"""

from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation

from retable.model.schema import ColumnSpec

_WIDEST_NUMBER = 130


@dataclass(frozen=True, slots=True)
class Default:
    """The DEFAULT of a column.

    If `is_known` is True, `text` is the value that rows show, and None is null. If `is_computed` is True, the default
    is an expression. If both are False, the default is a constant, but it is not known which value the database reads
    from it. Text for a date is an example.
    """

    text: str | None = None
    is_known: bool = False
    is_computed: bool = False


COMPUTED = Default(is_computed=True)
NULL = Default(None, is_known=True)


def shown_as(text: str | None) -> Default:
    """Return the default for a constant that rows show as `text`. None means: it is not known what rows show."""
    return Default(text, is_known=text is not None)


def column_spec(name: str, source_type: str, not_null: bool, default: Default | None) -> ColumnSpec:
    found = default or Default()
    return ColumnSpec(name, source_type, not_null, found.is_known, found.text, None, found.is_computed)


def for_no_rows(spec: ColumnSpec) -> ColumnSpec:
    """Return the specification of an added column, with a default of null if it is NOT NULL and has no default.

    Oracle and SQL Server accept such a column only in a table without rows. Only MySQL has a default value for each
    type.
    """
    bare = spec.not_null and not (spec.has_default or spec.computed)
    return replace(spec, has_default=True) if bare else spec


def plain_number(text: str) -> str | None:
    """Return a number without exponent and redundant zeros. Return None if no column can hold such a number."""
    try:
        number = Decimal(text.strip())
    except InvalidOperation:
        return None
    if not number.is_finite() or abs(number.adjusted()) > _WIDEST_NUMBER:
        return None
    return format(number.normalize(), "f") if number else "0"


def filled(text: str, length: int, in_characters: bool) -> str | None:
    """Return text padded with blanks to the length of its CHAR column.

    Return None if the length is in bytes and the text is not ASCII: its number of bytes depends on the character set.
    """
    return text.ljust(length) if in_characters or text.isascii() else None
