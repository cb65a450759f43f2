"""Checks over the results of several tasks: whether two tasks have the same key, or different rows at one position."""

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
"""Key types whose equal values always have equal key hashes in silver, because messages write them in only one way."""
_SEQUENCE = ("epoch", "hi", "lo")


def may_be_spelled_otherwise(reader: TableReader) -> bool:
    """Return whether messages may write equal keys (or, in a table without a key, equal rows) in different ways."""
    places = reader.key_columns or range(len(reader.columns))
    return not {reader.columns[at].type.kind for at in places} <= _WRITTEN_SO


def rows_by_place(rows: pa.Table) -> pa.Table:
    """Return a hash of the position and a hash of the row for each change, without the rows of a full load.

    If one position has different rows, the rows of a table without a key cannot be folded by tasks.
    """
    changes = rows.filter(pc.not_equal(rows["op"], "READ"))
    members = {name: pc.struct_field(changes["sequence"], name) for name in _SEQUENCE}
    places = typed_hashes(pa.table({**members, "part": changes["part"]}))
    return pa.table({"hash": places, "row": hashes_of(changes)})


@dataclass(frozen=True, slots=True)
class _HasTwice:
    """Return whether a hash occurs twice in one part of the tables that tasks wrote to the exchange under `names`.

    If the tables have a column `row`, equal hashes with the same row count once.
    """

    exchange: Exchange
    names: tuple[str, ...]
    part: int

    def __call__(self) -> bool:
        found = pa.concat_tables([self.exchange.get(name, self.part) for name in self.names])
        if "row" in found.column_names:
            found = found.group_by(["hash", "row"]).aggregate([])
        return bool(len(np.unique(np.asarray(found["hash"]))) < found.num_rows)


def have_twice(store: RowStore, exchange: Exchange, names: Seq[str], parts: int) -> bool:
    """Return whether tasks folded a key twice, or have different rows at one position.

    Each task wrote its hashes to the exchange under one of `names`, divided into `parts` parts.
    """
    if not names:
        return False
    return any(store.run([_HasTwice(exchange, tuple(names), part) for part in range(parts)]))
