"""Make rows from a key and a version number, so that the benchmark stores only versions."""

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

GONE = -1
COLUMNS = 20
"""The number of columns, with the key."""
_MODULUS = 1_000_000_007
_KINDS = ("whole", "text", "decimal", "text")

Keys = npt.NDArray[np.int64]


def name(column: int) -> str:
    return "id" if column == 0 else f"c{column}"


def kind(column: int) -> str:
    return _KINDS[column % len(_KINDS)]


def numbers(column: int, ids: Keys, versions: Keys) -> Keys:
    """Return the numbers from which the values of a column are made, for rows of these keys and versions."""
    found: Keys = (ids * (2 * column + 31) + versions * ((column + 7) * 1009) + column) % _MODULUS
    return found


def values(column: int, ids: Keys, versions: Keys) -> pa.Array:
    """Return the values of a column for rows of these keys and versions, as gold must have them."""
    made = pa.array(numbers(column, ids, versions))
    match kind(column):
        case "whole":
            return made
        case "decimal":
            wide = np.zeros((len(made), 2), np.int64)
            wide[:, 0] = made
            return pa.Array.from_buffers(pa.decimal128(12, 2), len(made), [None, pa.py_buffer(wide)])
        case _:
            return pc.binary_join_element_wise("text ", made.cast(pa.string()), "")


@dataclass(frozen=True, slots=True)
class Changes:
    """Changes in source order: key and version before (`ids`, `before`) and after (`moved_to`, `after`). -1: no row."""

    ids: Keys
    before: Keys
    moved_to: Keys
    after: Keys

    def __len__(self) -> int:
        return len(self.ids)

    @classmethod
    def joined(cls, *parts: "Changes") -> "Changes":
        fields = zip(*((each.ids, each.before, each.moved_to, each.after) for each in parts), strict=True)
        return cls(*(np.concatenate(each) for each in fields))

    def part(self, at: int, parts: int) -> "Changes":
        """Return part number `at` of `parts` parts with about the same length."""
        return self.at(slice(at * len(self) // parts, (at + 1) * len(self) // parts))

    def at(self, where: slice | Keys) -> "Changes":
        """Return the changes at these indexes."""
        return Changes(self.ids[where], self.before[where], self.moved_to[where], self.after[where])


@dataclass(slots=True)
class Table:
    """The version of each key of a table. Its methods make changes and raise the versions."""

    versions: Keys = field(default_factory=lambda: np.zeros(0, np.int64))
    _batch: int = 0
    _dice: np.random.Generator = field(default_factory=lambda: np.random.default_rng(7))

    def load(self, count: int) -> Changes:
        """Return inserts of `count` new keys."""
        ids = np.arange(len(self.versions), len(self.versions) + count)
        self.versions = np.concatenate([self.versions, np.zeros(count, np.int64)])
        return Changes(ids, np.full(count, GONE), ids, np.zeros(count, np.int64))

    def change(self, count: int, moves: float = 0.0) -> Changes:
        """Return `count` changes of different keys: half are updates, a quarter deletes, a quarter inserts.

        `moves` is the share of updates that change the key, from 0 to 1.
        """
        self._batch += 1
        alive = np.flatnonzero(self.versions != GONE)
        touched = self._dice.choice(alive, min(count * 3 // 4, len(alive)), replace=False)
        updates, moving = count // 2, int(count // 2 * moves)
        fresh = np.arange(len(self.versions), len(self.versions) + moving + count - len(touched))
        self.versions = np.concatenate([self.versions, np.full(len(fresh), GONE)])
        ids = np.concatenate([touched, fresh[moving:]])
        moved_to = ids.copy()
        moved_to[:moving] = fresh[:moving]
        before, after = self.versions[ids], np.full(len(ids), self._batch)
        after[updates : len(touched)] = GONE
        self.versions[ids] = GONE
        self.versions[moved_to[after != GONE]] = self._batch
        order = self._dice.permutation(len(ids))
        return Changes(ids[order], before[order], moved_to[order], after[order])

    def shift(self) -> Changes:
        """Return the changes of `UPDATE … SET id = id + 1` over all rows, from the greatest key down."""
        self._batch += 1
        ids = np.flatnonzero(self.versions != GONE)[::-1]
        before = self.versions[ids]
        self.versions = np.full(len(self.versions) + 1, GONE)
        self.versions[ids + 1] = self._batch
        return Changes(ids, before, ids + 1, np.full(len(ids), self._batch))
