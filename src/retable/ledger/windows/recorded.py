"""Find the recorded windows that are needed to plan the next windows of a source.

The search uses Arrow columns, and makes no Python object for each item: a year of windows has hundreds of thousands of
items.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import pyarrow as pa
import pyarrow.compute as pc

from retable.ledger.windows.objects import FoundObject, is_untouched


@dataclass(frozen=True, slots=True)
class RecordedItems:
    """The content of a source's recorded windows, as Arrow columns.

    `items` has a row for each object or partition range of the windows, in order. Its columns are the number of the
    window (`ordinal`) and some fields of the object or range. `recorded_at` has the time when each row of ops.windows
    was recorded, by the number of the row's window. One row may stand for several windows without messages; then its
    key is the number of the first of them. `end` is the end of the last window, or None if there is no window.
    """

    items: pa.Table
    recorded_at: Mapping[int, datetime]
    end: datetime | None

    def unsure(self, found: Sequence[FoundObject]) -> tuple[list[FoundObject], set[int]]:
        """Return the objects that are perhaps new, and the numbers of the windows that `plan_windows` needs for them.

        An object is perhaps new if no window has its name, or if it may have changed since it was recorded. All other
        found objects are recorded, and have not changed. The windows are those with an object of the same name, the
        last ones, and those that first had the highest and the lowest number of an object.
        """
        newest_first = self.items[::-1]
        at = pc.index_in(pa.array([item.key for item in found], pa.string()), value_set=newest_first["key"])
        sizes, numbers = (newest_first[name].take(at).to_pylist() for name in ("size", "ordinal"))
        unsure = [
            item
            for item, size, number in zip(found, sizes, numbers, strict=True)
            if number is None or not is_untouched(item, size, self.recorded_at[number])
        ]
        return unsure, self._ends() | self._numbered() | self.with_keys({item.key for item in unsure})

    def with_keys(self, keys: Collection[str]) -> set[int]:
        """Return the numbers of the windows that have an object with one of these names (`keys`)."""
        found = pc.is_in(self.items["key"], value_set=pa.array(keys, pa.string()))
        return {*self.items["ordinal"].filter(found).to_pylist()}

    def last_of_partitions(self) -> set[int]:
        """Return the number of the last window of each partition, and the number of the last window of all."""
        newest = self.items.group_by(["topic", "partition"]).aggregate([("ordinal", "max")])
        return self._ends() | {*newest["ordinal_max"].to_pylist()}

    def _numbered(self) -> set[int]:
        """Return the numbers of the windows that first had the highest and the lowest number of an object."""
        ends = [pc.equal(self.items["number"], end(self.items["number"])) for end in (pc.max, pc.min)]
        return {number for end in ends for number in self.items["ordinal"].filter(end)[:1].to_pylist()}

    def _ends(self) -> set[int]:
        """Return the numbers of the last row and of the last row that has an item."""
        return {*list(self.recorded_at)[-1:], *self.items["ordinal"][-1:].to_pylist()}


def recorded_items(rows: pa.Table, column: str, fields: Sequence[str]) -> RecordedItems:
    """Make RecordedItems from rows of ops.windows.

    `column` is a column of lists, `objects` or `ranges`. `fields` are the fields to take from each item of a list.
    """
    rows = rows.sort_by("ordinal")
    lists = rows[column].combine_chunks()
    at, items = pc.list_parent_indices(lists), pc.list_flatten(lists)
    flat = pa.table({"ordinal": rows["ordinal"].take(at), **{name: pc.struct_field(items, name) for name in fields}})
    recorded_at = dict(zip(rows["ordinal"].to_pylist(), rows["recorded_at"].to_pylist(), strict=True))
    return RecordedItems(flat, recorded_at, pc.max(rows["end"]).as_py())
