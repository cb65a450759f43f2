"""Table names in a statement, and the database or schema of unqualified ones."""

from abc import ABC, abstractmethod
from typing import NamedTuple

from retable.ddl.cursor import Cursor
from retable.errors import UnsupportedChange
from retable.model.event import TableName


class Written(NamedTuple):
    """A name as the statement writes it: its `home` (a database or schema), if it has one, and the table."""

    home: str | None
    table: str


class Names(ABC):
    """Read table names, with the message's database and schema as the defaults.

    A home is the part that a bare name lacks: MySQL's database, or the schema in other databases. The message's home
    belongs to the message's table (for a rename the new name, for several tables the first). It is also the session's
    home if the statement leaves that table unqualified. If the statement qualifies it and another name is bare, the
    home of the bare name is unknown.
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
        """The home of bare names."""

    @abstractmethod
    def qualify(self, parts: list[str]) -> tuple[TableName, str | None]:
        """Give the table that the parts of a written name mean, and the home among them."""

    def read(self, cursor: Cursor, changes: bool = True) -> TableName:
        """Read a table's name. A table that the statement `changes` is held if the rest is not understood."""
        return self.take(cursor.names(), changes)

    def take(self, parts: list[str], changes: bool = True) -> TableName:
        """Give the table of a name that was already read."""
        name, home = self.qualify(parts)
        self._read.append(Written(home, parts[-1]))
        if changes:
            self._held[name] = None
        return name

    @property
    def held(self) -> tuple[TableName, ...]:
        """The tables to hold if the statement is not understood, each once."""
        return tuple(self._held)

    def check_home(self, about: int) -> None:
        """Refuse a bare name if the message's home may come from a qualified name of the statement."""
        bare = [written.table for written in self._read if written.home is None]
        if bare and self.home is not None and self._read[min(about, len(self._read) - 1)].home == self.home:
            self._held.clear()
            raise UnsupportedChange(
                f"the statement does not name the {self.HOME} of table {bare[0]!r}; the message's {self.HOME} "
                f"{self.home!r} belongs to another table in the statement"
            )

    def nowhere(self, table: str) -> UnsupportedChange:
        return UnsupportedChange(f"neither the statement nor the message names the {self.HOME} of table {table!r}")
