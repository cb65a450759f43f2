"""Where the rows of a table begin: kept from run to run, it is what the whole ledger says."""

from collections.abc import Mapping

from hypothesis import given
from hypothesis import strategies as st

from retable.replay.inputs.known import NO_ROWS, begins_with, first_rows, joined

PARTS = st.dictionaries(st.sampled_from(["", "t/0", "t/1"]), st.integers(0, 20).map(lambda at: f"0.{at}.0"))
RUNS = st.lists(st.dictionaries(st.sampled_from(["w1", "w2", "w3"]), PARTS, min_size=1), max_size=6)


@given(runs=RUNS)
def test_it_is_what_the_whole_ledger_says(runs: list[Mapping[str, Mapping[str, str]]]) -> None:
    kept, ledger = NO_ROWS, dict[str, Mapping[str, str]]()
    for counted in runs:
        before = {window: ledger[window] for window in counted if window in ledger}
        ledger |= counted
        if any(begins_with(kept, window, lowest) for window, lowest in before.items()):
            kept = first_rows(ledger)
        else:
            kept = joined(kept, first_rows(counted))
        assert kept == first_rows(ledger)


def test_positions_are_compared_as_numbers() -> None:
    assert first_rows({"w1": {"": "0.10.0"}, "w2": {"": "0.9.0"}}) == ("w1", {"": "0.9.0"})
