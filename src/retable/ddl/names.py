"""Read table names in a statement, and find the database or schema of names that are written without it."""

from abc import ABC, abstractmethod
from typing import NamedTuple

from retable.ddl.cursor import Cursor
from retable.errors import UnsupportedChange
from retable.model.event import TableName


class Written(NamedTuple):
    """A table name as a statement writes it: `home` is the database or schema before the dot, or None without it."""

    home: str | None
    table: str


class Names(ABC):
    """Read the table names of one statement. `database` and `schema`, from its message, complete unqualified names.

    `held` is the table that the message names: the first table of the statement, or the new name of a rename. The
    object also collects the tables to hold (to stop in replay) if the statement is not understood.

    An unqualified name means a table in the current database (in MySQL) or schema (in other databases) of the SQL
    session. No message names it. It can only be concluded from the table of the message, for example `a.t`: if the
    statement writes only `t`, the current database is `a`. If the statement writes `a.t`, it is not known.
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
        """The database or schema of unqualified names, from the message. It is None if the message names none."""

    @abstractmethod
    def qualify(self, parts: list[str]) -> tuple[TableName, str | None]:
        """Return the table that a name means, and the database or schema that the name itself contains.

        `parts` are the parts of the name between its dots. The second value is None if the name is unqualified.
        """

    def read(self, cursor: Cursor, changes: bool = True) -> TableName:
        """Read the name of a table. `changes` says whether the statement changes this table.

        If `changes` is True, the table is held (stopped in replay) if the rest of the statement is not understood.
        """
        return self.take(cursor.names(), changes)

    def take(self, parts: list[str], changes: bool = True) -> TableName:
        """Return the table that a name means. `parts` are the parts of the name, which were already read.

        If `changes` is True, the table is held (stopped in replay) if the rest of the statement is not understood.
        """
        name, home = self.qualify(parts)
        self._read.append(Written(home, parts[-1]))
        if changes:
            self._held[name] = None
        return name

    @property
    def held(self) -> tuple[TableName, ...]:
        """The tables to hold (to stop in replay) if the statement is not understood, without duplicates."""
        return tuple(self._held)

    def check_home(self, about: int) -> None:
        """Raise UnsupportedChange if it is not known in which database or schema an unqualified name is.

        An example is `RENAME TABLE b TO a.t`, if the table of the message is `a.t`. The statement writes `a` itself,
        so the SQL session may use another database, and `b` may be in that one. `about` is the index of the table of
        the message among the names that were read: 1 in the example.
        """
        bare = [written.table for written in self._read if written.home is None]
        if bare and self.home is not None and self._read[min(about, len(self._read) - 1)].home == self.home:
            self._held.clear()
            raise UnsupportedChange(
                f"the {self.HOME} of table {bare[0]!r} is not known: the statement does not name it, and the "
                f"{self.HOME} {self.home!r} of the message may belong to another table in the statement"
            )

    def nowhere(self, table: str) -> UnsupportedChange:
        return UnsupportedChange(f"neither the statement nor the message names the {self.HOME} of table {table!r}")
