"""Number the runs that write to a lake. Each run records its number first in the catalog and then in the warehouse."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace

from pyiceberg.table import Table

from retable.errors import CatalogMismatch, RetableError
from retable.ledger.lake.catalog import Lake, check_newest, check_writable, close_lake
from retable.ledger.lake.error_translation import explained
from retable.ledger.lake.identity import (
    LAYOUT,
    OLDEST_LAYOUT,
    count_run,
    new_record,
    set_layout,
    to_properties,
    write_record,
)
from retable.ledger.lake.warehouse import LAKE_TABLE, LAYERS, NAME_PROPERTY, Warehouse

_SYSTEM = frozenset(LAYERS) - {"gold"}


def begin_run(lake: Lake) -> int:
    """Record a new run number in the catalog and in the warehouse, and return it.

    Every writer calls this before its first commit. A new lake also gets its ID. Raise CatalogMismatch if the catalog
    is not the newest catalog of this warehouse, or if an older Retable wrote the lake.
    """
    check_writable(lake)
    return _begin(lake, LAYOUT)


@contextmanager
def migrating(lake: Lake) -> Iterator[None]:
    """Record that a lake has the present layout, if the `with` block ends well.

    The warehouse names the present layout before the block starts, so from then on an older Retable refuses the lake.
    If the block fails, no process can write until the migration is run again. A lake without an ID gets an ID. Raise
    CatalogMismatch if the catalog is older than the warehouse.
    """
    check_newest(lake)
    _begin(lake, OLDEST_LAYOUT)
    yield
    with explained(lake.settings.lake):
        set_layout(lambda: lake.load(LAKE_TABLE))
    end_run(lake)


def _begin(lake: Lake, layout: int) -> int:
    """Give a run its number. A lake without a record gets a record with this `layout`."""
    settings = lake.settings.lake
    with explained(settings):
        warehouse = Warehouse(settings)
        if lake.find(LAKE_TABLE) is None:
            _adopt(lake, warehouse, layout)
        record = count_run(lambda: lake.load(LAKE_TABLE))
        here = replace(record, layout=LAYOUT, place=str(settings.warehouse), catalog=str(settings.catalog))
        write_record(warehouse, here)
    return record.run


@contextmanager
def counted(lake: Lake) -> Iterator[Lake]:
    """Run the `with` block as one numbered run (`begin_run`), and close the lake when the block ends."""
    begin_run(lake)
    try:
        yield lake
    finally:
        end_run(lake)


def end_run(lake: Lake) -> None:
    """Raise the run number once more, and close the lake. A run calls this at its end, also if it failed.

    So a copy of the catalog that was made during the run has a lower number than the warehouse, and counts as too old.
    An error here is ignored, because it does not change what the run did, and the next run raises the number.
    """
    with suppress(RetableError):
        begin_run(lake)
    with suppress(RetableError), explained(lake.settings.lake):
        close_lake(lake)


def _adopt(lake: Lake, warehouse: Warehouse, layout: int) -> None:
    """Give a lake its identity, and write the name of each system table into a property of the table.

    A gold table gets this property with its next commit. Raise CatalogMismatch if a table is outside the warehouse, or
    if the catalog names older metadata than the warehouse has.
    """
    names = lake.names()
    for name in names:
        table = lake.load(name)
        if not warehouse.has(table.location()):
            if _is_own(table, name):
                raise CatalogMismatch(
                    f"the catalog {lake.settings.lake.catalog} has {name} at {table.location()}, which is not in the "
                    f"warehouse {warehouse.address}; correct `[lake] warehouse`; if the lake was moved or copied, run "
                    f"`retable recover --as moved` or `retable recover --as copy`",
                    table=name,
                )
            continue
        folder = warehouse.table(table.location())
        known = table.metadata_location.rpartition("/")[2]
        if folder is not None and known not in (file.address.rpartition("/")[2] for file in folder.newest):
            raise CatalogMismatch(
                f"the catalog {lake.settings.lake.catalog} is older than the warehouse: {name} has the metadata file "
                f"{folder.newest[0].address}, but the catalog names {known}; restore the newest backup of the catalog, "
                f"or run `retable recover`, which makes the catalog again from the warehouse",
                table=name,
            )
    for name in names:
        if name.partition(".")[0] in _SYSTEM:
            with lake.load(name).transaction() as change:
                change.set_properties({NAME_PROPERTY: name})
    lake.ensure(LAKE_TABLE, to_properties(replace(new_record(lake.settings.lake), layout=layout)))


def _is_own(table: Table, name: str) -> bool:
    """Return whether a table belongs to the lake; tables that are not Retable's may be in the same catalog."""
    return name.partition(".")[0] in _SYSTEM or "retable.identity" in table.properties
