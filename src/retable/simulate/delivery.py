"""Delivers a stream of messages as a queue does: with partitions, offsets, repetitions and delays.

It can also write the delivered windows as files.
"""

import json
from base64 import b64encode
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Literal

from retable.errors import InvalidSetting
from retable.simulate.chance import Chance, pick, shuffled
from retable.simulate.streams.stream import Message, Stream

_HOUR = timedelta(hours=1)
_FATES, _MIXED = 1000, 387
FIRST_HOUR = datetime(2026, 3, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Delivery:
    """How `deliver` delivers messages: the number of partitions and windows, and the disorder.

    - `spread`: what decides a message's partition: its key ("key"), or chance ("any").
    - `late`: the fraction of messages that come in a later window, from 0 to 1. Heartbeats and messages of the full
      load are never late. Statements are late only if `late_ddl` is true; then rows that were written after a statement
      may come before it.
    - `repeated`: the fraction of messages that come twice, the second time in the same window or a later window.
    - `shuffled`: whether the messages of a window are in random order.
    """

    partitions: int = 1
    spread: Literal["key", "any"] = "any"
    windows: int = 3
    late: float = 0.0
    repeated: float = 0.0
    shuffled: bool = False
    late_ddl: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """A message in the queue, with its topic, partition and offset. `timestamp` is in epoch milliseconds.

    `position` is the binlog position of the message; only tests use it.
    """

    topic: str
    partition: int
    offset: int
    timestamp: int
    key: str | None
    value: str | bytes | None
    position: int
    headers: tuple[tuple[str, str], ...] = ()

    def line(self) -> str:
        """Return the record as a line of the layout `kafka_dump`. A value of bytes is written in base64."""
        address = {"topic": self.topic, "partition": self.partition, "offset": self.offset}
        if isinstance(self.value, bytes):
            value: dict[str, str | None] = {"value_base64": b64encode(self.value).decode()}
        else:
            value = {"value": self.value}
        content = {"timestamp": self.timestamp, "key": self.key, **value, "headers": self.headers}
        return json.dumps(address | content, ensure_ascii=False)


Windows = list[list[Record]]


def deliver(
    stream: Stream,
    chance: Chance,
    delivery: Delivery | None = None,
    *,
    cuts: Sequence[int] | None = None,
    topic: str = "shop",
) -> Windows:
    """Put the messages of a stream into a queue, and return the records of each window.

    `delivery` says how; None means one partition, in order. `cuts` has, for each window except the last, the index of
    the first message after the window. If it is None, the stream is cut at random into `delivery.windows` windows, of
    which some may be empty. Offsets rise by one in each partition. InvalidSetting if only offsets order the stream and
    the delivery would change this order.
    """
    delivery = delivery or Delivery()
    if stream.by_offset and delivery != Delivery(windows=delivery.windows):
        raise InvalidSetting(
            f"only offsets order messages of {stream.format}, so this delivery would change their order; deliver them "
            f"to one partition, without late, repeated or shuffled messages"
        )
    if cuts is None:
        cuts = sorted(chance.randrange(0, len(stream.messages) + 1) for _ in range(delivery.windows - 1))
    windows = _cut(stream.messages, cuts)
    if delivery.late or delivery.repeated:
        windows = _disturbed(windows, chance, delivery)
    if delivery.shuffled:
        windows = [shuffled(chance, window) for window in windows]
    return _queued(windows, chance, delivery, topic)


def hour_cuts(stream: Stream, start_ms: int, hours: int) -> list[int]:
    """Return the argument `cuts` for `deliver`, so that each window is one hour.

    The first hour begins at `start_ms`, in epoch milliseconds. Messages after the last hour belong to the last hour.
    """
    hour_ms = _HOUR // timedelta(milliseconds=1)
    ends = [start_ms + hour * hour_ms for hour in range(1, hours)]
    return [bisect_left(stream.messages, end, key=lambda message: message.time_ms) for end in ends]


def write_objects(windows: Windows, folder: Path, first: datetime = FIRST_HOUR, name: str = "shop") -> list[str]:
    """Write each window as one file. Return the names of the windows, as `20260301T0000Z`.

    `first` is the hour of the first window; the file names begin with `name` and contain the hour.
    """
    folder.mkdir(parents=True, exist_ok=True)
    names = []
    for number, window in enumerate(windows):
        hour = first + number * _HOUR
        text = "".join(f"{record.line()}\n" for record in window)
        (folder / f"{name}-{hour:%Y-%m-%dT%H}.jsonl").write_text(text, encoding="utf-8", newline="\n")
        names.append(f"{hour:%Y%m%dT%H%MZ}")
    return names


def _cut(messages: Sequence[Message], cuts: Sequence[int]) -> list[list[Message]]:
    return [list(messages[start:end]) for start, end in pairwise([0, *cuts, len(messages)])]


def _disturbed(windows: list[list[Message]], chance: Chance, delivery: Delivery) -> list[list[Message]]:
    """One random number decides whether a message is late, and whether it is repeated. For 0 it is neither."""
    moved: list[list[Message]] = [[] for _ in windows]
    waits = {"row", "mark", "statement"} if delivery.late_ddl else {"row", "mark"}
    for number, window in enumerate(windows):
        for message in window:
            fate = chance.randrange(0, _FATES)
            late = message.kind in waits and fate >= _FATES * (1 - delivery.late)
            at = chance.randrange(number + 1, len(windows)) if late and number + 1 < len(windows) else number
            moved[at].append(message)
            if message.repeatable and fate * _MIXED % _FATES >= _FATES * (1 - delivery.repeated):
                moved[chance.randrange(at, len(windows))].append(message)
    return moved


def _queued(windows: list[list[Message]], chance: Chance, delivery: Delivery, topic: str) -> Windows:
    """Give each message a partition and an offset. The broker's timestamp never goes back in a partition."""
    ends: list[Record | None] = [None] * delivery.partitions
    queued: Windows = []
    for window in windows:
        records = []
        for message in window:
            partition = _partition(message, chance, delivery)
            last = ends[partition]
            offset, stamp = (0, 0) if last is None else (last.offset + 1, last.timestamp)
            ends[partition] = record = Record(
                topic=topic,
                partition=partition,
                offset=offset,
                timestamp=max(stamp, message.time_ms),
                key=message.key,
                value=message.value,
                position=message.position,
                headers=message.headers,
            )
            records.append(record)
        queued.append(records)
    return queued


def _partition(message: Message, chance: Chance, delivery: Delivery) -> int:
    if delivery.partitions == 1:
        return 0
    if delivery.spread == "any" or message.key is None:
        return pick(chance, range(delivery.partitions))
    return sum(message.key.encode()) % delivery.partitions
