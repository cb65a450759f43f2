"""The tables of the simulated shop's database, with their rows."""

from collections.abc import Hashable
from dataclasses import dataclass, field

from retable.simulate.columns import Column, Row

RowKey = Hashable
"""The identity of a row: the values of its key. In a table without a key it is the hidden row id."""


@dataclass(slots=True)
class Table:
    """The present columns, primary key and rows of a table. `keys` has the key columns; it may be empty."""

    columns: tuple[Column, ...]
    keys: tuple[str, ...]
    rows: dict[RowKey, Row] = field(default_factory=dict)

    def copy(self) -> "Table":
        """Return a copy whose rows can change independently."""
        return Table(self.columns, self.keys, dict(self.rows))

    def column(self, name: str) -> Column | None:
        """Return the column with this name, or None. MySQL's column names ignore case."""
        return next((column for column in self.columns if column.name.lower() == name.lower()), None)

    def key_places(self) -> tuple[int, ...]:
        """Return the indexes of the key columns in a row."""
        names = [column.name for column in self.columns]
        return tuple(names.index(key) for key in self.keys)

    def key_of(self, row: Row, row_id: int | None) -> RowKey:
        """Return the identity of a row: the values of its key, or `row_id` if the table has no key."""
        return tuple(row[place] for place in self.key_places()) if self.keys else row_id


Tables = dict[str, Table]


def copied(tables: Tables) -> Tables:
    """Return copies of tables, whose rows can change independently."""
    return {name: table.copy() for name, table in tables.items()}
