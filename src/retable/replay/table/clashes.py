"""Keys that rows of several source tables have, if these go into one gold table and readers do not see the source."""

import pyarrow as pa
import pyarrow.compute as pc

from retable.fold.images import key_columns
from retable.schema_history.history import TableHistory
from retable.schema_history.shards.joined import HIDDEN


def hidden_key(history: TableHistory, keys: tuple[str, ...]) -> list[int]:
    """The indices of the key columns that readers see; empty if no key column is hidden from them."""
    return key_columns(history, tuple(key for key in keys if key != HIDDEN)) if HIDDEN in keys else []


def count_clashes(rows: pa.Table, on: list[str]) -> int:
    """Count the keys in the columns `on` that more than one row has."""
    counts = rows.select(on).group_by(on).aggregate([([], "count_all")])
    return int(pc.sum(pc.greater(counts["count_all"], 1)).as_py() or 0)


def clashes_after(before: int, present: pa.Table, gone: pa.Table, rows: pa.Table, on: list[str]) -> int:
    """Count the clashes of a table that had `before` of them.

    `present` are its rows of all keys that a write touches, by their whole key; `gone` are the whole keys of deleted
    rows, and `rows` the new rows.
    """
    names = gone.column_names
    present = present.select(names).cast(gone.schema)
    left = present.join(gone, names, join_type="left anti").select(names)
    after = pa.concat_tables([left, rows.select(names).cast(gone.schema)])
    return before - count_clashes(present, on) + count_clashes(after, on)
