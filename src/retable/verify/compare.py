"""Compare two sets of rows, called left and right, by key or (without a key) as multisets.

Differing rows are counted, in total and by column. A few of them are kept as samples.
"""

import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from zlib import crc32

import pyarrow as pa

from retable.fold.fold import Key, Values
from retable.gold.render import json_column
from retable.gold.rows import to_column
from retable.model.schema import GoldType

MOST_SAMPLES = 5
"""At most this many rows are kept as samples for each kind of difference."""


@dataclass(frozen=True, slots=True)
class Sample:
    """A row that differs between the left and the right set of rows, as an example for the user.

    `key` has the values of the key columns by name; it is empty if whole rows are compared. If both sets have a row
    with this key, `left` and `right` are its values in the columns that differ. If only one set has the row, the field
    of this set has the values of all columns, and the field of the other set is None. Values are formatted as in
    `retable rows`.
    """

    key: dict[str, object]
    left: dict[str, object] | None
    right: dict[str, object] | None


@dataclass(slots=True, kw_only=True)
class RowDifference:
    """Counts of the differences between a left and a right set of rows, with samples.

    `left` and `right` are the numbers of rows in the sets. `only_left` and `only_right` count rows that the other set
    does not have. `different` counts rows with the same key but different values. `columns` has, by column name, how
    many of these rows differ in the column.
    """

    left: int = 0
    right: int = 0
    only_left: int = 0
    only_right: int = 0
    different: int = 0
    columns: Counter[str] = field(default_factory=Counter)
    samples: list[Sample] = field(default_factory=list)
    _kept: Counter[str] = field(default_factory=Counter)

    @property
    def is_equal(self) -> bool:
        return not (self.only_left or self.only_right or self.different)

    def keep(self, kind: str, sample: Sample) -> None:
        """Keep a sample, unless there are already MOST_SAMPLES of this kind (`left`, `right` or `different`)."""
        if self._kept[kind] < MOST_SAMPLES:
            self._kept[kind] += 1
            self.samples.append(sample)


@dataclass(frozen=True, slots=True)
class Comparison:
    """Compares two sets of rows that have the columns `names`, and adds the differences to a `RowDifference`.

    `on` are the indices of the key columns. If it is empty, whole rows are compared as multisets. `kinds` are the gold
    types of the columns, to show values; if a type is None, the value is shown as text. If a key has two rows in one
    set and one row in the other, one row counts as missing in the other set.
    """

    names: tuple[str, ...]
    kinds: tuple[GoldType | None, ...]
    on: tuple[int, ...]

    def add(self, found: RowDifference, left: Iterable[Values], right: Iterable[Values]) -> None:
        """Compare rows and add the differences to `found`. One call must get all rows of a key, from both sets."""
        lefts, rights = list(map(comparable, left)), list(map(comparable, right))
        found.left += len(lefts)
        found.right += len(rights)
        if not self.on:
            self._bags(found, Counter(lefts), Counter(rights))
            return
        here, there = self._by_key(lefts), self._by_key(rights)
        for key in dict.fromkeys((*here, *there)):
            self._rows_of_key(found, here.get(key, []), there.get(key, []))

    def _by_key(self, rows: Iterable[Values]) -> Mapping[Key, list[Values]]:
        found: dict[Key, list[Values]] = {}
        for row in rows:
            found.setdefault(tuple(row[index] for index in self.on), []).append(row)
        return found

    def _rows_of_key(self, found: RowDifference, left: list[Values], right: list[Values]) -> None:
        if left == right:
            return
        mine, theirs = Counter(left), Counter(right)
        left, right = list((mine - theirs).elements()), list((theirs - mine).elements())
        for one, other in zip(left, right, strict=False):
            differing = [at for at, name in enumerate(self.names) if one[at] != other[at] and one[at] is not other[at]]
            found.different += 1
            found.columns.update(self.names[at] for at in differing)
            found.keep(
                "different", Sample(self._named(one, self.on), *(self._named(r, differing) for r in (one, other)))
            )
        self._alone(found, left[len(right) :], right[len(left) :])

    def _bags(self, found: RowDifference, left: "Counter[Values]", right: "Counter[Values]") -> None:
        self._alone(found, list((left - right).elements()), list((right - left).elements()))

    def _alone(self, found: RowDifference, left: Sequence[Values], right: Sequence[Values]) -> None:
        found.only_left += len(left)
        found.only_right += len(right)
        every = range(len(self.names))
        for row in left[:MOST_SAMPLES]:
            found.keep("left", Sample(self._named(row, self.on), self._named(row, every), None))
        for row in right[:MOST_SAMPLES]:
            found.keep("right", Sample(self._named(row, self.on), None, self._named(row, every)))

    def _named(self, row: Values, columns: Iterable[int]) -> dict[str, object]:
        return {self.names[at]: _shown(row[at], self.kinds[at]) for at in columns}


def comparable(row: Values) -> Values:
    """Return the row with each NaN replaced by one object (`math.nan`), so that NaN equals NaN, as in gold."""
    if any(type(value) is float and value != value for value in row):
        return tuple(math.nan if type(value) is float and value != value else value for value in row)
    return row


def number_of(values: Values) -> int:
    """Return a hash of a key or a row, from 0 on, by which it gets its part. Equal values have equal hashes."""
    return crc32(repr(tuple(map(_plain, values))).encode("utf-8", "surrogatepass"))


def _shown(value: object, kind: GoldType | None) -> object:
    """Return a value as `retable rows` shows it in JSON."""
    if value is None or kind is None:
        return None if value is None else str(value)
    try:
        return json.loads(json_column(to_column([value], kind))[0])
    except (pa.ArrowException, OverflowError):
        return str(value)


def _plain(value: object) -> object:
    match value:
        case Decimal():
            return str(value.normalize() + 0)
        case float():
            return value + 0.0
    return value
