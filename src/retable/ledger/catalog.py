"""The lake: its catalog, which Spark reads too, and its system tables."""

import re
import sqlite3
import time
import uuid
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path

from pyiceberg.catalog import Catalog, load_catalog
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.exceptions import (
    CommitFailedException,
    NamespaceAlreadyExistsError,
    NoSuchTableError,
    NotInstalledError,
    TableAlreadyExistsError,
)
from pyiceberg.table import Table
from pyiceberg.table.metadata import TableMetadataV1, TableMetadataV2, TableMetadataV3
from sqlalchemy import event
from sqlalchemy.exc import IntegrityError, OperationalError, ProgrammingError

from retable.config import CATALOG, Settings, read_variable
from retable.errors import EnvironmentFault, NotFound
from retable.lake_catalogs import BUSY_SECONDS, PostgresCatalog
from retable.lake_settings import LakeSettings
from retable.ledger.faults import explained
from retable.ledger.tables import SystemTable, system_table

# pyiceberg copies all that a table says of itself, its snapshots too, some twenty times a commit, which then costs what
# the history weighs (apache/iceberg-python#3784). It is frozen: a copy may share it.
for _metadata in (TableMetadataV1, TableMetadataV2, TableMetadataV3):
    _metadata.__deepcopy__ = lambda self, memo=None: self.__copy__()  # type: ignore[method-assign]  # set from outside

_SWITCHES, _BETWEEN_SECONDS = 100, 0.05
_PROPERTIES = {"format-version": "2", "write.metadata.delete-after-commit.enabled": "true"}


@dataclass(frozen=True, slots=True)
class Lake:
    """An open lake: its settings and its catalog."""

    settings: Settings
    catalog: Catalog

    def find(self, name: str) -> Table | None:
        """Load a table as it is now, or None where there is no such table."""
        with explained(self.settings.lake):
            try:
                return self.catalog.load_table(name)
            except NoSuchTableError:
                return None

    def load(self, name: str) -> Table:
        """Load a table as it is now; NotFound where there is no such table."""
        table = self.find(name)
        if table is None:
            raise NotFound(f"the lake has no table {name}", table=name)
        return table

    def ensure(self, name: str) -> Table:
        """Load a system table, and make it first where it is missing; two processes may do so at once."""
        table = self.find(name)
        if table is None:
            shape = system_table(name)
            with explained(self.settings.lake), suppress(TableAlreadyExistsError, CommitFailedException):
                self._create(name, shape)
            table = self.load(name)
        return table

    def new_location(self, layer: str) -> str:
        """Give a new table its folder; no name is part of it, and no two tables ever share one."""
        return f"{self.settings.lake.warehouse}/{layer}/{uuid.uuid4()}"

    def _create(self, name: str, shape: SystemTable) -> None:
        layer = name.partition(".")[0]
        with suppress(NamespaceAlreadyExistsError, IntegrityError):
            self.catalog.create_namespace(layer)
        with (
            self.catalog.create_table_transaction(
                name, shape.columns, self.new_location(layer), properties={**_PROPERTIES, **shape.properties}
            ) as transaction,
            transaction.update_spec() as spec,
        ):
            for column in shape.partitions:
                spec.add_identity(column)


def open_lake(settings: Settings) -> Lake:
    """Open the lake of these settings; an empty catalog and the folders are made where they are missing."""
    with explained(settings.lake):
        _prepare(settings.lake)
        return Lake(settings, _connect(settings.lake))


def _prepare(lake: LakeSettings) -> None:
    """Make what is a folder or a file of this machine; a bucket, a database and a server are there already."""
    if isinstance(lake.warehouse, Path):
        lake.warehouse.mkdir(parents=True, exist_ok=True)
    if lake.catalog_file:
        lake.catalog_file.parent.mkdir(parents=True, exist_ok=True)
        _use_write_ahead_log(lake.catalog_file)


def _use_write_ahead_log(file: Path) -> None:
    """Switch the catalog to WAL, in which readers do not block a writer."""
    with closing(sqlite3.connect(file, timeout=BUSY_SECONDS)) as connection:
        mode = _switch_to_wal(connection)
    if mode != "wal":
        raise EnvironmentFault(
            f"the catalog {file} cannot use a write-ahead log (SQLite says {mode!r}); "
            f"put it on a local disk, not on a network one"
        )


def _switch_to_wal(connection: sqlite3.Connection) -> str:
    """Switch, and give the mode that is now; SQLite does not wait where another process switches at this moment."""
    for _ in range(_SWITCHES):
        with suppress(sqlite3.OperationalError):
            return str(connection.execute("PRAGMA journal_mode=WAL").fetchone()[0])
        time.sleep(_BETWEEN_SECONDS)
    return str(connection.execute("PRAGMA journal_mode=WAL").fetchone()[0])


def _connect(lake: LakeSettings) -> Catalog:
    properties = lake.pyiceberg(read_variable)
    try:
        return _load(lake, properties)
    except (OperationalError, ProgrammingError, IntegrityError) as error:
        # Another process made the catalog's own tables between our look and our CREATE.
        if not re.search("already exists|duplicate key", str(error)):
            raise
        return _load(lake, properties)


def _load(lake: LakeSettings, properties: dict[str, str]) -> Catalog:
    if isinstance(lake.catalog, PostgresCatalog):
        return _postgres_catalog(lake, properties)
    try:
        return load_catalog(CATALOG, **properties)
    except NotInstalledError as error:
        raise EnvironmentFault(f"the catalog {lake.catalog} needs a package: {error}") from error


def _postgres_catalog(lake: LakeSettings, properties: dict[str, str]) -> Catalog:
    """Open a catalog in PostgreSQL, whose password is in no property: those go with every table to Spark's workers."""

    class Connected(SqlCatalog):
        def _init_catalog(self) -> None:
            event.listen(self.engine, "do_connect", _prove)
            super()._init_catalog()

    def _prove(_dialect: object, _record: object, _arguments: object, told: dict[str, object]) -> None:
        password = lake.password(read_variable)
        if password is not None:
            told["password"] = password

    return Connected(CATALOG, **properties)
