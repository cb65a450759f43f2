"""Read table names in a statement, and find the database or schema of unqualified names."""

from abc import ABC, abstractmethod
from typing import NamedTuple

from retable.ddl.cursor import Cursor
from retable.errors import UnsupportedChange
from retable.model.event import TableName


class Written(NamedTuple):
    """A table name in a statement. `home` is its database or schema, or None if the statement does not name it."""

    home: str | None
    table: str


class Names(ABC):
    """Read the table names of one statement. The database and schema of the message are the defaults.

    `home` is the database (in MySQL) or the schema (in other databases) of an unqualified name. The message names the
    database or schema of one table only: the first table of the statement, or the new name if it is a rename. If the
    statement does not qualify this table, the session uses the same database or schema for every unqualified name. If
    the statement qualifies this table, the database or schema of other unqualified names is not known.
    """

    HOME: str

    def __init__(self, database: str | None, schema: str | None, held: TableName | None) -> None:
        self.database = database or None
        self.schema = schema or None
        self.about = held
        self._read: list[Written] = []
        self._held: dict[TableName, None] = {}

    @property
    @abstractmethod
    def home(self) -> str | None:
        """The database or schema of unqualified names. It is None if the message has none."""

    @abstractmethod
    def qualify(self, parts: list[str]) -> tuple[TableName, str | None]:
        """Return the table that a name in a statement means, and the database or schema in the name, or None.

        `parts` are the parts of the name between its dots.
        """

    def read(self, cursor: Cursor, changes: bool = True) -> TableName:
        """Read the name of a table.

        If `changes` is True, the table is held if the rest of the statement is not understood.
        """
        return self.take(cursor.names(), changes)

    def take(self, parts: list[str], changes: bool = True) -> TableName:
        """Return the table of a name whose parts were already read. `changes` has the same meaning as in `read`."""
        name, home = self.qualify(parts)
        self._read.append(Written(home, parts[-1]))
        if changes:
            self._held[name] = None
        return name

    @property
    def held(self) -> tuple[TableName, ...]:
        """The tables to hold if the statement is not understood, without duplicates."""
        return tuple(self._held)

    def check_home(self, about: int) -> None:
        """Raise UnsupportedChange if the database or schema of an unqualified name is not known.

        This is so if the database or schema of the message may belong to a qualified name of the statement. `about` is
        the index of the name that the message is about.
        """
        bare = [written.table for written in self._read if written.home is None]
        if bare and self.home is not None and self._read[min(about, len(self._read) - 1)].home == self.home:
            self._held.clear()
            raise UnsupportedChange(
                f"the statement names table {bare[0]!r} without its {self.HOME}; the message names the {self.HOME} "
                f"{self.home!r}, but this may be the {self.HOME} of another table in the statement"
            )

    def nowhere(self, table: str) -> UnsupportedChange:
        return UnsupportedChange(f"neither the statement nor the message names the {self.HOME} of table {table!r}")
