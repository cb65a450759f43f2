"""What DEFAULT says of a column, in the dialects whose rows do not show every constant as it is written."""

from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation

from retable.model.schema import ColumnSpec

_WIDEST_NUMBER = 130


@dataclass(frozen=True, slots=True)
class Default:
    """A default: `is_known` with the text that rows show, null included; `is_computed`, an expression; or else a
    constant of which the statement does not tell how the database reads it, such as text for a date."""

    text: str | None = None
    is_known: bool = False
    is_computed: bool = False


COMPUTED = Default(is_computed=True)
NULL = Default(None, is_known=True)


def shown_as(text: str | None) -> Default:
    """A constant that rows show as this text; None: nobody can tell how."""
    return Default(text, is_known=text is not None)


def column_spec(name: str, source_type: str, not_null: bool, default: Default | None) -> ColumnSpec:
    found = default or Default()
    return ColumnSpec(name, source_type, not_null, found.is_known, found.text, None, found.is_computed)


def for_no_rows(spec: ColumnSpec) -> ColumnSpec:
    """An added column as a table without rows gets it: only there can it be NOT NULL without a default.

    MySQL alone has a default of its own for such a column.
    """
    bare = spec.not_null and not (spec.has_default or spec.computed)
    return replace(spec, has_default=True) if bare else spec


def plain_number(text: str) -> str | None:
    """A number without an exponent, and without zeros that say nothing; None where it is none that a column holds."""
    try:
        number = Decimal(text.strip())
    except InvalidOperation:
        return None
    if not number.is_finite() or abs(number.adjusted()) > _WIDEST_NUMBER:
        return None
    return format(number.normalize(), "f") if number else "0"


def filled(text: str, length: int, in_characters: bool) -> str | None:
    """Text as a CHAR of this length shows it; None where the length counts bytes and nothing tells how many it has."""
    return text.ljust(length) if in_characters or text.isascii() else None
