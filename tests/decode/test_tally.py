"""The counts of a window, and what they must add up to."""

from collections.abc import Iterable

from hypothesis import given
from hypothesis import strategies as st

from retable.decode.tally import Count, CountKey, join_tallies, tally_messages, tally_tables
from retable.ledger.counts import check_events, check_messages
from retable.model.event import OPS, TableName
from retable.model.sequence import Sequence

ORDERS = TableName("shop", None, "orders")


def group(
    outcome: str, op: str | None, rows: int, messages: int, at: tuple[int, int] | None = None, part: str = "erp/0"
) -> tuple[CountKey, Count]:
    lowest, highest = (Sequence(0, at[0], 0), Sequence(0, at[1], 0)) if at else (None, None)
    return CountKey(outcome, op, ORDERS, part, "erp", 0), Count(rows, messages, lowest, highest)


def tallied(groups: Iterable[tuple[CountKey, Count]]) -> dict[CountKey, Count]:
    whole: dict[CountKey, Count] = {}
    for alike, count in groups:
        join_tallies(whole, {alike: count})
    return whole


def test_every_message_and_every_event_is_counted_once() -> None:
    groups = [
        group("stored", "INSERT", 5, 2, (1, 4)),
        group("stored", "DDL", 1, 1, (5, 5)),
        group("excluded", "DELETE", 3, 1, (6, 6)),
        group("quarantined", None, 2, 0),
        group("ignored", None, 1, 0),
    ]
    counts = tally_messages(tallied(groups), landed=7)
    assert counts == {
        "landed": 7,
        "decoded": 4,
        "quarantined": 2,
        "ignored:excluded": 1,
        "erased": 0,
        "events": 9,
        "rows": 8,
        "excluded": 3,
        "notes:DDL": 1,
    }
    check_messages(counts)
    check_events(counts)


def test_a_table_knows_its_lowest_and_highest_sequence_by_part() -> None:
    groups = [
        group("stored", "INSERT", 5, 5, (9, 40)),
        group("stored", "DELETE", 1, 1, (7, 12)),
        group("stored", "UPDATE", 1, 1, (3, 3), part="erp/1"),
        group("quarantined", None, 2, 0),
    ]
    ((name, table),) = tally_tables(tallied(groups)).items()
    assert name == "shop.orders"
    assert table.counts == {"events": 7, "rows": 7}
    assert table.lowest == {"erp/0": Sequence(0, 7, 0), "erp/1": Sequence(0, 3, 0)}
    assert table.highest == {"erp/0": Sequence(0, 40, 0), "erp/1": Sequence(0, 3, 0)}


counts = st.integers(0, 9)
stored = st.builds(group, st.sampled_from(["stored", "excluded"]), st.sampled_from(OPS), counts, counts)
refused = st.builds(group, st.sampled_from(["quarantined", "ignored"]), st.none(), counts, st.just(0))


@given(st.lists(stored | refused))
def test_the_events_always_balance(groups: list[tuple[CountKey, Count]]) -> None:
    check_events(tally_messages(tallied(groups), landed=0))
