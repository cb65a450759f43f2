"""A gold table of which a file cannot be read: which file it is, and the hold that says so."""

from retable.errors import DamagedFile, RetableError
from retable.ledger.catalog import Lake
from retable.ledger.damage import without_remedy
from retable.ledger.faults import explained, spark_explained
from retable.ledger.warehouse import plain_path
from retable.replay.history import Hold

DAMAGED = "DAMAGED"
REMEDY_DAMAGED = (
    "retable hold release TABLE --rebuild --reason ...; where a copy of the lake has the file, put it back, then: "
    "retable hold release TABLE --retry --reason ..."
)


def damaged_hold(error: DamagedFile) -> Hold:
    """The hold of a table with such a file: it stops as it is."""
    return Hold(DAMAGED, without_remedy(error), None, None, None, REMEDY_DAMAGED)


def find_damage(lake: Lake, name: str, failure: Exception) -> DamagedFile | None:
    """Find the file of a table for which something failed so; None where it failed for something else.

    Where the failure names no file, all of the table are read: of Java's errors many tell neither file nor damage.
    """
    told = _told(lake, failure)
    if isinstance(told, RetableError) and not isinstance(told, DamagedFile):
        return None
    table = lake.find(name)
    if table is None:
        return None
    if told is not None and "path" in told.facts:
        mine = plain_path(str(told.facts["path"])).startswith(f"{plain_path(table.location())}/")
        return told if mine else None
    try:
        with explained(lake.settings.lake):
            for _ in table.scan().to_arrow_batch_reader():
                pass
    except DamagedFile as found:
        return found
    return None


def damaged_window(lake: Lake, source: str, error: DamagedFile) -> str | None:
    """The window of silver of which a damaged file is; None where it is none of silver's."""
    found = find_damage(lake, name := f"silver.{source}", error)
    if found is None:
        return None
    path = plain_path(str(found.facts["path"]))
    with explained(lake.settings.lake):
        files = (task.file for task in lake.load(name).scan().plan_files())
        return next((str(file.partition[0]) for file in files if plain_path(file.file_path) == path), None)


def _told(lake: Lake, failure: Exception) -> RetableError | None:
    try:
        with spark_explained(lake.settings.lake):
            raise failure
    except RetableError as told:
        return told
    except Exception:  # noqa: BLE001  # it is raised again by whoever asks
        return None
