"""Make the catalog of a lake again from the tables in its warehouse."""

import json
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from pyiceberg.exceptions import NamespaceAlreadyExistsError, NoSuchTableError

from retable.errors import RetableError
from retable.gold.damage import LACKS_COMMITS
from retable.gold.read import find_gold
from retable.ledger.lake.catalog import Lake, close_lake, connect, layout_of, locations, open_lake_to_read
from retable.ledger.lake.data_files import FORMER_LOCATION
from retable.ledger.lake.error_translation import explained
from retable.ledger.lake.identity import LakeRecord, count_run, record_of, to_properties, write_record
from retable.ledger.lake.sqlite_file import use_write_ahead_log
from retable.ledger.lake.warehouse import LAKE_TABLE, Warehouse
from retable.ledger.rows import TableRow
from retable.ledger.write import append_rows
from retable.recovery.tables import moved
from retable.replay.record import table_row
from retable.settings.catalogs import SqliteCatalog
from retable.settings.load import Settings


def known_tables(settings: Settings) -> dict[str, str]:
    """Return the address of the metadata file that the present catalog names for each table, by table name.

    The result is empty if the catalog is lost or damaged.
    """
    try:
        lake = open_lake_to_read(settings)
        with explained(settings.lake):
            known = locations(lake.catalog)
            return {name: lake.load(name).metadata_location for name in lake.names()} if known is None else known
    except RetableError:
        return {}


def adopt(
    settings: Settings,
    tables: Mapping[str, str],
    record: LakeRecord | None,
    now: datetime,
    on_progress: Callable[[str], None] = lambda _: None,
    former: str | None = None,
    lacking: Collection[str] = (),
) -> Path | None:
    """Register tables in the catalog, and write the record of the lake with a new run number.

    The record has the lake's ID, its addresses, and the number of its newest run. It is stored in the warehouse and in
    the catalog. `tables` has the address of the metadata file of each table, by table name.

    A SQLite catalog is made as a new file with exactly these tables. Return the file to which the former catalog was
    renamed, or None if there was no former catalog. In any other catalog the tables are registered one by one, and the
    result is None; after a failure, call the function again.

    `record` is the record of the lake in the warehouse, or None if it has none. `former` is the address of the
    warehouse before it was moved or copied, or None. The gold tables in `lacking` have lost their last commits, so they
    are recorded as held (Retable applies no more changes to them). `on_progress` is called with each table's name.
    """
    if isinstance(settings.lake.catalog, SqliteCatalog):
        kept = _adopt_in_new_file(settings, settings.lake.catalog.file, tables, now, on_progress, former)
    else:
        kept = None
        _register(Lake(settings, connect(settings.lake)), tables, on_progress, former)
    _count(settings, record, lacking, now)
    return kept


def _adopt_in_new_file(
    settings: Settings,
    file: Path,
    tables: Mapping[str, str],
    now: datetime,
    on_progress: Callable[[str], None],
    former: str | None,
) -> Path | None:
    part = file.with_name(f"{file.name}.recovered")
    file.parent.mkdir(parents=True, exist_ok=True)
    _files(part, lambda path: path.unlink())
    use_write_ahead_log(part)
    in_file = settings.lake.model_copy(update={"catalog": SqliteCatalog(part)})
    lake = Lake(settings.model_copy(update={"lake": in_file}), connect(in_file))
    _register(lake, tables, on_progress, former)
    close_lake(lake)
    kept = file.with_name(f"{file.name}.before-{now:%Y%m%dT%H%M%SZ}")
    has_former = file.exists()
    _files(file, lambda path: path.rename(f"{kept}{str(path).removeprefix(str(file))}"))
    _files(part, lambda path: path.rename(f"{file}{str(path).removeprefix(str(part))}"))
    return kept if has_former else None


def _files(file: Path, act: Callable[[Path], object]) -> None:
    """Call `act` for each existing file of a SQLite catalog: `file` itself and its write-ahead log."""
    for suffix in ("-wal", "-shm", ""):
        if (path := Path(f"{file}{suffix}")).exists():
            act(path)


def _register(lake: Lake, tables: Mapping[str, str], on_progress: Callable[[str], None], former: str | None) -> None:
    with explained(lake.settings.lake):
        for name, address in tables.items():
            on_progress(name)
            with suppress(NamespaceAlreadyExistsError):
                lake.catalog.create_namespace(name.partition(".")[0])
            with suppress(NoSuchTableError):
                lake.catalog.drop_table(name)
            table = lake.catalog.register_table(name, address)
            if former is not None and name.startswith("silver.") and FORMER_LOCATION not in table.properties:
                was = moved(table.location(), str(lake.settings.lake.warehouse), former)
                with table.transaction() as change:
                    change.set_properties({FORMER_LOCATION: json.dumps([was])})


def _held(lake: Lake, name: str, now: datetime) -> TableRow:
    _, state = find_gold(lake, name)
    return table_row(state.source, name, replace(state, state="held", hold=LACKS_COMMITS), None, now)


def _count(settings: Settings, record: LakeRecord | None, lacking: Collection[str], now: datetime) -> None:
    """Write the same record of the lake to the catalog and the warehouse, with the present addresses and a new run.

    Also record the gold tables in `lacking` as held. The ID of the lake is that of the warehouse's record. The lake of
    an older Retable may have no record; then its next run makes one.
    """
    lake = Lake(settings, connect(settings.lake))
    append_rows(lake, [_held(lake, name, now) for name in lacking])
    with explained(settings.lake):
        table = lake.find(LAKE_TABLE)
        recorded = None if table is None else record_of(table)
        right = record or recorded
        if right is None:
            return
        newest = max(right.run, recorded.run if recorded else 0)
        # Until a migration has ended, the tables name the former layout.
        layout = min(right.layout, layout_of(lake))
        here = LakeRecord(right.id, layout, str(settings.lake.warehouse), str(settings.lake.catalog), newest)
        with lake.ensure(LAKE_TABLE, to_properties(here)).transaction() as change:
            change.set_properties(to_properties(here))
        counted = count_run(lambda: lake.load(LAKE_TABLE), above=newest)
        write_record(Warehouse(settings.lake), replace(counted, layout=right.layout))
    close_lake(lake)
