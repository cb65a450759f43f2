"""What no task can know alone: whether another one has the same key, or another row at the same place of the source."""

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
"""The types of keys of which equal ones have equal hashes, however they are written."""
_SEQUENCE = ("epoch", "hi", "lo")


def may_be_spelled_otherwise(reader: TableReader) -> bool:
    """Whether keys, or, without a key, rows, may be equal though messages write them in two ways."""
    places = reader.key_columns or range(len(reader.columns))
    return not {reader.columns[at].type.kind for at in places} <= _WRITTEN_SO


def rows_by_place(rows: pa.Table) -> pa.Table:
    """The hash of where each change stands, with that of its row: but for a full load's, one place has one row."""
    changes = rows.filter(pc.not_equal(rows["op"], "READ"))
    members = {name: pc.struct_field(changes["sequence"], name) for name in _SEQUENCE}
    places = typed_hashes(pa.table({**members, "part": changes["part"]}))
    return pa.table({"hash": places, "row": hashes_of(changes)})


@dataclass(frozen=True, slots=True)
class _HasTwice:
    """Says whether a hash is there twice in a part of what tasks left; with `rows`, only of two different ones."""

    exchange: Exchange
    names: tuple[str, ...]
    part: int

    def __call__(self) -> bool:
        found = pa.concat_tables([self.exchange.get(name, self.part) for name in self.names])
        if "row" in found.column_names:
            found = found.group_by(["hash", "row"]).aggregate([])
        return bool(len(np.unique(np.asarray(found["hash"]))) < found.num_rows)


def have_twice(store: RowStore, exchange: Exchange, names: Seq[str], parts: int) -> bool:
    """Whether tasks have a key twice, or different rows at one place, by what each left in so many parts."""
    if not names:
        return False
    return any(store.run([_HasTwice(exchange, tuple(names), part) for part in range(parts)]))
