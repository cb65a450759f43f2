"""Read and write files of a warehouse without a catalog. The warehouse is a local folder or a bucket prefix."""

import os
import re
import uuid
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import cast

from pyarrow.fs import FileInfo, FileSelector, FileType, copy_files
from pyiceberg.io import load_file_io
from pyiceberg.io.pyarrow import PyArrowFileIO
from pyiceberg.serializers import FromInputFile
from pyiceberg.table.metadata import TableMetadata

from retable.errors import DamagedFile
from retable.settings.lake import LakeSettings
from retable.settings.load import read_variable

NAME_PROPERTY = "retable.name"
"""The table property with the name of the table. With it, a lost catalog can be made again from the warehouse."""

LAKE_TABLE = "ops.lake"
"""The table with the catalog's record of the lake (`LakeRecord`). It has no rows; the record is in its properties."""

LAYERS = ("ops", "bronze", "silver", "statements", "quarantine", "gold")
"""The folders of a warehouse. Each has one folder for each of its tables, named by a UUID and not by the table."""

_METADATA = re.compile(r"v?(\d+)(-[^/]*)?\.metadata\.json(\.gz)?|v?(\d+)(-[^/]*)?\.gz\.metadata\.json")


@dataclass(frozen=True, slots=True)
class MetadataFile:
    """A metadata file of a table. `version` is the number in the file name. Each commit increases it by one."""

    address: str
    version: int


@dataclass(frozen=True, slots=True)
class TableFolder:
    """The folder of one table: its address and its metadata files, with the newest version first."""

    address: str
    metadata: tuple[MetadataFile, ...]

    @property
    def newest(self) -> tuple[MetadataFile, ...]:
        """The metadata files with the highest version.

        There are several if several writers wrote this version at the same time. Only one of them has committed.
        """
        return tuple(file for file in self.metadata if file.version == self.metadata[0].version)


class Warehouse:
    """Access to the files of a warehouse. Nothing is created before the first write."""

    def __init__(self, lake: LakeSettings, address: str | None = None) -> None:
        """Open the warehouse of these settings.

        If `address` is set, open the warehouse at this address instead, with the credentials of the settings.
        """
        self.address = address or str(lake.warehouse)
        self.io = cast(PyArrowFileIO, load_file_io(lake.pyiceberg(read_variable), self.address))
        scheme, host, self._root = PyArrowFileIO.parse_location(self.address)
        self._is_local = scheme == "file"
        self._files = self.io.fs_by_scheme(scheme, host)

    def has(self, address: str) -> bool:
        """Return whether an address is below the folder of this warehouse. No file is looked up."""
        return plain_path(address).startswith(f"{self._root.rstrip('/')}/")

    def read(self, name: str) -> bytes | None:
        """Read a file in the top folder of the warehouse. Return None if it does not exist."""
        path = f"{self._root}/{name}"
        if self._files.get_file_info(path).type != FileType.File:
            return None
        with self._files.open_input_stream(path) as stream:
            return bytes(stream.read())

    def write(self, name: str, content: bytes) -> None:
        """Write a file in the top folder of the warehouse, atomically."""
        path = f"{self._root}/{name}"
        if not self._is_local:
            with self._files.open_output_stream(path) as stream:
                stream.write(content)
            return
        Path(self._root).mkdir(parents=True, exist_ok=True)
        part = Path(f"{path}.{uuid.uuid4().hex}")
        try:
            with part.open("wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            part.replace(path)
        finally:
            part.unlink(missing_ok=True)

    def tables(self) -> Iterator[TableFolder]:
        """Yield the folder of every table that has metadata files, layer by layer."""
        for layer in LAYERS:
            for folder in self._list(f"{self._root}/{layer}"):
                if folder.type == FileType.Directory:
                    found = self.table(f"{self.address}/{layer}/{folder.base_name}")
                    if found is not None:
                        yield found

    def table(self, address: str) -> TableFolder | None:
        """Return the folder of the table at this address. Return None if it has no metadata files."""
        files = self._metadata_of(address)
        return TableFolder(address, files) if files else None

    def files(self, address: str) -> Iterator[tuple[str, datetime]]:
        """Yield the path and the modification time of every file below a folder."""
        _, _, path = PyArrowFileIO.parse_location(address)
        for file in self._files.get_file_info(FileSelector(path, recursive=True, allow_not_found=True)):
            if file.type == FileType.File:
                yield str(file.path), file.mtime

    def take(self, other: "Warehouse", path: str, to: str) -> bool:
        """Copy the file at `path` in another warehouse to the path `to` in this warehouse.

        Return False if the file does not exist.
        """
        if other._files.get_file_info(path).type != FileType.File:
            return False
        self._files.create_dir(to.rpartition("/")[0], recursive=True)
        copy_files(path, to, source_filesystem=other._files, destination_filesystem=self._files, use_threads=False)
        return True

    def remove(self, path: str) -> None:
        """Remove a file. `path` is its path in the storage, as from `files`."""
        self._files.delete_file(path)

    def metadata(self, file: MetadataFile) -> TableMetadata | None:
        """Read a metadata file. Return None if it is damaged or missing."""
        try:
            return FromInputFile.table_metadata(self.io.new_input(file.address))
        except DamagedFile:
            return None

    def _metadata_of(self, address: str) -> tuple[MetadataFile, ...]:
        _, _, path = PyArrowFileIO.parse_location(address)
        by_version: dict[int, list[MetadataFile]] = defaultdict(list)
        for file in self._list(f"{path}/metadata"):
            if (match := _METADATA.fullmatch(file.base_name)) is not None:
                version = int(match[1] or match[4])
                by_version[version].append(MetadataFile(f"{address}/metadata/{file.base_name}", version))
        return tuple(file for version in sorted(by_version, reverse=True) for file in by_version[version])

    def _list(self, path: str) -> list[FileInfo]:
        found = self._files.get_file_info(FileSelector(path, allow_not_found=True))
        return sorted(found, key=lambda each: str(each.base_name))


def plain_path(address: str) -> str:
    """Return the path of an address without its scheme, such as `file:` or `s3:`, and without a slash at its end."""
    return str(PyArrowFileIO.parse_location(address)[2]).rstrip("/")


def has_tables(warehouse: Warehouse) -> bool:
    """Return whether a warehouse has any table except `ops.lake`, which the first run creates before all others."""
    for folder in warehouse.tables():
        metadata = warehouse.metadata(folder.newest[0])
        if metadata is None or metadata.properties.get(NAME_PROPERTY) != LAKE_TABLE:
            return True
    return False
