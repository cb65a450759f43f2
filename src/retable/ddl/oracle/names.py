"""Read table names in an Oracle statement: `[schema.]table`."""

from retable.ddl.names import Names as _Names
from retable.errors import UnsupportedChange
from retable.model.event import TableName

_RECYCLED = "BIN$"


class Names(_Names):
    """Read table names. The database and schema of the message complete names that the statement writes without them.

    Some messages have no schema, and their database is the owner (schema) of the table. An owner in the statement then
    also becomes the database: `X.U` is the table `U` in the database `X`. There is one exception: a name whose last
    part is the table name of the message means the table of the message. For example, if the message is for the table
    `T` in the database `SHOP`, both `T` and `X.T` mean `SHOP.T`.
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
                f"the message names no schema, so it is not known whether {owner!r} in the statement is a schema of "
                f"the database {self.database!r}"
            )
        return TableName(owner or self.database or "", None, parts[-1]), owner


def is_recycled(table: str) -> bool:
    """Return whether a table name is that of a dropped table in Oracle's recycle bin. It then begins with `BIN$`."""
    return table.startswith(_RECYCLED)
