"""Gold tables that are lost or have a file that cannot be read: find the damage and make the hold for it."""

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
    "retable rebuild TABLE --reason ...; if a copy of the lake has the file, put it back, then: "
    "retable hold release TABLE --retry --reason ..."
)
METADATA = "DAMAGED_METADATA"
"""The code of a hold that is in ops.tables, because the table itself cannot be written."""
REMEDY_METADATA = (
    "retable recover, or put the file back from a copy of the lake; then: retable rebuild TABLE --reason ..."
)
LOST = Hold(
    "LOST",
    "the catalog no longer has the table, and changes that came since are not in it",
    None,
    None,
    None,
    "retable rebuild TABLE --reason ... builds it again from silver; if its files still exist, "
    "retable recover puts it back, then: retable hold release TABLE --retry --reason ...",
)
"""The hold of a table that a person dropped; it is in ops.tables, too."""
LACKS_COMMITS = Hold(
    METADATA,
    "its newest metadata was damaged, and the metadata before it was used: it lacks its last commits",
    None,
    None,
    None,
    "retable rebuild TABLE --reason ...",
)


def damaged_hold(error: DamagedFile) -> Hold:
    """The hold of a table with a damaged file: the table stops at its present state."""
    return Hold(DAMAGED, without_remedy(error), None, None, None, REMEDY_DAMAGED)


def rows_by_name(rows: Iterable[TableRow]) -> dict[str, TableRow]:
    """The rows of ops.tables by gold name; if two tables had one name in turn, the live one counts."""
    return {row.gold: row for row in sorted(rows, key=lambda row: row.state != "dropped")}


def unread_state(row: TableRow, error: DamagedFile) -> GoldState:
    """What is known of a table whose metadata cannot be read: it is held, whatever its own state was.

    If several source tables go into one, only the metadata names them. Then the error is raised again.
    """
    if is_sharded(row.identity):
        raise error
    hold = Hold(METADATA, without_remedy(error), None, None, None, REMEDY_METADATA)
    return GoldState(source=row.source, identity=row.identity, table=row.name, state="held", hold=hold, is_unread=True)


def lost_state(row: TableRow, *, is_fed: bool) -> GoldState | None:
    """The state of a recorded table that the catalog does not have; None if no such table is expected.

    A table is not expected if its source dropped it, or if the settings no longer feed it.
    """
    if row.state == "dropped" or not is_fed:
        return None
    return GoldState(source=row.source, identity=row.identity, table=row.name, state="held", hold=LOST, is_unread=True)


def recorded_hold(row: TableRow | None) -> Hold | None:
    """The hold in ops.tables for lost or damaged metadata of a table; the table may lack later changes."""
    hold = None if row is None or row.hold is None else parse_hold(json.loads(row.hold))
    return hold if hold is not None and hold.code in (METADATA, LOST.code) else None


def with_recorded_hold(state: GoldState, row: TableRow | None) -> GoldState:
    """The state of a table; if ops.tables says that the table lacks something, it is held."""
    hold = recorded_hold(row)
    return state if hold is None or state.hold is not None else replace(state, state="held", hold=hold)


def is_of_lists(error: DamagedFile) -> bool:
    """Whether the file is a manifest or a manifest list: then no row of the table can be found or removed."""
    return str(error.facts.get("path", "")).endswith(".avro")


def find_damage(lake: Lake, name: str, failure: Exception) -> DamagedFile | None:
    """Find the damaged file of a table that caused a failure; None if the failure has another cause.

    If the failure names no file, read all files of the table: many Java errors name neither file nor damage.
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
    """The silver window of a damaged file; None if the file is not one of silver's."""
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
    except Exception:  # noqa: BLE001  # the caller raises it again
        return None
