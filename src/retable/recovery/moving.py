"""Rewrite the file addresses in the metadata of a lake, after the lake was moved or copied to another location."""

from collections.abc import Callable
from dataclasses import dataclass

from retable.errors import CatalogMismatch, InvalidSetting
from retable.ledger.lake.identity import RECORD, LakeRecord, is_same_place, new_record, read_record
from retable.ledger.lake.warehouse import Warehouse
from retable.ledger.relocation.tables import relocate_table
from retable.settings.lake import LakeSettings


@dataclass(frozen=True, slots=True)
class Rewritten:
    """The result of `rewrite_addresses`: the number of changed files, and the missing files that metadata names."""

    files: int
    missing: tuple[str, ...]


def check_move(lake: LakeSettings, record: LakeRecord | None, is_copy: bool) -> tuple[str, LakeRecord]:
    """Check that a lake was moved or copied. Return the old address of its warehouse, and its new record.

    A record has the lake's ID, its addresses, and the number of its newest run. `record` is the record in the
    warehouse, still with the old addresses. The new record has the present addresses and, if `is_copy`, a new lake ID.
    `is_copy` says that the lake was copied, and not moved.
    Raise InvalidSetting in these cases: there is no record; the warehouse is still at the old address; the lake was
    moved, but the old lake still exists; or the copy would use the catalog of the original lake.
    """
    here = str(lake.warehouse)
    if record is None:
        raise InvalidSetting(
            f"the warehouse {here} has no file {RECORD}, so its old location is not known; copy that file from the old "
            f"location"
        )
    if is_same_place(record.place, here):
        raise InvalidSetting(f"the lake at {here} was neither moved nor copied; run `retable recover` without --as")
    if not is_copy:
        other = _record_at(lake, record.place)
        if other is not None and other.id == record.id:
            raise InvalidSetting(
                f"the lake at {record.place} is still there, so the lake at {here} is a copy of it; run `retable "
                f"recover --as copy`, or first remove the lake at {record.place}"
            )
        return record.place, LakeRecord(record.id, record.layout, here, str(lake.catalog), record.run)
    if str(lake.catalog) == record.catalog:
        raise InvalidSetting(
            f"the catalog {lake.catalog} belongs to the lake at {record.place}; name a separate catalog for the copy "
            f"in `[lake] catalog`"
        )
    return record.place, new_record(lake, record.run)


def _record_at(lake: LakeSettings, address: str) -> LakeRecord | None:
    try:
        return read_record(Warehouse(lake, address))
    except (CatalogMismatch, OSError):
        return None


def rewrite_addresses(warehouse: Warehouse, old: str, on_progress: Callable[[str], None] = lambda _: None) -> Rewritten:
    """Rewrite the file addresses in the metadata of all tables of a warehouse that was at the address `old`.

    If the function is killed, call it again. If the newest metadata file of a table is damaged, it uses the newest
    readable metadata file. `on_progress` is called with the folder of each table.
    """
    written, missing = 0, set[str]()
    for folder in warehouse.tables():
        on_progress(folder.address)
        sound = [file for file in folder.metadata if warehouse.metadata(file) is not None]
        for file in [each for each in sound if each.version == sound[0].version]:
            done = relocate_table(warehouse.io, file.address, old, warehouse.address)
            written += done.written
            missing |= set(done.missing)
    return Rewritten(written, tuple(sorted(missing)))
