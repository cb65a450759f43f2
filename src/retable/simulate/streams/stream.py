"""Messages as a producer wrote them, one after the other, before they entered a queue."""

from dataclasses import dataclass
from typing import Literal

from retable.simulate.columns import Row
from retable.simulate.history import RowChange

MessageKind = Literal["load", "row", "statement", "mark", "heartbeat"]


@dataclass(frozen=True, slots=True)
class Message:
    """One message. `position` is the binlog position up to which the messages so far describe the truth.

    It is 0 for the full load; a heartbeat has that of the entry before it. `time_ms` is when the producer wrote it.
    `key` is the message's key, whose hash decides the partition; without a key any is possible. `value` is text or
    bytes as the format has it, None for a tombstone. `repeatable`: whether a reader can recognise a repetition.
    """

    kind: MessageKind
    position: int
    time_ms: int
    key: str | None
    value: str | bytes | None
    repeatable: bool = True
    headers: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Stream:
    """All messages of a history in one format. `by_offset`: their order is only that of the queue."""

    format: str
    messages: tuple[Message, ...]
    by_offset: bool


def row_key(change: RowChange, row: Row) -> str:
    """The value that is hashed for the partition: the table, with the key's values or the hidden row id."""
    places = [[column.name for column in change.columns].index(key) for key in change.keys]
    return f"{change.table}/{[row[place] for place in places] if places else change.row_id}"
