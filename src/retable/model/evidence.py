"""The kinds of evidence (messages whose time proves how far a source has been read), and which timestamps are valid."""

from typing import Literal, get_args

Grade = Literal["heartbeat", "canary", "row", "drained"]
GRADES: tuple[Grade, ...] = get_args(Grade)
"""The grades of evidence, the strongest first. `heartbeat`: a heartbeat of the source. `canary`: a row of a small table
that the source updates every minute. `row`: any row. `drained`: all messages of the queue were read, but it is not
known whether the source has changes that are not in the queue yet."""

AHEAD = "ahead"
"""The grade of a timestamp that is ahead of the clock. Such a timestamp is recorded, but it is not evidence."""

TOLERANCE_MS = 60_000
"""How far, in milliseconds, a source's clock may be ahead of the clocks of the broker and of Retable."""


def accepted(lowest: Grade) -> tuple[Grade, ...]:
    """Return the grades of evidence that are as strong as the grade `lowest` or stronger, the strongest first."""
    return GRADES[: GRADES.index(lowest) + 1]


def is_ahead(stamp_ms: int, broker_ms: int | None, recorded_ms: int | None) -> bool:
    """Return whether the timestamp `stamp_ms` in a message is impossible, because it is later than the message itself.

    `broker_ms` is when the queue accepted the message, `recorded_ms` when Retable recorded the window of the message.
    The timestamp may be at most TOLERANCE_MS after each of them. Times are epoch milliseconds. If a time is None, 0 or
    less, it is not known and not compared.
    """
    latest = stamp_ms - TOLERANCE_MS
    return (broker_ms is not None and 0 < broker_ms < latest) or (recorded_ms is not None and 0 < recorded_ms < latest)
