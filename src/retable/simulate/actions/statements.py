"""Applies the effect of each kind of DDL statement to the tables of the simulated shop, without its SQL text."""

from dataclasses import dataclass
from datetime import date, datetime, time
from decimal import ROUND_HALF_UP, Context, Decimal

from retable.simulate.columns import Column, Row, Value
from retable.simulate.database import Table, Tables

_MOST_DIGITS = 80


@dataclass(frozen=True, slots=True)
class CreateTable:
    """The effect of CREATE TABLE: a new table with these columns and this primary key."""

    table: str
    columns: tuple[Column, ...]
    keys: tuple[str, ...]
    kind: str = "CREATE"
    holds: bool = False

    @property
    def touched(self) -> frozenset[str]:
        return frozenset({self.table})

    def apply(self, tables: Tables) -> None:
        if self.table in tables:
            raise ValueError(f"table {self.table} exists already")
        tables[self.table] = Table(self.columns, self.keys)


@dataclass(frozen=True, slots=True)
class DropTables:
    """The effect of DROP TABLE with one or more tables. Messages name the first table as the statement's table."""

    names: tuple[str, ...]
    kind: str = "ERASE"
    holds: bool = False

    @property
    def table(self) -> str:
        return self.names[0]

    @property
    def touched(self) -> frozenset[str]:
        return frozenset(self.names)

    def apply(self, tables: Tables) -> None:
        for name in self.names:
            del tables[name]


@dataclass(frozen=True, slots=True)
class TruncateTable:
    """The effect of TRUNCATE TABLE: the table loses all rows."""

    table: str
    kind: str = "TRUNCATE"
    holds: bool = False

    @property
    def touched(self) -> frozenset[str]:
        return frozenset({self.table})

    def apply(self, tables: Tables) -> None:
        tables[self.table].rows.clear()


@dataclass(frozen=True, slots=True)
class RenameTables:
    """The effect of RENAME TABLE. `pairs` has the old and the new name of each rename, in order.

    Messages name the first new name as the statement's table.
    """

    pairs: tuple[tuple[str, str], ...]
    kind: str = "RENAME"
    holds: bool = False

    @property
    def table(self) -> str:
        return self.pairs[0][1]

    @property
    def touched(self) -> frozenset[str]:
        return frozenset(name for pair in self.pairs for name in pair)

    def apply(self, tables: Tables) -> None:
        for old, new in self.pairs:
            if new in tables:
                raise ValueError(f"table {new} exists already")
            tables[new] = tables.pop(old)


@dataclass(frozen=True, slots=True)
class NoChange:
    """The effect of a statement that changes neither rows nor columns, for example of CREATE INDEX."""

    table: str
    kind: str = "ALTER"
    holds: bool = False

    @property
    def touched(self) -> frozenset[str]:
        return frozenset()

    def apply(self, tables: Tables) -> None:
        """Change nothing: an index or a comment does not affect rows or columns."""


@dataclass(frozen=True, slots=True)
class AlterTable:
    """The effect of ALTER TABLE: the table's columns and primary key after all clauses of the statement.

    `layout` has each new column with the name of its old column, or with None for an added column. `keys` are the
    columns of the new primary key.
    """

    table: str
    layout: tuple[tuple[Column, str | None], ...]
    keys: tuple[str, ...]
    holds: bool = False
    kind: str = "ALTER"

    @property
    def touched(self) -> frozenset[str]:
        return frozenset({self.table})

    def apply(self, tables: Tables) -> None:
        old = tables[self.table]
        places = {column.name: at for at, column in enumerate(old.columns)}
        new = Table(tuple(column for column, _ in self.layout), self.keys)
        numbers = {key: number for number, key in enumerate(sorted(old.rows, key=repr), 1)}
        for key, row in old.rows.items():
            values = tuple(self._value(row, places, column, source) for column, source in self.layout)
            new.rows[new.key_of(values, key if isinstance(key, int) else numbers[key])] = values
        tables[self.table] = new

    @staticmethod
    def _value(row: Row, places: dict[str, int], column: Column, source: str | None) -> Value:
        return column.filled if source is None else converted(row[places[source]], column)


def converted(value: Value, column: Column) -> Value:
    """Return the value as MySQL stores it after ALTER TABLE gave its column the type of `column`.

    A decimal is rounded half away from zero. All other supported changes of a type are without loss.
    """
    kind = column.type
    match value:
        case int() if kind.base == "varchar":
            return str(value)
        case int() if kind.base == "decimal":
            return Decimal((value < 0, tuple(map(int, f"{abs(value)}{'0' * kind.scale}")), -kind.scale))
        case Decimal() if kind.is_whole:
            return int(value.quantize(Decimal(1), ROUND_HALF_UP, Context(_MOST_DIGITS)))
        case Decimal() if kind.base == "decimal":
            _, digits, exponent = value.as_tuple()
            zeros = kind.scale + int(exponent)
            return Decimal((value.is_signed(), (*digits, *(0,) * zeros), -kind.scale))
        case date() if kind.base == "datetime" and not isinstance(value, datetime):
            return datetime.combine(value, time())
    return value
