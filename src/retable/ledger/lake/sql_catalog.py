"""A catalog in a database: read its rows, and open it with a password."""

from pyiceberg.catalog import Catalog
from pyiceberg.catalog.sql import IcebergTables, SqlCatalog
from sqlalchemy import event, select
from sqlalchemy.orm import Session

from retable.settings.lake import LakeSettings
from retable.settings.load import CATALOG, read_variable


def rows_by_name(catalog: SqlCatalog) -> dict[str, IcebergTables]:
    """Give the row of each table, by `namespace.table`, from one query, even if the table's metadata cannot be read."""
    with Session(catalog.engine) as session:
        rows = session.scalars(select(IcebergTables).where(IcebergTables.catalog_name == catalog.name))
        return {f"{row.table_namespace}.{row.table_name}": row for row in rows}


def postgres_catalog(lake: LakeSettings, properties: dict[str, str]) -> Catalog:
    """Open a catalog in PostgreSQL; its password is in no property, because properties go to Spark's workers."""

    class Connected(SqlCatalog):
        def _init_catalog(self) -> None:
            event.listen(self.engine, "do_connect", _prove)
            super()._init_catalog()

    def _prove(_dialect: object, _record: object, _arguments: object, options: dict[str, object]) -> None:
        password = lake.password(read_variable)
        if password is not None:
            options["password"] = password

    return Connected(CATALOG, **properties)
