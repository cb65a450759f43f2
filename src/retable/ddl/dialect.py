"""What tells one database's DDL from another's: one record, in the dialect's own folder."""

from collections.abc import Callable
from dataclasses import dataclass

from retable.ddl.statement import Context
from retable.ddl.value_checks import Store, refuse
from retable.model.schema import GoldType
from retable.model.schema_change import SchemaChange

Parse = Callable[[str, Context], tuple[SchemaChange, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnCasts:
    """What a database makes of values when their column takes another type, as far as its manual tells."""

    rounds_half_away: bool = False
    """Whether exact numbers are rounded half away from zero, in every mode."""
    not_of_text: frozenset[str] = frozenset()
    """Types that text becomes by another rule than its digits."""
    plain_text_of: frozenset[str] | None = None
    """Types of which text is made without a style of its own, beside text itself; None: of all."""
    double_digits: int | None = None
    """Digits up to which a decimal takes a double as it is shown; None: any."""
    ticks: frozenset[str] = frozenset()
    """Types of times that count 1/300 s."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Dialect:
    """The DDL of a database: what its statements and its types mean."""

    name: str
    """The name by which messages and `source_system` tell it."""
    parse: Parse | None = None
    """Read one statement; None for a database whose statements are not read."""
    gold_type: Callable[[str, bool], GoldType | None] = lambda _type, _lengths_told: None
    """The type in gold of a column type; None for an unknown one."""
    keeps_values: Callable[[str, str], bool] = lambda old, new: old.strip().lower() == new.strip().lower()
    """Whether every stored value stays as it is when its column goes from one type to the other."""
    storer: Callable[[str], Store] = lambda _: refuse
    """How values are stored in a column of a type; ValueError for one that is cut, rounded or refused."""
    casts: ColumnCasts = ColumnCasts()
    same_text_types: frozenset[str] = frozenset()
    """Types whose values every writer spells as a full copy does, beside those that all databases have."""
    cascades_silently: bool = False
    """Whether foreign keys change rows of which the log tells nothing."""
