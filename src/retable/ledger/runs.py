"""Count runs that write: a run gets its number first in the catalog and then in the warehouse."""

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
    """Give a run its number; every writer calls this before its first commit.

    A new lake gets its identity. CatalogMismatch if the catalog is not the current one of this warehouse, or if an
    older Retable wrote the lake.
    """
    check_writable(lake)
    return _begin(lake, LAYOUT)


@contextmanager
def migrating(lake: Lake) -> Iterator[None]:
    """Give a lake the present layout, if the `with` block ends well.

    An older Retable stops from the beginning on, because the warehouse names the present layout before the catalog
    does. If the block fails, no process can write until it is done again. A lake without an identity gets one, if its
    catalog is the newest of its warehouse.
    """
    check_newest(lake)
    _begin(lake, OLDEST_LAYOUT)
    yield
    with explained(lake.settings.lake):
        set_layout(lambda: lake.load(LAKE_TABLE))
    end_run(lake)


def _begin(lake: Lake, layout: int) -> int:
    """Number a run; a lake without a record gets one with this `layout`."""
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
    """Count the writes of the `with` block as a run, and close the lake at its end."""
    begin_run(lake)
    try:
        yield lake
    finally:
        end_run(lake)


def end_run(lake: Lake) -> None:
    """Count what was written since the run began, and close the lake; a failed run ends in the same way.

    A failure here does not affect what the run did; the next run counts it.
    """
    with suppress(RetableError):
        begin_run(lake)
    with suppress(RetableError), explained(lake.settings.lake):
        close_lake(lake)


def _adopt(lake: Lake, warehouse: Warehouse, layout: int) -> None:
    """Give a lake its identity, and its tables their names; tables of gold get theirs with their next commit."""
    names = lake.names()
    for name in names:
        table = lake.load(name)
        if not warehouse.has(table.location()):
            if _is_own(table, name):
                raise CatalogMismatch(
                    f"the catalog {lake.settings.lake.catalog} has {name} at {table.location()}, not in the warehouse "
                    f"{warehouse.address}: correct `[lake] warehouse`; if the lake was moved or copied, `retable "
                    f"recover --as moved` or `--as copy`",
                    table=name,
                )
            continue
        folder = warehouse.table(table.location())
        known = table.metadata_location.rpartition("/")[2]
        if folder is not None and known not in (file.address.rpartition("/")[2] for file in folder.newest):
            raise CatalogMismatch(
                f"the catalog {lake.settings.lake.catalog} is older than the warehouse: {name} has the metadata "
                f"{folder.newest[0].address}, the catalog names {known}; restore the newest catalog, or "
                f"`retable recover` makes it again from the warehouse",
                table=name,
            )
    for name in names:
        if name.partition(".")[0] in _SYSTEM:
            with lake.load(name).transaction() as change:
                change.set_properties({NAME_PROPERTY: name})
    lake.ensure(LAKE_TABLE, to_properties(replace(new_record(lake.settings.lake), layout=layout)))


def _is_own(table: Table, name: str) -> bool:
    """Whether a table belongs to the lake; other tables may share its catalog."""
    return name.partition(".")[0] in _SYSTEM or "retable.identity" in table.properties
