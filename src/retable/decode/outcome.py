"""What becomes of each message of bronze: its events, or the reason why there are none."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

import pyarrow as pa

from retable.decode import silver
from retable.decode.context import DecodeContext
from retable.decode.evidence import grade_of
from retable.decode.registry import decode_message
from retable.errors import MessageError
from retable.model.event import ChangeEvent, TableName
from retable.model.message import RawMessage

STORED, EXCLUDED, IGNORED, QUARANTINED = "stored", "excluded", "ignored", "quarantined"

_FAULT = {name: pa.string() for name in ("code", "reason", "place")}
_MADE = [pa.field(name, pa.string()) for name in ("outcome", "grade")]
COLUMNS = pa.schema([*_MADE, *silver.COLUMNS, *(pa.field(*each) for each in _FAULT.items())])
"""Rows of silver, with what became of them and what their stamp proves (evidence.py); a message without events has its
address, its table and its fault."""

_Graded = tuple[ChangeEvent, str | None]
_BYTES = 16 << 20
_LONGEST_REASON = 2_000


def decode_batches(
    batches: Iterable[pa.RecordBatch], window: str, context: DecodeContext, takes: Callable[[TableName], bool]
) -> Iterator[pa.RecordBatch]:
    """Decode batches of bronze; `takes` says of a table whether its row changes are wanted.

    Schema events are always kept: a statement can touch more tables than the one that its message names.
    """
    for messages in map(_messages, batches):
        for some in _bounded(messages):
            yield from _decode(some, window, context, takes)


def _bounded(messages: Iterable[RawMessage]) -> Iterator[list[RawMessage]]:
    """Cut messages into lists that are bounded in bytes: an event carries up to two images of its row."""
    held: list[RawMessage] = []
    size = 0
    for message in messages:
        held.append(message)
        size += len(message.value or b"")
        if size >= _BYTES:
            yield held
            held, size = [], 0
    if held:
        yield held


def _decode(
    messages: list[RawMessage], window: str, context: DecodeContext, takes: Callable[[TableName], bool]
) -> Iterator[pa.RecordBatch]:
    stored: list[_Graded] = []
    excluded: list[_Graded] = []
    faults: list[dict[str, object]] = []
    for message in messages:
        try:
            events = decode_message(message, context)
        except MessageError as error:
            faults.append(_fault(window, message, error, takes))
            continue
        for event in events:
            grade = grade_of(event, message.timestamp_ms, context)
            if _is_wanted(event, takes):
                stored.append((event, grade))
            else:
                excluded.append((replace(event, before=None, after=None), grade))
    if stored:
        yield _rows(window, STORED, stored)
    if excluded:
        yield _rows(window, EXCLUDED, excluded)
    if faults:
        yield pa.RecordBatch.from_pylist(faults, schema=COLUMNS)


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


def _rows(window: str, outcome: str, graded: list[_Graded]) -> pa.RecordBatch:
    batch = silver.events_to_batch(window, [event for event, _ in graded])
    grades = pa.array([grade for _, grade in graded], pa.string())
    columns = [pa.repeat(pa.scalar(outcome), len(graded)), grades, *batch.columns]
    columns += [pa.nulls(len(graded), pa.string()) for _ in _FAULT]
    return pa.RecordBatch.from_arrays(columns, schema=COLUMNS)


def _fault(
    window: str, message: RawMessage, error: MessageError, takes: Callable[[TableName], bool]
) -> dict[str, object]:
    """A message that names its table is not quarantined where nobody wants that table."""
    table = error.facts.get("table")
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
        "place": error.facts.get("place"),
    }
