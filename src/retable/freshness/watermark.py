"""Computes the watermarks of a source (the source times up to which it is complete), window by window. No I/O.

Evidence with the timestamp T proves that all changes of its Kafka partition before T came earlier in the partition.
Windows take positions in order. So if the window of the evidence and all earlier windows are replayed, gold has all
changes before T. A watermark is therefore exclusive: gold is complete for all source times *before* the watermark.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from retable.ledger.rows import EvidenceRow, WatermarkRow
from retable.model.evidence import GRADES, Grade, accepted
from retable.model.window import PartitionRange, Window

Watermarks = Mapping[Grade, datetime]
"""The watermark for each lowest grade of evidence that is accepted. A weaker grade gives the same or a later one."""


@dataclass(frozen=True, slots=True)
class Stamps:
    """The latest timestamp of each grade of evidence in one Kafka partition; None for a grade without evidence."""

    heartbeat: datetime | None = None
    canary: datetime | None = None
    row: datetime | None = None

    def best(self, lowest: Grade) -> datetime | None:
        """Return the latest timestamp of the grade `lowest` or a better grade; None if there is no such evidence.

        The grades are, the best first: `heartbeat`, `canary`, `row`, `drained`. Messages have no timestamp of the grade
        `drained`. If `lowest` is `drained`, the result is the same as for `row`.
        """
        stamps = {"heartbeat": self.heartbeat, "canary": self.canary, "row": self.row, "drained": None}
        return max((at for grade in accepted(lowest) if (at := stamps[grade]) is not None), default=None)

    def joined(self, row: EvidenceRow) -> "Stamps":
        """Return, for each grade, the later one of two timestamps: that of this object and that of `row`."""
        return Stamps(_later(self.heartbeat, row.heartbeat), _later(self.canary, row.canary), _later(self.row, row.row))


@dataclass(frozen=True, slots=True)
class SourceLine:
    """How complete a source is after the window `window`. All stages of this window and all earlier windows are done.

    - `window`: None before the first window.
    - `epoch`: the newest source epoch (a number that is raised when positions of the source start again).
    - `partitions`: by `topic/partition`, the latest timestamps of each Kafka partition in this source epoch. When an
      epoch begins, the partitions of the epoch before lose their timestamps, so that watermarks wait for new evidence.
      Those that the first window of the new epoch does not have are left out.
    - `watermarks`: by grade, the source time before which the source is complete.
    """

    window: str | None = None
    epoch: int = 0
    partitions: Mapping[str, Stamps] = field(default_factory=dict)
    watermarks: Watermarks = field(default_factory=dict)

    def extended(self, window: Window, evidence: Iterable[EvidenceRow], ordered: bool) -> "SourceLine":
        """Return how complete the source is after the next window, from the evidence of that window.

        `ordered` says whether the producer writes all Kafka partitions in the order of the source. If it does, the
        evidence of one partition counts for all partitions. A watermark never goes back, even if a partition is added
        or has no new messages.
        """
        rows = list(evidence)
        epoch = max([self.epoch, *(row.epoch for row in rows)])
        partitions = dict(self.partitions if epoch == self.epoch else self._standing(window))
        for row in rows:
            if row.epoch == epoch:
                name = partition_name(row)
                partitions[name] = partitions.get(name, Stamps()).joined(row)
        line = SourceLine(window.name, epoch, partitions)
        proven = {grade: line.proven(grade, ordered) for grade in GRADES}
        proven["drained"] = _later(proven["drained"], drained(window))
        marks = {grade: _later(self.watermarks.get(grade), proven[grade]) for grade in GRADES}
        return replace(line, watermarks={grade: at for grade, at in marks.items() if at is not None})

    def without(self, names: Collection[str]) -> "SourceLine":
        """Return a copy without these partitions (`topic/partition`), so that no watermark waits for them."""
        return replace(self, partitions={name: each for name, each in self.partitions.items() if name not in names})

    def _standing(self, window: Window) -> Mapping[str, Stamps]:
        """Return the old partitions that a window of a new source epoch still has, without timestamps."""
        there = {partition_name(each) for each in window.ranges}
        return {name: Stamps() for name in self.partitions if name in there}

    def proven(self, lowest: Grade, ordered: bool) -> datetime | None:
        """Return the source time that the evidence of all partitions proves together, or None if it proves nothing.

        `lowest` is the lowest grade of evidence that counts. Each partition proves the time of its latest timestamp.
        If `ordered` is true, one partition proves its time for all, so the result is the latest of these times.
        Otherwise the result is the earliest of these times, and None if a partition has no timestamp.
        """
        stamps = [each.best(lowest) for each in self.partitions.values()]
        known = [at for at in stamps if at is not None]
        if ordered:
            return max(known, default=None)
        return min(known) if known and len(known) == len(stamps) else None

    def silent(self, lowest: Grade, through: datetime, ordered: bool) -> list[tuple[str, datetime | None]]:
        """Return the partitions without evidence of the time `through` or later, each with its last timestamp.

        `lowest` is the lowest grade of evidence that counts. The timestamp is None if a partition has no evidence. Such
        partitions come first, then the partition with the earliest timestamp. If `ordered` is true, the evidence of one
        partition counts for all, so return only the partition with the latest timestamp.
        """
        last = sorted(
            ((name, stamps.best(lowest)) for name, stamps in self.partitions.items()),
            key=lambda each: (each[1] is not None, each[1] or through, each[0]),
        )
        short = [(name, at) for name, at in last if at is None or at < through]
        return short[-1:] if ordered else short


def drained(window: Window) -> datetime | None:
    """Return the end of a window if the window was recorded (its messages were chosen) at this time or later.

    Otherwise return None: messages that arrived before its end may be in the next window.
    """
    return window.end if window.recorded_at >= window.end else None


def partition_name(of: EvidenceRow | PartitionRange) -> str:
    """Return the name of the Kafka partition of a record or range, as `topic/0`."""
    return f"{of.topic}/{of.partition}"


def to_rows(source: str, line: SourceLine, now: datetime) -> list[WatermarkRow]:
    """Return the rows of ops.watermarks that record how complete a source is, one row for each grade.

    `now` is the time of the record.
    """
    assert line.window is not None
    return [
        WatermarkRow(
            source=source,
            table=None,
            grade=grade,
            window=line.window,
            watermark=line.watermarks.get(grade),
            epoch=line.epoch,
            evidence={name: stamps.best(grade) for name, stamps in line.partitions.items()},
            because=None,
            recorded_at=now,
        )
        for grade in GRADES
    ]


def from_rows(rows: Sequence[WatermarkRow]) -> SourceLine:
    """Return how complete a source was, from one watermark record: the rows that `to_rows` made, one for each grade.

    The row of a grade has the latest timestamp of this grade or a better grade. So the result may have the timestamp of
    a `heartbeat` also for the weaker grade `row`. This changes no watermark, because the watermark of a grade is made
    from the better grades, too.
    """
    by_grade = {row.grade: row for row in rows}
    some = rows[0]
    return SourceLine(
        some.window,
        some.epoch,
        {
            name: Stamps(*(by_grade[grade].evidence.get(name) for grade in ("heartbeat", "canary", "row")))
            for name in some.evidence
        },
        {grade: row.watermark for grade, row in by_grade.items() if row.watermark is not None},
    )


def _later(one: datetime | None, other: datetime | None) -> datetime | None:
    return max((at for at in (one, other) if at is not None), default=None)
