"""Fold (reduce) the row events of a table without a key to the number of each of its rows."""

from collections.abc import Callable, Iterable

from retable.fold.bounds import Bounds
from retable.fold.fold import Folded, RowAction, Winner, whole_updates
from retable.model.row_event import RowEvent


def fold_bag(
    events: Iterable[RowEvent], read: Callable[[RowEvent], RowAction], bounds: Bounds, over: Folded | None = None
) -> Folded:
    """Count equal rows of a table without a key: inserts minus deletes. The count can be negative.

    `read` returns what an event does, `bounds` says which events count, and `over` is an earlier fold to add them to.
    An equal change with an equal sequence is a redelivery, which does not count again. Different changes may share one:
    PostgreSQL gives all rows of a COPY one position. Rows of a full load may share one, too: all of them count, but one
    message of a file that was landed again counts once.
    """
    folded = over or Folded()
    last, seen = None, set[tuple[object, ...]]()
    for event, action, touches in whole_updates(events, read, bounds, folded):
        place = (event.sequence, event.part)
        last, seen = place, seen if place == last else set()
        change: tuple[object, ...] = (event.half, action.gone, action.row)
        if event.op == "READ":
            change += (event.topic, event.partition, event.offset, event.row_index)
        again = change in seen
        seen.add(change)
        if again:
            folded.verdicts[event.ordinal, "duplicate"] += event.counted
            if touches:
                folded.touched |= {image for image in (action.gone, action.row) if image is not None}
            continue
        for image, count in ((action.gone, -1), (action.row, 1)):
            if image is None:
                continue
            folded.counts[image] = folded.counts.get(image, 0) + count
            folded.latest[image] = Winner(sequence=event.sequence, part=event.part, row=image)
            if touches:
                folded.touched.add(image)
        folded.verdicts[event.ordinal, "applied"] += event.counted
    return folded
