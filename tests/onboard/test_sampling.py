"""What is looked at of a partition: few positions, its last ones among them, and none twice."""

from hypothesis import given
from hypothesis import strategies as st

from retable.ledger.windows.positions import FoundPartition
from retable.onboard.sampling import some_of, spread


@given(low=st.integers(0, 10**12), length=st.integers(0, 10**6), most=st.integers(1, 2000))
def test_a_sample_of_a_partition_lies_in_it_and_ends_with_it(low: int, length: int, most: int) -> None:
    pieces = spread(FoundPartition("t", 0, "", low, low + length), most)
    taken = [at for piece in pieces for at in range(piece.begin, piece.end)]
    assert len(taken) <= min(most, length)
    assert min(most, length) - len(taken) < 5
    assert taken == sorted(set(taken))
    assert all(low <= at < low + length for at in taken)
    assert not length or taken[-1] == low + length - 1


@given(items=st.lists(st.integers(), unique=True), most=st.integers(1, 30))
def test_some_of_many_are_from_all_over_them(items: list[int], most: int) -> None:
    some = some_of(items, most)
    assert len(some) <= most
    assert some == [each for each in items if each in some]
    assert not items or some[0] == items[0]
