"""Remove orphan files: old files in the folder of a table in this warehouse that no metadata file there names."""

from collections.abc import Iterable, Iterator
from datetime import datetime

from pyiceberg.table import Table

from retable.ledger.lake.warehouse import MetadataFile, TableFolder, Warehouse, plain_path
from retable.ledger.relocation.tables import addresses


def foreign(warehouse: Warehouse, table: Table) -> str | None:
    """Why a table must be left alone, judged by its folder: another lake, or a newer catalog, may know its files."""
    location = table.location()
    if not warehouse.has(location):
        return f"its folder {location} is not in the warehouse {warehouse.address}"
    folder = warehouse.table(location)
    if folder is None:
        return f"its folder {location} has no metadata file"
    if plain_path(table.metadata_location) not in map(plain_path, _addresses(folder.newest)):
        return (
            f"its folder has newer metadata than the catalog names: {folder.newest[0].address}, not "
            f"{table.metadata_location}"
        )
    return None


def remove_orphans(warehouse: Warehouse, table: Table, before: datetime) -> int:
    """Remove files of a table's folder written before `before` that no metadata file there names; count them.

    A metadata file that lost a race does not count: the log of the newest one covers its version but does not name it.
    """
    old = {path for path, written in warehouse.files(table.location()) if written < before}
    folder = warehouse.table(table.location())
    if not old or folder is None:
        return 0
    counting = list(_addresses(_counting(folder, table)))
    known = {plain_path(address) for address in (*counting, *addresses(warehouse.io, *counting))}
    orphans = {path for path in old if _owner(path) not in known}
    for path in sorted(orphans):
        warehouse.remove(path)
    return len(orphans)


def _counting(folder: TableFolder, table: Table) -> Iterator[MetadataFile]:
    """The metadata files that count, because a file that they name may still be needed."""
    logged = {plain_path(entry.metadata_file) for entry in table.metadata.metadata_log}
    versions = [file.version for file in folder.metadata if plain_path(file.address) in logged]
    for file in folder.metadata:
        lost = file not in folder.newest and versions and file.version >= min(versions)
        if not lost or plain_path(file.address) in logged:
            yield file


def _owner(path: str) -> str:
    """The file to which a Hadoop checksum, `.name.crc`, belongs; any other path itself."""
    folder, _, name = path.rpartition("/")
    return f"{folder}/{name[1:-4]}" if name.startswith(".") and name.endswith(".crc") else path


def _addresses(files: Iterable[MetadataFile]) -> Iterator[str]:
    return (file.address for file in files)
