"""Count clashes: key values that rows of several source tables have in one gold table.

There are clashes only if readers of the gold table do not see which source table a row is from.
"""

import pyarrow as pa
import pyarrow.compute as pc

from retable.fold.images import key_columns
from retable.schema_history.history import TableHistory
from retable.schema_history.shards.joined import HIDDEN


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
