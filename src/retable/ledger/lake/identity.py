"""The record of a lake, which is both in its warehouse and in its catalog, and the comparison of the two records.

A catalog or a warehouse may be lost, restored from a copy, or copied without the other. So both have a record with the
lake's ID and the number of its newest run. Every process that opens a lake compares the records before it writes or
removes anything. A run writes the catalog's record first. So a higher number in the catalog is no error: a run may
have died between the two writes.
"""

import json
import uuid
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from pyiceberg.exceptions import CommitFailedException
from pyiceberg.table import Table

from retable.errors import CatalogMismatch, ConflictError
from retable.ledger.lake.warehouse import Warehouse
from retable.settings.lake import LakeSettings

RECORD = "retable-lake.json"
"""The name of the file with the warehouse's record of the lake. It is in the top folder of the warehouse."""

LAYOUT, OLDEST_LAYOUT = 2, 1
"""The layout version that this Retable writes, and the oldest version that it reads and `retable migrate` upgrades.
In layout 2, cuts and watermark records have rows only for changes, statements are in separate tables, and rows of ops
have the number of their commit."""

LEFT_PROPERTY = "retable.left"
"""The property of a table that Retable removed from the catalog on purpose, while its files stay in the warehouse."""

_ID, _LAYOUT, _PLACE, _CATALOG, _RUN = (
    f"retable.lake.{name}" for name in ("id", "layout", "warehouse", "catalog", "run.")
)
_KEPT_RUNS, _ATTEMPTS = 10, 20
_ABOUT = "the record of a Retable lake: neither edit nor remove it; `retable recover` writes it again"
_RECOVER = "`retable recover` makes the catalog again from the warehouse"


@dataclass(frozen=True, slots=True)
class LakeRecord:
    """The record of a lake. The warehouse and the catalog each have one, to find out whether they belong together.

    `id` is the ID of the lake. `layout` is the version of the form of its tables. `place` is the address of the
    warehouse, `catalog` the address of the catalog, and `run` the number of the newest run.
    """

    id: str
    layout: int
    place: str
    catalog: str
    run: int


def read_record(warehouse: Warehouse) -> LakeRecord | None:
    """Read the record of a lake from its warehouse. Return None if the warehouse has no record.

    Raise CatalogMismatch if the file with the record is damaged.
    """
    content = warehouse.read(RECORD)
    if content is None:
        return None
    try:
        facts = json.loads(content)
        id, place, catalog = (str(facts[name]) for name in ("lake", "warehouse", "catalog"))
        return LakeRecord(id, int(facts["layout"]), place, catalog, int(facts["run"]))
    except (ValueError, KeyError, TypeError) as error:
        raise CatalogMismatch(
            f"the file {warehouse.address}/{RECORD} is damaged, so it is not known if the catalog is the newest one of "
            f"this warehouse; {_RECOVER} and writes that file",
            path=f"{warehouse.address}/{RECORD}",
        ) from error


def write_record(warehouse: Warehouse, record: LakeRecord) -> None:
    """Write the record of a lake to its warehouse, atomically."""
    facts = {
        "lake": record.id,
        "layout": record.layout,
        "warehouse": record.place,
        "catalog": record.catalog,
        "run": record.run,
        "about": _ABOUT,
    }
    warehouse.write(RECORD, (json.dumps(facts, indent=2, ensure_ascii=False) + "\n").encode())


def record_of(table: Table) -> LakeRecord:
    """Return the catalog's record of a lake, from the properties of the loaded table `ops.lake`."""
    properties = table.properties
    runs = [int(name.removeprefix(_RUN)) for name in properties if name.startswith(_RUN)]
    return LakeRecord(
        properties[_ID], int(properties[_LAYOUT]), properties[_PLACE], properties[_CATALOG], max(runs, default=0)
    )


def new_record(lake: LakeSettings, run: int = 0) -> LakeRecord:
    """Return a record for a new lake, with a new ID and the addresses in these settings.

    `run` is the number of the newest run: 0, or that of the original lake if its files were copied.
    """
    return LakeRecord(str(uuid.uuid4()), LAYOUT, str(lake.warehouse), str(lake.catalog), run)


def to_properties(record: LakeRecord) -> dict[str, str]:
    """Return the properties of the table `ops.lake` that represent a record in the catalog."""
    return {
        _ID: record.id,
        _LAYOUT: str(record.layout),
        _PLACE: record.place,
        _CATALOG: record.catalog,
        f"{_RUN}{record.run}": "begun",
    }


def count_run(load: Callable[[], Table], above: int = 0) -> LakeRecord:
    """Record a new run number in the catalog, and return the catalog's record with this number.

    `load` loads the table `ops.lake`, whose properties are the record. The new number is higher than every recorded
    number and than `above`. Each number is a property of its own, and the highest number counts. So a slow run that
    commits a low number late does not overwrite a higher number of another run. Raise ConflictError if other runs
    commit first, twenty times.
    """
    for _ in range(_ATTEMPTS):
        table = load()
        record = record_of(table)
        number = max(record.run, above) + 1
        old = [name for name in table.properties if _is_old(name, number)]
        if _changed(table, {f"{_RUN}{number}": "begun"}, old):
            return replace(record, run=number)
    raise ConflictError(f"this run could not start: other runs started first, {_ATTEMPTS} times; try again")


def set_layout(load: Callable[[], Table]) -> None:
    """Record in the catalog that all tables of the lake have the present layout. `load` loads the table `ops.lake`."""
    for _ in range(_ATTEMPTS):
        if _changed(load(), {_LAYOUT: str(LAYOUT)}):
            return
    raise ConflictError(
        f"the layout of the lake was not recorded: other runs wrote the catalog's record first, {_ATTEMPTS} times; try "
        f"again"
    )


def _changed(table: Table, properties: Mapping[str, str], removed: Iterable[str] = ()) -> bool:
    """Change properties of the catalog's record. Return False if another run changed the record first."""
    try:
        with table.transaction() as change:
            change.set_properties(dict(properties))
            change.remove_properties(*removed)
    except (CommitFailedException, KeyError):
        # pyiceberg raises KeyError if another run removed an old number first.
        return False
    return True


def _is_old(name: str, number: int) -> bool:
    return name.startswith(_RUN) and int(name.removeprefix(_RUN)) <= number - _KEPT_RUNS


def compare(
    lake: LakeSettings,
    warehouse: LakeRecord | None,
    catalog: LakeRecord | None,
    catalog_is_empty: Callable[[], bool],
    warehouse_has_tables: Callable[[], bool],
) -> int:
    """Return by how many runs the catalog is older than the warehouse; 0 in a healthy lake.

    `warehouse` and `catalog` are the lake's records in the warehouse and in the catalog; None if there is no record.
    `catalog_is_empty` returns whether the catalog has no tables, and `warehouse_has_tables` whether the warehouse has
    any. They are called only if a record is missing. The caller must call `check_place` first.

    Raise CatalogMismatch if the two records have different IDs, or if only the warehouse has a record: then the catalog
    was lost. If only the catalog has a record, raise it if this record names another warehouse. If there is no record
    at all, raise it if the warehouse has tables and the catalog has none. In all other cases without a record in the
    warehouse, such as a new lake, return 0.
    """
    here = str(lake.warehouse)
    if warehouse is None:
        if catalog is None:
            if catalog_is_empty() and warehouse_has_tables():
                raise CatalogMismatch(
                    f"the catalog {lake.catalog} has no tables, but the warehouse {here} has tables: the catalog was "
                    f"lost, or the settings name another catalog; correct `[lake] catalog`, or restore the newest "
                    f"backup of the catalog; else {_RECOVER}"
                )
        elif not is_same_place(catalog.place, here):
            raise CatalogMismatch(
                f"the catalog {lake.catalog} belongs to the warehouse {catalog.place}, but the settings name the "
                f"warehouse {here}; correct `[lake] warehouse`; if the files were moved to {here}, put {RECORD} there, "
                f"too, and run `retable recover --as moved`"
            )
        return 0
    if catalog is None:
        state = "has no tables" if catalog_is_empty() else "has no record of this lake"
        raise CatalogMismatch(
            f"the catalog {lake.catalog} {state}, but the warehouse {here} has {warehouse.run:,} runs: the catalog was "
            f"lost or replaced, or the settings name another catalog; correct `[lake] catalog`; else {_RECOVER}",
            runs=warehouse.run,
        )
    if catalog.id != warehouse.id:
        raise CatalogMismatch(
            f"the catalog {lake.catalog} belongs to another lake ({catalog.id}) than the warehouse {here} "
            f"({warehouse.id}); correct `catalog` or `warehouse` in `[lake]` of the settings"
        )
    return max(0, warehouse.run - catalog.run)


def older(lake: LakeSettings, runs: int) -> str:
    """Return the message for a catalog that is `runs` runs older than its warehouse."""
    return (
        f"the catalog {lake.catalog} is older than the warehouse {lake.warehouse} by {runs:,} runs: it was restored "
        f"from a copy, and does not have the newest tables and rows; {_RECOVER}"
    )


def too_old(lake: LakeSettings, layout: int) -> str:
    """Return the message for a lake that has an older layout version. It says how to upgrade the lake."""
    return (
        f"the lake at {lake.warehouse} was written by an older Retable (layout {layout}, this one writes {LAYOUT}); it "
        f"can be read as it is; `retable migrate` upgrades it, `retable migrate --dry-run` shows how much work that is"
    )


def is_same_place(one: str, other: str) -> bool:
    """Return whether two addresses name the same folder, perhaps by different paths, or the same prefix of a bucket."""
    if one == other:
        return True
    try:
        return Path(one).samefile(other)
    except OSError:
        return False


def check_place(record: LakeRecord, here: str) -> None:
    """Check that a warehouse's record fits this Retable and the present address of the warehouse, `here`.

    Raise CatalogMismatch if the record names another address, or a newer layout than this Retable supports.
    """
    if record.layout > LAYOUT:
        raise CatalogMismatch(
            f"the lake at {here} was written by a newer Retable (layout {record.layout}, this one supports {LAYOUT}); "
            f"install the newer version",
            layout=record.layout,
        )
    if not is_same_place(record.place, here):
        raise CatalogMismatch(
            f"the lake at {here} was copied or moved from {record.place}, and its tables still name their files there; "
            f"run `retable recover --as moved` if the lake is now only here, or `retable recover --as copy` if both "
            f"lakes stay in use",
            place=record.place,
        )
