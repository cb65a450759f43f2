"""What becomes of each message of bronze: its events, or the reason why there are none."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

import pyarrow as pa

from retable.decode import silver
from retable.decode.context import DecodeContext
from retable.decode.registry import decode_message
from retable.errors import MessageError
from retable.model.event import ChangeEvent, TableName
from retable.model.message import RawMessage

STORED, EXCLUDED, IGNORED, QUARANTINED = "stored", "excluded", "ignored", "quarantined"

_FAULT = {name: pa.string() for name in ("code", "reason", "place")}
COLUMNS = pa.schema([pa.field("outcome", pa.string()), *silver.COLUMNS, *(pa.field(*each) for each in _FAULT.items())])
"""Rows of silver, with what became of them; a message without events has its address, its table and its fault."""

_ROWS, _BYTES = 10_000, 16 << 20
_LONGEST_REASON = 2_000


def decode_batches(
    batches: Iterable[pa.RecordBatch], window: str, context: DecodeContext, takes: Callable[[TableName], bool]
) -> Iterator[pa.RecordBatch]:
    """Decode batches of bronze; `takes` says of a table whether its row changes are wanted.

    Schema events are always kept: a statement can touch more tables than the one that its message names.
    """
    for batch in batches:
        stored: list[ChangeEvent] = []
        excluded: list[ChangeEvent] = []
        refused: list[tuple[RawMessage, MessageError]] = []
        size = 0
        for message in _messages(batch):
            try:
                events = decode_message(message, context)
            except MessageError as error:
                refused.append((message, error))
                continue
            for event in events:
                (stored if _is_wanted(event, takes) else excluded).append(event)
            size += len(message.value or b"")
            if len(stored) >= _ROWS or size >= _BYTES:
                yield _rows(window, STORED, stored)
                stored, size = [], 0
        yield _rows(window, STORED, stored)
        yield _rows(window, EXCLUDED, [replace(event, before=None, after=None) for event in excluded])
        yield _faults(window, refused, takes)


def _messages(batch: pa.RecordBatch) -> Iterator[RawMessage]:
    columns = ("topic", "partition", "offset", "timestamp_ms", "key", "value", "headers", "problem")
    for topic, partition, offset, timestamp, key, value, headers, problem in zip(
        *(batch.column(name).to_pylist() for name in columns), strict=True
    ):
        pairs = tuple((header["key"], header["value"]) for header in headers or ())
        yield RawMessage(topic, partition, offset, timestamp, key, value, pairs, problem)


def _is_wanted(event: ChangeEvent, takes: Callable[[TableName], bool]) -> bool:
    table = event.table_name
    return event.kind != "row" or table is None or takes(table)


def _rows(window: str, outcome: str, events: list[ChangeEvent]) -> pa.RecordBatch:
    batch = silver.events_to_batch(window, events)
    columns = [pa.repeat(pa.scalar(outcome), len(events)), *batch.columns]
    columns += [pa.nulls(len(events), pa.string()) for _ in _FAULT]
    return pa.RecordBatch.from_arrays(columns, schema=COLUMNS)


def _faults(
    window: str, refused: list[tuple[RawMessage, MessageError]], takes: Callable[[TableName], bool]
) -> pa.RecordBatch:
    """A message that names its table is not quarantined where nobody wants that table."""
    return pa.RecordBatch.from_pylist([_fault(window, *each, takes) for each in refused], schema=COLUMNS)


def _fault(
    window: str, message: RawMessage, error: MessageError, takes: Callable[[TableName], bool]
) -> dict[str, object]:
    table, place = error.facts.get("table"), error.facts.get("place")
    named = table if isinstance(table, TableName) else None
    return {
        "outcome": IGNORED if named is not None and not takes(named) else QUARANTINED,
        "window": window,
        "topic": message.topic,
        "partition": message.partition,
        "offset": message.offset,
        "database": named and named.database,
        "schema": named and named.schema,
        "table": named and named.table,
        "keys": error.facts.get("keys"),
        "code": error.facts.get("problem", error.code),
        "reason": error.message[:_LONGEST_REASON],
        "place": place,
    }
