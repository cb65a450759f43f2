"""Two sets of rows, side by side."""

import math
from decimal import Decimal

from hypothesis import given
from hypothesis import strategies as st

from retable.model.schema import GoldType
from retable.verify.compare import MOST_SAMPLES, Comparison, RowDifference, number_of
from retable.verify.rebuild import Links

INT, DOUBLE = GoldType("int"), GoldType("double")
KEYED = Comparison(("id", "n"), (INT, DOUBLE), (0,))
BAG = Comparison(("id", "n"), (INT, DOUBLE), ())

ROWS = st.lists(st.tuples(st.integers(0, 5), st.sampled_from((None, 1.5, math.nan))), max_size=12)


def counts(comparison: Comparison, left: list[tuple[object, ...]], right: list[tuple[object, ...]]) -> tuple[int, ...]:
    found = RowDifference()
    comparison.add(found, left, right)
    return found.only_left, found.only_right, found.different


def test_a_row_that_is_not_a_number_equals_itself() -> None:
    assert counts(KEYED, [(1, math.nan)], [(1, float("nan"))]) == (0, 0, 0)
    assert counts(BAG, [(1, math.nan)], [(1, float("nan"))]) == (0, 0, 0)


def test_a_key_that_stands_twice_on_one_side_is_a_row_more_there() -> None:
    assert counts(KEYED, [(1, 1.5), (1, 1.5)], [(1, 1.5)]) == (1, 0, 0)
    assert counts(KEYED, [(1, 1.5), (1, None)], [(1, None), (1, 2.0), (1, 3.0)]) == (0, 1, 1)


def test_samples_are_few_of_each_kind_and_show_what_differs() -> None:
    found = RowDifference()
    KEYED.add(found, [(number, 1.5) for number in range(20)], [(number, 2.5) for number in range(10, 30)])
    assert (found.only_left, found.only_right, found.different) == (10, 10, 10)
    assert len(found.samples) == 3 * MOST_SAMPLES
    assert next((s.key, s.left, s.right) for s in found.samples if s.left and s.right) == (
        {"id": 10},
        {"n": 1.5},
        {"n": 2.5},
    )


@given(ROWS, ROWS)
def test_a_difference_is_none_if_and_only_if_both_are_the_same_bag(left: list[object], right: list[object]) -> None:
    same = sorted(map(str, left)) == sorted(map(str, right))
    for comparison in (KEYED, BAG):
        only_left, only_right, different = counts(comparison, left, right)  # type: ignore[arg-type]
        assert ((only_left, only_right, different) == (0, 0, 0)) == same
        assert len(left) - len(right) == only_left - only_right


@given(st.decimals(-(10**20), 10**20, places=4))
def test_equal_values_are_in_one_part_however_they_are_written(value: Decimal) -> None:
    assert number_of((value,)) == number_of((value.quantize(Decimal("1.000000")),))
    assert number_of((0.0,)) == number_of((-0.0,))


@given(st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12)), max_size=30))
def test_keys_that_updates_join_have_one_first_key_in_any_order(pairs: list[tuple[int, int]]) -> None:
    forward, backward = Links(), Links()
    for one, other in pairs:
        forward.join(one, other)
    for one, other in reversed(pairs):
        backward.join(other, one)
    assert all(forward.first(one) == forward.first(other) for one, other in pairs)
    assert all(forward.first(key) == backward.first(key) for key in range(13))
