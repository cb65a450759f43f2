"""The meaning of a column's DEFAULT, for dialects whose rows do not show every constant as it is written."""

from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation

from retable.model.schema import ColumnSpec

_WIDEST_NUMBER = 130


@dataclass(frozen=True, slots=True)
class Default:
    """A default: `is_known` with the `text` that rows show (None: null), or an expression (`is_computed`). Otherwise it
    is a constant that the database reads in an unknown way, such as text for a date.
    """

    text: str | None = None
    is_known: bool = False
    is_computed: bool = False


COMPUTED = Default(is_computed=True)
NULL = Default(None, is_known=True)


def shown_as(text: str | None) -> Default:
    """Give the default for a constant that rows show as this text. None: it is unknown how they show it."""
    return Default(text, is_known=text is not None)


def column_spec(name: str, source_type: str, not_null: bool, default: Default | None) -> ColumnSpec:
    found = default or Default()
    return ColumnSpec(name, source_type, not_null, found.is_known, found.text, None, found.is_computed)


def for_no_rows(spec: ColumnSpec) -> ColumnSpec:
    """Give an added column as a table without rows gets it. Only there can it be NOT NULL without a default.

    Only MySQL has its own default for such a column.
    """
    bare = spec.not_null and not (spec.has_default or spec.computed)
    return replace(spec, has_default=True) if bare else spec


def plain_number(text: str) -> str | None:
    """Give a number without exponent and without redundant zeros. None if no column can hold it."""
    try:
        number = Decimal(text.strip())
    except InvalidOperation:
        return None
    if not number.is_finite() or abs(number.adjusted()) > _WIDEST_NUMBER:
        return None
    return format(number.normalize(), "f") if number else "0"


def filled(text: str, length: int, in_characters: bool) -> str | None:
    """Pad text as a CHAR of this length shows it. None if the length counts bytes and the text's bytes are unknown."""
    return text.ljust(length) if in_characters or text.isascii() else None
