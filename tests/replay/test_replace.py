"""What a replacement writes: the rows that differ, and none of those that gold has already."""

from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retable.errors import RowMissing
from retable.fold.fold import ABSENT, Folded, Key, Winner
from retable.gold.store import CurrentRow
from retable.model.sequence import Sequence
from retable.replay.table.replace import EventsMissed, replace_keys

rows = st.tuples(st.integers(1, 3), st.integers(0, 2))
"""A value, and the `hi` of the sequence that wrote it."""
tables = st.dictionaries(st.integers(0, 5), rows)
winners = st.dictionaries(st.integers(0, 5), st.none() | rows)


@given(tables, winners)
def test_each_touched_key_ends_as_its_winner_and_only_rows_that_differ_are_written(
    gold: dict[int, tuple[int, int]], touched: dict[int, tuple[int, int] | None]
) -> None:
    folded = Folded()
    for key, row in touched.items():
        folded.touched.add((key,))
        value, hi = row or (None, 9)
        folded.winners[(key,)] = Winner(
            sequence=Sequence(0, hi, 0), part=None, row=None if value is None else (key, value)
        )
    standing = [
        CurrentRow((key, value), Sequence(0, hi, 0), None) for key, (value, hi) in gold.items() if key in touched
    ]
    found = replace_keys(folded, [0], standing)
    assert sorted(found.deletes) == sorted((key,) for key, row in touched.items() if key in gold and row != gold[key])
    written: dict[Key, tuple[object, int]] = {(values[0],): (values[1], who.sequence.hi) for values, who in found.rows}
    assert len(written) == len(found.rows)
    assert written == {(key,): row for key, row in touched.items() if row is not None and row != gold.get(key)}


@pytest.mark.parametrize("keys", list(permutations([1, 2, 3])))
def test_of_several_failures_the_same_one_is_told_whatever_the_order(keys: tuple[int, ...]) -> None:
    """That more events are needed comes before a row that is missing, as they may have it; else the lowest row."""

    def winner(hi: int, base: int | None) -> Winner:
        row = (1, 0) if base is None else (1, ABSENT)
        return Winner(sequence=Sequence(0, hi, 0), part=None, row=row, base=None if base is None else (base,))

    named = dict(zip(keys, [winner(5, 8), winner(4, 9), winner(3, None)], strict=True))
    folded = Folded(winners={(key,): each for key, each in named.items()}, touched={(key,) for key in keys})
    ahead = CurrentRow((keys[2], 0), Sequence(0, 7, 0), None)
    with pytest.raises(EventsMissed):
        replace_keys(folded, [0], [ahead], complete=False)
    with pytest.raises(RowMissing, match=r"of the row with the key \(9,\)"):
        replace_keys(folded, [0], [ahead], complete=True)
