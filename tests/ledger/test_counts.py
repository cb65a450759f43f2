"""The ledger's equations."""

import pytest

from retable.errors import Unbalanced
from retable.ledger.counts import check_events, check_messages, check_rows


def test_messages_balance_with_their_reasons():
    check_messages({"landed": 10, "decoded": 6, "ignored:tombstone": 1, "ignored:heartbeat": 1, "quarantined": 2})
    check_messages({"landed": 0})


def test_events_are_rows_and_notes():
    check_events({"events": 5, "rows": 3, "notes:DDL": 1, "notes:HEARTBEAT": 1})


def test_rows_balance():
    counts = {"applied": 1, "superseded": 2, "duplicate": 3, "voided": 4, "held": 5, "pending": 6, "rejected": 7}
    check_rows({"rows": 36, **counts, "excluded": 8})


@pytest.mark.parametrize(
    ("check", "counts"),
    [
        (check_messages, {"landed": 10, "decoded": 9}),
        (check_messages, {"decoded": 1}),
        (check_events, {"events": 2, "rows": 1}),
        (check_rows, {"rows": 1, "applied": 2}),
        (check_rows, {"rows": 1, "applied": 2, "held": -1}),
        (check_rows, {"rows": 1, "appliedx": 1}),
    ],
)
def test_what_does_not_balance_shows_the_numbers(check, counts):
    with pytest.raises(Unbalanced, match="does not balance") as caught:
        check(counts)
    assert caught.value.facts["counts"] == counts
