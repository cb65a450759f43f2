"""A watermark is what the evidence of replayed windows proves, and it never goes back."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feeding import at, name
from retable.freshness.watermark import SourceLine, from_rows, to_rows
from retable.ledger.rows import EvidenceRow
from retable.model.evidence import GRADES, Grade, accepted
from retable.model.window import PartitionRange, Window

DAY = datetime(2026, 3, 1, tzinfo=UTC)
NOW = DAY + timedelta(days=2)
Stamp = tuple[int, str, int]


def window(hour: int, recorded: datetime | None = None, has: Iterable[int] = (), epoch: int = 0) -> Window:
    """The window of an hour; `has` are the partitions of which it has a range."""
    start = DAY + timedelta(hours=hour)
    end = start + timedelta(hours=1)
    ranges = tuple(PartitionRange("t", partition, "id", epoch, 0, 0) for partition in has)
    return Window(
        source="erp",
        ordinal=hour,
        start=start,
        end=end,
        objects=(),
        recorded_at=recorded or end,
        ranges=ranges,
        epoch=epoch,
    )


def evidence(hour: int, partition: int, epoch: int = 0, **stamps: str) -> EvidenceRow:
    times = {grade: at(stamps[grade]) if grade in stamps else None for grade in ("heartbeat", "canary", "row")}
    return EvidenceRow(
        source="erp", window=name(hour), topic="t", partition=partition, epoch=epoch, ahead=0, recorded_at=NOW, **times
    )


def line(*hours: list[EvidenceRow], ordered: bool = False, recorded: datetime | None = DAY) -> SourceLine:
    """The line over hours from 0 on; they were recorded before they ended, so that nothing is drained."""
    found = SourceLine()
    for hour, rows in enumerate(hours):
        found = found.extended(window(hour, recorded), rows, ordered)
    return found


def test_nothing_is_proven_without_evidence() -> None:
    assert line([], []).watermarks == {}
    assert line([evidence(0, 0)]).watermarks == {}


def test_one_partition_proves_what_its_latest_stamp_says() -> None:
    assert line([evidence(0, 0, row="00:10")], [evidence(1, 0, row="01:20")]).watermarks == {
        "row": at("01:20"),
        "drained": at("01:20"),
    }


def test_each_partition_needs_its_own_evidence_and_the_least_counts() -> None:
    found = line([evidence(0, 0, row="00:40"), evidence(0, 1, row="00:10")])
    assert found.watermarks["row"] == at("00:10")
    silent = found.extended(window(1, DAY), [evidence(1, 0, row="01:40")], ordered=False)
    assert silent.watermarks["row"] == at("00:10")
    assert silent.silent("row", at("01:00"), ordered=False) == [("t/1", at("00:10"))]


def test_where_partitions_are_ordered_one_speaks_for_all() -> None:
    found = line([evidence(0, 0, row="00:40"), evidence(0, 1)], ordered=True)
    assert found.watermarks["row"] == at("00:40")
    assert found.silent("row", at("01:00"), ordered=True) == [("t/0", at("00:40"))]


def test_a_partition_that_is_new_and_mute_stops_the_watermark_and_does_not_lower_it() -> None:
    found = line([evidence(0, 0, row="00:40")], [evidence(1, 0, row="01:40"), evidence(1, 1)])
    assert found.watermarks["row"] == at("00:40")
    assert found.silent("row", at("01:00"), ordered=False) == [("t/1", None)]


def test_a_better_grade_counts_for_a_weaker_one_and_not_the_other_way_round() -> None:
    found = line([evidence(0, 0, heartbeat="00:50", row="00:10"), evidence(0, 1, row="00:30")])
    assert found.watermarks == {"row": at("00:30"), "drained": at("00:30")}
    found = line([evidence(0, 0, heartbeat="00:50", row="00:10"), evidence(0, 1, canary="00:30")])
    assert found.watermarks == {"canary": at("00:30"), "row": at("00:30"), "drained": at("00:30")}


def test_a_window_that_was_recorded_after_its_end_is_drained_to_its_end() -> None:
    end = DAY + timedelta(hours=1)
    assert SourceLine().extended(window(0, end), [], ordered=False).watermarks == {"drained": end}
    early = SourceLine().extended(window(0, end - timedelta(seconds=1)), [], ordered=False)
    assert early.watermarks == {}


def test_a_partition_that_only_an_older_source_epoch_knew_is_gone() -> None:
    found = line(
        [evidence(0, 0, row="00:10"), evidence(0, 1, row="00:10")],
        [evidence(1, 0, epoch=1, row="01:10")],
        [evidence(2, 1, epoch=0, row="00:20")],
    )
    assert found.watermarks["row"] == at("01:10")
    assert list(found.partitions) == ["t/0"]


def test_a_partition_that_is_still_there_when_the_source_epoch_is_raised_has_to_speak_again() -> None:
    before = line([evidence(0, 0, row="00:50"), evidence(0, 1, row="00:40"), evidence(0, 2, row="00:45")])
    raised = before.extended(window(1, DAY, (0, 1), 1), [evidence(1, 0, epoch=1, row="01:55")], ordered=False)
    assert (raised.watermarks["row"], raised.partitions.keys()) == (at("00:40"), {"t/0", "t/1"})
    assert raised.silent("row", at("01:00"), ordered=False) == [("t/1", None)]
    spoken = raised.extended(window(2, DAY, (0, 1), 1), [evidence(2, 1, epoch=1, row="02:10")], ordered=False)
    assert spoken.watermarks["row"] == at("01:55")


def test_the_grades_that_are_accepted_are_those_above_and_the_one_itself() -> None:
    assert accepted("heartbeat") == ("heartbeat",)
    assert accepted("row") == ("heartbeat", "canary", "row")
    assert accepted("drained") == GRADES


# --- laws --------------------------------------------------------------------------------------------------------
stamps = st.tuples(st.integers(0, 2), st.sampled_from(["heartbeat", "canary", "row", "none"]), st.integers(0, 5000))
hours = st.lists(st.lists(stamps, max_size=6), min_size=1, max_size=6)


def rows(hour: int, found: list[Stamp]) -> list[EvidenceRow]:
    partitions = {partition for partition, _, _ in found}
    return [
        EvidenceRow(
            source="erp",
            window=name(hour),
            topic="t",
            partition=partition,
            epoch=0,
            ahead=0,
            recorded_at=NOW,
            **{
                grade: max(
                    (DAY + timedelta(seconds=s) for p, g, s in found if (p, g) == (partition, grade)), default=None
                )
                for grade in ("heartbeat", "canary", "row")
            },
        )
        for partition in sorted(partitions)
    ]


def lines(found: list[list[Stamp]], ordered: bool) -> list[SourceLine]:
    made = [SourceLine()]
    for hour, each in enumerate(found):
        made.append(made[-1].extended(window(hour, DAY), rows(hour, each), ordered))
    return made


def goes_as_far(one: SourceLine, other: SourceLine) -> bool:
    return all(grade in one.watermarks and one.watermarks[grade] >= mark for grade, mark in other.watermarks.items())


@given(hours, st.booleans())
def test_no_window_takes_a_watermark_back(found: list[list[Stamp]], ordered: bool) -> None:
    made = lines(found, ordered)
    assert all(goes_as_far(after, before) for before, after in pairwise(made))


@given(hours, st.booleans(), st.data())
def test_more_evidence_of_a_partition_that_spoke_never_lowers_a_watermark(
    found: list[list[Stamp]], ordered: bool, data: st.DataObject
) -> None:
    more = [list(each) for each in found]
    hour = data.draw(st.integers(0, len(found) - 1))
    known = sorted({partition for each in found[: hour + 1] for partition, _, _ in each})
    if known:
        partition = data.draw(st.sampled_from(known))
        more[hour].append((partition, *data.draw(stamps)[1:]))
    assert goes_as_far(lines(more, ordered)[-1], lines(found, ordered)[-1])


@given(hours, st.booleans())
def test_the_weaker_the_grade_the_further_its_watermark(found: list[list[Stamp]], ordered: bool) -> None:
    marks = lines(found, ordered)[-1].watermarks
    known = [marks[grade] for grade in GRADES if grade in marks]
    assert known == sorted(known)


@given(hours)
def test_partitions_that_are_ordered_prove_at_least_what_each_for_itself_proves(found: list[list[Stamp]]) -> None:
    assert goes_as_far(lines(found, ordered=True)[-1], lines(found, ordered=False)[-1])


@given(hours, st.booleans(), st.lists(stamps, max_size=6))
def test_a_line_that_was_kept_goes_on_as_if_it_never_stopped(
    found: list[list[Stamp]], ordered: bool, last: list[Stamp]
) -> None:
    made = lines(found, ordered)
    kept = from_rows(to_rows("erp", made[-1], NOW))
    assert kept.watermarks == made[-1].watermarks
    hour = len(found)
    again, on = (each.extended(window(hour), rows(hour, last), ordered) for each in (kept, made[-1]))
    assert again.watermarks == on.watermarks
    for grade in GRADES:
        assert again.silent(grade, NOW, ordered) == on.silent(grade, NOW, ordered)


@given(hours, st.lists(st.booleans(), min_size=6, max_size=6))
def test_no_partition_that_the_windows_have_is_forgotten_however_often_the_source_epoch_is_raised(
    found: list[list[Stamp]], raised: list[bool]
) -> None:
    made, epoch, seen = SourceLine(), 0, set[str]()
    for hour, each in enumerate(found):
        epoch += raised[hour]
        told = [replace(row, epoch=epoch) for row in rows(hour, each)]
        made = made.extended(window(hour, DAY, range(3), epoch), told, ordered=False)
        seen |= {f"t/{partition}" for partition, _, _ in each}
        assert made.partitions.keys() == seen


@pytest.mark.parametrize("grade", GRADES)
def test_a_line_is_kept_in_one_row_for_each_grade(grade: Grade) -> None:
    kept = to_rows("erp", line([evidence(0, 0, row="00:10"), evidence(0, 1)]), NOW)
    assert [row.grade for row in kept] == list(GRADES)
    (row,) = (row for row in kept if row.grade == grade)
    assert row.evidence.keys() == {"t/0", "t/1"}
