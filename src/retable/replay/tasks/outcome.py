"""The result of a replay task, for the driver."""

from collections.abc import Iterable
from dataclasses import dataclass, field

import pyarrow as pa

from retable.errors import TableError
from retable.fold.fold import Folded
from retable.gold.store import NotHere
from retable.model.sequence import LOWEST
from retable.replay.events.key_share import NotParted
from retable.replay.table.replace import EventsMissed
from retable.schema_history.history import Hold

Failure = NotParted | NotHere | EventsMissed | TableError


@dataclass(slots=True, kw_only=True)
class TaskOutcome:
    """The result of a task, for the driver. `folded` has the counts of its events and its hold; `failure` is its error.

    `gone` (keys to delete) and `rows` (new rows) are names in the exchange, with the numbers of rows. `doubts` are
    names in the exchange of hashes that must be compared with those of other tasks, by check. `edges` has the lowest
    and highest deleted key. `debts` are deletes of rows that were never inserted, in a table without a key. `places`
    are the Kafka partitions, each with a source epoch, from which the task read events of other windows. `stop` is the
    first hold at a statement: a change of a type that loses part of a value, or of the key with which rows clash.
    """

    folded: Folded = field(default_factory=Folded)
    failure: Failure | None = None
    gone: dict[str, int] = field(default_factory=dict)
    rows: dict[str, int] = field(default_factory=dict)
    doubts: dict[str, str] = field(default_factory=dict)
    debts: int = 0
    edges: pa.Table | None = None
    places: set[tuple[str | None, int]] = field(default_factory=set)
    stop: Hold | None = None

    def names(self) -> set[str]:
        """Return all names under which the task wrote to the exchange."""
        return {*self.gone, *self.rows, *self.doubts.values()}

    def is_held_by(self, folded: Folded) -> bool:
        """Return whether a row of `folded` holds the table. If so, take its hold, unless an earlier row holds it."""
        if folded.hold is None:
            return False
        by, before = folded.stopped_by, self.folded.stopped_by
        if before is None or (by is not None and by.arrival < before.arrival):
            self.folded.hold, self.folded.stopped_by = folded.hold, by
        return True


def first_stop(holds: Iterable[Hold | None]) -> Hold | None:
    """Return the hold with the lowest position, of those that are not None; None if all are."""
    found = [hold for hold in holds if hold is not None]
    return min(found, key=lambda hold: (hold.position or LOWEST, hold.reason), default=None)
