"""Find the topics, partitions and offsets of a source, as its brokers report them now."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta

from confluent_kafka import (
    TIMESTAMP_NOT_AVAILABLE,
    Consumer,
    IsolationLevel,
    KafkaError,
    KafkaException,
    TopicCollection,
    TopicPartition,
)
from confluent_kafka.admin import OffsetSpec  # type: ignore[attr-defined]  # exported in its documentation only

from retable.errors import NotFound
from retable.formats.options import nearest
from retable.land.kafka.client import REQUEST_SECONDS, Brokers
from retable.ledger.windows.positions import FoundLog, FoundPartition, PartitionAddress, Stamped
from retable.settings.sources import KafkaSource

_EARLIEST: OffsetSpec = OffsetSpec.earliest()  # type: ignore[no-untyped-call]  # it has no types
_LATEST: OffsetSpec = OffsetSpec.latest()  # type: ignore[no-untyped-call]  # it has no types

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)
_NO_ID = "AAAAAAAAAAAAAAAAAAAAAA"
"""The topic id, all zeros, that brokers give if they are too old to have topic ids."""

_LOOK = {"queued.max.messages.kbytes": 1 << 10, "fetch.max.bytes": 1 << 20, "fetch.message.max.bytes": 64 << 10}
"""The fetch limits of a search by time, which reads a little of many partitions."""

_WAIT_SECONDS, _PATIENCE = 0.1, 300


def find_log(source: KafkaSource, now: datetime) -> FoundLog:
    """Return all partitions of a source's topics, with the offsets at which their committed messages begin and end.

    The result has a function `search`. It finds, in each partition, the first message whose timestamp is at or after a
    given time. It ignores messages with a timestamp after `now`.
    """
    brokers = Brokers(source)
    partitions = find_partitions(source, brokers)
    ends = {each.address: each.end for each in partitions}
    return FoundLog(tuple(partitions), lambda time, begins: _search(brokers, time, begins, ends, now))


def find_partitions(source: KafkaSource, brokers: Brokers) -> list[FoundPartition]:
    """Return the partitions of a source's topics. Raise NotFound if a topic in the settings does not exist."""
    return find_named(brokers, _partitions(source, brokers))


def find_named(brokers: Brokers, named: Iterable[PartitionAddress]) -> list[FoundPartition]:
    """Return the state of those partitions in `named` that exist. Leave out Kafka's internal topics."""
    wanted = list(named)
    ids = topic_ids(brokers, {topic for topic, _ in wanted})
    there = [at for at in wanted if at[0] in ids]
    lows, ends = (_ask(brokers, dict.fromkeys(there, spec)) for spec in (_EARLIEST, _LATEST))
    return [
        FoundPartition(*at, ids[at[0]], lows[at], max(lows[at], ends[at])) for at in there if at in lows and at in ends
    ]


def topic_ids(brokers: Brokers, topics: Iterable[str]) -> dict[str, str]:
    """Return the id of each of these topics that exists, by name, without Kafka's internal topics.

    An id is "" if the brokers are too old to have ids.
    """
    names = sorted(topics)
    asked = brokers.admin.describe_topics(TopicCollection(names), request_timeout=REQUEST_SECONDS) if names else {}
    found = brokers.answers(asked, but=KafkaError.UNKNOWN_TOPIC_OR_PART)
    return {
        name: "" if str(topic.topic_id) == _NO_ID else str(topic.topic_id)
        for name, topic in found.items()
        if not topic.is_internal
    }


def _partitions(source: KafkaSource, brokers: Brokers) -> list[PartitionAddress]:
    try:
        topics = brokers.admin.list_topics(timeout=REQUEST_SECONDS).topics
    except KafkaException as error:
        raise brokers.fault(error.args[0]) from error
    for wanted in source.topics:
        if not any(sign in wanted for sign in "*?[") and wanted not in topics:
            raise NotFound(
                f"sources.{source.name}.topics: there is no topic {wanted!r}, or this user may not see it"
                f"{nearest(wanted, topics)}",
                topic=wanted,
            )
    mine = {name: topic for name, topic in topics.items() if source.reads(name)}
    if not mine:
        raise NotFound(f"sources.{source.name}.topics: no topic matches {' or '.join(map(repr, source.topics))}")
    for topic in mine.values():
        if topic.error is not None:
            raise brokers.fault(topic.error)
    return [(name, number) for name in sorted(mine) for number in sorted(mine[name].partitions)]


def _ask(brokers: Brokers, wanted: Mapping[PartitionAddress, OffsetSpec]) -> dict[PartitionAddress, int]:
    """Ask the brokers for a position in each partition that exists; -1 if a partition has no such position."""
    if not wanted:
        return {}
    asked = brokers.admin.list_offsets(
        {TopicPartition(*at): spec for at, spec in wanted.items()},
        isolation_level=IsolationLevel.READ_COMMITTED,
        request_timeout=REQUEST_SECONDS,
    )
    found = brokers.answers(asked, but=KafkaError.UNKNOWN_TOPIC_OR_PART)
    return {(at.topic, at.partition): answer.offset for at, answer in found.items()}


def _search(
    brokers: Brokers,
    time: datetime,
    begins: Mapping[PartitionAddress, int],
    ends: Mapping[PartitionAddress, int],
    now: datetime,
) -> dict[PartitionAddress, Stamped]:
    """Find the first message of each partition whose timestamp is between `time` and `now`.

    `begins` has the offset from which to search in each partition. The brokers find the first offset of such a
    timestamp in the whole log, but it may be a transaction marker instead of a message. So messages are read from this
    offset on, usually one message.
    """
    asked = _ask(brokers, dict.fromkeys(begins, OffsetSpec.for_timestamp(_milliseconds(time))))
    starts = {at: max(found, begins[at]) for at, found in asked.items() if found >= 0}
    open_ones = {at: start for at, start in starts.items() if start < ends[at]}
    if not open_ones:
        return {}
    with brokers.consumer(**_LOOK) as consumer:
        return _inspect(brokers, consumer, open_ones, ends, (_milliseconds(time), _milliseconds(now)))


def _inspect(
    brokers: Brokers,
    consumer: Consumer,
    starts: Mapping[PartitionAddress, int],
    ends: Mapping[PartitionAddress, int],
    between: tuple[int, int],
) -> dict[PartitionAddress, Stamped]:
    consumer.assign([TopicPartition(*at, start) for at, start in starts.items()])
    found: dict[PartitionAddress, Stamped] = {}
    left, idle = set(starts), 0
    while left:
        messages = consumer.consume(1000, _WAIT_SECONDS)
        idle = 0 if messages else idle + 1
        if idle > _PATIENCE:
            raise brokers.away(
                f"no message came from {', '.join(f'{topic}/{number}' for topic, number in sorted(left))}"
            )
        for message in messages:
            error, at = message.error(), (str(message.topic()), int(message.partition() or 0))
            if error is not None and error.code() != KafkaError._PARTITION_EOF:
                raise brokers.fault(error)
            offset, (kind, stamp) = int(message.offset() or 0), message.timestamp()
            is_stamped = error is None and kind != TIMESTAMP_NOT_AVAILABLE and between[0] <= stamp <= between[1]
            if at in left and (error is not None or offset >= ends[at] or is_stamped):
                left.remove(at)
                consumer.pause([TopicPartition(*at)])
                if is_stamped and offset < ends[at]:
                    found[at] = Stamped(offset, _EPOCH + stamp * _MILLISECOND)
    return found


def _milliseconds(time: datetime) -> int:
    return (time - _EPOCH) // _MILLISECOND
