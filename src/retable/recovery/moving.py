"""Rewrite the addresses of a lake in place after it was moved or copied."""

from collections.abc import Callable
from dataclasses import dataclass

from retable.errors import CatalogMismatch, InvalidSetting
from retable.ledger.lake.identity import RECORD, LakeRecord, is_same_place, new_record, read_record
from retable.ledger.lake.warehouse import Warehouse
from retable.ledger.relocation.tables import relocate_table
from retable.settings.lake import LakeSettings


@dataclass(frozen=True, slots=True)
class Rewritten:
    """The result of a rewrite: the number of changed files, and the files that others name but that do not exist."""

    files: int
    missing: tuple[str, ...]


def check_move(lake: LakeSettings, record: LakeRecord | None, is_copy: bool) -> tuple[str, LakeRecord]:
    """Check that a warehouse is not at the address in its record; give that address, and the new record.

    InvalidSetting if it was not moved, if both locations would be one lake, or if a copy would take the catalog of the
    lake that it was copied from.
    """
    here = str(lake.warehouse)
    if record is None:
        raise InvalidSetting(f"the warehouse {here} has no {RECORD}: its old location is not known")
    if is_same_place(record.place, here):
        raise InvalidSetting(f"the lake at {here} was neither moved nor copied; run `retable recover` without --as")
    if not is_copy:
        other = _record_at(lake, record.place)
        if other is not None and other.id == record.id:
            raise InvalidSetting(
                f"the lake at {record.place} is still there, so the one at {here} is a copy of it; "
                f"`retable recover --as copy`, or remove that one first"
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
    """Rewrite the addresses of all tables of a warehouse that was at `old`; if it is killed, run it again.

    If the newest metadata file of a table is damaged, the newest readable one is used.
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
