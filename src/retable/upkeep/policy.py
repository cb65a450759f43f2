"""Decide from the facts about a table which partitions to compact, and which snapshots to expire.

The functions read and write nothing. The planned actions do not change the rows that a reader sees.
"""

import sys
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import PurePosixPath

Partition = tuple[object, ...]

_OPS_ROWS = 100_000
"""A file of an ops table with at least this many rows is not compacted. Otherwise each day would rewrite all files."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UpkeepRules:
    """The thresholds for upkeep.

    `target` is the size of a compacted file, in bytes. A file is small if it is smaller than three quarters of `target`
    and has fewer than `many_rows` rows. A partition with at least `few_files` small files is compacted. If a table has
    more than `most_manifests` manifests, they are merged.
    """

    target: int = 128 << 20
    many_rows: int = sys.maxsize
    few_files: int = 5
    most_deleted: float = 0.3
    """A file is rewritten if at least this fraction of its rows is deleted, because every reader must skip them."""
    most_deletes: int = 5
    """A data file is rewritten if at least this number of delete files applies to it."""
    most_manifests: int = 24
    keep: timedelta = timedelta(hours=24)
    """Snapshots younger than this are never expired, because a reader may use them."""
    orphan_age: timedelta = timedelta(days=3)
    """Files younger than this are never removed, because a run may commit them soon."""

    @property
    def small(self) -> int:
        return self.target * 3 // 4

    def of(self, table: str) -> "UpkeepRules":
        """Return the rules for the table with this name.

        For ops tables (`ops.ledger` and others), `many_rows` is 100,000. With the limit of bytes alone, the upkeep of
        each day would rewrite all their files, because even a file with so many rows has fewer bytes than the limit.
        """
        return replace(self, many_rows=_OPS_ROWS) if table.startswith("ops.") else self

    def is_small(self, file: "FileFacts") -> bool:
        """Return whether a data file is so small that it should be rewritten together with other files."""
        return file.bytes < self.small and file.rows < self.many_rows


@dataclass(frozen=True, slots=True)
class FileFacts:
    """A data file of a table. `bytes` and `rows` are its size.

    `deleted` is the number of its deleted rows, and `deletes` is the number of delete files that apply to it.
    """

    path: str
    partition: Partition
    bytes: int
    rows: int
    deleted: int = 0
    deletes: int = 0


@dataclass(frozen=True, slots=True)
class SnapshotFacts:
    """An Iceberg snapshot: its ID, and the time at which it was made."""

    id: int
    made: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class TableFacts:
    """The facts from a table's metadata that upkeep needs.

    `current` is the ID of the current snapshot. `referenced` are the IDs of the snapshots of all branches and tags.
    """

    name: str
    location: str
    files: tuple[FileFacts, ...] = ()
    snapshots: tuple[SnapshotFacts, ...] = ()
    current: int | None = None
    referenced: frozenset[int] = frozenset()
    manifests: int = 0
    busy: bool = False
    """True if the table has a branch of a run. The run may publish what it wrote there soon."""

    @property
    def counts(self) -> dict[str, int]:
        """The size of the table, as counts by name, to show to people."""
        return {
            "files": len(self.files),
            "bytes": sum(file.bytes for file in self.files),
            "rows": sum(file.rows - file.deleted for file in self.files),
            "deleted_rows": sum(file.deleted for file in self.files),
            "files_with_deletes": sum(file.deleted > 0 for file in self.files),
            "small_files": sum(map(UpkeepRules().of(self.name).is_small, self.files)),
            "manifests": self.manifests,
            "snapshots": len(self.snapshots),
        }


@dataclass(frozen=True, slots=True)
class Plan:
    """What upkeep will do with one table.

    `compact` has the files to rewrite, by partition. `expire` are the IDs of the snapshots to expire.
    """

    compact: Mapping[Partition, tuple[FileFacts, ...]] = field(default_factory=dict)
    merge_manifests: bool = False
    expire: tuple[int, ...] = ()

    def only(self, partitions: Collection[Partition]) -> "Plan":
        """Return a copy of the plan that compacts only these partitions."""
        return replace(self, compact={each: files for each, files in self.compact.items() if each in partitions})

    @property
    def has_work(self) -> bool:
        return bool(self.compact or self.merge_manifests or self.expire)

    @property
    def counts(self) -> dict[str, int]:
        """The amount of planned work: counts of partitions, files and snapshots."""
        files = sum(len(files) for files in self.compact.values())
        return {"partitions": len(self.compact), "files": files, "snapshots": len(self.expire)}


def plan_upkeep(facts: TableFacts, needed: Collection[int], now: datetime, rules: UpkeepRules) -> Plan:
    """Return the plan for the upkeep of a table. `needed` are IDs of snapshots that must stay."""
    return Plan(
        compact=worth_compacting(facts.files, rules.of(facts.name)),
        merge_manifests=facts.manifests > rules.most_manifests,
        expire=expirable(facts, needed, now, rules),
    )


def worth_compacting(files: Iterable[FileFacts], rules: UpkeepRules) -> dict[Partition, tuple[FileFacts, ...]]:
    """Return the files to rewrite, by partition, with the same rules as Iceberg's own compaction.

    A file is rewritten if it is small or has many deleted rows. A partition is compacted if it has at least `few_files`
    files to rewrite, or a file with many deleted rows.
    """
    groups: dict[Partition, list[FileFacts]] = defaultdict(list)
    for file in files:
        if rules.is_small(file) or is_indebted(file, rules):
            groups[file.partition].append(file)
    return {
        partition: tuple(group)
        for partition, group in groups.items()
        if len(group) >= rules.few_files or any(is_indebted(file, rules) for file in group)
    }


def is_indebted(file: FileFacts, rules: UpkeepRules) -> bool:
    """Return whether a file has so many deleted rows or delete files that reading it costs too much."""
    return file.deletes >= rules.most_deletes or (file.deleted > 0 and file.deleted >= file.rows * rules.most_deleted)


def expirable(facts: TableFacts, needed: Collection[int], now: datetime, rules: UpkeepRules) -> tuple[int, ...]:
    """Return the IDs of the snapshots to expire: all that are older than `rules.keep`, except those still in use.

    A snapshot is in use if it is current, if a branch or tag references it, or if it is in `needed`.
    """
    kept = {facts.current, *facts.referenced, *needed}
    old = (each for each in facts.snapshots if each.made <= now - rules.keep)
    return tuple(each.id for each in old if each.id not in kept)


def stands_alone(location: str, others: Iterable[str]) -> bool:
    """Return whether only one table has files in its folder `location`. `others` are the folders of the other tables.

    Return False if one of `others` is the same folder, is inside it, or contains it. Then files of the other table
    would look like orphan files of this table.
    """
    mine = PurePosixPath(_plain(location))
    for other in map(_plain, others):
        theirs = PurePosixPath(other)
        if mine == theirs or mine in theirs.parents or theirs in mine.parents:
            return False
    return True


def _plain(location: str) -> str:
    """Return a location without its scheme. `file:/a`, `file:///a` and `/a` are the same folder."""
    _, colon, rest = location.partition(":")
    return "/" + (rest if colon else location).strip("/")
