"""Find the recorded windows that an inspection of a source needs, in columns, without making their objects.

A year of windows has hundreds of thousands of objects.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import pyarrow as pa
import pyarrow.compute as pc

from retable.ledger.windows.objects import FoundObject, is_untouched


@dataclass(frozen=True, slots=True)
class RecordedItems:
    """The content of a source's windows: for each object or range the number of its window, and some of its fields.

    `items` are in order, `recorded_at` gives when each row of windows was recorded, by the number of its first window,
    and `end` is the end of the last window; None if there is no window.
    """

    items: pa.Table
    recorded_at: Mapping[int, datetime]
    end: datetime | None

    def unsure(self, found: Sequence[FoundObject]) -> tuple[list[FoundObject], set[int]]:
        """The found objects that may not be recorded, and the windows needed to decide; all others are recorded."""
        newest_first = self.items[::-1]
        at = pc.index_in(pa.array([item.key for item in found], pa.string()), value_set=newest_first["key"])
        sizes, numbers = (newest_first[name].take(at).to_pylist() for name in ("size", "ordinal"))
        unsure = [
            item
            for item, size, number in zip(found, sizes, numbers, strict=True)
            if number is None or not is_untouched(item, size, self.recorded_at[number])
        ]
        return unsure, self._ends() | self.with_keys({item.key for item in unsure})

    def with_keys(self, keys: Collection[str]) -> set[int]:
        """The windows that have an object of one of these names."""
        found = pc.is_in(self.items["key"], value_set=pa.array(keys, pa.string()))
        return {*self.items["ordinal"].filter(found).to_pylist()}

    def last_of_partitions(self) -> set[int]:
        """The windows that have the last range of some partition, and the last window."""
        newest = self.items.group_by(["topic", "partition"]).aggregate([("ordinal", "max")])
        return self._ends() | {*newest["ordinal_max"].to_pylist()}

    def _ends(self) -> set[int]:
        """The last row, and the last row that has any item."""
        return {*list(self.recorded_at)[-1:], *self.items["ordinal"][-1:].to_pylist()}


def recorded_items(rows: pa.Table, column: str, fields: Sequence[str]) -> RecordedItems:
    """Flatten rows of ops.windows: take these fields of the items in the lists of a column."""
    rows = rows.sort_by("ordinal")
    lists = rows[column].combine_chunks()
    at, items = pc.list_parent_indices(lists), pc.list_flatten(lists)
    flat = pa.table({"ordinal": rows["ordinal"].take(at), **{name: pc.struct_field(items, name) for name in fields}})
    recorded_at = dict(zip(rows["ordinal"].to_pylist(), rows["recorded_at"].to_pylist(), strict=True))
    return RecordedItems(flat, recorded_at, pc.max(rows["end"]).as_py())
