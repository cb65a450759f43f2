"""What the messages of a window prove: up to which source time each partition of the queue was read."""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from retable.decode.context import DecodeContext
from retable.ledger.rows import EvidenceRow
from retable.model.event import ROW_OPS, ChangeEvent
from retable.model.evidence import AHEAD, Grade, is_ahead

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Stamped(NamedTuple):
    """Events of one partition and one grade (or AHEAD, or None: no evidence): how many, and the latest stamp."""

    topic: str
    partition: int
    grade: str | None
    latest_ms: int | None
    events: int


def grade_of(event: ChangeEvent, broker_ms: int | None, context: DecodeContext) -> str | None:
    """Say what an event's stamp proves: its grade, AHEAD where it lies ahead of the clock, None where there is none.

    A row proves how far its partition was read, whether its table is one that the source takes or not.
    """
    stamp = event.event_time_ms
    if stamp is None or stamp <= 0 or (event.op != "HEARTBEAT" and event.op not in ROW_OPS):
        return None
    if is_ahead(stamp, broker_ms, context.recorded_ms):
        return AHEAD
    grade: Grade = "heartbeat" if event.op == "HEARTBEAT" else "row"
    return "canary" if grade == "row" and str(event.table_name) == context.canary else grade


def evidence_rows(source: str, window: str, epoch: int, seen: Iterable[Stamped], now: datetime) -> list[EvidenceRow]:
    """Give what is recorded of a decoded window: every partition that it has a message of, and its latest stamps.

    A line that is no record of its container has no partition (-1), so it says nothing of any.
    """
    found: dict[tuple[str, int], dict[str | None, Stamped]] = {}
    for stamped in seen:
        if stamped.partition >= 0:
            by_grade = found.setdefault((stamped.topic, stamped.partition), {})
            by_grade[stamped.grade] = _joined(by_grade.get(stamped.grade), stamped)
    return [
        EvidenceRow(
            source,
            window,
            topic,
            partition,
            epoch,
            _time(by_grade.get("heartbeat")),
            _time(by_grade.get("canary")),
            _time(by_grade.get("row")),
            by_grade[AHEAD].events if AHEAD in by_grade else 0,
            now,
        )
        for (topic, partition), by_grade in sorted(found.items())
    ]


def _joined(one: Stamped | None, other: Stamped) -> Stamped:
    if one is None:
        return other
    latest = max((ms for ms in (one.latest_ms, other.latest_ms) if ms is not None), default=None)
    return other._replace(latest_ms=latest, events=one.events + other.events)


def _time(stamped: Stamped | None) -> datetime | None:
    if stamped is None or stamped.latest_ms is None:
        return None
    return _EPOCH + timedelta(milliseconds=stamped.latest_ms)
