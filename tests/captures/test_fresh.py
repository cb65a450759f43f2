"""A source of the real connector's topics becomes fresh: nobody waits for those of heartbeats and statements."""

from datetime import UTC, datetime, timedelta

import pytest

from formats.debezium_messages import DEBEZIUM, capture
from retable.decode.evidence import evidence_rows
from retable.decode.outcome import decode_batches
from retable.decode.tally import Count, CountKey, Tally, join_tallies
from retable.freshness.watermark import SourceLine
from retable.land.bronze import to_batches
from retable.ledger.rows import EvidenceRow
from retable.model.window import Window

START = datetime(2026, 3, 1, tzinfo=UTC)
END = START + timedelta(hours=1)
WINDOW = Window(source="erp", ordinal=0, start=START, end=END, objects=(), recorded_at=END)


def evidence(stream: str, *, topic_a_table: bool = True) -> list[EvidenceRow]:
    """What the messages of a stream prove, all in one window."""
    tally: dict[CountKey, Count] = {}
    batches = to_batches(capture(stream.removeprefix("debezium_"), schemas=True), "w", END)
    for decoded in decode_batches(batches, DEBEZIUM, lambda _: True):
        join_tallies(tally, decoded.tally)
    told: Tally = tally
    return evidence_rows("erp", "w", 0, told, END, topic_a_table=topic_a_table)


@pytest.mark.parametrize("stream", ["debezium_mariadb", "debezium_postgres"])
def test_every_topic_of_a_table_proves_itself_and_no_other_is_waited_for(stream: str) -> None:
    told = evidence(stream)
    others = {row.topic for row in evidence(stream, topic_a_table=False)} - {row.topic for row in told}
    assert f"__debezium-heartbeat.{told[0].topic.split('.')[0]}" in others
    assert all(topic.count(".") < 2 for topic in others)
    line = SourceLine().extended(WINDOW, told, ordered=False)
    assert line.watermarks["row"] == min(row.row for row in told if row.row is not None)
    assert not line.silent("row", line.watermarks["row"], ordered=False)


def test_with_the_topics_of_heartbeats_no_source_of_debezium_would_ever_be_fresh() -> None:
    line = SourceLine().extended(WINDOW, evidence("debezium_mariadb", topic_a_table=False), ordered=False)
    assert "row" not in line.watermarks
