"""Remove orphan files of a table: old files in its folder that no metadata file in the folder names."""

from collections.abc import Iterable, Iterator
from datetime import datetime

from pyiceberg.table import Table

from retable.ledger.lake.warehouse import MetadataFile, TableFolder, Warehouse, plain_path
from retable.ledger.relocation.tables import addresses


def foreign(warehouse: Warehouse, table: Table) -> str | None:
    """Return the reason why upkeep must not change a table; None if it may.

    Upkeep removes files in the table's folder, so no other lake and no newer catalog may use them. The reason is that
    the folder is outside of the lake's warehouse, that it has no metadata file, or that the catalog does not name the
    newest metadata file in it.
    """
    location = table.location()
    if not warehouse.has(location):
        return f"its folder {location} is not in the lake's warehouse {warehouse.address}"
    folder = warehouse.table(location)
    if folder is None:
        return f"its folder {location} has no metadata file"
    if plain_path(table.metadata_location) not in map(plain_path, _addresses(folder.newest)):
        return (
            f"its folder has a newer metadata file ({folder.newest[0].address}) than the catalog names "
            f"({table.metadata_location})"
        )
    return None


def remove_orphans(warehouse: Warehouse, table: Table, before: datetime) -> int:
    """Remove the orphan files of a table that were written before `before`. Return their number.

    An orphan file is a file in the table's folder that no metadata file in the folder names. Metadata files of failed
    commits do not count, so they and the files that only they name are orphans, too.

    A commit has failed if its metadata file is not the newest in the folder and is missing in the table's metadata log.
    A file that is older than all files in the log may also be missing because Iceberg shortens the log. So such a file
    counts, and is no orphan.
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
    """Yield the metadata files of a folder whose files may still be needed: all except those of failed commits."""
    logged = {plain_path(entry.metadata_file) for entry in table.metadata.metadata_log}
    versions = [file.version for file in folder.metadata if plain_path(file.address) in logged]
    for file in folder.metadata:
        lost = file not in folder.newest and versions and file.version >= min(versions)
        if not lost or plain_path(file.address) in logged:
            yield file


def _owner(path: str) -> str:
    """Return the path of the file to which a Hadoop checksum file `.name.crc` belongs. Any other path stays."""
    folder, _, name = path.rpartition("/")
    return f"{folder}/{name[1:-4]}" if name.startswith(".") and name.endswith(".crc") else path


def _addresses(files: Iterable[MetadataFile]) -> Iterator[str]:
    return (file.address for file in files)
