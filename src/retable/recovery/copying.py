"""Copy a lake to another storage location, as a separate lake, even while runs write to the original lake."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from retable.errors import InvalidSetting, NotFound
from retable.ledger.lake.catalog import Lake
from retable.ledger.lake.error_translation import explained
from retable.ledger.lake.identity import new_record, read_record, write_record
from retable.ledger.lake.warehouse import Warehouse, has_tables, plain_path
from retable.ledger.relocation.tables import addresses, relocate_table
from retable.recovery.adopt import adopt
from retable.recovery.tables import moved
from retable.settings.catalogs import SqliteCatalog
from retable.settings.lake import LakeSettings
from retable.settings.load import Settings
from retable.settings.storage import Bucket, StorageLocation

CATALOG_FILE = "catalog.db"
_THREADS = 8
_FIRST, _LAST = "ops", "ops.windows"


@dataclass(frozen=True, slots=True)
class Copied:
    """The result of copying a lake: the numbers of copied tables and files, and the `[lake]` settings of the copy.

    If `has_catalog` is False, the copy has no catalog yet: `retable recover` makes it.
    """

    tables: int
    files: int
    settings: LakeSettings
    has_catalog: bool


def check_destination(lake: Lake, to: StorageLocation) -> Warehouse:
    """Check the destination `to` for a copy of a lake, and return the (empty) warehouse there.

    Raise InvalidSetting in these cases: the destination has a lake already; the destination or the lake's warehouse
    contains the other; or one of the two is a folder and the other is in a bucket.
    """
    here, there = str(lake.settings.lake.warehouse), str(to)
    if f"{there}/".startswith(f"{here}/") or f"{here}/".startswith(f"{there}/"):
        raise InvalidSetting(f"the destination {there} and the lake's warehouse {here} overlap; name another location")
    if isinstance(to, Bucket) != isinstance(lake.settings.lake.warehouse, Bucket):
        raise InvalidSetting(
            f"the destination {there} and the lake's warehouse {here} must both be folders, or both be in a bucket"
        )
    warehouse = Warehouse(lake.settings.lake, there)
    if read_record(warehouse) is not None or has_tables(warehouse):
        raise InvalidSetting(f"the destination {there} has a lake already; name an empty location")
    return warehouse


def copy_lake(
    lake: Lake, to: StorageLocation, now: datetime, on_progress: Callable[[str], None] = lambda _: None
) -> Copied:
    """Copy all tables of a lake to `to` in their present state, with all snapshots, and give the copy a new lake ID.

    The tables are read in the reverse of the order in which a run writes them. So the copy is like a lake in which a
    run died, and the next run completes it. A copy in a folder gets a SQLite catalog, `catalog.db`. For a copy in a
    bucket, a person must name a catalog in the settings, and `retable recover` fills it.
    """
    settings = lake.settings.lake
    source, target = Warehouse(settings), check_destination(lake, to)
    with explained(settings):
        metadata = dict(_newest(lake, source))
        count = 0
        for name, address in metadata.items():
            on_progress(name)
            count += _copy_table(source, target, address)
            relocate_table(target.io, moved(address, source.address, target.address), source.address, target.address)
    copy = settings.model_copy(update={"warehouse": to, "catalog": _catalog(to, settings)})
    addresses = {name: moved(address, source.address, target.address) for name, address in metadata.items()}
    record = new_record(copy)
    if isinstance(copy.catalog, SqliteCatalog) and isinstance(to, Path):
        adopt(_with(lake.settings, copy), addresses, record, now, on_progress, source.address)
    else:
        write_record(target, record)
    return Copied(len(metadata), count, copy, isinstance(to, Path))


def _newest(lake: Lake, source: Warehouse) -> Iterator[tuple[str, str]]:
    """Yield name and metadata file of every table in the warehouse, in the order in which the tables are copied."""
    for name in sorted(lake.names(), key=_order):
        table = lake.find(name)
        if table is not None and source.has(table.location()):
            yield name, str(table.metadata_location)


def _order(name: str) -> tuple[int, str]:
    """Return the key that sorts tables for copying: first ops, then the tables that ops refers to, last ops.windows."""
    layers = (_FIRST, "gold", "quarantine", "statements", "silver", "bronze")
    layer = name.partition(".")[0]
    return len(layers) if name == _LAST else layers.index(layer if layer in layers else "gold"), name


def _copy_table(source: Warehouse, target: Warehouse, metadata: str) -> int:
    def copy(address: str) -> bool:
        if not source.has(address):
            raise NotFound(f"{metadata} names the file {address}, which is not in the warehouse {source.address}")
        return target.take(source, plain_path(address), plain_path(moved(address, source.address, target.address)))

    with ThreadPoolExecutor(_THREADS) as pool:
        return sum(pool.map(copy, addresses(source.io, metadata)))


def _catalog(to: StorageLocation, settings: LakeSettings) -> object:
    return SqliteCatalog(to / CATALOG_FILE) if isinstance(to, Path) else settings.catalog


def _with(settings: Settings, lake: LakeSettings) -> Settings:
    return settings.model_copy(update={"lake": lake})
