"""What to do with a table, from what its metadata tells: which partitions to compact, which snapshots to expire.

Nothing here reads or writes. Whatever is done changes no row that a reader sees, and what was done is not asked again.
"""

import sys
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import PurePosixPath

Partition = tuple[object, ...]

_OPS_ROWS = 100_000
"""A file of the record that has so many rows is not written anew: else each day would write all of the record anew."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UpkeepRules:
    """From where on a table wants work. Sizes are in bytes; a file is small below three quarters of `target`.

    One with `many_rows` is not small, whatever its size.
    """

    target: int = 128 << 20
    many_rows: int = sys.maxsize
    few_files: int = 5
    most_deleted: float = 0.3
    """Of a file's rows this part may be deleted ones, which every reader passes over."""
    most_deletes: int = 5
    """So many files of deletes may belong to one file."""
    most_manifests: int = 24
    keep: timedelta = timedelta(hours=24)
    """Younger snapshots are never expired: a reader may be at one."""
    orphan_age: timedelta = timedelta(days=3)
    """Younger files are never removed: a run may be about to commit them."""

    @property
    def small(self) -> int:
        return self.target * 3 // 4

    def of(self, table: str) -> "UpkeepRules":
        """The rules for a table of this name."""
        return replace(self, many_rows=_OPS_ROWS) if table.startswith("ops.") else self

    def is_small(self, file: "FileFacts") -> bool:
        """Whether a file is better written anew together with others."""
        return file.bytes < self.small and file.rows < self.many_rows


@dataclass(frozen=True, slots=True)
class FileFacts:
    """A data file: `deleted` of its `rows` are deleted by so many files of `deletes`."""

    path: str
    partition: Partition
    bytes: int
    rows: int
    deleted: int = 0
    deletes: int = 0


@dataclass(frozen=True, slots=True)
class SnapshotFacts:
    """A snapshot: when it was made."""

    id: int
    made: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class TableFacts:
    """A table as its metadata tells it. `referenced` are the snapshots of its branches and tags."""

    name: str
    location: str
    files: tuple[FileFacts, ...] = ()
    snapshots: tuple[SnapshotFacts, ...] = ()
    current: int | None = None
    referenced: frozenset[int] = frozenset()
    manifests: int = 0
    busy: bool = False
    """A branch of a run stands on it: what that run wrote may be about to become visible."""

    @property
    def counts(self) -> dict[str, int]:
        """Its size, for people: `deleted_rows` is the debt that every reader pays."""
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
    """What to do with one table. `compact` gives, for each partition that wants it, the files to write anew."""

    compact: Mapping[Partition, tuple[FileFacts, ...]] = field(default_factory=dict)
    merge_manifests: bool = False
    expire: tuple[int, ...] = ()

    def only(self, partitions: Collection[Partition]) -> "Plan":
        """The same, compacting none but these partitions."""
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
    """The files to write anew, by partition, with the rules of Iceberg's own compaction.

    A partition wants it that has several small files, or one of which many rows are deleted.
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
    """Whether readers pay too much for the rows of a file that are deleted."""
    return file.deletes >= rules.most_deletes or (file.deleted > 0 and file.deleted >= file.rows * rules.most_deleted)


def expirable(facts: TableFacts, needed: Collection[int], now: datetime, rules: UpkeepRules) -> tuple[int, ...]:
    """The snapshots that nobody needs: none that main, a branch, a tag or a cut names, and none of the last day."""
    kept = {facts.current, *facts.referenced, *needed}
    old = (each for each in facts.snapshots if each.made <= now - rules.keep)
    return tuple(each.id for each in old if each.id not in kept)


def stands_alone(location: str, others: Iterable[str]) -> bool:
    """Whether no other table keeps its files in this table's folder, or around it: else no file of it is an orphan."""
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
