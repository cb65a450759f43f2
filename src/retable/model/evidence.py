"""The kinds of evidence of how far a source has been read, and which timestamps count."""

from typing import Literal, get_args

Grade = Literal["heartbeat", "canary", "row", "drained"]
GRADES: tuple[Grade, ...] = get_args(Grade)
"""From the strongest to the weakest: a heartbeat of the source, a row that it writes every minute, any row, and that
everything was read although it is unknown whether the source was still writing."""

AHEAD = "ahead"
"""The grade of a timestamp that is ahead of the clock: seen, but no evidence."""

TOLERANCE_MS = 60_000
"""How far, in milliseconds, a source's clock may be ahead of ours."""


def accepted(lowest: Grade) -> tuple[Grade, ...]:
    """Give the grades that are at least this one, the strongest first."""
    return GRADES[: GRADES.index(lowest) + 1]


def is_ahead(stamp_ms: int, broker_ms: int | None, recorded_ms: int | None) -> bool:
    """Say whether a timestamp is later than its message can be; all are epoch milliseconds.

    A message was made before the queue accepted it (`broker_ms`) and before its window was recorded (`recorded_ms`). A
    broker's time of 0 or less means that it has none.
    """
    latest = stamp_ms - TOLERANCE_MS
    return (broker_ms is not None and 0 < broker_ms < latest) or (recorded_ms is not None and 0 < recorded_ms < latest)
