"""The gate opens on evidence alone, and when it stays shut it names one cause and the next step."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feeding import DAY, at
from retable.freshness.gate import Blocker, Cause, SourceFacts, Stuck, format_time, judge, other_causes, standing_of
from retable.freshness.watermark import SourceLine, Stamps
from retable.model.evidence import GRADES, Grade

ORDERS = "gold_shop.orders"
W5 = "20260301T0500Z"
HELD = Cause("HELD", "it is held at 0.7.0 (ZERO_DATE): a zero date", "set zero_date", table=ORDERS)


def facts(row: str | None = "05:50", tables: dict[str, Sequence[Blocker]] | None = None, **more: object) -> SourceFacts:
    """One partition that spoke at `row`, in windows that are all replayed."""
    marks = {} if row is None else {"row": at(row), "drained": at(row)}
    line = SourceLine(W5, 0, {"shop.t/0": Stamps(row=row and at(row))}, marks)
    return replace(
        SourceFacts(source="erp", line=line, ordered=False, recorded=at("06:00"), blockers=tables or {ORDERS: ()}),
        **more,
    )


def test_what_is_proven_through_a_time_is_fresh() -> None:
    verdict = judge([facts("06:00")], at("06:00"), "row")
    assert verdict.is_fresh
    assert (verdict.standing.watermark, verdict.standing.grade) == (at("06:00"), "row")
    assert verdict.words == "gold_shop.orders is fresh: complete through 2026-03-01T06:00:00Z (row)"


def test_a_grade_below_the_lowest_accepted_one_opens_nothing() -> None:
    assert not judge([facts("06:00")], at("06:00"), "canary").is_fresh
    assert judge([facts("06:00")], at("06:00"), "drained").is_fresh


def test_a_silent_partition_is_named_with_its_last_word() -> None:
    verdict = judge([facts("05:50")], at("06:00"), "row")
    assert verdict.cause is not None
    assert (verdict.cause.code, verdict.cause.partition, verdict.cause.since) == ("SILENT", "shop.t/0", at("05:50"))
    assert verdict.words == (
        "gold_shop.orders is late: complete through 2026-03-01T05:50:00Z (row), not 2026-03-01T06:00:00Z: the "
        "partition shop.t/0 has no evidence since 2026-03-01T05:50:00Z: no heartbeat, canary or row with the "
        "time 2026-03-01T06:00:00Z or later; wait for the next message of that partition; if the source seldom "
        "changes, let it update a canary row every minute (`canary` in the settings)"
    )


def test_a_weaker_grade_is_offered_only_where_it_suffices() -> None:
    found = facts("05:50")
    for drained, is_offered in (("06:00", True), ("05:59", False)):
        line = replace(found.line, watermarks={**found.line.watermarks, "drained": at(drained)})
        verdict = judge([replace(found, line=line)], at("06:00"), "row")
        assert verdict.words.endswith("or accept the grade `drained`") == is_offered


def test_a_window_that_was_recorded_before_its_end_is_named_where_drained_windows_count() -> None:
    verdict = judge([replace(facts("05:00"), recorded=at("06:00"))], at("06:00"), "drained")
    assert verdict.cause is not None
    assert (verdict.cause.code, verdict.cause.since) == ("NOT_RECORDED", at("05:00"))
    assert "was recorded before its end, 2026-03-01T06:00:00Z, so messages of that time may still" in verdict.words
    assert verdict.cause.next_step.startswith("the next window contains them: `retable run erp`")


def test_a_partition_that_never_spoke_is_named_first() -> None:
    found = facts()
    line = replace(found.line, partitions={**found.line.partitions, "shop.t/1": Stamps()})
    verdict = judge([replace(found, line=line)], at("06:00"), "row")
    assert verdict.cause is not None
    assert verdict.cause.partition == "shop.t/1"
    assert "has no evidence since its first message" in verdict.cause.reason
    assert "and the same is true of 1 more partitions" in verdict.cause.reason


def test_stamps_ahead_of_the_clock_are_told_though_they_prove_nothing() -> None:
    verdict = judge([facts(ahead={"shop.t/0": 1200})], at("06:00"), "row")
    assert "1,200 timestamps in this partition are ahead of the clock and prove nothing" in verdict.words


def test_a_source_of_which_nothing_was_ever_seen_says_so() -> None:
    found = facts(None)
    verdict = judge([replace(found, line=replace(found.line, partitions={}))], at("06:00"), "canary")
    assert verdict.words.startswith(
        "gold_shop.orders is late: nothing is proven yet, not 2026-03-01T06:00:00Z: no heartbeat or canary of erp"
    )


def test_what_no_window_reaches_has_not_landed() -> None:
    verdict = judge([facts(recorded=at("05:00"))], at("06:00"), "row")
    assert verdict.cause is not None
    assert verdict.cause.code == "NOT_RECORDED"
    assert "the last window of erp ends at 2026-03-01T05:00:00Z" in verdict.words
    never = judge([facts(None, recorded=None)], at("06:00"), "row")
    assert "no window of erp was ever recorded" in never.words


@pytest.mark.parametrize(
    ("stage", "code", "words"),
    [
        ("land", "NOT_LANDED", "is recorded but not landed"),
        ("decode", "NOT_DECODED", "is landed but not decoded"),
        ("replay", "NOT_REPLAYED", "is decoded but not replayed"),
    ],
)
def test_a_window_that_is_not_done_names_the_stage_that_is_missing(stage: str, code: str, words: str) -> None:
    verdict = judge([facts(stuck=Stuck(W5, stage))], at("06:00"), "row")  # type: ignore[arg-type]  # a stage by its name
    assert verdict.cause is not None
    assert (verdict.cause.code, verdict.cause.window) == (code, W5)
    assert f"the window {W5} of erp {words}" in verdict.words


def test_a_blocker_stops_its_table_where_it_stands_and_no_other() -> None:
    tables = {ORDERS: [Blocker(HELD, {"row": at("05:10")})], "gold_shop.items": ()}
    held, free = judge([facts("06:30", tables)], at("06:00"), "row"), facts("06:30", {"gold_shop.items": ()})
    assert (held.name, held.cause, held.standing.watermark) == (ORDERS, HELD, at("05:10"))
    assert judge([free], at("06:00"), "row").is_fresh
    assert judge([facts("06:30", tables)], at("05:10"), "row").is_fresh


def test_a_blocker_behind_what_is_proven_is_not_the_cause() -> None:
    blocked = Blocker(HELD, {"row": at("05:50")})
    verdict = judge([facts("05:50", {ORDERS: [blocked]})], at("06:00"), "row")
    assert verdict.cause is not None
    assert verdict.cause.code == "SILENT"


def test_what_blocks_a_source_itself_blocks_none_of_its_tables() -> None:
    found = facts("06:30", own=[Blocker(HELD, {"row": at("05:10")})])
    verdict = judge([found], at("06:00"), "row")
    assert (verdict.name, verdict.cause, verdict.standing.watermark) == ("erp", HELD, at("05:10"))
    assert [standing_of(found, name, "row").watermark for name in (None, ORDERS)] == [at("05:10"), at("06:30")]


def test_of_several_blockers_the_one_that_stops_first_is_the_cause() -> None:
    later = Cause("QUARANTINED", "1 message", "redecode")
    blockers = [Blocker(later, {"row": at("05:30")}), Blocker(HELD, {"row": at("05:10")})]
    assert judge([facts("06:30", {ORDERS: blockers})], at("06:00"), "row").cause == HELD


def test_of_several_sources_the_one_that_lags_most_is_told() -> None:
    other = replace(facts("05:20", {"gold_crm.customers": ()}), source="crm")
    assert judge([facts("05:50"), other], at("06:00"), "row").name == "gold_crm.customers"


def test_the_best_grade_that_proves_as_much_is_shown() -> None:
    line = SourceLine(W5, 0, {}, {"heartbeat": at("05:50"), "row": at("05:50"), "drained": at("06:00")})
    found = replace(facts(), line=line)
    assert standing_of(found, None, "row").grade == "heartbeat"
    assert standing_of(found, None, "drained").grade == "drained"


def test_times_are_spelled_in_utc() -> None:
    assert format_time(at("05:50:01")) == "2026-03-01T05:50:01Z"
    assert format_time(at("05:50") + timedelta(milliseconds=7)) == "2026-03-01T05:50:00.007Z"


# --- laws --------------------------------------------------------------------------------------------------------
times = st.integers(0, 5000).map(lambda seconds: DAY + timedelta(seconds=seconds))
watermarks = st.lists(st.none() | times, min_size=4, max_size=4).map(
    lambda found: {
        grade: max(known)
        for at, grade in enumerate(GRADES)
        if (known := [each for each in found[: at + 1] if each is not None])
    }
)
blockers = st.builds(Blocker, st.just(HELD), watermarks)


@given(watermarks, st.lists(blockers, max_size=3), blockers, st.sampled_from(GRADES))
def test_a_blocker_never_raises_a_watermark(
    line: dict[Grade, datetime], some: list[Blocker], more: Blocker, lowest: Grade
) -> None:
    found = replace(facts(), line=SourceLine(W5, 0, {}, line))
    free, blocked, worse = (
        standing_of(replace(found, blockers={ORDERS: each}), ORDERS, lowest).watermark
        for each in ([], some, [*some, more])
    )
    assert _order(worse) <= _order(blocked) <= _order(free)


@given(watermarks, st.lists(blockers, max_size=3), times, times, st.sampled_from(GRADES))
def test_what_is_fresh_through_a_time_is_fresh_through_every_earlier_one(
    line: dict[Grade, datetime], some: list[Blocker], one: datetime, other: datetime, lowest: Grade
) -> None:
    found = replace(facts(), line=SourceLine(W5, 0, {}, line), blockers={ORDERS: some})
    if judge([found], max(one, other), lowest).is_fresh:
        assert judge([found], min(one, other), lowest).is_fresh


@given(watermarks, st.lists(blockers, max_size=3), times, st.sampled_from(GRADES))
def test_every_late_verdict_has_one_cause_with_a_next_step(
    line: dict[Grade, datetime], some: list[Blocker], through: datetime, lowest: Grade
) -> None:
    found = replace(facts(), line=SourceLine(W5, 0, {}, line), blockers={ORDERS: some})
    verdict = judge([found], through, lowest)
    reached = verdict.standing.watermark
    assert verdict.is_fresh == (reached is not None and reached >= through)
    if verdict.cause is not None:
        assert verdict.cause.reason
        assert verdict.cause.next_step


def _order(mark: datetime | None) -> datetime:
    return DAY - timedelta(days=1) if mark is None else mark


def test_all_other_causes_are_given_once_behind_the_first() -> None:
    customers = "gold_shop.customers"
    suspect = Cause("SUSPECT", "two rows refer to a lost parent", "look", table=customers)
    found = facts(
        "05:50",
        {ORDERS: [Blocker(HELD, {"row": at("05:10")})], customers: [Blocker(suspect, {"row": at("05:20")})]},
        stuck=Stuck("20260301T0600Z", "replay"),
    )
    verdict = judge([found], at("06:00"), "row")
    assert verdict.cause == HELD
    others = other_causes([found], verdict, "row")
    assert [cause.code for cause in others] == ["SUSPECT", "NOT_REPLAYED"]
    fresh = facts("06:00", {ORDERS: [Blocker(HELD, {"row": at("05:10")})], customers: ()})
    verdict = judge([fresh], at("06:00"), "row")
    assert (verdict.cause, other_causes([fresh], verdict, "row")) == (HELD, [])
