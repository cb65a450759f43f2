"""The file of a SQLite catalog: read its tables, open it to write, complete it, and back it up."""

import os
import sqlite3
import time
from contextlib import closing, suppress
from pathlib import Path
from urllib.parse import quote

from pyiceberg.catalog import Catalog
from pyiceberg.catalog.noop import NoopCatalog
from pyiceberg.exceptions import NoSuchTableError
from pyiceberg.serializers import FromInputFile
from pyiceberg.table import Table
from pyiceberg.typedef import Identifier

from retable.errors import EnvironmentFault, InvalidSetting
from retable.settings.catalogs import BUSY_SECONDS

_SWITCHES, _BETWEEN_SECONDS, _CLOSING_SECONDS = 100, 0.05, 1


class CatalogReader(NoopCatalog):
    """A SQLite catalog, opened to read its tables. It replaces pyiceberg's catalog in commands that only read.

    pyiceberg's catalog needs SQLAlchemy, whose import takes longer than most of these commands. `address` is the result
    of `address_to_read`. If it is None, there is no catalog yet, so there are no tables.
    """

    def __init__(self, name: str, address: str | None, properties: dict[str, str]) -> None:
        super().__init__(name, **properties)
        self._address = address

    def load_table(self, identifier: str | Identifier) -> Table:
        *namespace, table = self.identifier_to_tuple(identifier)
        found = self._located(" AND table_namespace = ? AND table_name = ?", ".".join(namespace), table)
        if not found:
            raise NoSuchTableError(f"the catalog has no table {'.'.join([*namespace, table])}")
        return load_located(self, *found.popitem())

    def locations(self) -> dict[str, str]:
        """Return the address of each table's metadata file, by `namespace.table`. The files themselves are not read."""
        return self._located()

    def _located(self, condition: str = "", *values: str) -> dict[str, str]:
        found = self._read(f"SELECT * FROM iceberg_tables WHERE catalog_name = ?{condition}", *values)
        return {
            f"{row['table_namespace']}.{row['table_name']}": row["metadata_location"]
            for row in found
            # Java's catalogs also list views here. Older catalogs have no column with the type.
            if row["metadata_location"] and row.get("iceberg_type") in (None, "TABLE")
        }

    def list_namespaces(self, namespace: str | Identifier = ()) -> list[Identifier]:
        made = self._read("SELECT namespace FROM iceberg_namespace_properties WHERE catalog_name = ?")
        names = {row["namespace"] for row in made} | {name.rpartition(".")[0] for name in self.locations()}
        return sorted(self.identifier_to_tuple(name) for name in names)

    def list_tables(self, namespace: str | Identifier) -> list[Identifier]:
        within = ".".join(self.identifier_to_tuple(namespace))
        return [self.identifier_to_tuple(name) for name in self.locations() if name.rpartition(".")[0] == within]

    def close(self) -> None:
        """Do nothing: each query opens the file and closes it."""

    def _read(self, query: str, *values: str) -> list[dict[str, str]]:
        if self._address is None:
            return []
        with closing(sqlite3.connect(self._address, timeout=BUSY_SECONDS, uri=True)) as connection:
            found = connection.execute(query, (self.name, *values))
            names = [name for name, *_ in found.description]
            return [dict(zip(names, row, strict=True)) for row in found]


def load_located(catalog: Catalog, name: str, location: str) -> Table:
    """Load the table `name` (`namespace.table`) of a catalog from its metadata file at `location`."""
    io = catalog._load_file_io(location=location)
    metadata = FromInputFile.table_metadata(io.new_input(location))
    return Table(
        identifier=catalog.identifier_to_tuple(name),
        metadata=metadata,
        metadata_location=location,
        io=catalog._load_file_io(metadata.properties, location),
        catalog=catalog,
    )


def address_to_read(file: Path) -> str | None:
    """Return the address with which SQLite opens a catalog's file to read. Nothing is created.

    Return None if the file does not exist or has no catalog in it. Raise EnvironmentFault if it is a folder, or if the
    disk is read-only and the write-ahead log of a killed run still has commits.
    """
    if not file.exists():
        return None
    if file.is_dir():
        raise EnvironmentFault(f"the catalog {file} cannot be opened: it is a folder; name a file in `[lake] catalog`")
    address = f"file:{quote(str(file))}?mode=ro"
    if not _is_writable(file):
        log = Path(f"{file}-wal")
        if log.exists() and log.stat().st_size:
            raise EnvironmentFault(
                f"the catalog {file} cannot be read on this read-only disk: {log} has commits that SQLite must first "
                f"write into the file; copy both files to another folder, and name the copy in `[lake] catalog`"
            )
        address += "&immutable=1"
    with closing(sqlite3.connect(address, timeout=BUSY_SECONDS, uri=True)) as connection:
        is_made = connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'iceberg_tables'").fetchone()
    return address if is_made else None


def use_write_ahead_log(file: Path) -> None:
    """Switch a catalog's file to SQLite's WAL mode, so that readers do not block a writer.

    Raise EnvironmentFault if the file cannot be written, or its disk does not support this mode.
    """
    if file.exists() and not _is_writable(file):
        raise EnvironmentFault(
            f"the catalog {file} cannot be written; check who owns it and its folder, and that its disk is not mounted "
            f"read-only"
        )
    with closing(sqlite3.connect(file, timeout=BUSY_SECONDS)) as connection:
        mode = _switch_to_wal(connection)
    if mode != "wal":
        raise EnvironmentFault(
            f"the catalog {file} cannot use a write-ahead log (SQLite says {mode!r}); "
            f"put it on a local disk, not on a network disk"
        )


def empty_write_ahead_log(file: Path) -> None:
    """Move the content of the write-ahead log into the catalog's file, unless another process uses the file."""
    if file.exists():
        with suppress(sqlite3.Error), closing(sqlite3.connect(file, timeout=_CLOSING_SECONDS)) as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def back_up(file: Path, to: Path) -> None:
    """Write a consistent copy of a catalog's file to `to`, even while other processes write to the catalog.

    Raise InvalidSetting if `to` exists.
    """
    if to.exists():
        raise InvalidSetting(f"{to} exists already; name a file that does not exist")
    to.parent.mkdir(parents=True, exist_ok=True)
    part = to.with_name(f"{to.name}.part")
    with (
        closing(sqlite3.connect(f"file:{quote(str(file))}?mode=ro", timeout=BUSY_SECONDS, uri=True)) as old,
        closing(sqlite3.connect(part)) as new,
    ):
        old.backup(new)
        new.execute("PRAGMA journal_mode=DELETE")
    part.rename(to)


def _is_writable(file: Path) -> bool:
    """Return whether this user may write the file and create the write-ahead log in the same folder."""
    return os.access(file, os.W_OK) and os.access(file.parent, os.W_OK)


def _switch_to_wal(connection: sqlite3.Connection) -> str:
    """Switch to WAL mode, and return the resulting journal mode.

    SQLite does not wait if another process switches at the same moment, so this function tries again.
    """
    for _ in range(_SWITCHES):
        with suppress(sqlite3.OperationalError):
            return str(connection.execute("PRAGMA journal_mode=WAL").fetchone()[0])
        time.sleep(_BETWEEN_SECONDS)
    return str(connection.execute("PRAGMA journal_mode=WAL").fetchone()[0])
