"""Ranges of positions tile every partition, but where the source epoch was raised."""

from datetime import UTC, datetime, timedelta

import pytest

from retable.model.window import PartitionRange, Window
from retable.verify.windows import check_tiling

START = datetime(2026, 3, 1, tzinfo=UTC)
HOUR = timedelta(hours=1)


def windows(*ranges: tuple[int, int, int]) -> list[Window]:
    """A window for each epoch, begin and end of the one partition."""
    return [
        Window(
            source="erp",
            ordinal=number,
            start=START + number * HOUR,
            end=START + (number + 1) * HOUR,
            objects=(),
            recorded_at=START,
            ranges=(_range(*each),),
        )
        for number, each in enumerate(ranges)
    ]


def _range(epoch: int, begin: int, end: int) -> PartitionRange:
    return PartitionRange("t", 0, "id", epoch, begin, end)


@pytest.mark.parametrize(
    ("ranges", "code"),
    [
        ([(0, 0, 5), (0, 5, 5), (0, 5, 9)], None),
        ([(0, 0, 5), (0, 6, 9)], "POSITION_GAP"),
        ([(0, 0, 5), (0, 4, 9)], "POSITION_TWICE"),
        ([(0, 0, 5), (1, 0, 3), (1, 3, 4)], None),
    ],
)
def test_a_gap_and_a_position_in_two_windows_are_found(ranges, code):
    found = check_tiling(windows(*ranges))
    assert [each.code for each in found] == ([code] if code else [])
