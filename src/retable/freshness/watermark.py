"""Compute how far a source is proven, window by window. Pure, so that its laws can be tested.

Evidence with stamp T says that everything of its partition before T came before it, and windows take positions in
order. If its window and all earlier ones are replayed, gold has everything older than T. A watermark is therefore
exclusive: gold is complete for all source times *before* it.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from retable.ledger.rows import EvidenceRow, WatermarkRow
from retable.model.evidence import GRADES, Grade, accepted
from retable.model.window import PartitionRange, Window

Watermarks = Mapping[Grade, datetime]
"""Watermarks by the lowest grade that they accept. A weaker grade gives a later watermark."""


@dataclass(frozen=True, slots=True)
class Stamps:
    """The latest stamp of each grade in one partition."""

    heartbeat: datetime | None = None
    canary: datetime | None = None
    row: datetime | None = None

    def best(self, lowest: Grade) -> datetime | None:
        """Give the latest stamp of at least this grade. `drained` has no stamp, so it uses rows."""
        stamps = {"heartbeat": self.heartbeat, "canary": self.canary, "row": self.row, "drained": None}
        return max((at for grade in accepted(lowest) if (at := stamps[grade]) is not None), default=None)

    def joined(self, row: EvidenceRow) -> "Stamps":
        return Stamps(_later(self.heartbeat, row.heartbeat), _later(self.canary, row.canary), _later(self.row, row.row))


@dataclass(frozen=True, slots=True)
class SourceLine:
    """A source up to one window (None: before the first). Every stage of that window and of all before it is done.

    `partitions` has, by `topic/partition`, each partition seen in the newest source epoch, and each older one that the
    first window of that epoch still has. An older one has no stamp until it has new evidence. All others are dropped.
    """

    window: str | None = None
    epoch: int = 0
    partitions: Mapping[str, Stamps] = field(default_factory=dict)
    watermarks: Watermarks = field(default_factory=dict)

    def extended(self, window: Window, evidence: Iterable[EvidenceRow], ordered: bool) -> "SourceLine":
        """Extend the line to the next window. `ordered`: one partition's evidence counts for all (docs/formats.md).

        A watermark never goes back, even if a new partition is added or one has no new messages.
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
        """Give the same line without these partitions, so that it does not wait for them."""
        return replace(self, partitions={name: each for name, each in self.partitions.items() if name not in names})

    def _standing(self, window: Window) -> Mapping[str, Stamps]:
        """The old partitions that a window of a new source epoch still has, without stamps."""
        there = {partition_name(each) for each in window.ranges}
        return {name: Stamps() for name in self.partitions if name in there}

    def proven(self, lowest: Grade, ordered: bool) -> datetime | None:
        """Give what the stamps of the partitions prove together: the latest if they are `ordered`, else the lowest."""
        stamps = [each.best(lowest) for each in self.partitions.values()]
        known = [at for at in stamps if at is not None]
        if ordered:
            return max(known, default=None)
        return min(known) if known and len(known) == len(stamps) else None

    def silent(self, lowest: Grade, through: datetime, ordered: bool) -> list[tuple[str, datetime | None]]:
        """Give the partitions whose evidence does not reach `through`, with their last stamp, lowest first.

        If they are `ordered`, only the latest one.
        """
        last = sorted(
            ((name, stamps.best(lowest)) for name, stamps in self.partitions.items()),
            key=lambda each: (each[1] is not None, each[1] or through, each[0]),
        )
        short = [(name, at) for name, at in last if at is None or at < through]
        return short[-1:] if ordered else short


def drained(window: Window) -> datetime | None:
    """Give the end of a window that was recorded after it, and so took everything there was. Else None."""
    return window.end if window.recorded_at >= window.end else None


def partition_name(of: EvidenceRow | PartitionRange) -> str:
    return f"{of.topic}/{of.partition}"


def to_rows(source: str, line: SourceLine, now: datetime) -> list[WatermarkRow]:
    """Give the rows of ops.watermarks for a line, one for each grade."""
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
    """Read a line back. A stamp of a better grade is also in the weaker ones, which changes no watermark."""
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
