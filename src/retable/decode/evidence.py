"""Find the evidence of a window: timestamps that prove up to which time of the source each Kafka partition was read."""

from datetime import UTC, datetime, timedelta

from retable.decode.tally import Count, Tally
from retable.formats.context import DecodeContext
from retable.ledger.rows import EvidenceRow
from retable.model.event import ROW_OPS, ChangeEvent
from retable.model.evidence import AHEAD, Grade, is_ahead

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def grade_of(event: ChangeEvent, broker_ms: int | None, context: DecodeContext) -> str | None:
    """Return the grade of evidence that the source time of an event gives: `heartbeat`, `canary` or `row`.

    Return AHEAD if the source time is impossible: it is more than a minute later than `broker_ms`, the broker's
    timestamp of the message, or than the time at which the window was recorded. Return None if the event has no time,
    or is neither a row nor a heartbeat. A row is evidence for its Kafka partition even if the settings exclude its
    table.
    """
    stamp = event.event_time_ms
    if stamp is None or stamp <= 0 or (event.op != "HEARTBEAT" and event.op not in ROW_OPS):
        return None
    if is_ahead(stamp, broker_ms, context.recorded_ms):
        return AHEAD
    grade: Grade = "heartbeat" if event.op == "HEARTBEAT" else "row"
    is_canary = context.canary is not None and grade == "row" and str(event.table_name) == context.canary
    return "canary" if is_canary else grade


def evidence_rows(
    source: str, window: str, epoch: int, tally: Tally, now: datetime, *, topic_a_table: bool = False
) -> list[EvidenceRow]:
    """Return the evidence of a decoded window: a row for each Kafka partition with messages, with its latest times.

    `tally` has the counts of the window, and `epoch` is the source epoch in the settings. A line of a file that is not
    a Kafka record has the partition -1, and gives no row.

    `topic_a_table` is True if each table has a separate topic. Then statements and heartbeats have separate topics,
    too, and the watermark must not wait for evidence from these. So only in this case, a partition gets no row if none
    of its events in the window has a grade.
    """
    found: dict[tuple[str, int], dict[str | None, Count]] = {}
    for key, count in tally.items():
        if key.partition >= 0:
            by_grade = found.setdefault((key.topic, key.partition), {})
            by_grade.setdefault(key.grade, Count()).join(count)
    return [
        EvidenceRow(
            source=source,
            window=window,
            topic=topic,
            partition=partition,
            epoch=epoch,
            heartbeat=_time(by_grade.get("heartbeat")),
            canary=_time(by_grade.get("canary")),
            row=_time(by_grade.get("row")),
            ahead=by_grade[AHEAD].rows if AHEAD in by_grade else 0,
            recorded_at=now,
        )
        for (topic, partition), by_grade in sorted(found.items())
        if not topic_a_table or any(grade is not None for grade in by_grade)
    ]


def _time(count: Count | None) -> datetime | None:
    if count is None or count.latest_ms is None:
        return None
    return _EPOCH + timedelta(milliseconds=count.latest_ms)
