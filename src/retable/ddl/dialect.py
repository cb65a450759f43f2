"""The class that describes the DDL of one database. The folder of each dialect defines an object of this class."""

from collections.abc import Callable
from dataclasses import dataclass

from retable.ddl.statement import Context
from retable.ddl.value_checks import Store, refuse
from retable.model.schema import GoldType
from retable.model.schema_change import SchemaChange

Parse = Callable[[str, Context], tuple[SchemaChange, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnCasts:
    """How a database converts stored values when a column changes its type, as the database's manual says.

    Retable converts the values in gold by the same rules.
    """

    rounds_half_away: bool = False
    """Whether the database rounds exact numbers half away from zero (2.5 to 3, -2.5 to -3), in every SQL mode."""
    not_of_text: frozenset[str] = frozenset()
    """Types to which the database converts a text by another rule than by its digits: BIT of MySQL takes its bytes."""
    plain_text_of: frozenset[str] | None = None
    """Types, besides text types, that the database converts to plain text and not in a special style (text format).

    None means all types.
    """
    double_digits: int | None = None
    """The greatest precision of a decimal type for which the database converts a double by the digits that it shows.

    None means that there is no limit.
    """
    ticks: frozenset[str] = frozenset()
    """Types that store times in units of 1/300 second."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Dialect:
    """How Retable reads the statements of one database, and what the column types of this database mean."""

    name: str
    """The database's name in messages and in the setting `source_system`."""
    parse: Parse | None = None
    """The function that reads one statement. None means that Retable does not read statements of this database."""
    gold_type: Callable[[str, bool], GoldType | None] = lambda _type, _lengths_told: None
    """Return the gold type of a column type, or None if the type is unknown.

    The second argument is False for messages that write types without lengths; see `registry.gold_type`.
    """
    keeps_values: Callable[[str, str], bool] = lambda old, new: old.strip().lower() == new.strip().lower()
    """Return whether all stored values stay unchanged when a column changes from the old type to the new type."""
    storer: Callable[[str], Store] = lambda _: refuse
    """Return, for a column type, the function that returns a value as a column of this type stores it.

    The returned function raises ValueError if the database would cut, round or refuse the value.
    """
    casts: ColumnCasts = ColumnCasts()
    same_text_types: frozenset[str] = frozenset()
    """Types whose values have the same text in messages of every format and in a baseline (full copy of a table).

    The set does not contain the text types that all databases have, such as VARCHAR.
    """
    cascades_silently: bool = False
    """Whether foreign keys of this database can delete or change rows without an event in its log."""
