"""A gold table that is lost, or of which a file cannot be read: which it is, and the hold that says so."""

import json
from collections.abc import Iterable
from dataclasses import replace

from retable.errors import DamagedFile, RetableError
from retable.gold.state import GoldState, parse_hold
from retable.ledger.lake.catalog import Lake
from retable.ledger.lake.damage import without_remedy
from retable.ledger.lake.error_translation import explained, spark_explained
from retable.ledger.lake.warehouse import plain_path
from retable.ledger.rows import TableRow
from retable.schema_history.history import Hold
from retable.schema_history.shards.joined import is_sharded

DAMAGED = "DAMAGED"
REMEDY_DAMAGED = (
    "retable rebuild TABLE --reason ...; where a copy of the lake has the file, put it back, then: "
    "retable hold release TABLE --retry --reason ..."
)
METADATA = "DAMAGED_METADATA"
"""The code of a hold that stands in ops.tables, as the table itself cannot be written."""
REMEDY_METADATA = (
    "retable recover, or put the file back from a copy of the lake; then: retable rebuild TABLE --reason ..."
)
LOST = Hold(
    "LOST",
    "the catalog does not have the table any more, and nothing that came since is in it",
    None,
    None,
    None,
    "retable rebuild TABLE --reason ... makes it anew from silver; where its files are still there, "
    "retable recover puts it back, then: retable hold release TABLE --retry --reason ...",
)
"""The hold of a table that somebody dropped; it stands in ops.tables, too."""
LACKS_COMMITS = Hold(
    METADATA,
    "its newest metadata was damaged, and the one before it was taken: it lacks its last commits",
    None,
    None,
    None,
    "retable rebuild TABLE --reason ...",
)


def damaged_hold(error: DamagedFile) -> Hold:
    """The hold of a table with such a file: it stops as it is."""
    return Hold(DAMAGED, without_remedy(error), None, None, None, REMEDY_DAMAGED)


def rows_by_name(rows: Iterable[TableRow]) -> dict[str, TableRow]:
    """What ops.tables says by gold name: of two tables that had one name, one after the other, the one that lives."""
    return {row.gold: row for row in sorted(rows, key=lambda row: row.state != "dropped")}


def unread_state(row: TableRow, error: DamagedFile) -> GoldState:
    """What is known of a table whose metadata cannot be read: it is held, whatever it said of itself.

    Which of the source's tables go into one of several, only its metadata tells: there the error is raised again.
    """
    if is_sharded(row.identity):
        raise error
    hold = Hold(METADATA, without_remedy(error), None, None, None, REMEDY_METADATA)
    return GoldState(source=row.source, identity=row.identity, table=row.name, state="held", hold=hold, is_unread=True)


def lost_state(row: TableRow, *, is_fed: bool) -> GoldState | None:
    """What is known of a recorded table that the catalog does not have; None where nothing is missed.

    That is one which its source dropped, or which the settings do not feed any more.
    """
    if row.state == "dropped" or not is_fed:
        return None
    return GoldState(source=row.source, identity=row.identity, table=row.name, state="held", hold=LOST, is_unread=True)


def recorded_hold(row: TableRow | None) -> Hold | None:
    """The hold that ops.tables has for lost or damaged metadata of a table: what came since may lack in the table."""
    hold = None if row is None or row.hold is None else parse_hold(json.loads(row.hold))
    return hold if hold is not None and hold.code in (METADATA, LOST.code) else None


def with_recorded_hold(state: GoldState, row: TableRow | None) -> GoldState:
    """What a table says of itself, held where ops.tables says that it lacks something."""
    hold = recorded_hold(row)
    return state if hold is None or state.hold is not None else replace(state, state="held", hold=hold)


def is_of_lists(error: DamagedFile) -> bool:
    """Whether the file is a manifest, or a list of them: then none of the table's rows can be found, or removed."""
    return str(error.facts.get("path", "")).endswith(".avro")


def find_damage(lake: Lake, name: str, failure: Exception) -> DamagedFile | None:
    """Find the file of a table for which something failed so; None where it failed for something else.

    Where the failure names no file, all of the table are read: of Java's errors many tell neither file nor damage.
    """
    translated = _translated(lake, failure)
    if isinstance(translated, RetableError) and not isinstance(translated, DamagedFile):
        return None
    table = lake.find(name)
    if table is None:
        return None
    if translated is not None and "path" in translated.facts:
        mine = plain_path(str(translated.facts["path"])).startswith(f"{plain_path(table.location())}/")
        return translated if mine else None
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


def _translated(lake: Lake, failure: Exception) -> RetableError | None:
    try:
        with spark_explained(lake.settings.lake):
            raise failure
    except RetableError as translated:
        return translated
    except Exception:  # noqa: BLE001  # it is raised again by whoever asks
        return None
