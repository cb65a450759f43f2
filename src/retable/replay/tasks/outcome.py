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
    """The result of a task, for the driver. Its rows are in the exchange (files that pass rows between tasks).

    - `folded`: the counts of the events, and the hold if a row holds the table.
    - `failure`: the error of the task; None if there is none.
    - `gone` and `rows`: the keys to delete and the new rows. Each name in the exchange has the number of its rows.
    - `hashes`: the name in the exchange of the hashes of its keys, which no other task may have; None without a doubt.
    - `debts`: in a table without a key, the number of deletes of rows that were never inserted.
    - `edges`: a few rows with the lowest and the highest value of each key column in `gone`.
    - `places`: the Kafka partitions, each with a source epoch, from which the task read events of other windows.
    - `stop`: the first hold at a statement. Such a statement changes a type, and a value loses a part; or it changes
      the primary key, and two rows have the same new key or a row has NULL in it.
    """

    folded: Folded = field(default_factory=Folded)
    failure: Failure | None = None
    gone: dict[str, int] = field(default_factory=dict)
    rows: dict[str, int] = field(default_factory=dict)
    hashes: str | None = None
    debts: int = 0
    edges: pa.Table | None = None
    places: set[tuple[str | None, int]] = field(default_factory=set)
    stop: Hold | None = None

    def names(self) -> set[str]:
        """Return all names under which the task wrote to the exchange."""
        return {*self.gone, *self.rows} | ({self.hashes} if self.hashes else set())

    def is_held_by(self, folded: Folded) -> bool:
        """Return whether a row of `folded` holds the table.

        If so, this result gets the hold of `folded`, unless it already has a hold of an earlier row.
        """
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
