"""Handle objects that were landed while they were still written, and landed again after they had grown."""

from collections.abc import Iterator
from datetime import datetime

from retable.land.objects.layouts import LINES_PER_OBJECT, own_partition
from retable.land.objects.source import objects_of
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
    earlier = {
        item.number: (item, other.name)
        for other in windows_with(lake, source.name, grown)
        if other.ordinal < window.ordinal
        for item in other.objects
        if item.key in grown
    }
    if not earlier:
        return
    objects, closed = objects_of(source), {action.target for action in read_actions(lake, source.name)}
    rows: list[ActionRow] = []
    for number, mine in _by_object(lake, source, earlier):
        item = earlier[number][0]
        waiting = [row.id for row in mine if row.id not in closed]
        if waiting and objects.has_grown(grown[item.key], item):
            why = f"{item.key} has grown since, and was landed again"
            rows += [ActionRow(source.name, f"{LANDED}{window.name}", each, why, "retable", now) for each in waiting]
    append_rows(lake, rows)


def _by_object(
    lake: Lake, source: FilesSource, earlier: dict[int, tuple[SourceObject, str]]
) -> Iterator[tuple[int, list[QuarantineRow]]]:
    """Yield the number of each object with its quarantined lines whose only address is their position in the object."""
    address = (source.name, own_partition(source))
    for name in sorted({window for _, window in earlier.values()}):
        lines = [row for row in list_quarantined(lake, source.name, name) if (row.topic, row.partition) == address]
        for number in {row.offset // LINES_PER_OBJECT for row in lines} & earlier.keys():
            yield number, [row for row in lines if row.offset // LINES_PER_OBJECT == number]
