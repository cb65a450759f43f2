"""Find gold tables that the catalog has lost, or that have an unreadable file, and make their holds.

A hold stops the replay of one table and says why.
"""

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
"""Code of the hold of a table with unreadable metadata. Such a hold is stored in ops.tables, because the gold table,
which stores other holds in its properties, cannot be written."""
REMEDY_METADATA = (
    "retable recover, or put the file back from a copy of the lake; then: retable rebuild TABLE --reason ..."
)
LOST = Hold(
    "LOST",
    "the catalog no longer has the table, and changes that arrived since it was lost are not in gold",
    None,
    None,
    None,
    "retable rebuild TABLE --reason ... builds it again from silver; if its files still exist, "
    "retable recover puts it back, then: retable hold release TABLE --retry --reason ...",
)
"""The hold of a table that is in ops.tables but no longer in the catalog. The hold may be stored in ops.tables, too."""
LACKS_COMMITS = Hold(
    METADATA,
    "the newest metadata file was damaged, so the file before it is used: the last commits of the table are missing",
    None,
    None,
    None,
    "retable rebuild TABLE --reason ...",
)
"""The hold of a table that `retable recover` put into the catalog with an older metadata file."""


def damaged_hold(error: DamagedFile) -> Hold:
    """Return the hold of a table with a damaged file. A table with this hold keeps its rows and gets no new changes."""
    return Hold(DAMAGED, without_remedy(error), None, None, None, REMEDY_DAMAGED)


def rows_by_name(rows: Iterable[TableRow]) -> dict[str, TableRow]:
    """Return rows of ops.tables by gold name. If a dropped and a live table have the same name, use the live table."""
    return {row.gold: row for row in sorted(rows, key=lambda row: row.state != "dropped")}


def unread_state(row: TableRow, error: DamagedFile) -> GoldState:
    """Return the state of a table whose metadata cannot be read, from its row in ops.tables. The state is "held".

    `error` is the error of the metadata. It is raised again if several source tables go into the gold table, because
    only the metadata names these source tables.
    """
    if is_sharded(row.identity):
        raise error
    hold = Hold(METADATA, without_remedy(error), None, None, None, REMEDY_METADATA)
    return GoldState(source=row.source, identity=row.identity, table=row.name, state="held", hold=hold, is_unread=True)


def lost_state(row: TableRow, *, is_fed: bool) -> GoldState | None:
    """Return the state of a table that has a `row` in ops.tables but is not in the catalog. The state is "held".

    `is_fed` says whether the settings still include the table. Return None if the table need not exist: the source
    dropped it, or the settings no longer include it.
    """
    if row.state == "dropped" or not is_fed:
        return None
    return GoldState(source=row.source, identity=row.identity, table=row.name, state="held", hold=LOST, is_unread=True)


def recorded_hold(row: TableRow | None) -> Hold | None:
    """Return the hold in a row of ops.tables, if it is of a lost table or damaged metadata. Otherwise return None."""
    hold = None if row is None or row.hold is None else parse_hold(json.loads(row.hold))
    return hold if hold is not None and hold.code in (METADATA, LOST.code) else None


def with_recorded_hold(state: GoldState, row: TableRow | None) -> GoldState:
    """Return the state of a table, with the hold that its row in ops.tables has (`recorded_hold`), if there is one.

    If the state already has a hold, return it unchanged.
    """
    hold = recorded_hold(row)
    return state if hold is None or state.hold is not None else replace(state, state="held", hold=hold)


def is_of_lists(error: DamagedFile) -> bool:
    """Return whether the damaged file that `error` names is a manifest or a manifest list.

    Without such a file, Iceberg can neither find nor delete rows of the table.
    """
    return str(error.facts.get("path", "")).endswith(".avro")


def find_damage(lake: Lake, name: str, failure: Exception) -> DamagedFile | None:
    """Return the error of the damaged file of the table `name` that caused `failure`, a Python or Java exception.

    Return None if the failure has another cause. Many Java exceptions do not name the damaged file. In that case all
    files of the table are read to find it.
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
    """Return the window of the silver file that `error` names as damaged, or None if the file is not in silver."""
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
