"""Finds the consistent cut (one snapshot of every gold table) that has all replays up to a window. No I/O."""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import accumulate


def first_whole(window: str, last: str, cuts: Sequence[str], replays: Iterable[tuple[str, str]]) -> str:
    """Return the first window, from `window` on, whose consistent cut has the rows of all replays up to that window.

    - `last`: the last replayed window. It is returned if no window qualifies.
    - `cuts`: the windows that have a consistent cut (one snapshot of every gold table), in order. A window without a
      cut uses the last cut before it.
    - `replays`: one pair for each replay: the replayed window, and the first cut that has the rows of this replay.

    The two windows of a pair can differ. A run that replays an old window again does not write the cut of that window.
    It writes the cut of the last replayed window, so earlier cuts lack the new rows. The same is true for rows that
    waited because of a hold, after the hold is released.
    """
    ordered = sorted(replays)
    windows, holding = [name for name, _ in ordered], [*accumulate((cut for _, cut in ordered), max)]
    for name in [window, *cuts[bisect_right(cuts, window) :]]:
        rows, taken = bisect_right(windows, name), bisect_right(cuts, name)
        if not rows or (taken and holding[rows - 1] <= name):
            return name
    return last
