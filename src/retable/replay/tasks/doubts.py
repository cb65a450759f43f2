"""A check over the results of several tasks: whether two tasks folded one key.

If so, hashes did not divide the rows correctly, and the rows must be folded in another way.
"""

from collections.abc import Sequence as Seq
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from retable.fold.images import TableReader
from retable.fold.spelling import is_text_as_written
from retable.gold.store import Exchange, RowStore


def may_be_spelled_otherwise(reader: TableReader) -> bool:
    """Return whether messages may write the same key in different ways, such as 1.5 and 1.50.

    In a table without a key, a whole row is its key.
    """
    places = reader.key_columns or range(len(reader.columns))
    return not all(is_text_as_written(reader, at) for at in places)


@dataclass(frozen=True, slots=True)
class _HasTwice:
    """Return whether a hash occurs twice in one part of the tables that tasks wrote to the exchange under `names`."""

    exchange: Exchange
    names: tuple[str, ...]
    part: int

    def __call__(self) -> bool:
        found = pa.concat_tables([self.exchange.get(name, self.part) for name in self.names])
        return bool(len(np.unique(np.asarray(found["hash"]))) < found.num_rows)


def have_twice(store: RowStore, exchange: Exchange, names: Seq[str], parts: int) -> bool:
    """Return whether a hash occurs twice in what tasks wrote to the exchange (files that pass rows between tasks).

    The hashes are of keys. Each task wrote its hashes under one of `names`, divided into `parts` parts by hash.
    """
    if not names:
        return False
    return any(store.run([_HasTwice(exchange, tuple(names), part) for part in range(parts)]))
