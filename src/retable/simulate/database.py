"""The shop's database: tables with their rows, and the effect of one entry of its history on them."""

from collections.abc import Hashable
from dataclasses import dataclass, field

from retable.simulate.columns import Column, Row

RowKey = Hashable
"""The identity of a row: the values of its key. In a table without a key it is the hidden row id."""


@dataclass(slots=True)
class Table:
    """The present state of a table. `keys` has the names of the primary key's columns; it may be empty."""

    columns: tuple[Column, ...]
    keys: tuple[str, ...]
    rows: dict[RowKey, Row] = field(default_factory=dict)

    def copy(self) -> "Table":
        return Table(self.columns, self.keys, dict(self.rows))

    def column(self, name: str) -> Column | None:
        """Return the column with this name, or None. MySQL's column names ignore case."""
        return next((column for column in self.columns if column.name.lower() == name.lower()), None)

    def key_places(self) -> tuple[int, ...]:
        names = [column.name for column in self.columns]
        return tuple(names.index(key) for key in self.keys)

    def key_of(self, row: Row, row_id: int | None) -> RowKey:
        return tuple(row[place] for place in self.key_places()) if self.keys else row_id


Tables = dict[str, Table]


def copied(tables: Tables) -> Tables:
    return {name: table.copy() for name, table in tables.items()}
