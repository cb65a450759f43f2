"""Decode messages of bronze. The result of a message is change events, or a failure with its reason."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

import pyarrow as pa

from retable.decode.evidence import grade_of
from retable.decode.tally import EXCLUDED, IGNORED, QUARANTINED, STORED, Count, CountKey
from retable.errors import MessageError
from retable.formats.context import DecodeContext
from retable.formats.registry import decode_message
from retable.model.event import ChangeEvent, TableName
from retable.model.message import RawMessage

READ = ("topic", "partition", "offset", "timestamp_ms", "key", "value", "headers", "problem")
"""The columns of bronze that decoding reads."""

_BYTES = 16 << 20
_LONGEST_REASON = 2_000

_Likeness = tuple[str, str | None, str | None, str | None, str | None, str, int, str | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class DecodeFailure:
    """Why a message could not be decoded. It becomes a quarantine row.

    `table` and `keys` (the keys of the message's rows) are None if they are not known. `place` is the location of the
    problem in the message.
    """

    topic: str
    partition: int
    offset: int
    table: TableName | None
    keys: tuple[str, ...] | None
    code: str
    reason: str
    place: str | None


@dataclass(slots=True)
class Decoded:
    """The result of decoding some messages: the events for silver, the failures for quarantine, and the counts."""

    stored: list[ChangeEvent] = field(default_factory=list)
    faults: list[DecodeFailure] = field(default_factory=list)
    tally: dict[CountKey, Count] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Group:
    """Events that are counted together, and whether they are stored."""

    wanted: bool
    key: CountKey
    count: Count


def decode_batches(
    batches: Iterable[pa.RecordBatch], context: DecodeContext, takes: Callable[[TableName], bool]
) -> Iterator[Decoded]:
    """Decode batches of rows of bronze, and yield the results. `takes` returns whether the settings include a table.

    Row changes of a table that the settings do not include are counted, but not stored. Schema events are always
    stored, because a statement can change more tables than its message names.
    """
    for batch in batches:
        for messages in _bounded(_messages(batch)):
            yield _decode(messages, context, takes)


def _bounded(messages: Iterable[RawMessage]) -> Iterator[list[RawMessage]]:
    """Cut messages into lists of bounded bytes, because an event has up to two images of its row."""
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


def _messages(batch: pa.RecordBatch) -> Iterator[RawMessage]:
    for topic, partition, offset, timestamp, key, value, headers, problem in zip(
        *(batch.column(name).to_pylist() for name in READ), strict=True
    ):
        pairs = tuple((header["key"], header["value"]) for header in headers) if headers else ()
        yield RawMessage(topic, partition, offset, timestamp, key, value, pairs, problem)


def _decode(messages: list[RawMessage], context: DecodeContext, takes: Callable[[TableName], bool]) -> Decoded:
    decoded = Decoded()
    groups: dict[_Likeness, _Group] = {}
    for message in messages:
        try:
            events = decode_message(message, context)
        except MessageError as error:
            _refuse(message, error, takes, decoded)
            continue
        first = True
        for event in events:
            grade = grade_of(event, message.timestamp_ms, context)
            scope, topic, partition = event.sequence_scope, message.topic, message.partition
            likeness = (event.op, event.database, event.schema, event.table, scope, topic, partition, grade)
            group = groups.get(likeness)
            if group is None:
                group = groups[likeness] = _group(event, grade, takes)
            if group.wanted:
                decoded.stored.append(event)
            group.count.add(first, event.sequence, event.event_time_ms)
            first = False
    for group in groups.values():
        decoded.tally.setdefault(group.key, Count()).join(group.count)
    return decoded


def _group(event: ChangeEvent, grade: str | None, takes: Callable[[TableName], bool]) -> _Group:
    """Return a new, empty group for an event and for all events that are counted together with it."""
    table, address = event.table_name, event.address
    wanted = event.kind != "row" or table is None or takes(table)
    outcome = STORED if wanted else EXCLUDED
    key = CountKey(outcome, event.op, table, event.part or "", address.topic, address.partition, grade)
    return _Group(wanted, key, Count())


def _refuse(message: RawMessage, error: MessageError, takes: Callable[[TableName], bool], decoded: Decoded) -> None:
    """Count a failed message. Quarantine it, unless it names a table that the settings do not include."""
    table = error.facts.get("table")
    named = table if isinstance(table, TableName) else None
    ignored = named is not None and not takes(named)
    key = CountKey(IGNORED if ignored else QUARANTINED, None, named, "", message.topic, message.partition)
    decoded.tally.setdefault(key, Count()).add(True, None, None)
    if not ignored:
        decoded.faults.append(_fault(message, error, named))


def _fault(message: RawMessage, error: MessageError, table: TableName | None) -> DecodeFailure:
    keys, place = error.facts.get("keys"), error.facts.get("place")
    return DecodeFailure(
        topic=message.topic,
        partition=message.partition,
        offset=message.offset,
        table=table,
        keys=keys if isinstance(keys, tuple) else None,
        code=str(error.facts.get("problem", error.code)),
        reason=error.message[:_LONGEST_REASON],
        place=place if isinstance(place, str) else None,
    )
