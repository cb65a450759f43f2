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
    Equal sequences mean a redelivery, which does not count again. Rows of a full load may share one: all of them count.
    """
    folded = over or Folded()
    last, halves = None, set[str | None]()
    for event, action, touches in whole_updates(events, read, bounds, folded):
        place = (event.sequence, event.part)
        last, halves = place, halves if place == last else set()
        is_second = event.half == "after" and halves == {"before"}
        again = bool(halves) and not is_second
        halves.add(event.half)
        if again and event.op != "READ":
            folded.verdicts[event.ordinal, "duplicate"] += event.counted
            if touches:
                folded.touched |= {image for image in (action.gone, action.row) if image is not None}
            continue
        for image, change in ((action.gone, -1), (action.row, 1)):
            if image is None:
                continue
            folded.counts[image] = folded.counts.get(image, 0) + change
            folded.latest[image] = Winner(sequence=event.sequence, part=event.part, row=image)
            if touches:
                folded.touched.add(image)
        folded.verdicts[event.ordinal, "applied"] += event.counted
    return folded
