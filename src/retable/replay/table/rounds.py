"""Decide in rounds what changes in a table: each round may find an earlier hold, and the next one folds only up to it.

If a round makes no progress, it is the last one, and the table is held.
"""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from retable.model.row_event import RowEvent
from retable.model.sequence import Sequence
from retable.replay.table.horizon import LeftOut, left_or_held
from retable.replay.table.table_replay import ReplayPlan, TableReplay, all_held
from retable.schema_history.history import Hold
from retable.schema_history.shards.joined import together
from retable.schema_history.traced import InferredColumn

UNDECIDED = "UNDECIDED"
A_BUG = "this is a bug of Retable, please report it with this reason"
REMEDY_UNDECIDED = f"{A_BUG}; with a version without this bug: retable hold release TABLE --retry --reason ..."
_SHOWN = 4
_WIDENINGS = 40
"""An integer becomes a longer one and then a decimal, which has at most 38 digits."""


@dataclass(frozen=True, slots=True)
class Basis:
    """The inputs of a round.

    The round folds the events before `hold` (all events, if it is None), without the rows in `left`. `complete` is True
    if the round gets all events of the table.
    """

    hold: Hold | None
    left: LeftOut = frozenset()
    complete: bool = False

    def below(self, work: TableReplay, hold: Hold | None) -> "Basis":
        """Return a basis with the new hold `hold`.

        If several source tables go into the gold table, the result has the lower one of `hold` and the hold of this
        basis. If the positions of the two cannot be compared, the result has a hold that stops the whole table.
        """
        return replace(self, hold=together(self.hold, hold) if work.history.shards else hold)

    def without(self, work: TableReplay, undecided: list[RowEvent], hold: Hold | None) -> "Basis":
        """Return the basis of the next round after rows whose result is not known (`undecided`) were found.

        If a person decided to skip such rows, the basis leaves them out, and has `hold`. Otherwise it has a new hold.
        """
        stop, left = left_or_held(work, undecided, self.left, hold)
        return replace(self.below(work, stop), left=left)

    def is_nearer_than(self, before: "Basis") -> bool:
        """Return whether this basis is progress compared to `before`, the basis of the former round.

        It is progress if at least one of these is true:

        - the hold has a lower position;
        - more rows are left out;
        - this round gets all events of the table, and the former round got only those of the window.

        But it is no progress if one of the three goes back: the hold is higher, a row that was left out is folded
        again, or the round no longer gets all events of the table.
        """
        mine, others = self._steps(), before._steps()
        return mine != others and mine[0] <= others[0] and mine[1] >= others[1] and mine[2] >= others[2]

    def _steps(self) -> tuple[tuple[int, Sequence | None], LeftOut, bool]:
        position = None if self.hold is None else self.hold.position
        height = 2 if self.hold is None else 0 if position is None else 1
        return (height, position), self.left, self.complete

    def __str__(self) -> str:
        hold = "no hold" if self.hold is None else f"{self.hold.code} at {self.hold.position or 'its first row'}"
        left = f", {len(self.left)} rows left out" if self.left else ""
        return f"{hold}{left}{', all events' if self.complete else ''}"


def in_rounds(work: TableReplay, first: Basis, decide: Callable[[Basis], ReplayPlan | Basis]) -> ReplayPlan:
    """Decide about a table in rounds, and return the plan. `first` is the basis (the inputs) of the first round.

    `decide` does one round. It returns the plan, or the basis of the next round. Each round must make progress: the
    hold gets a lower position, more rows are left out, or the round gets all events of the table instead of the
    window's. So the number of rounds is limited. If a round makes no progress, return a plan that holds the table in
    its present state.
    """
    passed = [first]
    while isinstance(found := decide(passed[-1]), Basis):
        passed.append(found)
        if not found.is_nearer_than(passed[-2]):
            decisions = "; then ".join(map(str, passed[-_SHOWN:]))
            reason = (
                f"the replay does not find a stable position at which to stop the table, after {len(passed) - 1} "
                f"attempts: {decisions}"
            )
            return ReplayPlan(work.history, undecided(reason), all_held(work))
    return found


def undecided(reason: str) -> Hold:
    """Return the hold for a table if its rounds would never end. `reason` describes the last rounds."""
    return Hold(UNDECIDED, reason, None, None, None, REMEDY_UNDECIDED)


class Widenings:
    """Counts how often each undeclared column (one that only rows show) was found while table histories are built.

    Histories are built again until no new column is found. A column is found again only with a wider type. If a column
    is found more often than types can widen, its table (by identity) is in `endless`, with the reason to hold it.
    """

    def __init__(self) -> None:
        self._came: Counter[tuple[str, Sequence | None, str]] = Counter()
        self.endless: dict[str, str] = {}

    def fresh(self, columns: Iterable[InferredColumn], known: Iterable[InferredColumn]) -> list[InferredColumn]:
        """Return those of `columns` that are not in `known`, without columns of tables in `endless`. Count them."""
        known = list(known)
        found = [column for column in columns if column not in known]
        for column in found:
            place = column.identity, column.epoch_start, column.name.lower()
            self._came[place] += 1
            if self._came[place] > _WIDENINGS:
                last = column.source_type or column.type
                self.endless[column.identity] = (
                    f"rows show a new type for the column {column.name!r} again and again, the last one is {last}"
                )
        return [column for column in found if column.identity not in self.endless]
