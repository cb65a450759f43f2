"""Finds the consistent cut (one snapshot of every gold table) that has all replays up to a window. No I/O."""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import accumulate


def first_whole(window: str, last: str, cuts: Sequence[str], replays: Iterable[tuple[str, str]]) -> str:
    """Return the first window, from `window` on, whose consistent cut has the rows of all replays up to that window.

    - `last`: the last replayed window, which is returned if there is no such window.
    - `cuts`: the windows that have a consistent cut (one snapshot of every gold table), in order. For a window without
      a cut, the cut before it is used.
    - `replays`: for each replay, the pair of its window and the first cut that has its rows.

    A run always writes the cut of the last replayed window, whichever windows it replays. So the rows of a released
    table, or of a window that was replayed again, are in no earlier cut.
    """
    ordered = sorted(replays)
    windows, holding = [name for name, _ in ordered], [*accumulate((cut for _, cut in ordered), max)]
    for name in [window, *cuts[bisect_right(cuts, window) :]]:
        rows, taken = bisect_right(windows, name), bisect_right(cuts, name)
        if not rows or (taken and holding[rows - 1] <= name):
            return name
    return last
