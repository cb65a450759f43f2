"""Messages as a producer wrote them, one after the other, before any queue had them."""

from dataclasses import dataclass
from typing import Literal

from retable.simulate.columns import Row
from retable.simulate.history import RowChange

MessageKind = Literal["load", "row", "statement", "mark", "heartbeat"]


@dataclass(frozen=True, slots=True)
class Message:
    """One message. `position` is the place in the binlog after which the truth is what the messages up to here say.

    It is 0 for the full load; a heartbeat's is that of the entry before it. `time_ms` is when the producer wrote it.
    `key` is the message's key, by whose hash a producer chooses the partition; without one it takes any. `value` is
    text or bytes as the format has it, None for a tombstone. `repeatable` says whether a reader can tell a repetition.
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
    """All messages of a history in one format. `by_offset`: their order is that of the queue and nothing else."""

    format: str
    messages: tuple[Message, ...]
    by_offset: bool


def row_key(change: RowChange, row: Row) -> str:
    """What hashing by key spreads: the table, and in it the key's values, or the hidden row id."""
    places = [[column.name for column in change.columns].index(key) for key in change.keys]
    return f"{change.table}/{[row[place] for place in places] if places else change.row_id}"
