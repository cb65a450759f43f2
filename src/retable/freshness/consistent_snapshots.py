"""Which cut holds all that was replayed up to a window: pure, so that its law can be tried."""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import accumulate


def first_whole(window: str, last: str, cuts: Sequence[str], replays: Iterable[tuple[str, str]]) -> str:
    """Give the first window from `window` on whose cut holds all that was replayed up to it; else the `last` one.

    A run writes the cut of the last replayed window, whichever window it is of: what is released, or replayed again, is
    in no cut from before. `cuts` are the windows that have one, in order, and `replays` say of the rows of a window
    which is the first cut that holds them; a window without a cut shares the one before it.
    """
    ordered = sorted(replays)
    windows, holding = [name for name, _ in ordered], [*accumulate((cut for _, cut in ordered), max)]
    for name in [window, *cuts[bisect_right(cuts, window) :]]:
        rows, taken = bisect_right(windows, name), bisect_right(cuts, name)
        if not rows or (taken and holding[rows - 1] <= name):
            return name
    return last
