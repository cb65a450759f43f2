"""Read table names in a SQL Server statement: `[[database.]schema.]table`."""

from retable.ddl.names import Names as _Names
from retable.errors import UnsupportedChange
from retable.model.event import TableName

DEFAULT_SCHEMA = "dbo"


class Names(_Names):
    """Read table names. The database and schema of the message complete names that the statement writes without them.

    There are two cases if the message has no schema. If it names a table, all results are without a schema, even if the
    statement writes one. If it names no table, the schema `dbo` completes a name without a schema.

    Most collations ignore case. So a name that differs from the table of the message only in case means this table, and
    the result is written as in the message: `DBO.Orders` in the statement gives `dbo.orders`.
    """

    HOME = "schema"

    @property
    def home(self) -> str | None:
        return self.schema

    def qualify(self, parts: list[str]) -> tuple[TableName, str | None]:
        if len(parts) > 3:
            raise UnsupportedChange(
                f"the name {'.'.join(parts)!r} has too many parts: expected `database.schema.table`"
            )
        database, schema, table = ["", "", *parts][-3:]
        if not (database or self.database):
            raise UnsupportedChange(f"neither the statement nor the message names the database of table {table!r}")
        is_qualified = self.schema is not None or self.about is None
        home = (schema or self.schema or DEFAULT_SCHEMA) if is_qualified else None
        return self._as_told(TableName(database or self.database or "", home, table)), schema or None

    def _as_told(self, name: TableName) -> TableName:
        return self.about if self.about is not None and _folded(self.about) == _folded(name) else name


def _folded(name: TableName) -> str:
    return str(name).casefold()


def is_temporary(table: TableName) -> bool:
    return table.table.startswith("#")
