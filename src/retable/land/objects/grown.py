"""Handle objects that were landed while they were still written, and landed again after they had grown."""

from datetime import datetime
from itertools import groupby
from operator import itemgetter

from retable.errors import ConflictError
from retable.land.objects.layouts import LINES_PER_OBJECT, line_address
from retable.land.objects.source import Objects, objects_of
from retable.ledger.lake.catalog import Lake
from retable.ledger.quarantine import LANDED, QuarantineRow, list_quarantined
from retable.ledger.read import read_actions
from retable.ledger.rows import ActionRow
from retable.ledger.windows.recording import windows_with
from retable.ledger.write import append_rows
from retable.model.window import SourceObject, Window
from retable.settings.sources import FilesSource


def close_outgrown(lake: Lake, source: FilesSource, window: Window, now: datetime) -> None:
    """Close quarantined lines of earlier windows if the given window landed them again, in full.

    The earlier window landed an object that was not complete yet. The object of the same name in the given window
    begins with the same bytes and is longer, so it has these lines, too. For each such line, add a row to
    `ops.actions`. The line counts as closed only after the given window is replayed.
    """
    grown = {item.key: item for item in window.objects}
    earlier = [
        (other.name, item)
        for other in windows_with(lake, source.name, grown)
        if other.ordinal < window.ordinal
        for item in other.objects
        if item.key in grown
    ]
    if not earlier:
        return
    objects, closed = objects_of(source), {action.target for action in read_actions(lake, source.name)}
    action = f"{LANDED}{window.name}"
    rows: list[ActionRow] = []
    for name, items in groupby(earlier, key=itemgetter(0)):
        quarantined = list_quarantined(lake, source.name, name)
        for _, item in items:
            waiting = [row.id for row in _lines_of(source, item, quarantined) if row.id not in closed]
            if waiting and has_grown(objects, grown[item.key], item):
                why = f"{item.key} has grown since, and was landed again"
                rows += [ActionRow(source.name, action, each, why, "retable", now) for each in waiting]
    append_rows(lake, rows)


def has_grown(objects: Objects, item: SourceObject, earlier: SourceObject) -> bool:
    """Return whether `item` begins with all of `earlier`. Return False if this cannot be known any more."""
    try:
        return objects.has_grown(item, earlier)
    except ConflictError:
        return False


def _lines_of(source: FilesSource, item: SourceObject, rows: list[QuarantineRow]) -> list[QuarantineRow]:
    """Return the quarantined lines of an object whose only address is their position in the object."""
    partition, first = line_address(source, item, 0)
    lines = range(first, first + LINES_PER_OBJECT)
    return [row for row in rows if (row.topic, row.partition) == (source.name, partition) and row.offset in lines]
