"""Decide about a table in rounds. If a round makes no progress, it is the last one, and the table is held."""

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

    The round folds events below `hold`, without the rows in `left`. `complete` is True if it has all events of the
    table.
    """

    hold: Hold | None
    left: LeftOut = frozenset()
    complete: bool = False

    def below(self, work: TableReplay, hold: Hold | None) -> "Basis":
        """Return a basis with another hold. In a table with shards, the hold is combined with the present hold."""
        return replace(self, hold=together(self.hold, hold) if work.history.shards else hold)

    def without(self, work: TableReplay, undecided: list[RowEvent], hold: Hold | None) -> "Basis":
        """Return a basis that leaves out undecided rows, or that has a hold because these rows must wait.

        `hold` is the hold if the rows are left out.
        """
        stop, left = left_or_held(work, undecided, self.left, hold)
        return replace(self.below(work, stop), left=left)

    def is_nearer_than(self, before: "Basis") -> bool:
        """Return whether this basis is progress after the basis `before`.

        It is progress if it has a lower hold, leaves out more rows, or has all events, and if none of these goes back.
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
    """Decide about a table in rounds. `decide` returns the plan, or the basis of the next round.

    The rounds end, because each one makes progress. Holds are at statements and rows of the table, so their number is
    limited, and so is the number of rows to leave out. All events are requested only once. If a round makes no
    progress, the rounds would never end, so the table is held in its present state.
    """
    passed = [first]
    while isinstance(found := decide(passed[-1]), Basis):
        passed.append(found)
        if not found.is_nearer_than(passed[-2]):
            decisions = "; then ".join(map(str, passed[-_SHOWN:]))
            reason = (
                f"the replay decides again and again what stops the table, {len(passed) - 1} times so far: {decisions}"
            )
            return ReplayPlan(work.history, undecided(reason), all_held(work))
    return found


def undecided(reason: str) -> Hold:
    """Return the hold of a table about which rounds decide without end."""
    return Hold(UNDECIDED, reason, None, None, None, REMEDY_UNDECIDED)


class Widenings:
    """Counts how often each undeclared column was found in the rounds that build table histories.

    These rounds end when no new column is found. A column is found again only with a wider type. If a column is found
    more often than types can widen, its table is in `endless`, with the reason, so that the table is held.
    """

    def __init__(self) -> None:
        self._came: Counter[tuple[str, Sequence | None, str]] = Counter()
        self.endless: dict[str, str] = {}

    def fresh(self, columns: Iterable[InferredColumn], known: Iterable[InferredColumn]) -> list[InferredColumn]:
        """Return the columns that are not `known` yet, for the next round, without columns of endless tables."""
        known = list(known)
        found = [column for column in columns if column not in known]
        for column in found:
            place = column.identity, column.epoch_start, column.name.lower()
            self._came[place] += 1
            if self._came[place] > _WIDENINGS:
                last = column.source_type or column.type
                self.endless[column.identity] = (
                    f"rows give a new type for the column {column.name!r} again and again, last {last}"
                )
        return [column for column in found if column.identity not in self.endless]
