"""Raw messages as rows of bronze."""

from collections.abc import Iterable, Iterator
from datetime import datetime

import pyarrow as pa

from retable.ledger.tables import BRONZE
from retable.model.message import RawMessage

_ROWS, _BYTES = 10_000, 16 << 20


def to_batches(messages: Iterable[RawMessage], window: str, landed_at: datetime) -> Iterator[pa.RecordBatch]:
    """Give messages as batches of bronze, each bounded in rows and bytes."""
    held: list[RawMessage] = []
    size = 0
    for message in messages:
        held.append(message)
        size += len(message.value or b"") + len(message.key or b"")
        if len(held) >= _ROWS or size >= _BYTES:
            yield _batch(held, window, landed_at)
            held, size = [], 0
    if held:
        yield _batch(held, window, landed_at)


def _batch(messages: list[RawMessage], window: str, landed_at: datetime) -> pa.RecordBatch:
    columns = {
        "window": [window] * len(messages),
        "topic": [message.topic for message in messages],
        "partition": [message.partition for message in messages],
        "offset": [message.offset for message in messages],
        "timestamp_ms": [message.timestamp_ms for message in messages],
        "key": [message.key for message in messages],
        "value": [message.value for message in messages],
        "headers": [[{"key": key, "value": value} for key, value in message.headers] for message in messages],
        "problem": [message.container_problem for message in messages],
        "landed_at": [landed_at] * len(messages),
    }
    return pa.RecordBatch.from_pydict(columns, schema=BRONZE.columns)
