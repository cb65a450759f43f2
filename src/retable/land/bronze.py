"""Convert raw messages to rows of bronze."""

from collections.abc import Iterable, Iterator
from datetime import datetime
from itertools import accumulate, chain

import pyarrow as pa

from retable.ledger.lake.tables import BRONZE
from retable.model.message import RawMessage

_ROWS, _BYTES = 10_000, 16 << 20
_TYPES = {field.name: field.type for field in BRONZE.columns}
_HEADER = _TYPES["headers"].value_type


def to_batches(messages: Iterable[RawMessage], window: str, landed_at: datetime) -> Iterator[pa.RecordBatch]:
    """Yield messages as batches of rows of bronze. Each batch is limited in rows and in bytes.

    `window` and `landed_at` are values of two columns.
    """
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
    """Make a batch, column by column. A value that is the same in all rows is made once."""
    same = {"window": window, "landed_at": landed_at}
    columns = {name: pa.repeat(pa.scalar(value, _TYPES[name]), len(messages)) for name, value in same.items()}
    columns |= {
        "topic": _array("topic", [message.topic for message in messages]),
        "partition": _array("partition", [message.partition for message in messages]),
        "offset": _array("offset", [message.offset for message in messages]),
        "timestamp_ms": _array("timestamp_ms", [message.timestamp_ms for message in messages]),
        "key": _array("key", [message.key for message in messages]),
        "value": _array("value", [message.value for message in messages]),
        "headers": _headers([message.headers for message in messages]),
        "problem": _array("problem", [message.container_problem for message in messages]),
    }
    return pa.RecordBatch.from_arrays([columns[name] for name in _TYPES], schema=BRONZE.columns)


def _array(name: str, values: list[object]) -> pa.Array:
    return pa.array(values, _TYPES[name])


def _headers(headers: list[tuple[tuple[str, bytes | None], ...]]) -> pa.Array:
    ends = pa.array([0, *accumulate(map(len, headers))], pa.int32())
    pairs = list(chain.from_iterable(headers))
    parts = [pa.array([pair[at] for pair in pairs], field.type) for at, field in enumerate(_HEADER)]
    items = pa.StructArray.from_arrays(parts, fields=list(_HEADER))
    return pa.ListArray.from_arrays(ends, items, _TYPES["headers"])
