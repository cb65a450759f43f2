"""Read table names in an Oracle statement: `[schema.]table`."""

from retable.ddl.names import Names as _Names
from retable.errors import UnsupportedChange
from retable.model.event import TableName

_RECYCLED = "BIN$"


class Names(_Names):
    """Read table names. The database and schema of the message are the defaults.

    If the message has no schema, its database is used as the schema, because such messages name the owner of the table
    in this field. If the statement names the table of the message, this table is then used unchanged, whatever owner
    the statement names.
    """

    HOME = "schema"

    @property
    def home(self) -> str | None:
        return self.schema or self.database

    def qualify(self, parts: list[str]) -> tuple[TableName, str | None]:
        if len(parts) > 2:
            raise UnsupportedChange(f"the name {'.'.join(parts)!r} has too many parts: expected `schema.table`")
        owner = parts[0] if len(parts) == 2 else None
        if self.schema is not None and self.database is not None:
            return TableName(self.database, owner or self.schema, parts[-1]), owner
        if self.schema is not None or (owner or self.database) is None:
            raise self.nowhere(parts[-1])
        if self.about is not None and self.about.schema is None and self.about.table == parts[-1]:
            return self.about, owner
        if self.about is None and owner and self.database and owner != self.database:
            raise UnsupportedChange(
                f"the message names no schema, and it is not known whether {owner!r} in the statement is a schema of "
                f"the database {self.database!r}"
            )
        return TableName(owner or self.database or "", None, parts[-1]), owner


def is_recycled(table: str) -> bool:
    """Return whether a table is in the recycle bin, into which Oracle moves dropped tables."""
    return table.startswith(_RECYCLED)
