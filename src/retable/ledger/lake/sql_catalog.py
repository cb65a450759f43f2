"""Iceberg catalogs in a SQL database: read the row of each table, and open a PostgreSQL catalog with a password."""

from pyiceberg.catalog import Catalog
from pyiceberg.catalog.sql import IcebergTables, SqlCatalog
from sqlalchemy import event, select
from sqlalchemy.orm import Session

from retable.settings.lake import LakeSettings
from retable.settings.load import CATALOG, read_variable


def rows_by_name(catalog: SqlCatalog) -> dict[str, IcebergTables]:
    """Return the catalog's row of each table, by `namespace.table`, with one query. No metadata file is read."""
    with Session(catalog.engine) as session:
        rows = session.scalars(select(IcebergTables).where(IcebergTables.catalog_name == catalog.name))
        return {f"{row.table_namespace}.{row.table_name}": row for row in rows}


def postgres_catalog(lake: LakeSettings, properties: dict[str, str]) -> Catalog:
    """Open a catalog in PostgreSQL. The password is not in its properties, which are sent to Spark's workers."""

    class Connected(SqlCatalog):
        def _init_catalog(self) -> None:
            event.listen(self.engine, "do_connect", _prove)
            super()._init_catalog()

    def _prove(_dialect: object, _record: object, _arguments: object, options: dict[str, object]) -> None:
        password = lake.password(read_variable)
        if password is not None:
            options["password"] = password

    return Connected(CATALOG, **properties)
