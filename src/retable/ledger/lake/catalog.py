"""Open a lake: connect to its catalog, check that the catalog is the newest one, and load or create system tables."""

import uuid
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Protocol, runtime_checkable

from pyiceberg.catalog import Catalog, load_catalog
from pyiceberg.exceptions import (
    CommitFailedException,
    NamespaceAlreadyExistsError,
    NoSuchTableError,
    NotInstalledError,
    TableAlreadyExistsError,
)
from pyiceberg.table import Table
from pyiceberg.table.metadata import TableMetadataV1, TableMetadataV2, TableMetadataV3

from retable.errors import CatalogMismatch, DamagedFile, EnvironmentFault, NotFound
from retable.ledger.lake import checksums  # noqa: F401  # it changes how pyiceberg reads and writes, in every process
from retable.ledger.lake.damage import damaged_metadata, without_remedy
from retable.ledger.lake.error_translation import explained
from retable.ledger.lake.identity import (
    LAYOUT,
    OLDEST_LAYOUT,
    LakeRecord,
    check_place,
    compare,
    older,
    read_record,
    record_of,
    too_old,
)
from retable.ledger.lake.sqlite_file import (
    CatalogReader,
    address_to_read,
    empty_write_ahead_log,
    load_located,
    use_write_ahead_log,
)
from retable.ledger.lake.tables import LAYOUT_PROPERTY, OPS, SystemTable, system_table
from retable.ledger.lake.warehouse import LAKE_TABLE, NAME_PROPERTY, Warehouse, has_tables
from retable.settings.catalogs import PostgresCatalog, SqliteCatalog
from retable.settings.lake import LakeSettings
from retable.settings.load import CATALOG, Settings, read_variable

# pyiceberg deep-copies a table's metadata, with all snapshots, some twenty times a commit, so a commit costs more
# with a longer history (apache/iceberg-python#3784). The metadata is frozen, so a copy may share it.
for _metadata in (TableMetadataV1, TableMetadataV2, TableMetadataV3):
    _metadata.__deepcopy__ = lambda self, memo=None: self.__copy__()  # type: ignore[method-assign]  # set from outside

_NONE: Mapping[str, str] = MappingProxyType({})
_PROPERTIES = {"format-version": "2", "write.metadata.delete-after-commit.enabled": "true"}


@dataclass(frozen=True, slots=True)
class Lake:
    """An open lake: its settings and its catalog."""

    settings: Settings
    catalog: Catalog

    def find(self, name: str) -> Table | None:
        """Load the table `name` (`namespace.table`) in its present state. Return None if it does not exist."""
        with explained(self.settings.lake):
            try:
                return self.catalog.load_table(name)
            except NoSuchTableError:
                return None
            except DamagedFile as error:
                raise damaged_metadata(error, name) from error

    def load(self, name: str) -> Table:
        """Load the table `name` (`namespace.table`) in its present state. Raise NotFound if it does not exist."""
        table = self.find(name)
        if table is None:
            raise NotFound(f"the lake has no table {name}", table=name)
        return table

    def ensure(self, name: str, properties: Mapping[str, str] = _NONE) -> Table:
        """Load a system table. If it is missing, create it, with these `properties` in addition to the usual ones."""
        table = self.find(name)
        if table is None:
            shape = system_table(name)
            with explained(self.settings.lake), suppress(TableAlreadyExistsError, CommitFailedException):
                self._create(name, shape, properties)
            table = self.load(name)
        return table

    def names(self) -> list[str]:
        """Return the names of all tables in the catalog, as `namespace.table`, in order."""
        with explained(self.settings.lake):
            namespaces = self.catalog.list_namespaces()
            return sorted(".".join(name) for levels in namespaces for name in self.catalog.list_tables(levels))

    def outside(self, namespaces: Collection[str]) -> Iterator[tuple[str, Table | DamagedFile]]:
        """Yield the name of every table that is in none of these namespaces, with the loaded table.

        If its metadata is damaged, yield the error instead of the table. Skip a table that disappears meanwhile.
        """
        for name, load in sorted(self._loaders(namespaces).items()):
            try:
                table = load()
            except DamagedFile as error:
                yield name, error
            else:
                if table is not None:
                    yield name, table

    def _loaders(self, namespaces: Collection[str]) -> dict[str, Callable[[], Table | None]]:
        """Return a function that loads each table, by name. A catalog in a database is queried once for all tables."""
        with explained(self.settings.lake):
            known = locations(self.catalog)
        loaders: dict[str, Callable[[], Table | None]] = (
            {name: partial(self.find, name) for name in self.names()}
            if known is None
            else {name: partial(self._load_located, name, location) for name, location in known.items()}
        )
        return {name: load for name, load in loaders.items() if name.partition(".")[0] not in namespaces}

    def _load_located(self, name: str, location: str) -> Table | None:
        try:
            with explained(self.settings.lake):
                return load_located(self.catalog, name, location)
        except DamagedFile:
            # The table may have gone since the query.
            return self.find(name)

    def new_location(self, layer: str) -> str:
        """Return a unique location for a new table of a layer, such as `silver`, without the table's name in it."""
        return f"{self.settings.lake.warehouse}/{layer}/{uuid.uuid4()}"

    def _create(self, name: str, shape: SystemTable, properties: Mapping[str, str]) -> None:
        layer = name.partition(".")[0]
        with suppress(NamespaceAlreadyExistsError):
            self.catalog.create_namespace(layer)
        with (
            self.catalog.create_table_transaction(
                name,
                shape.columns,
                self.new_location(layer),
                properties={**_PROPERTIES, **shape.properties, NAME_PROPERTY: name, **properties},
            ) as transaction,
            transaction.update_spec() as spec,
        ):
            for column in shape.partitions:
                spec.add_identity(column)


@runtime_checkable
class Located(Protocol):
    """A catalog in a SQL database. It can list the metadata files of all tables with one query (`locations`)."""

    def locations(self) -> dict[str, str]: ...


def locations(catalog: Catalog) -> dict[str, str] | None:
    """Return the address of each table's metadata file, by `namespace.table`. The files themselves are not read.

    Return None if the catalog is not in a SQL database.
    """
    return catalog.locations() if isinstance(catalog, Located) else None


def open_lake(settings: Settings) -> Lake:
    """Open the lake of these settings to write. Create its catalog and its folders if they are missing.

    Raise CatalogMismatch, and create nothing, in these cases: the catalog is lost, it is older than the warehouse, it
    belongs to another lake, or an older Retable wrote the lake.
    """
    lake = open_lake_to_read(settings)
    check_writable(lake)
    return _open_again(lake)


def open_lake_to_migrate(settings: Settings) -> Lake:
    """Open the lake of these settings to write, even if an older Retable wrote it.

    Raise CatalogMismatch, and create nothing, if the catalog is lost, is older than the warehouse, or belongs to
    another lake.
    """
    lake = open_lake_to_read(settings)
    check_newest(lake)
    return _open_again(lake)


def _open_again(lake: Lake) -> Lake:
    """Open a lake to write. `lake` is the same lake, opened to read; its catalog is closed if a new one is opened."""
    settings = lake.settings
    if not _is_here(settings.lake):
        return lake
    lake.catalog.close()
    with explained(settings.lake):
        _prepare(settings.lake)
        return Lake(settings, connect(settings.lake))


def open_lake_to_read(settings: Settings) -> Lake:
    """Open the lake of these settings to read. Nothing is created; a missing catalog is treated as an empty one."""
    with explained(settings.lake):
        file = settings.lake.catalog_file
        if file is None:
            return Lake(settings, connect(settings.lake))
        return Lake(settings, CatalogReader(CATALOG, address_to_read(file), settings.lake.pyiceberg(read_variable)))


def runs_behind(lake: Lake) -> int:
    """Return by how many runs the catalog of a lake is older than its warehouse; 0 in a healthy lake.

    Each run records its number in both. A catalog that was restored from a backup has a lower number. Raise
    CatalogMismatch if catalog and warehouse do not belong together, or one of them is lost.
    """
    return _compare(lake)[0]


def check_newest(lake: Lake) -> None:
    """Raise CatalogMismatch if the catalog of a lake is lost, older than its warehouse, or belongs to another lake."""
    _check_newest(lake, runs_behind(lake))


def check_writable(lake: Lake) -> None:
    """Raise CatalogMismatch if `check_newest` fails, or if the lake's layout (form of its tables) is an older one."""
    behind, recorded = _compare(lake)
    _check_newest(lake, behind)
    if (layout := _layout(lake, recorded)) < LAYOUT:
        raise CatalogMismatch(too_old(lake.settings.lake, layout), layout=layout)


def layout_of(lake: Lake) -> int:
    """Return the layout version of a lake: the form of its tables. A new lake has the present version."""
    with explained(lake.settings.lake):
        table = _load_record(lake)
    return _layout(lake, None if table is None else record_of(table))


def _compare(lake: Lake) -> tuple[int, LakeRecord | None]:
    """Return by how many runs the catalog is older than the warehouse, and the catalog's record of the lake."""
    settings = lake.settings.lake
    with explained(settings):
        warehouse = Warehouse(settings)
        # A starting run writes to the catalog first. The catalog is read last here, so it never seems older.
        record = read_record(warehouse)
        if record is not None:
            check_place(record, warehouse.address)
        table = _load_record(lake)
        recorded = None if table is None else record_of(table)
        behind = compare(settings, record, recorded, lambda: not lake.names(), lambda: has_tables(warehouse))
    return behind, recorded


def _check_newest(lake: Lake, behind: int) -> None:
    if behind:
        raise CatalogMismatch(older(lake.settings.lake, behind), runs=behind)


def _layout(lake: Lake, recorded: LakeRecord | None) -> int:
    """Return the layout version of a lake: from the catalog's record, or else from the first ops table that exists."""
    if recorded is not None:
        return recorded.layout
    first = next((table for name in OPS if (table := lake.find(name)) is not None), None)
    return LAYOUT if first is None else int(first.properties.get(LAYOUT_PROPERTY, OLDEST_LAYOUT))


def _load_record(lake: Lake) -> Table | None:
    """Load the table with the catalog's record of the lake. Return None if the table does not exist.

    Raise CatalogMismatch if its metadata file is damaged or missing.
    """
    try:
        return lake.catalog.load_table(LAKE_TABLE)
    except NoSuchTableError:
        return None
    except DamagedFile as error:
        raise CatalogMismatch(
            f"the catalog {lake.settings.lake.catalog} names a metadata file of {LAKE_TABLE} that cannot be used: "
            f"{without_remedy(error)}; the catalog is older than the warehouse, or that file was lost: `retable "
            f"recover` finds the newest metadata file",
            **error.facts,
        ) from error


def close_lake(lake: Lake) -> None:
    """Close a lake after writing. A SQLite catalog is then completely in its file, so the file can be copied."""
    lake.catalog.close()
    if lake.settings.lake.catalog_file is not None:
        empty_write_ahead_log(lake.settings.lake.catalog_file)


def _is_here(lake: LakeSettings) -> bool:
    """Return whether the catalog is a file, or the warehouse a folder, of this machine; it may have to be created."""
    return lake.catalog_file is not None or isinstance(lake.warehouse, Path)


def widen(lake: Lake, table: Table) -> bool:
    """Add the columns that a system table of an earlier Retable lacks.

    Return True if columns were missing, even if another process adds them at the same time. The caller must then load
    the table again.
    """
    columns = system_table(".".join(table.name())).columns
    if len(table.schema().fields) == len(columns):
        return False
    with explained(lake.settings.lake), suppress(CommitFailedException), table.update_schema() as update:
        update.union_by_name(columns)
    return True


def _prepare(lake: LakeSettings) -> None:
    """Create the folders and files of a lake on this machine. Buckets, databases and servers must exist already."""
    if isinstance(lake.warehouse, Path):
        lake.warehouse.mkdir(parents=True, exist_ok=True)
    if lake.catalog_file:
        lake.catalog_file.parent.mkdir(parents=True, exist_ok=True)
        use_write_ahead_log(lake.catalog_file)


def connect(lake: LakeSettings) -> Catalog:
    """Connect to the catalog of these settings, without a check that it belongs to the lake."""
    properties = lake.pyiceberg(read_variable)
    if isinstance(lake.catalog, SqliteCatalog | PostgresCatalog):
        # Commands that only read a SQLite catalog do not need SQLAlchemy.
        from retable.ledger.lake.sql_catalog import open_database

        return open_database(lake, properties)
    try:
        return load_catalog(CATALOG, **properties)
    except NotInstalledError as error:
        raise EnvironmentFault(f"the catalog {lake.catalog} needs another Python package: {error}") from error
