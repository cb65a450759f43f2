"""Decide from a table's metadata which partitions to compact, and which snapshots to expire.

Nothing here reads or writes. No action changes a row that a reader sees, and a finished action is not planned again.
"""

import sys
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import PurePosixPath

Partition = tuple[object, ...]

_OPS_ROWS = 100_000
"""A file of ops with so many rows is not rewritten; otherwise each day would rewrite all of the record."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UpkeepRules:
    """The thresholds for upkeep. Sizes are in bytes; a file is small below three quarters of `target`.

    A file with `many_rows` is not small, whatever its size.
    """

    target: int = 128 << 20
    many_rows: int = sys.maxsize
    few_files: int = 5
    most_deleted: float = 0.3
    """The share of deleted rows in a file from which it is rewritten; every reader skips these rows."""
    most_deletes: int = 5
    """The number of delete files for one data file from which it is rewritten."""
    most_manifests: int = 24
    keep: timedelta = timedelta(hours=24)
    """Younger snapshots are never expired, because a reader may use one."""
    orphan_age: timedelta = timedelta(days=3)
    """Younger files are never removed, because a run may be about to commit them."""

    @property
    def small(self) -> int:
        return self.target * 3 // 4

    def of(self, table: str) -> "UpkeepRules":
        """The rules for a table of this name."""
        return replace(self, many_rows=_OPS_ROWS) if table.startswith("ops.") else self

    def is_small(self, file: "FileFacts") -> bool:
        """Whether it is better to rewrite a file together with others."""
        return file.bytes < self.small and file.rows < self.many_rows


@dataclass(frozen=True, slots=True)
class FileFacts:
    """A data file: `deleted` of its `rows` are deleted, by `deletes` delete files."""

    path: str
    partition: Partition
    bytes: int
    rows: int
    deleted: int = 0
    deletes: int = 0


@dataclass(frozen=True, slots=True)
class SnapshotFacts:
    """A snapshot and the time at which it was made."""

    id: int
    made: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class TableFacts:
    """The facts in a table's metadata. `referenced` are the snapshots of its branches and tags."""

    name: str
    location: str
    files: tuple[FileFacts, ...] = ()
    snapshots: tuple[SnapshotFacts, ...] = ()
    current: int | None = None
    referenced: frozenset[int] = frozenset()
    manifests: int = 0
    busy: bool = False
    """The table has the branch of a run, whose writes may be about to become visible."""

    @property
    def counts(self) -> dict[str, int]:
        """The size of the table, for people; every reader pays for `deleted_rows`."""
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
    """What to do with one table. `compact` gives the files to rewrite, for each partition that needs it."""

    compact: Mapping[Partition, tuple[FileFacts, ...]] = field(default_factory=dict)
    merge_manifests: bool = False
    expire: tuple[int, ...] = ()

    def only(self, partitions: Collection[Partition]) -> "Plan":
        """The same plan, but compacting only these partitions."""
        return replace(self, compact={each: files for each, files in self.compact.items() if each in partitions})

    @property
    def has_work(self) -> bool:
        return bool(self.compact or self.merge_manifests or self.expire)

    @property
    def counts(self) -> dict[str, int]:
        """How much there is to do."""
        files = sum(len(files) for files in self.compact.values())
        return {"partitions": len(self.compact), "files": files, "snapshots": len(self.expire)}


def plan_upkeep(facts: TableFacts, needed: Collection[int], now: datetime, rules: UpkeepRules) -> Plan:
    """Plan for a table; `needed` are the snapshots that cuts name."""
    return Plan(
        compact=worth_compacting(facts.files, rules.of(facts.name)),
        merge_manifests=facts.manifests > rules.most_manifests,
        expire=expirable(facts, needed, now, rules),
    )


def worth_compacting(files: Iterable[FileFacts], rules: UpkeepRules) -> dict[Partition, tuple[FileFacts, ...]]:
    """The files to rewrite, by partition, with the rules of Iceberg's own compaction.

    A partition needs it if it has several small files, or a file with many deleted rows.
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
    """Whether readers pay too much for the deleted rows of a file."""
    return file.deletes >= rules.most_deletes or (file.deleted > 0 and file.deleted >= file.rows * rules.most_deleted)


def expirable(facts: TableFacts, needed: Collection[int], now: datetime, rules: UpkeepRules) -> tuple[int, ...]:
    """The snapshots to expire: older than `keep`, and not named by main, a branch, a tag or a cut."""
    kept = {facts.current, *facts.referenced, *needed}
    old = (each for each in facts.snapshots if each.made <= now - rules.keep)
    return tuple(each.id for each in old if each.id not in kept)


def stands_alone(location: str, others: Iterable[str]) -> bool:
    """Whether no other table has files in or around this table's folder; otherwise its orphans cannot be known."""
    mine = PurePosixPath(_plain(location))
    for other in map(_plain, others):
        theirs = PurePosixPath(other)
        if mine == theirs or mine in theirs.parents or theirs in mine.parents:
            return False
    return True


def _plain(location: str) -> str:
    """A location without its scheme: `file:/a`, `file:///a` and `/a` are one folder."""
    _, colon, rest = location.partition(":")
    return "/" + (rest if colon else location).strip("/")
