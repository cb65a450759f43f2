"""The tables that an Oracle statement names: `[schema.]table`."""

from retable.ddl.names import Names as _Names
from retable.errors import UnsupportedChange
from retable.model.event import TableName

_RECYCLED = "BIN$"


class Names(_Names):
    """Reads table names under the database and the schema that the message tells.

    Where the message tells no schema, its database stands for one: that is how such messages name an owner. What the
    message is about is its own table then, whatever owner the statement names.
    """

    HOME = "schema"

    @property
    def home(self) -> str | None:
        return self.schema or self.database

    def qualify(self, parts: list[str]) -> tuple[TableName, str | None]:
        if len(parts) > 2:
            raise UnsupportedChange(f"the name {'.'.join(parts)!r} has more parts than a schema and a table")
        owner = parts[0] if len(parts) == 2 else None
        if self.schema is not None and self.database is not None:
            return TableName(self.database, owner or self.schema, parts[-1]), owner
        if self.schema is not None or (owner or self.database) is None:
            raise self.nowhere(parts[-1])
        if self.about is not None and self.about.schema is None and self.about.table == parts[-1]:
            return self.about, owner
        if self.about is None and owner and self.database and owner != self.database:
            raise UnsupportedChange(f"nothing tells whether {owner!r} is a schema of {self.database!r}")
        return TableName(owner or self.database or "", None, parts[-1]), owner


def is_recycled(table: str) -> bool:
    """Say whether a name is one of the recycle bin, where Oracle puts tables that were dropped."""
    return table.startswith(_RECYCLED)
