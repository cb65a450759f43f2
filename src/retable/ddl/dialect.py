"""The record that describes one database's DDL. Each dialect has it in its own folder."""

from collections.abc import Callable
from dataclasses import dataclass

from retable.ddl.statement import Context
from retable.ddl.value_checks import Store, refuse
from retable.model.schema import GoldType
from retable.model.schema_change import SchemaChange

Parse = Callable[[str, Context], tuple[SchemaChange, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnCasts:
    """What a database does to values when their column's type changes, as far as its manual says."""

    rounds_half_away: bool = False
    """Whether exact numbers are rounded half away from zero, in every mode."""
    not_of_text: frozenset[str] = frozenset()
    """Types to which text is converted by another rule than its digits."""
    plain_text_of: frozenset[str] | None = None
    """Types that are converted to text without a special style, in addition to text itself; None: all types."""
    double_digits: int | None = None
    """Up to how many digits a decimal takes a double as it is shown; None: any."""
    ticks: frozenset[str] = frozenset()
    """Types of times that count in 1/300 s."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Dialect:
    """The DDL of a database: the meaning of its statements and types."""

    name: str
    """The database's name in messages and in `source_system`."""
    parse: Parse | None = None
    """Read one statement. None if the database's statements are not read."""
    gold_type: Callable[[str, bool], GoldType | None] = lambda _type, _lengths_told: None
    """Give the gold type of a column type; None: an unknown type."""
    keeps_values: Callable[[str, str], bool] = lambda old, new: old.strip().lower() == new.strip().lower()
    """Say whether each stored value stays as it is when its column changes from one type to the other."""
    storer: Callable[[str], Store] = lambda _: refuse
    """Say how values are stored in a column of a type. ValueError for a value that is cut, rounded or refused."""
    casts: ColumnCasts = ColumnCasts()
    same_text_types: frozenset[str] = frozenset()
    """Types whose values each writer spells as a full copy does, in addition to the types common to all databases."""
    cascades_silently: bool = False
    """Whether foreign keys change rows without a log record."""
