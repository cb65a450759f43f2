"""A lake at another place than its tables say: their addresses are rewritten, in place."""

from collections.abc import Callable
from dataclasses import dataclass

from retable.errors import CatalogMismatch, InvalidSetting
from retable.ledger.lake.identity import RECORD, LakeRecord, is_same_place, new_record, read_record
from retable.ledger.lake.warehouse import Warehouse
from retable.ledger.relocation.tables import relocate_table
from retable.settings.lake import LakeSettings


@dataclass(frozen=True, slots=True)
class Rewritten:
    """What was rewritten: how many files, and which are named by others and are not there."""

    files: int
    missing: tuple[str, ...]


def check_move(lake: LakeSettings, record: LakeRecord | None, is_copy: bool) -> tuple[str, LakeRecord]:
    """Check that a warehouse stands at another place than its record says; gives that place, and its new record.

    InvalidSetting where it does not, where both places would be one lake, or where a copy would take the catalog of
    the lake that it was copied from.
    """
    here = str(lake.warehouse)
    if record is None:
        raise InvalidSetting(f"the warehouse {here} has no {RECORD}: nothing tells where it stood before")
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
            f"the catalog {lake.catalog} belongs to the lake at {record.place}; name a catalog of its own for the copy "
            f"in `[lake] catalog`"
        )
    return record.place, new_record(lake, record.run)


def _record_at(lake: LakeSettings, address: str) -> LakeRecord | None:
    try:
        return read_record(Warehouse(lake, address))
    except (CatalogMismatch, OSError):
        return None


def rewrite_addresses(warehouse: Warehouse, old: str, on_progress: Callable[[str], None] = lambda _: None) -> Rewritten:
    """Rewrite the addresses of all tables of a warehouse that stood at `old`; killed, it is done again.

    Of a table whose newest metadata file is damaged the newest sound one is taken.
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
