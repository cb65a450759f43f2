"""Find the value that rows show for the DEFAULT of a column.

Oracle and SQL Server use this module, because their rows may show a constant in another spelling than the statement.
"""

from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation

from retable.model.schema import ColumnSpec

_WIDEST_NUMBER = 130


@dataclass(frozen=True, slots=True)
class Default:
    """The DEFAULT of a column.

    If `is_known` is True, `text` is the value that rows show, and a `text` of None is null. If `is_computed` is True,
    the default is an expression. If both are False, the default is a constant, but it is not known to which value the
    database converts it. An example is a text as the default of a DATE column.
    """

    text: str | None = None
    is_known: bool = False
    is_computed: bool = False


COMPUTED = Default(is_computed=True)
NULL = Default(None, is_known=True)


def shown_as(text: str | None) -> Default:
    """Return the default for a constant. `text` is the value that rows show, or None if this value is not known."""
    return Default(text, is_known=text is not None)


def column_spec(name: str, source_type: str, not_null: bool, default: Default | None) -> ColumnSpec:
    found = default or Default()
    return ColumnSpec(name, source_type, not_null, found.is_known, found.text, None, found.is_computed)


def for_no_rows(spec: ColumnSpec) -> ColumnSpec:
    """Return the column that an ADD of Oracle or SQL Server adds, with the default null if it is a bare NOT NULL.

    A bare NOT NULL column has no DEFAULT. For such a column, Retable normally fills older rows by the rule of MySQL,
    with a value such as 0. Oracle and SQL Server have no such rule: they accept the column only in an empty table. The
    default null turns the rule off.
    """
    bare = spec.not_null and not (spec.has_default or spec.computed)
    return replace(spec, has_default=True) if bare else spec


def plain_number(text: str) -> str | None:
    """Return a number as text without exponent and redundant zeros: `1.50e1` becomes `15`.

    Return None if the text is not a number, or if the number is too large or too small for any column.
    """
    try:
        number = Decimal(text.strip())
    except InvalidOperation:
        return None
    if not number.is_finite() or abs(number.adjusted()) > _WIDEST_NUMBER:
        return None
    return format(number.normalize(), "f") if number else "0"


def filled(text: str, length: int, in_characters: bool) -> str | None:
    """Return text padded with blanks to `length`, the length of its CHAR column.

    `in_characters` is False if the length is in bytes. Text outside ASCII then has a length that depends on the
    character set, and the function returns None for it.
    """
    return text.ljust(length) if in_characters or text.isascii() else None
