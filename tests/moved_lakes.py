"""What stands in the files of a table, for tests of lakes that were moved."""

import gzip
import io
import shutil
from collections.abc import Iterator
from pathlib import Path

import fastavro
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.io import FileIO
from pyiceberg.io.pyarrow import PyArrowFileIO
from pyiceberg.table import Table

from retable.ledger.relocation.addresses import plain
from retable.ledger.relocation.tables import Relocated, relocate_table


def files_below(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def metadata_below(folder: Path) -> Iterator[tuple[str, bytes]]:
    """Give what metadata files and vectors say, unpacked; of Avro the header too."""
    for name, data in files_below(folder).items():
        if name.endswith(".avro"):
            reader = fastavro.reader(io.BytesIO(data))
            yield name, repr((reader.metadata, list(reader))).encode()
        elif name.endswith((".json", ".puffin", ".stats")):
            yield name, gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data


def newest(table: Table, old: Path, new: Path) -> str:
    """The table's metadata file, where it lies now."""
    return str(new / Path(plain(table.metadata_location)).relative_to(old))


def copied(lake: Path, to: Path) -> Path:
    shutil.copytree(lake, to, copy_function=shutil.copy2)
    return to


def relocate(table: Table, old: Path, new: Path, by: FileIO | None = None) -> Relocated:
    return relocate_table(by or PyArrowFileIO(), newest(table, old, new), str(old), str(new))


def registered(folder: Path, metadata: str) -> Table:
    """The table of a metadata file, in a catalog of its own."""
    catalog = SqlCatalog("moved", uri=f"sqlite:///{folder}/moved.db", warehouse=str(folder))
    catalog.create_namespace("moved")
    return catalog.register_table("moved.orders", metadata)
