"""Checks over the results of several tasks: whether two tasks folded one key, or have different rows at one position.

If so, hashes did not divide the rows correctly, and the rows must be folded in another way.
"""

from collections.abc import Sequence as Seq
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from retable.fold.images import TableReader
from retable.fold.spelling import is_text_as_written
from retable.gold.store import Exchange, RowStore
from retable.replay.batch.typed_hashes import typed_hashes
from retable.replay.batch.vectorized import hashes_of

_SEQUENCE = ("epoch", "hi", "lo")


def may_be_spelled_otherwise(reader: TableReader) -> bool:
    """Return whether messages may write the same key in different ways, such as 1.5 and 1.50.

    In a table without a key, a whole row is its key.
    """
    places = reader.key_columns or range(len(reader.columns))
    return not all(is_text_as_written(reader, at) for at in places)


def rows_by_place(rows: pa.Table) -> pa.Table:
    """Return a table with the different changes: `hash` of the position, `row` and `old_row` (hashes of the rows).

    If one position has different changes, tasks cannot fold a table without a key. Rows of a full load share positions,
    so those of one position count as one change.
    """
    loads = pc.equal(rows["op"], "READ")
    members = {name: pc.struct_field(rows["sequence"], name) for name in _SEQUENCE}
    hashes = {"row": pa.array(hashes_of(rows)), "old_row": rows["old_key_hash"]}
    changes = {name: pc.if_else(loads, None, each) for name, each in hashes.items()}
    found = pa.table({"hash": typed_hashes(pa.table({**members, "part": rows["part"]})), **changes})
    return found.group_by(found.column_names).aggregate([])


@dataclass(frozen=True, slots=True)
class _HasTwice:
    """Return whether a hash occurs twice in one part of the tables that tasks wrote to the exchange under `names`.

    If the tables have a column `row`, equal hashes with equal rows count once.
    """

    exchange: Exchange
    names: tuple[str, ...]
    part: int

    def __call__(self) -> bool:
        found = pa.concat_tables([self.exchange.get(name, self.part) for name in self.names])
        if "row" in found.column_names:
            found = found.group_by(found.column_names).aggregate([])
        return bool(len(np.unique(np.asarray(found["hash"]))) < found.num_rows)


def have_twice(store: RowStore, exchange: Exchange, names: Seq[str], parts: int) -> bool:
    """Return whether a hash occurs twice in what tasks wrote to the exchange (files that pass rows between tasks).

    The hashes are of keys, or of positions (`rows_by_place`). A position counts as twice only if its rows differ. Each
    task wrote its hashes under one of `names`, divided into `parts` parts by hash.
    """
    if not names:
        return False
    return any(store.run([_HasTwice(exchange, tuple(names), part) for part in range(parts)]))
