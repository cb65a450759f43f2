"""Find keys that must be folded together: the old and the new key of a change with a partial image.

The image does not have all columns of the row with the new key; the row with the old key has the other columns.
"""

from collections.abc import Iterable
from collections.abc import Sequence as Seq
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from retable.gold.store import RowStore
from retable.replay.batch.ranges import KeyRanges
from retable.replay.batch.row_batch import Stretch, in_pieces, read_stretches
from retable.replay.batch.row_kinds import Hashes, leave_partly
from retable.replay.batch.silver_rows import ROW_COLUMNS
from retable.replay.batch.vectorized import hashes_of
from retable.replay.events.key_share import NotParted

_LOOKS_AT = {"key_hash", "old_key_hash", "partial_after", "sequence"}
_MOST = 100_000
"""The largest number of keys that are folded together by one task."""


@dataclass(frozen=True, slots=True)
class _Look:
    """Return the hashes of the keys that must be folded together because of the rows in these stretches."""

    stretches: tuple[Stretch, ...]

    def __call__(self) -> Hashes:
        return linked_by(
            read_stretches(self.stretches, without=[name for name in ROW_COLUMNS if name not in _LOOKS_AT])
        )


def linked_by(rows: pa.Table) -> Hashes:
    """Return the hashes of the keys that rows link: the old and the new key of each change with a partial image."""
    rows = rows.filter(pa.array(leave_partly(rows)))
    return np.union1d(hashes_of(rows), hashes_of(rows, "old_key_hash"))


def linked_in(store: RowStore, stretches: tuple[Stretch, ...]) -> Hashes:
    """Let tasks search rows of silver, and return the hashes of the keys that they link."""
    return all_linked(store.run([_Look(piece) for piece in in_pieces(stretches, store.slots())]))


def all_linked(found: Iterable[Hashes]) -> Hashes:
    return np.unique(np.concatenate([np.zeros(0, np.int64), *found]))


def with_links(ranges: Seq[KeyRanges], linked: Hashes) -> list[KeyRanges]:
    """Take the keys that must be folded together out of the key ranges of the tasks, and add one range with these keys.

    A change with a partial image that moves a row from one key to another links these two keys. `ranges` has the key
    ranges of each task, and `linked` the hashes of all linked keys. Return the new list of ranges. If there are no
    linked keys, return the ranges as they are. Raise NotParted if there are too many of them for one task.
    """
    if not linked.size:
        return [*ranges]
    if linked.size > _MOST:
        raise NotParted(f"rows with only some columns change their key, and so link more than {_MOST:,} keys")
    apart = [replace(each, linked=tuple(linked.tolist())) for each in ranges]
    return [*apart, replace(apart[0], takes_linked=True)]
