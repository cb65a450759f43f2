"""The record that describes the DDL of one database. The folder of each dialect defines such a record."""

from collections.abc import Callable
from dataclasses import dataclass

from retable.ddl.statement import Context
from retable.ddl.value_checks import Store, refuse
from retable.model.schema import GoldType
from retable.model.schema_change import SchemaChange

Parse = Callable[[str, Context], tuple[SchemaChange, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnCasts:
    """What a database does to stored values when the type of their column changes. The source is its manual."""

    rounds_half_away: bool = False
    """Whether the database rounds exact numbers half away from zero, in every SQL mode."""
    not_of_text: frozenset[str] = frozenset()
    """Types to which the database does not convert text by its digits, but by another rule."""
    plain_text_of: frozenset[str] | None = None
    """Types, besides text, that the database converts to text without a special style. None means all types."""
    double_digits: int | None = None
    """The greatest precision of a decimal to which the database converts a double by its shown digits.

    If it is None, there is no limit.
    """
    ticks: frozenset[str] = frozenset()
    """Types that store times in units of 1/300 second."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Dialect:
    """What Retable knows of the DDL of one database: how to read its statements, and what its types mean."""

    name: str
    """The database's name in messages and in `source_system`."""
    parse: Parse | None = None
    """The function that reads one statement. It is None if Retable does not read statements of this database."""
    gold_type: Callable[[str, bool], GoldType | None] = lambda _type, _lengths_told: None
    """Return the gold type of a column type, or None if the type is unknown.

    The second argument says whether types are written with their lengths; see `registry.gold_type`.
    """
    keeps_values: Callable[[str, str], bool] = lambda old, new: old.strip().lower() == new.strip().lower()
    """Return whether all stored values stay unchanged when a column changes from the old type to the new type."""
    storer: Callable[[str], Store] = lambda _: refuse
    """Return the function that stores a value in a column of a type.

    That function raises ValueError if the database would cut, round or refuse the value.
    """
    casts: ColumnCasts = ColumnCasts()
    same_text_types: frozenset[str] = frozenset()
    """Types of this database whose values have the same text in messages of every format and in a baseline.

    They are in addition to the text types that all databases have.
    """
    cascades_silently: bool = False
    """Whether foreign keys can delete or change rows without an event in the log."""
