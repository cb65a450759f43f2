"""Checks that need several tasks: whether two of them have the same key, or different rows at one position."""

from collections.abc import Sequence as Seq
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from retable.fold.images import TableReader
from retable.gold.store import Exchange, RowStore
from retable.replay.batch.typed_hashes import typed_hashes
from retable.replay.batch.vectorized import hashes_of

_WRITTEN_SO = frozenset({"string"})
"""Key types whose equal values always have equal hashes, because they have only one spelling."""
_SEQUENCE = ("epoch", "hi", "lo")


def may_be_spelled_otherwise(reader: TableReader) -> bool:
    """Whether keys or, without a key, rows may be equal although messages write them in two ways."""
    places = reader.key_columns or range(len(reader.columns))
    return not {reader.columns[at].type.kind for at in places} <= _WRITTEN_SO


def rows_by_place(rows: pa.Table) -> pa.Table:
    """Hash the position and the row of each change: one position has one row, except in a full load."""
    changes = rows.filter(pc.not_equal(rows["op"], "READ"))
    members = {name: pc.struct_field(changes["sequence"], name) for name in _SEQUENCE}
    places = typed_hashes(pa.table({**members, "part": changes["part"]}))
    return pa.table({"hash": places, "row": hashes_of(changes)})


@dataclass(frozen=True, slots=True)
class _HasTwice:
    """Whether a hash occurs twice in one part of what tasks left; with a `row` column, with different rows."""

    exchange: Exchange
    names: tuple[str, ...]
    part: int

    def __call__(self) -> bool:
        found = pa.concat_tables([self.exchange.get(name, self.part) for name in self.names])
        if "row" in found.column_names:
            found = found.group_by(["hash", "row"]).aggregate([])
        return bool(len(np.unique(np.asarray(found["hash"]))) < found.num_rows)


def have_twice(store: RowStore, exchange: Exchange, names: Seq[str], parts: int) -> bool:
    """Whether tasks have a key twice, or different rows at one position; each task left its hashes in `parts` parts."""
    if not names:
        return False
    return any(store.run([_HasTwice(exchange, tuple(names), part) for part in range(parts)]))
