"""A run that is about to write: it gets its number, first in the catalog and then in the warehouse."""

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
    """Give the run that is about to write its number; whoever writes calls this before its first commit.

    A new lake gets its identity. CatalogMismatch where the catalog is not the one that belongs to this warehouse now,
    or where an older Retable wrote the lake.
    """
    check_writable(lake)
    return _begin(lake, LAYOUT)


@contextmanager
def migrating(lake: Lake) -> Iterator[None]:
    """Let a lake have the present layout when what is done meanwhile has ended well.

    An older Retable stops from the beginning on: the warehouse names the present layout before the catalog does. Where
    this ends halfway nobody writes before it is done again. A lake from before identities gets one, if its catalog is
    the newest of its warehouse.
    """
    check_newest(lake)
    _begin(lake, OLDEST_LAYOUT)
    yield
    with explained(lake.settings.lake):
        set_layout(lambda: lake.load(LAKE_TABLE))
    end_run(lake)


def _begin(lake: Lake, layout: int) -> int:
    """Number a run, where the lake has `layout` if it has no record yet."""
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
    """Count what is written meanwhile as a run, and close the lake at its end."""
    begin_run(lake)
    try:
        yield lake
    finally:
        end_run(lake)


def end_run(lake: Lake) -> None:
    """Count what was written since the run began, and close the lake; a run that failed ends like one that did not.

    Whatever fails here has no bearing on what the run did: it is counted by the next one.
    """
    with suppress(RetableError):
        begin_run(lake)
    with suppress(RetableError), explained(lake.settings.lake):
        close_lake(lake)


def _adopt(lake: Lake, warehouse: Warehouse, layout: int) -> None:
    """Give a lake its identity, and its tables their names; those of gold get theirs with their next commit."""
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
    """Whether a table is one of the lake's; others may share its catalog."""
    return name.partition(".")[0] in _SYSTEM or "retable.identity" in table.properties
