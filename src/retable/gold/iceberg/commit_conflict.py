"""What changed between a run's base and its commit: only other files for the same rows, or another writer's commit."""

from typing import Any

from retable.errors import Compacted, Fenced

_SAME_ROWS = "replace"
"""Iceberg's operation for a snapshot that rewrites files with the same rows."""


def overtaken(name: str, base: int, table: Any, is_as_decided: bool) -> Fenced:
    """Why a table, loaded again, is not what a run decided on; `is_as_decided`: its columns and properties are."""
    words = "another writer committed first; run this window again"
    if is_as_decided and _has_same_rows(base, table):
        return Compacted(f"{name}: {words} (it was compacted)", table=name)
    return Fenced(f"{name}: {words}", table=name)


def _has_same_rows(base: int, table: Any) -> bool:
    snapshot = table.currentSnapshot()
    while snapshot is not None and int(snapshot.snapshotId()) != base:
        if str(snapshot.operation()) != _SAME_ROWS:
            return False
        parent = snapshot.parentId()
        snapshot = None if parent is None else table.snapshot(parent)
    return snapshot is not None
