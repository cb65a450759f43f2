"""Table names in an Oracle statement: `[schema.]table`."""

from retable.ddl.names import Names as _Names
from retable.errors import UnsupportedChange
from retable.model.event import TableName

_RECYCLED = "BIN$"


class Names(_Names):
    """Read table names, with the message's database and schema as the defaults.

    If the message has no schema, its database is used as the schema, because such messages name the owner there. The
    message's table is then used as it is, whatever owner the statement names.
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
            raise UnsupportedChange(f"it is not known whether {owner!r} is a schema of {self.database!r}")
        return TableName(owner or self.database or "", None, parts[-1]), owner


def is_recycled(table: str) -> bool:
    """Say whether a name is in the recycle bin, to which Oracle moves dropped tables."""
    return table.startswith(_RECYCLED)
