"""Assign the offsets of Kafka partitions to windows. The functions do not read or write tables."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from retable.errors import PositionsLost
from retable.ledger.windows.objects import count_windows, floor, next_ordinal, next_start
from retable.model.window import PartitionRange, Window
from retable.settings.sources import KafkaSource

PartitionAddress = tuple[str, int]
"""A Kafka partition: the name of its topic, and its number."""

_FIRST_YEAR = datetime(2000, 1, 1, tzinfo=UTC)
"""A message with an earlier timestamp, such as 1970-01-01, is a producer's mistake. It does not show when a source
begins."""


@dataclass(frozen=True, slots=True)
class FoundPartition:
    """A Kafka partition as the brokers report it now. Its offsets are from `low` to before `end`.

    `end` is the last stable offset: later messages may still belong to an open transaction.
    """

    topic: str
    partition: int
    topic_id: str
    low: int
    end: int

    @property
    def address(self) -> PartitionAddress:
        return self.topic, self.partition


@dataclass(frozen=True, slots=True)
class Stamped:
    """A message that a search by time found: its offset (`position`), and its timestamp from the broker (`time`)."""

    position: int
    time: datetime


Search = Callable[[datetime, Mapping[PartitionAddress, int]], Mapping[PartitionAddress, Stamped]]
"""A function that finds, in each given partition, the first message with a timestamp at or after a time.

The mapping has the offset at which the search starts in each partition. A timestamp that is later than the clock does
not count. A partition without such a message is not in the result.
"""


@dataclass(frozen=True, slots=True)
class FoundLog:
    """All partitions of a source's topics at one moment, and a function that searches messages in them by time."""

    partitions: tuple[FoundPartition, ...]
    search: Search


def plan_ranges(
    source: KafkaSource, recorded: Sequence[Window], log: FoundLog, due: datetime, now: datetime
) -> list[Window]:
    """Return the windows after `recorded` that start before `due`. Each offset is then in exactly one window.

    `recorded` has recorded windows of the source, in order. Only the last window of each partition and the last window
    of all are needed. In each partition, a window begins where the window before it ended. Normally it takes all
    messages that the partition has now.

    A window may be recorded late: at `now`, twice the setting `delay` or more has passed since its end. Then it leaves
    newer messages to later windows. It stops before the first message with a timestamp at or after its end plus
    `delay`. If there is no such message, it takes all. `now` also becomes the `recorded_at` of the windows.

    Raise PositionsLost if messages that no window has are gone, or if a topic was created again.
    """
    known = {each.address: each for window in recorded for each in window.ranges}
    _check_there(source, known, log)
    if recorded:
        begin: datetime | None = next_start(source, recorded)
        begins = {found.address: _begin(source, known.get(found.address), found) for found in log.partitions}
    else:
        begin, begins = _first(source, log, now)
    if begin is None or begin >= due:
        return []
    why = "" if recorded or source.start is not None else " because of the timestamp of its first message"
    windows: list[Window] = []
    for step in range(count_windows(source, begin, due, why)):
        start = begin + step * source.every
        ends = _ends(source, log, begins, start + source.every, now)
        ranges = tuple(_range(source, found, begins, ends) for found in log.partitions)
        end, epoch = start + source.every, source.source_epoch
        windows.append(
            Window(
                source=source.name,
                ordinal=next_ordinal(recorded) + step,
                start=start,
                end=end,
                objects=(),
                recorded_at=now,
                ranges=ranges,
                epoch=epoch,
            )
        )
        begins = ends
    return windows


def lost(source: KafkaSource, topic: str, what: str) -> PositionsLost:
    """Return the error for lost positions. `what` says which positions are lost, and why.

    The message also says how to continue without the lost messages.
    """
    return PositionsLost(
        f"sources.{source.name}: {what}; nothing was written. To continue without these messages, set "
        f"sources.{source.name}.source_epoch to {source.source_epoch + 1} and resync the tables (docs/operations.md)",
        source=source.name,
        topic=topic,
    )


def _range(
    source: KafkaSource,
    found: FoundPartition,
    begins: Mapping[PartitionAddress, int],
    ends: Mapping[PartitionAddress, int],
) -> PartitionRange:
    at = found.address
    return PartitionRange(
        found.topic, found.partition, found.topic_id, source.source_epoch, begins[at], max(begins[at], ends[at])
    )


def _ends(
    source: KafkaSource, log: FoundLog, begins: Mapping[PartitionAddress, int], end: datetime, now: datetime
) -> dict[PartitionAddress, int]:
    """Return, by partition, the offset at which the window that ends at the time `end` ends.

    `begins` has the first offset of the window by partition. The end is never before it.
    """
    ends = {found.address: max(found.end, begins[found.address]) for found in log.partitions}
    if now < end + 2 * source.delay:
        return ends
    open_ones = {at: begin for at, begin in begins.items() if begin < ends[at]}
    cuts = log.search(end + source.delay, open_ones) if open_ones else {}
    return {at: min(cuts[at].position, last) if at in cuts else last for at, last in ends.items()}


def _first(source: KafkaSource, log: FoundLog, now: datetime) -> tuple[datetime | None, dict[PartitionAddress, int]]:
    """Return the start time of the first window, and its first offset by partition.

    The time is None if the log has no message and the settings name no start.
    """
    lows = {found.address: found.low for found in log.partitions}
    if source.start == "latest":
        return floor(source, now), {found.address: found.end for found in log.partitions}
    if source.first is not None:
        begin = floor(source, source.first)
        cuts = log.search(begin, lows)
        return begin, {
            found.address: cuts[found.address].position if found.address in cuts else found.end
            for found in log.partitions
        }
    if all(found.low == found.end for found in log.partitions):
        return None, lows
    stamps = [each.time for each in log.search(_FIRST_YEAR, lows).values()]
    return floor(source, min(stamps, default=now)), lows


def _begin(source: KafkaSource, known: PartitionRange | None, found: FoundPartition) -> int:
    """Return the offset at which the next window begins in a partition: where the last window of the partition ended.

    `known` is the range of that last window. If it is None, the partition has no window yet, and is read from its first
    offset. Raise PositionsLost if messages are missing in between. If the source epoch was raised since that window,
    missing messages are skipped, and a topic that was created again is read from its first offset.
    """
    if known is None:
        return found.low
    where = f"{found.topic}/{found.partition}"
    is_new = "" not in (known.topic_id, found.topic_id) and known.topic_id != found.topic_id
    if known.epoch < source.source_epoch:
        return found.low if is_new else max(found.low, min(known.end, found.end))
    if is_new:
        raise lost(
            source,
            found.topic,
            f"the topic {found.topic} was created again after {where} was read to position {known.end}",
        )
    if found.low > known.end:
        gap = f"{known.end} to {found.low - 1} of {where}"
        raise lost(
            source,
            found.topic,
            f"the positions {gap} are gone: Kafka's retention deleted them before a window recorded them",
        )
    if found.end < known.end:
        gap = f"{found.end} to {known.end - 1} of {where}"
        raise lost(source, found.topic, f"recorded windows have the positions {gap}, but the log now ends before them")
    return known.end


def _check_there(source: KafkaSource, known: Mapping[PartitionAddress, PartitionRange], log: FoundLog) -> None:
    there = {found.address for found in log.partitions}
    for address, each in known.items():
        if address not in there and source.reads(each.topic) and each.epoch >= source.source_epoch:
            where = f"{each.topic}/{each.partition}"
            what = f"the partition {where} does not exist any more, or this user may not see it"
            raise lost(source, each.topic, f"{what}: its positions from {each.end} on are lost")
