"""Count clashes: key values that rows of several source tables have in one gold table.

There are clashes only if readers of the gold table do not see which source table a row is from.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from retable.fold.images import key_columns
from retable.gold.store import KeyFinder, NotHere, RemoteChange, RowStore
from retable.replay.batch.typed_hashes import typed_hashes
from retable.schema_history.history import TableHistory
from retable.schema_history.shards.joined import HIDDEN

KEYS_A_TASK = 400_000
"""A task counts the clashes of about so many deleted and new keys, which it has in memory."""


def hidden_key(history: TableHistory, keys: tuple[str, ...]) -> list[int]:
    """Return the indices of the key columns that readers see, if a hidden key column has each row's source table.

    `keys` are the names of all key columns. Return an empty list if the key has no hidden column: readers then see all
    columns of the key, so that clashes are impossible.
    """
    return key_columns(history, tuple(key for key in keys if key != HIDDEN)) if HIDDEN in keys else []


def count_clashes(rows: pa.Table, on: list[str]) -> int:
    """Return how many different values of the columns `on` are in more than one row."""
    counts = rows.select(on).group_by(on).aggregate([([], "count_all")])
    return int(pc.sum(pc.greater(counts["count_all"], 1)).as_py() or 0)


def clashes_after(before: int, present: pa.Table, gone: pa.Table, rows: pa.Table, on: list[str]) -> int:
    """Return the number of clashes of a gold table after a write that deletes and adds rows.

    `before` is the number of clashes before the write, and `on` are the key columns that readers see. `gone` has the
    keys of the deleted rows, with all key columns, and `rows` are the new rows. `present` are gold's rows before the
    write that have the same values in `on` as a deleted or a new row.
    """
    names = gone.column_names
    present = present.select(names).cast(gone.schema)
    left = present.join(gone, names, join_type="left anti").select(names)
    after = pa.concat_tables([left, rows.select(names).cast(gone.schema)])
    return before - count_clashes(present, on) + count_clashes(after, on)


@dataclass(frozen=True, slots=True, kw_only=True)
class _CountTask:
    """A task that counts how many clashes a change adds, among the keys of one of `parts` parts.

    The hash of the columns `on`, the key that readers see, decides in which part a row is. `finder` finds gold's rows;
    None if gold has none. The result is None if only Spark can find them.
    """

    change: RemoteChange
    finder: KeyFinder | None
    on: list[str]
    part: int
    parts: int

    def __call__(self) -> int | None:
        change = self.change
        gone = self._mine(change.keys_of([name]) for name in change.gone)
        rows = self._mine(change.coming_of(name) for name in change.rows)
        if self.finder is None:
            return count_clashes(rows, self.on)
        touched = pa.concat_tables([gone.select(self.on), rows.select(self.on)]).group_by(self.on).aggregate([])
        try:
            return clashes_after(0, self.finder.of_keys(gone.column_names, touched), gone, rows, self.on)
        except NotHere:
            return None

    def _mine(self, found: Iterable[pa.Table]) -> pa.Table:
        mine = [self.change.edges.slice(0, 0)]
        for keys in found:
            numbers = typed_hashes(keys.select(self.on)).view(np.uint64) % self.parts
            mine.append(keys.filter(pa.array(numbers == self.part)))
        return pa.concat_tables(mine)


def count_in_tasks(store: RowStore, change: RemoteChange, finder: KeyFinder | None, on: list[str]) -> int | None:
    """Let tasks count how many clashes a change adds to gold, or None if only Spark can find gold's rows.

    `finder` finds gold's rows; None if gold has none. `on` are the key columns that readers see.
    """
    parts = -(-(sum(change.gone.values()) + sum(change.rows.values())) // KEYS_A_TASK) or 1
    tasks = [_CountTask(change=change, finder=finder, on=on, part=part, parts=parts) for part in range(parts)]
    found = [more for more in store.run(tasks) if more is not None]
    return sum(found) if len(found) == parts else None
