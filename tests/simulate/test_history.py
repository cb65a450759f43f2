"""What the shop does: again the same from the same seed, everything sooner or later, and its truth at every point."""

import random
from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from retable.errors import InvalidSetting
from retable.simulate import (
    DDL_KINDS,
    HELD_KINDS,
    LOADED,
    ROW_KINDS,
    Clock,
    History,
    canal_json,
    simulate,
    streamx_json,
    type_settings,
)
from retable.simulate.history import RowChange, StatementRun, TransactionMark

EVERY_KIND = (*ROW_KINDS, *DDL_KINDS, *HELD_KINDS)


def shop(seed: int, changes: int = 60, **how: object) -> History:
    return simulate(random.Random(seed), changes, **how)  # type: ignore[arg-type]  # options by name


def test_the_same_seed_gives_the_same_bytes_and_another_seed_others() -> None:
    first, again, other = shop(1), shop(1), shop(2)
    for write in (canal_json.write, streamx_json.write):
        assert write(first) == write(again)
        assert write(first) != write(other)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.randoms(use_true_random=False), st.integers(0, 60))
def test_hypothesis_can_throw_the_dice(dice: random.Random, changes: int) -> None:
    history = simulate(dice, changes, kinds=EVERY_KIND)
    assert history.kinds.total() <= changes
    assert canal_json.write(history).messages


def test_every_kind_of_action_is_taken_within_some_seeds() -> None:
    taken = Counter[str]()
    for seed in range(30):
        taken += shop(seed, 80, kinds=EVERY_KIND).kinds
    assert set(taken) == set(EVERY_KIND)


@pytest.mark.parametrize("kind", sorted({*ROW_KINDS, *DDL_KINDS} - {"create_select"}))
def test_a_kind_that_is_asked_for_alone_comes_alone(kind: str) -> None:
    history = shop(5, 10, kinds=(kind,))
    assert set(history.kinds) <= {kind}
    statements = [entry for entry in history.entries if isinstance(entry, StatementRun)]
    created = [entry for entry in statements if entry.statement.kind == "CREATE"]
    if kind in ROW_KINDS:
        assert statements == created
        assert len(created) == 3
    else:
        assert not [entry for entry in history.entries if isinstance(entry, RowChange)]


def test_a_kind_that_does_not_exist_is_named() -> None:
    with pytest.raises(InvalidSetting, match="no action 'explode'; `kinds` can name insert, insert_many"):
        shop(1, kinds=("insert", "explode"))


def test_positions_and_times_rise_and_transactions_hold_their_rows() -> None:
    for seed in range(20):
        history = shop(seed)
        positions = [entry.position for entry in history.entries]
        times = [entry.time_ms for entry in history.entries]
        assert positions == sorted(set(positions))
        assert positions[0] > 0
        assert times == sorted(times)
        assert history.loaded_at_ms <= times[0]
        assert times[-1] <= history.ended_at_ms
        inside: int | None = None
        for entry in history.entries:
            match entry:
                case TransactionMark(_, _, number, ends):
                    assert inside == (number if ends else None)
                    inside = None if ends else number
                case RowChange():
                    assert entry.transaction == inside
                case StatementRun():
                    assert inside is None


def test_the_clock_stays_within_its_end_and_fills_the_time_until_then() -> None:
    clock = Clock(start_ms=0, pace_ms=1000, end_ms=200_000)
    history = shop(3, 200, clock=clock)
    times = [entry.time_ms for entry in history.entries]
    assert history.ended_at_ms == clock.end_ms
    assert 150_000 < times[-1] <= 200_000


def test_a_prefix_of_the_history_has_the_truth_of_its_last_entry() -> None:
    history = shop(11)
    truths = dict(history.truths())
    assert truths.keys() == {0, *(entry.position for entry in history.entries)}
    for position, truth in truths.items():
        upto = history.truth_up_to(position)
        assert upto == truth
        assert history.truth_up_to(position + 1) == truths.get(position + 1, truth)
    assert truths[history.entries[-1].position] == history.truth()


def test_a_truth_of_earlier_stays_as_it_was() -> None:
    history = shop(12)
    texts = [(truth, {name: truth.lines(name) for name in truth.names()}) for _, truth in history.truths()]
    assert all({name: truth.lines(name) for name in truth.names()} == lines for truth, lines in texts)
    assert len({str(lines) for _, lines in texts}) > 20


def test_what_a_row_was_before_is_what_the_change_before_it_left() -> None:
    for seed in range(10):
        for (_, before), entry in zip(shop(seed).truths(), shop(seed).entries, strict=False):
            if isinstance(entry, RowChange) and entry.before is not None:
                assert entry.before in before.tables[entry.table].rows.values()


def test_rolled_back_transactions_leave_no_trace_and_no_op_updates_leave_one() -> None:
    history = shop(4, 20, kinds=("roll_back",))
    assert history.kinds == {"roll_back": 20}
    assert {type(entry) for entry in history.entries} == {StatementRun}
    assert history.truth().lines("customers") == history.truth_up_to(0).lines("customers")
    changes = [entry for entry in shop(4, 20, kinds=("no_op_update",)).entries if isinstance(entry, RowChange)]
    assert len(changes) == 20
    assert all(change.before == change.after for change in changes)


def test_keys_change_are_shifted_and_traded() -> None:
    for kind, statements, rows in (("change_key", 1, 1), ("shift_keys", 1, 2), ("swap_keys", 3, 3)):
        history = shop(6, 1, kinds=(kind,))
        changes = [entry for entry in history.entries if isinstance(entry, RowChange)]
        assert len(changes) == rows
        assert len({change.event for change in changes}) == statements
        assert all(change.before != change.after for change in changes)
    table = changes[0].table
    before, after = (history.truth_up_to(at).tables[table].rows for at in (0, changes[-1].position))
    assert before.keys() == after.keys()
    assert before != after


def test_rows_without_a_key_repeat_and_keys_beyond_63_bits_occur() -> None:
    repeated = big = again = 0
    for seed in range(10):
        history = shop(seed, 120, kinds=ROW_KINDS)
        rows = list(history.truth().tables["events"].rows.values())
        repeated += len(rows) > len(set(rows))
        big += any(int(str(row["id"])) >= 1 << 63 for row in history.truth().rows("customers"))
        gone = set[object]()
        for entry in history.entries:
            if isinstance(entry, RowChange) and entry.table == "stock":
                again += entry.before is None and entry.after is not None and entry.after[0] in gone
                gone |= {entry.before[0]} if entry.before is not None and entry.after is None else set()
    assert repeated
    assert big
    assert again


def test_tables_are_loaded_before_the_log_or_created_in_it() -> None:
    for loaded in ((), LOADED, ("customers", "events", "order_lines", "orders", "stock")):
        history = shop(1, 0, loaded=loaded, rows=3)
        assert set(history.truth().tables) == {"customers", "events", "order_lines", "orders", "stock"}
        assert set(history.truth_up_to(0).tables) == set(loaded)
        assert all(len(table.rows) == 3 for table in history.loaded.values())


def test_dropped_tables_are_empty_and_renamed_ones_stand_under_their_new_name() -> None:
    dropped = shop(2, 2, kinds=("drop_table",)).truth()
    assert len(dropped.dropped) == 2
    assert set(dropped.names()) == {"customers", "events", "order_lines", "orders", "stock"}
    assert all(dropped.rows(name) == [] and dropped.columns(name) == [] for name in dropped.dropped)
    renamed = shop(2, 1, kinds=("rename_table",))
    before, after = renamed.truth_up_to(renamed.entries[-1].position - 1), renamed.truth()
    ((old, table),) = ((name, table) for name, table in before.tables.items() if name not in after.tables)
    ((new, same),) = ((name, table) for name, table in after.tables.items() if name not in before.tables)
    assert same == table
    assert after.rows(old) == []
    assert old not in after.names()
    assert new in after.names()


def test_statements_that_hold_are_told_and_come_only_if_they_are_asked_for() -> None:
    assert all(not shop(seed).holds() for seed in range(20))
    for kind in HELD_KINDS:
        history = shop(3, 3, kinds=(kind,))
        statements = {entry.position: entry for entry in history.entries if isinstance(entry, StatementRun)}
        assert len(history.holds()) == history.kinds[kind] > 0
        for position, table in history.holds().items():
            assert statements[position].statement.table == table
            assert history.truth_up_to(position).tables[table] != history.truth_up_to(position - 1).tables[table]


def test_settings_tell_the_types_of_loaded_tables_under_all_their_names() -> None:
    assert type_settings(shop(1, 0)) == {
        "shop.customers": {"id": "decimal(20,0)", "born": "date", "balance": "decimal(30,10)", "active": "int"},
        "shop.stock": {"seen": "timestamptz"},
    }
    history = shop(7, 12, kinds=("rename_table", "widen_column"), loaded=("customers",))
    told = type_settings(history)
    assert len(told) > 1
    assert len({str(types) for types in told.values()}) == 1
    assert all(f"shop.{name}" in told or name in ("orders", "stock") for name in history.loaded)


def test_the_first_choice_is_always_the_simplest() -> None:
    """What a test shrinks to: rows are inserted, one by one, plain ones."""

    class Least:
        def randrange(self, start: int, stop: int, /) -> int:
            assert start < stop
            return start

    history = simulate(Least(), 5)
    assert history.kinds == {"insert": 5}
    assert [a.position + 1 for a, b in pairwise(history.entries)] == [b.position for a, b in pairwise(history.entries)]
