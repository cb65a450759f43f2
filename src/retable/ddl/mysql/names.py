"""The tables that a MySQL statement names, and the database of those that it does not qualify."""

from retable.ddl.mysql.cursor import Cursor
from retable.errors import UnsupportedChange
from retable.model.event import TableName


class Names:
    """Reads table names under the database that the message tells.

    The message's database is that of the table which the message is about (for a rename the new name, of several
    the first). It is the session's database, too, where the statement leaves that table unqualified; where the
    statement qualifies it and another name is bare, nobody knows the database of the bare one.
    """

    def __init__(self, database: str | None) -> None:
        self._database = database or None
        self._read: list[tuple[str | None, str]] = []
        self._held: dict[TableName, None] = {}

    def read(self, cursor: Cursor, changes: bool = True) -> TableName:
        """Read `[database.]table`. A table that the statement `changes` is held if the rest is not understood."""
        database, table = None, cursor.name()
        if cursor.take("."):
            database, table = table, cursor.name(after_dot=True)
        self._read.append((database, table))
        if database is None and self._database is None:
            raise UnsupportedChange(f"neither the statement nor the message tells the database of table {table!r}")
        name = TableName(database or self._database or "", None, table)
        if changes:
            self._held[name] = None
        return name

    @property
    def held(self) -> tuple[TableName, ...]:
        """The tables to hold if the statement is not understood, each once."""
        return tuple(self._held)

    def check_database(self, about: int) -> None:
        """Refuse a bare name beside a qualified one that the message's database may have come from."""
        bare = [table for database, table in self._read if database is None]
        if bare and self._read[about][0] == self._database:
            self._held.clear()
            raise UnsupportedChange(
                f"the statement does not tell the database of table {bare[0]!r}: the message's database "
                f"{self._database!r} is that of another table which it names"
            )


def skip_wait(cursor: Cursor) -> None:
    """Step over MariaDB's word on how long to wait for the lock of the table just named."""
    if not cursor.take("NOWAIT") and cursor.take("WAIT"):
        cursor.next()
