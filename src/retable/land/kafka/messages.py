"""Read all committed messages of recorded ranges of Kafka offsets. Raise an error if some of them are gone."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from confluent_kafka import TIMESTAMP_NOT_AVAILABLE, Consumer, KafkaError, Message, TopicPartition

from retable.errors import PositionsLost, RetableError
from retable.land.kafka.client import Brokers
from retable.land.kafka.positions import find_named, topic_ids
from retable.ledger.windows.positions import FoundPartition, lost
from retable.model.message import RawMessage
from retable.model.window import PartitionRange
from retable.settings.sources import KafkaSource

_WAIT_SECONDS, _PATIENCE = 0.1, 900
"""The seconds of one wait for messages, and the maximum number of waits without a message.

Together this is long enough for brokers to restart. After that time, Unavailable is raised.
"""

_AT_ONCE = 500
"""The maximum number of messages that a client collects in one wait. The time of a wait bounds their bytes."""

_GONE = {KafkaError._AUTO_OFFSET_RESET, KafkaError.OFFSET_OUT_OF_RANGE}


def read_ranges(source: KafkaSource, ranges: Sequence[PartitionRange], seen: Counter[str]) -> Iterator[RawMessage]:
    """Yield the messages of the ranges, one range after the other. Add their `bytes` and the `holes` to `seen`.

    A hole is an offset without a readable message: it was compacted, its transaction was aborted, or it is a marker of
    the log itself. Memory is bounded by what a client fetches ahead and by the longest message. Raise PositionsLost if
    an offset is gone that was not read yet. Raise Unavailable if the brokers do not answer.
    """
    brokers = Brokers(source)
    with brokers.consumer() as consumer:
        if len({each.topic for each in ranges}) > 1:
            brokers.meet(consumer)
        for each in ranges:
            yield from _read(source, brokers, consumer, each, seen)
    _check_ids(source, brokers, ranges)


def find_left(source: KafkaSource, ranges: Sequence[PartitionRange]) -> list[PartitionRange]:
    """Return the ranges of offsets, within recorded `ranges`, that the brokers still have.

    Raise PositionsLost if offsets are gone. But if the setting `source_epoch` was raised after the ranges were
    recorded, leave out these offsets instead.
    """
    wanted = [each for each in ranges if each.count]
    named = find_named(Brokers(source), [each.address for each in wanted]) if wanted else []
    found = {each.address: each for each in named}
    left = [_left(source, each, found.get(each.address)) for each in wanted]
    return [each for each in left if each.count]


def split_ranges(ranges: Sequence[PartitionRange], least: int, most: int, shares: int) -> list[PartitionRange]:
    """Cut ranges of offsets into pieces of equal size for `shares` tasks.

    A piece has at least `least` and at most `most` offsets. Only the last piece of a range may have fewer.
    """
    total = sum(each.count for each in ranges)
    size = min(most, max(least, -(-total // shares)))
    return [
        replace(each, begin=begin, end=min(begin + size, each.end))
        for each in ranges
        for begin in range(each.begin, each.end, size)
    ]


def _left(source: KafkaSource, wanted: PartitionRange, found: FoundPartition | None) -> PartitionRange:
    is_same = found is not None and (found.topic_id == wanted.topic_id or "" in (found.topic_id, wanted.topic_id))
    low, end = (found.low, found.end) if found is not None and is_same else (wanted.end, wanted.end)
    begin, end = min(max(wanted.begin, low), wanted.end), min(wanted.end, max(end, wanted.begin))
    left = replace(wanted, begin=begin, end=max(begin, end))
    if left != wanted and wanted.epoch >= source.source_epoch:
        raise _gap(source, wanted, left, is_same)
    return left


def _gap(source: KafkaSource, wanted: PartitionRange, left: PartitionRange, is_same: bool) -> PositionsLost:
    where = f"{wanted.topic}/{wanted.partition}"
    if not is_same:
        what = f"the topic {wanted.topic} was deleted or created again"
        positions = f"the positions {wanted.begin} to {wanted.end - 1} of {where}"
        return lost(source, wanted.topic, f"{what}, and {positions} were not landed yet")
    first, last = (wanted.begin, left.begin - 1) if left.begin > wanted.begin else (left.end, wanted.end - 1)
    return lost(source, wanted.topic, f"the positions {first} to {last} of {where} are gone, and were not landed yet")


def _read(
    source: KafkaSource, brokers: Brokers, consumer: Consumer, wanted: PartitionRange, seen: Counter[str]
) -> Iterator[RawMessage]:
    consumer.assign([TopicPartition(*wanted.address, wanted.begin)])
    position, idle = wanted.begin, 0
    while position < wanted.end:
        arrived = [each for each in consumer.consume(_AT_ONCE, _WAIT_SECONDS) if _is_of(each, wanted)]
        idle = 0 if arrived else idle + 1
        if idle > _PATIENCE:
            raise brokers.away(
                f"no message came from {wanted.topic}/{wanted.partition} at position {position} or later"
            )
        for message in arrived:
            error = message.error()
            if error is not None and error.code() != KafkaError._PARTITION_EOF:
                raise _failure(source, brokers, replace(wanted, begin=position), error)
            offset = int(message.offset() or 0)
            until = max(position, min(offset, wanted.end))
            seen["holes"] += until - position
            position = until
            if error is None and offset < wanted.end:
                yield _raw_message(source, message, seen)
                position = offset + 1
    consumer.unassign()


def _is_of(message: Message, wanted: PartitionRange) -> bool:
    """Return whether a message, or an error, is about the partition of a range. Errors of groups are not."""
    return (message.topic(), message.partition()) == wanted.address


def _failure(source: KafkaSource, brokers: Brokers, left: PartitionRange, error: KafkaError) -> RetableError:
    """Return why reading stopped: positions were lost meanwhile, or the brokers report an error."""
    if error.code() not in _GONE:
        return brokers.fault(error)
    find_left(source, [left])
    return brokers.away(error.str())


def _check_ids(source: KafkaSource, brokers: Brokers, ranges: Sequence[PartitionRange]) -> None:
    """Check that the topics have the recorded ids: PositionsLost if a topic was created again while it was read."""
    ids = topic_ids(brokers, {each.topic for each in ranges})
    for each in ranges:
        if each.topic_id and ids.get(each.topic) != each.topic_id:
            raise lost(source, each.topic, f"the topic {each.topic} was created again while it was read")


def _raw_message(source: KafkaSource, message: Message, seen: Counter[str]) -> RawMessage:
    key, value = message.key(), message.value()
    headers: Any = message.headers() or ()
    problem = None
    if value is not None and len(value) > source.max_message:
        problem = (
            f"the message has {len(value)} bytes, but max_message is {source.max_message}, so its end is cut off; "
            f"raise max_message and run `retable quarantine redecode`"
        )
        value = value[: source.max_message]
    seen["bytes"] += len(key or b"") + len(value or b"")
    kind, stamp = message.timestamp()
    return RawMessage(
        str(message.topic()),
        int(message.partition() or 0),
        int(message.offset() or 0),
        None if kind == TIMESTAMP_NOT_AVAILABLE else stamp,
        key,
        value,
        tuple((name, content) for name, content in headers),
        problem,
    )
