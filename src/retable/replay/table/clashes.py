"""Count clashes: key values that rows of several source tables have in one gold table.

There are clashes only if readers of the gold table do not see which source table a row is from.
"""

import pyarrow as pa
import pyarrow.compute as pc

from retable.fold.images import key_columns
from retable.schema_history.history import TableHistory
from retable.schema_history.shards.joined import HIDDEN


def hidden_key(history: TableHistory, keys: tuple[str, ...]) -> list[int]:
    """Return the indices of the key columns that readers see; empty if readers see all key columns."""
    return key_columns(history, tuple(key for key in keys if key != HIDDEN)) if HIDDEN in keys else []


def count_clashes(rows: pa.Table, on: list[str]) -> int:
    """Count the keys in the columns `on` that more than one row has."""
    counts = rows.select(on).group_by(on).aggregate([([], "count_all")])
    return int(pc.sum(pc.greater(counts["count_all"], 1)).as_py() or 0)


def clashes_after(before: int, present: pa.Table, gone: pa.Table, rows: pa.Table, on: list[str]) -> int:
    """Return the number of clashes of a gold table after a write. `before` is the number before it.

    `present` are gold's rows that have a key value of the write in the columns `on`. `gone` has the keys of deleted
    rows with all key columns, and `rows` the new rows.
    """
    names = gone.column_names
    present = present.select(names).cast(gone.schema)
    left = present.join(gone, names, join_type="left anti").select(names)
    after = pa.concat_tables([left, rows.select(names).cast(gone.schema)])
    return before - count_clashes(present, on) + count_clashes(after, on)
