"""The tables that a statement names, and where those are that it does not qualify."""

from abc import ABC, abstractmethod
from typing import NamedTuple

from retable.ddl.cursor import Cursor
from retable.errors import UnsupportedChange
from retable.model.event import TableName


class Written(NamedTuple):
    """A name as the statement writes it: the `home` (a database or schema) that it tells, if any, and the table."""

    home: str | None
    table: str


class Names(ABC):
    """Reads table names under the database and schema that the message tells.

    The message's home is that of the table which the message is about (for a rename the new name, of several the
    first). It is the session's home, too, where the statement leaves that table unqualified; where the statement
    qualifies it and another name is bare, nobody knows the home of the bare one. A home is what a bare name lacks:
    MySQL's database, the schema elsewhere.
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
        """The table that the parts of a written name mean, and the home among them."""

    def read(self, cursor: Cursor, changes: bool = True) -> TableName:
        """Read a table's name. A table that the statement `changes` is held if the rest is not understood."""
        return self.take(cursor.names(), changes)

    def take(self, parts: list[str], changes: bool = True) -> TableName:
        """Give the table of a name that was read already."""
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
        """Refuse a bare name beside a qualified one that the message's home may have come from."""
        bare = [written.table for written in self._read if written.home is None]
        if bare and self.home is not None and self._read[min(about, len(self._read) - 1)].home == self.home:
            self._held.clear()
            raise UnsupportedChange(
                f"the statement does not tell the {self.HOME} of table {bare[0]!r}: the message's {self.HOME} "
                f"{self.home!r} is that of another table which it names"
            )

    def nowhere(self, table: str) -> UnsupportedChange:
        return UnsupportedChange(f"neither the statement nor the message tells the {self.HOME} of table {table!r}")
