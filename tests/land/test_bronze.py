"""Raw messages as rows."""

from datetime import UTC, datetime

from retable.land.bronze import to_batches
from retable.ledger.lake.tables import BRONZE
from retable.model.message import RawMessage

AT = datetime(2026, 3, 1, 6, tzinfo=UTC)


def test_a_message_becomes_a_row_with_its_window():
    message = RawMessage("t", 2, 7, None, None, b"\xff", (("h", None), ("h", b"\x00")), "odd")
    (batch,) = to_batches([message], "20260301T0500Z", AT)
    assert batch.schema.equals(BRONZE.columns)
    assert batch.to_pylist() == [
        {
            "window": "20260301T0500Z", "topic": "t", "partition": 2, "offset": 7, "timestamp_ms": None, "key": None,
            "value": b"\xff", "headers": [{"key": "h", "value": None}, {"key": "h", "value": b"\x00"}],
            "problem": "odd", "landed_at": AT,
        }
    ]  # fmt: skip


def test_no_message_makes_no_batch():
    assert list(to_batches([], "w", AT)) == []


def test_batches_are_bounded_in_rows_and_bytes():
    small = to_batches((RawMessage("t", 0, n, None, None, b"") for n in range(25_000)), "w", AT)
    assert [batch.num_rows for batch in small] == [10_000, 10_000, 5_000]
    large = to_batches((RawMessage("t", 0, n, None, None, bytes(10 << 20)) for n in range(5)), "w", AT)
    assert [batch.num_rows for batch in large] == [2, 2, 1]
