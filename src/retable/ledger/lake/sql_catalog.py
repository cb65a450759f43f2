"""Iceberg catalogs in a SQL database: SQLite to write, and PostgreSQL with a password. This module needs SQLAlchemy."""

import re

from pyiceberg.catalog.sql import IcebergTables, SqlCatalog, SqlCatalogBaseTable
from pyiceberg.exceptions import NamespaceAlreadyExistsError
from pyiceberg.typedef import EMPTY_DICT, Identifier, Properties
from sqlalchemy import event, select
from sqlalchemy.exc import IntegrityError, OperationalError, ProgrammingError
from sqlalchemy.orm import Session

from retable.settings.catalogs import PostgresCatalog
from retable.settings.lake import LakeSettings
from retable.settings.load import CATALOG, read_variable


class DatabaseCatalog(SqlCatalog):
    """pyiceberg's catalog in a SQL database.

    Many processes may use it at once: if two of them create the same namespace, one gets NamespaceAlreadyExistsError.
    """

    def locations(self) -> dict[str, str]:
        """Return the address of each table's metadata file, by `namespace.table`. The files themselves are not read."""
        with Session(self.engine) as session:
            rows = session.scalars(select(IcebergTables).where(IcebergTables.catalog_name == self.name))
            found = [(f"{row.table_namespace}.{row.table_name}", row.metadata_location) for row in rows]
            return {name: location for name, location in found if location}

    def create_namespace(self, namespace: str | Identifier, properties: Properties = EMPTY_DICT) -> None:
        try:
            super().create_namespace(namespace, properties)
        except IntegrityError as error:
            raise NamespaceAlreadyExistsError(f"another process created {namespace}") from error


def open_database(lake: LakeSettings, properties: dict[str, str]) -> DatabaseCatalog:
    """Open a catalog in SQLite or PostgreSQL.

    `properties` are pyiceberg's properties of the catalog, without the password. The password for PostgreSQL comes from
    the settings `lake`, for each connection.
    """
    made = _with_password(lake) if isinstance(lake.catalog, PostgresCatalog) else DatabaseCatalog
    for _ in SqlCatalogBaseTable.metadata.tables:
        try:
            return made(CATALOG, **properties)
        except (OperationalError, ProgrammingError, IntegrityError) as error:
            # Another process created one of the catalog's own tables between pyiceberg's check and its CREATE.
            if not re.search("already exists|duplicate key", str(error)):
                raise
    return made(CATALOG, **properties)


def _with_password(lake: LakeSettings) -> type[DatabaseCatalog]:
    """Return a catalog class whose connections have the password. The catalog's properties go to Spark's workers."""

    class Connected(DatabaseCatalog):
        def _init_catalog(self) -> None:
            event.listen(self.engine, "do_connect", _prove)
            super()._init_catalog()

    def _prove(_dialect: object, _record: object, _arguments: object, options: dict[str, object]) -> None:
        password = lake.password(read_variable)
        if password is not None:
            options["password"] = password

    return Connected
