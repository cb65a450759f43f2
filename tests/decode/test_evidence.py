"""Which stamps prove how far a source was read, and which only seem to."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from formats.events import CANAL, canal
from retable.decode.evidence import evidence_rows, grade_of
from retable.decode.outcome import decode_batches
from retable.decode.tally import Count, CountKey, join_tallies
from retable.land.bronze import to_batches
from retable.model.event import Address, ChangeEvent, Op
from retable.model.evidence import TOLERANCE_MS, is_ahead

NOW = datetime(2026, 3, 2, tzinfo=UTC)
T = 1_772_323_256_000
CONTEXT = replace(CANAL, canary="ops.retable_canary", recorded_ms=T + 3_600_000)


def event(
    op: Op = "INSERT", time: int | None = T, database: str | None = "shop", table: str | None = "t"
) -> ChangeEvent:
    return ChangeEvent("canal_json", "mysql", op, op, Address("t", 0, 0), database, None, table, event_time_ms=time)


@pytest.mark.parametrize("op", ["INSERT", "UPDATE", "DELETE", "READ"])
def test_every_row_with_a_source_time_is_evidence(op: Op) -> None:
    assert grade_of(event(op), T, CONTEXT) == "row"


@pytest.mark.parametrize("op", ["TRUNCATE", "DDL", "TRANSACTION", "OTHER"])
def test_what_is_no_row_and_no_heartbeat_is_none(op: Op) -> None:
    assert grade_of(event(op), T, CONTEXT) is None


def test_a_heartbeat_and_a_row_of_the_canary_are_better_evidence() -> None:
    assert grade_of(event("HEARTBEAT", database=None, table=None), T, CONTEXT) == "heartbeat"
    assert grade_of(event("UPDATE", database="ops", table="retable_canary"), T, CONTEXT) == "canary"
    assert grade_of(event("DDL", database="ops", table="retable_canary"), T, CONTEXT) is None


@pytest.mark.parametrize("time", [None, 0, -1])
def test_a_message_without_a_source_time_proves_nothing(time: int | None) -> None:
    assert grade_of(event(time=time), T, CONTEXT) is None


@pytest.mark.parametrize(
    ("stamp", "broker", "recorded", "ahead"),
    [
        (T + TOLERANCE_MS, T, None, False),
        (T + TOLERANCE_MS + 1, T, None, True),
        (T + TOLERANCE_MS + 1, None, T, True),
        (T + TOLERANCE_MS + 1, T, T + 10**9, True),
        (T + TOLERANCE_MS + 1, 0, T + 10**9, False),
        (T + TOLERANCE_MS + 1, -1, None, False),
    ],
)
def test_a_stamp_may_be_a_minute_ahead_of_the_broker_and_of_the_record(
    stamp: int, broker: int | None, recorded: int | None, ahead: bool
) -> None:
    assert is_ahead(stamp, broker, recorded) == ahead


def test_a_stamp_from_the_future_is_told_and_proves_nothing() -> None:
    assert grade_of(event(time=T + 30 * 3_600_000), T, replace(CONTEXT, recorded_ms=T + 10**9)) == "ahead"


def test_rows_of_tables_that_are_left_out_prove_too_and_keep_nothing_else() -> None:
    messages = [canal(1), canal(2, database="ops", table="retable_canary"), canal(3, database="crm"), canal(4, es=T)]
    bronze = to_batches(messages, "20260301T0500Z", NOW)
    (decoded,) = decode_batches(bronze, CONTEXT, lambda table: table.database == "shop")
    assert [(alike.outcome, str(alike.table), alike.grade) for alike in decoded.tally] == [
        ("stored", "shop.t", "row"),
        ("excluded", "ops.retable_canary", "canary"),
        ("excluded", "crm.t", "row"),
        ("stored", "shop.t", "ahead"),
    ]
    assert {event.database for event in decoded.stored} == {"shop"}


def stamped(topic: str, partition: int, grade: str | None, latest_ms: int | None, rows: int) -> tuple[CountKey, Count]:
    return CountKey("stored", "INSERT", None, "", topic, partition, grade), Count(rows, rows, latest_ms=latest_ms)


def tallied(seen: list[tuple[CountKey, Count]]) -> dict[CountKey, Count]:
    whole: dict[CountKey, Count] = {}
    for alike, count in seen:
        join_tallies(whole, {alike: count})
    return whole


def test_a_window_proves_the_latest_stamp_of_each_partition_and_grade() -> None:
    at = datetime(2026, 3, 1, 0, 0, 56, tzinfo=UTC)
    seen = [
        stamped("t", 1, "row", T, 3),
        stamped("t", 0, "row", T + 2_000, 5),
        stamped("t", 0, "row", T + 1_000, 5),
        stamped("t", 0, "heartbeat", T + 3_001, 1),
        stamped("t", 0, "ahead", T * 9, 7),
        stamped("t", 2, None, T + 9_000, 1),
        stamped("dump", -1, None, None, 4),
    ]
    rows = evidence_rows("erp", "20260301T0500Z", 4, tallied(seen), NOW)
    assert [(row.partition, row.epoch, row.heartbeat, row.canary, row.row, row.ahead) for row in rows] == [
        (0, 4, at + timedelta(milliseconds=3_001), None, at + timedelta(seconds=2), 7),
        (1, 4, None, None, at, 0),
        (2, 4, None, None, None, 0),
    ]


stamps = st.lists(
    st.builds(
        stamped,
        st.just("t"),
        st.integers(-1, 2),
        st.sampled_from(["heartbeat", "canary", "row", "ahead", None]),
        st.none() | st.integers(1, T),
        st.integers(1, 9),
    )
)


@given(stamps, st.randoms(use_true_random=False))
def test_the_order_in_which_stamps_are_counted_does_not_matter(
    seen: list[tuple[CountKey, Count]], chance: Random
) -> None:
    mixed = list(seen)
    chance.shuffle(mixed)
    assert evidence_rows("erp", "w", 0, tallied(mixed), NOW) == evidence_rows("erp", "w", 0, tallied(seen), NOW)
