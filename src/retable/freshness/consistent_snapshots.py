"""Which cut holds all that was replayed up to a window: pure, so that its law can be tried."""

from bisect import bisect_right
from collections.abc import Iterable, Mapping
from datetime import datetime
from itertools import accumulate


def first_whole(window: str, last: str, cuts: Mapping[str, datetime], replays: Iterable[tuple[str, datetime]]) -> str:
    """Give the first window from `window` on whose cut holds all that was replayed up to it; else the `last` one.

    A run writes the cut of the last replayed window, whichever window it is of: what is released, or replayed again, is
    in no cut from before. `cuts` and `replays` say when the cut of a window, and its rows, were last written; a window
    without a cut shares the one before it.
    """
    ordered, places = sorted(replays), sorted(cuts)
    windows, newest = [name for name, _ in ordered], [*accumulate((at for _, at in ordered), max)]
    for name in [window, *places[bisect_right(places, window) :]]:
        rows, taken = bisect_right(windows, name), bisect_right(places, name)
        if not rows or (taken and newest[rows - 1] <= cuts[places[taken - 1]]):
            return name
    return last
