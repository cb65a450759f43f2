"""Find out why a commit to a gold table failed: the table was only compacted, or another writer changed it."""

from typing import Any

from retable.errors import Compacted, Fenced

_SAME_ROWS = "replace"
"""Iceberg's operation for a snapshot that rewrites files with the same rows."""


def overtaken(name: str, base: int, table: Any, is_as_decided: bool) -> Fenced:
    """Return the error for the table `name`, which another writer changed after a run began to work with it.

    `base` is the id of the snapshot with which the run began. `table` is the Java table, loaded again. `is_as_decided`
    says whether its columns and Retable's properties are still the same as when the run began. The error is Compacted
    (a kind of Fenced) if they are the same and the other writer only compacted files. In all other cases it is Fenced.
    """
    words = "another writer committed to the table first; run this window again"
    if is_as_decided and _has_same_rows(base, table):
        return Compacted(f"{name}: {words} (the other commit compacted the table)", table=name)
    return Fenced(f"{name}: {words}", table=name)


def _has_same_rows(base: int, table: Any) -> bool:
    snapshot = table.currentSnapshot()
    while snapshot is not None and int(snapshot.snapshotId()) != base:
        if str(snapshot.operation()) != _SAME_ROWS:
            return False
        parent = snapshot.parentId()
        snapshot = None if parent is None else table.snapshot(parent)
    return snapshot is not None
