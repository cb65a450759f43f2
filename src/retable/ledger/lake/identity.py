"""The record of a lake in its warehouse and in its catalog, and the meaning of a difference between the two.

Either may be lost, restored from a copy, or copied without the other. So each has the lake's id and the number of its
newest run, and every process that opens a lake compares the two before it writes or removes anything. The catalog is
written first: a catalog ahead of the warehouse is healthy, because a run may have died between the two writes.
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
"""The warehouse's record of the lake: a file directly in the warehouse."""

LAYOUT, OLDEST_LAYOUT = 2, 1
"""The layout version that this Retable writes, and the oldest that it reads and that `retable migrate` upgrades. 2:
cuts and watermark records of changes only, statements in separate tables, rows of ops with their commit."""

LEFT_PROPERTY = "retable.left"
"""Set on a table that was taken out of the catalog on purpose, while its files stay."""

_ID, _LAYOUT, _PLACE, _CATALOG, _RUN = (
    f"retable.lake.{name}" for name in ("id", "layout", "warehouse", "catalog", "run.")
)
_KEPT_RUNS, _ATTEMPTS = 10, 20
_ABOUT = "the record of a Retable lake: neither edit nor remove it; `retable recover` writes it again"
_RECOVER = "`retable recover` makes the catalog again from the warehouse"


@dataclass(frozen=True, slots=True)
class LakeRecord:
    """The record of a lake as its warehouse or its catalog has it.

    The lake's id, the version of its layout, the addresses of its warehouse and of its catalog, and the number of its
    newest run.
    """

    id: str
    layout: int
    place: str
    catalog: str
    run: int


def read_record(warehouse: Warehouse) -> LakeRecord | None:
    """Read the warehouse's record; None if it has none, CatalogMismatch if the file is damaged."""
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
    """Write the warehouse's record atomically."""
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
    """Read the catalog's record from the table that holds it."""
    properties = table.properties
    runs = [int(name.removeprefix(_RUN)) for name in properties if name.startswith(_RUN)]
    return LakeRecord(
        properties[_ID], int(properties[_LAYOUT]), properties[_PLACE], properties[_CATALOG], max(runs, default=0)
    )


def new_record(lake: LakeSettings, run: int = 0) -> LakeRecord:
    """The record of a new lake at the addresses of these settings."""
    return LakeRecord(str(uuid.uuid4()), LAYOUT, str(lake.warehouse), str(lake.catalog), run)


def to_properties(record: LakeRecord) -> dict[str, str]:
    """Render a record as table properties for the catalog."""
    return {
        _ID: record.id,
        _LAYOUT: str(record.layout),
        _PLACE: record.place,
        _CATALOG: record.catalog,
        f"{_RUN}{record.run}": "begun",
    }


def count_run(load: Callable[[], Table], above: int = 0) -> LakeRecord:
    """Give the next run its number in the catalog, one that is higher than `above`.

    Each number is a separate property and the highest counts. So a slow writer cannot undo what another writer wrote
    meanwhile, with any catalog.
    """
    for _ in range(_ATTEMPTS):
        table = load()
        record = record_of(table)
        number = max(record.run, above) + 1
        old = [name for name in table.properties if _is_old(name, number)]
        if _changed(table, {f"{_RUN}{number}": "begun"}, old):
            return replace(record, run=number)
    raise ConflictError(f"the catalog: other runs took their numbers first, {_ATTEMPTS} times; try again")


def set_layout(load: Callable[[], Table]) -> None:
    """Record in the catalog that all tables of the lake have the present layout."""
    for _ in range(_ATTEMPTS):
        if _changed(load(), {_LAYOUT: str(LAYOUT)}):
            return
    raise ConflictError(f"the catalog: other runs wrote its record first, {_ATTEMPTS} times; try again")


def _changed(table: Table, properties: Mapping[str, str], removed: Iterable[str] = ()) -> bool:
    """Change the catalog's record; False if another run changed it first."""
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
    """Give by how many runs the catalog is older than the warehouse: 0 in a healthy lake and in one without records.

    The caller has checked that the warehouse is where its record says (`check_place`). CatalogMismatch if the two do
    not belong together, or one of them is lost.
    """
    here = str(lake.warehouse)
    if warehouse is None:
        if catalog is None:
            if catalog_is_empty() and warehouse_has_tables():
                raise CatalogMismatch(
                    f"the catalog {lake.catalog} has no tables, but the warehouse {here} has: the catalog was lost, or "
                    f"the settings name another one; correct `[lake] catalog`, restore the newest backup, or {_RECOVER}"
                )
        elif not is_same_place(catalog.place, here):
            raise CatalogMismatch(
                f"the catalog {lake.catalog} belongs to the warehouse {catalog.place}, the settings name {here}; "
                f"correct `[lake] warehouse`; if the files were moved there, put {RECORD} next to them and run "
                f"`retable recover --as moved`"
            )
        return 0
    if catalog is None:
        state = "has no tables" if catalog_is_empty() else "does not know this lake"
        raise CatalogMismatch(
            f"the catalog {lake.catalog} {state}, but the warehouse {here} has {warehouse.run:,} runs: the catalog was "
            f"lost or replaced, or the settings name another one; correct `[lake] catalog`, or {_RECOVER}",
            runs=warehouse.run,
        )
    if catalog.id != warehouse.id:
        raise CatalogMismatch(
            f"the catalog {lake.catalog} belongs to another lake ({catalog.id}) than the warehouse {here} "
            f"({warehouse.id}); correct `[lake]` of the settings"
        )
    return max(0, warehouse.run - catalog.run)


def older(lake: LakeSettings, runs: int) -> str:
    """The message that the catalog is older than the warehouse, and what that means."""
    return (
        f"the catalog {lake.catalog} is older than the warehouse {lake.warehouse} by {runs:,} runs: it was restored "
        f"from a copy, and does not know the newest tables and rows; {_RECOVER}"
    )


def too_old(lake: LakeSettings, layout: int) -> str:
    """The message that a lake has an older layout, and how to upgrade it."""
    return (
        f"the lake at {lake.warehouse} was written by an older Retable (layout {layout}, this one writes {LAYOUT}); it "
        f"can be read as it is; `retable migrate` upgrades it, `retable migrate --dry-run` shows how much work that is"
    )


def is_same_place(one: str, other: str) -> bool:
    """Whether two addresses are the same folder, by any path, or the same prefix of a bucket."""
    if one == other:
        return True
    try:
        return Path(one).samefile(other)
    except OSError:
        return False


def check_place(record: LakeRecord, here: str) -> None:
    """Check that a warehouse's record names this storage location, and a layout that this Retable knows."""
    if record.layout > LAYOUT:
        raise CatalogMismatch(
            f"the lake at {here} was written by a newer Retable (layout {record.layout}, this one knows {LAYOUT}); "
            f"install that version",
            layout=record.layout,
        )
    if not is_same_place(record.place, here):
        raise CatalogMismatch(
            f"the lake at {here} was copied or moved from {record.place}, and its tables still name their files there; "
            f"run `retable recover --as moved` if this is the only one left, `retable recover --as copy` if both stay "
            f"in use",
            place=record.place,
        )
