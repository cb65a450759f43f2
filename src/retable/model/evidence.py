"""The kinds of evidence that show how far a source has been read, and which timestamps are valid evidence."""

from typing import Literal, get_args

Grade = Literal["heartbeat", "canary", "row", "drained"]
GRADES: tuple[Grade, ...] = get_args(Grade)
"""The grades, the strongest first. `heartbeat`: a heartbeat of the source. `canary`: a row that the source writes every
minute. `row`: any row. `drained`: all messages were read, but it is not known whether the source still wrote some."""

AHEAD = "ahead"
"""The grade of a timestamp that is ahead of the clock. Such a timestamp is recorded, but it is not evidence."""

TOLERANCE_MS = 60_000
"""How far, in milliseconds, a source's clock may be ahead of the clocks of the broker and of Retable."""


def accepted(lowest: Grade) -> tuple[Grade, ...]:
    """Return the grades that are as strong as `lowest` or stronger, the strongest first."""
    return GRADES[: GRADES.index(lowest) + 1]


def is_ahead(stamp_ms: int, broker_ms: int | None, recorded_ms: int | None) -> bool:
    """Return whether a timestamp in a message is later than the message can be. All times are epoch milliseconds.

    `broker_ms` is when the queue accepted the message, `recorded_ms` when the window of the message was recorded. Both
    are after the message was made. If a time is None, 0 or less, it is not known.
    """
    latest = stamp_ms - TOLERANCE_MS
    return (broker_ms is not None and 0 < broker_ms < latest) or (recorded_ms is not None and 0 < recorded_ms < latest)
