"""Read table names in a MySQL statement: `[database.]table`."""

from retable.ddl.mysql.cursor import Cursor
from retable.ddl.names import Names as _Names
from retable.errors import UnsupportedChange
from retable.model.event import TableName


class Names(_Names):
    """Read table names. Names without a database are in the database of the message. MySQL has no schemas."""

    HOME = "database"

    @property
    def home(self) -> str | None:
        return self.database

    def qualify(self, parts: list[str]) -> tuple[TableName, str | None]:
        if len(parts) > 2:
            raise UnsupportedChange(f"the name {'.'.join(parts)!r} has too many parts: expected `database.table`")
        database = parts[0] if len(parts) == 2 else None
        if database is None and self.database is None:
            raise self.nowhere(parts[-1])
        return TableName(database or self.database or "", None, parts[-1]), database


def skip_wait(cursor: Cursor) -> None:
    """Step over MariaDB's `WAIT n` or `NOWAIT`, which says how long to wait for the lock of the table."""
    if not cursor.take("NOWAIT") and cursor.take("WAIT"):
        cursor.next()
