"""The messages of a producer in the order in which it wrote them, before a queue gets them."""

from dataclasses import dataclass
from typing import Literal

from retable.simulate.columns import Row
from retable.simulate.history import RowChange

MessageKind = Literal["load", "row", "statement", "mark", "heartbeat"]


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a producer. `kind` says what it is about: a row of the full load, a row change, a statement, …

    - `position`: the binlog position of the log entry from which the message is made. With this message and all
      earlier messages, a reader knows the log up to this position. It is 0 for the full load. A heartbeat has the
      position of the entry before it.
    - `time_ms`: when the producer wrote the message, in epoch milliseconds.
    - `key`: its hash decides the partition; if it is None, any partition is possible.
    - `value`: the content of the message; None for a tombstone.
    - `repeatable`: whether a reader can recognise the message if it comes twice. Only then may `deliver` repeat it.
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
    """All messages of a history in one format. If `by_offset` is true, only the offset orders the messages."""

    format: str
    messages: tuple[Message, ...]
    by_offset: bool


def row_key(change: RowChange, row: Row) -> str:
    """Return the message key of a changed row: the table's name, and the row's key values or its hidden row id.

    `row` is the before or after image of the change. The key values are read from it.
    """
    places = [[column.name for column in change.columns].index(key) for key in change.keys]
    return f"{change.table}/{[row[place] for place in places] if places else change.row_id}"
