"""`kill -9` of the JVM at every seam of a replay, twice, then a plain run."""

from pathlib import Path

import pytest

from faults.killing import LAST, Seam, kill
from faults.uninterrupted import (
    Uninterrupted,
    assert_balanced,
    gold,
    gold_tables,
    left_behind,
    record,
    replay_again,
    rows,
)
from faults.victim import DATA_FILE, LAST_STEP
from retable.ledger.lake.catalog import Lake, open_lake
from retable.session import build_session

LEAVING = (": expanded", ": deleted", ": before publishing")

EXPANDED = ("gold_shop.customers: expanded", 1)
DELETED = ("gold_shop.customers: deleted", 1)
WRITTEN = ("gold_shop.orders: written", 1)
BEFORE_PUBLISHING = ("gold_shop.all_types: before publishing", 1)
RENAMED = ("gold_crm.stock_archive: renamed", 1)

SEAMS: dict[str, tuple[str, Seam, Seam]] = {
    "data files written, not committed": ("cp1_dml", (DATA_FILE, 3), (DATA_FILE, 1)),
    "expanded": ("cp2_columns", EXPANDED, EXPANDED),
    "between delete and append, in format v2": ("cp1_dml", DELETED, DELETED),
    "vectors and data files written": ("cp1_dml", WRITTEN, WRITTEN),
    "before the transaction": ("cp3_types", BEFORE_PUBLISHING, BEFORE_PUBLISHING),
    "after the transactions, before the record": ("cp3_types", (": published", LAST), (LAST_STEP, 1)),
    "after the transactions, of tables without rows too": ("cp0_preload", (": published", LAST), (LAST_STEP, 1)),
    "before the ledger": ("cp2_columns", (LAST_STEP, 1), (LAST_STEP, 1)),
    "between two tables": ("cp4_tables", (": done", 2), (": done", 8)),
    "renamed": ("cp4_tables", RENAMED, ("gold_crm.stock_archive: written", 1)),
}


@pytest.mark.parametrize("seam", SEAMS)
def test_a_replay_that_is_killed_twice_and_run_again_gives_the_same_gold(
    seam: str, uninterrupted: Uninterrupted, tmp_path: Path
) -> None:
    checkpoint, *deaths = SEAMS[seam]
    settings = uninterrupted.before(checkpoint, tmp_path)
    lake = open_lake(settings)
    whole = [rows(lake), uninterrupted.rows[checkpoint]]
    for run_id, (step, number) in zip(("first", "second"), deaths, strict=True):
        killed_at = kill(uninterrupted, checkpoint, tmp_path, run_id, (step, number))
        if step == DATA_FILE:
            assert not is_committed(lake, killed_at)
        if step.endswith(LEAVING):
            assert left_behind(lake)
        for identity, seen in rows(lake).items():
            assert seen in [state.get(identity) for state in whole], identity

    # Whoever schedules runs again under the name of the run that died.
    replay_again(build_session(settings, "retable tests"), lake, uninterrupted.windows[checkpoint], "second")
    assert gold(lake) == uninterrupted.gold[checkpoint]
    assert record(lake) == uninterrupted.record[checkpoint]
    assert_balanced(lake)
    assert left_behind(lake) == []


def test_every_window_once_more_changes_neither_gold_nor_the_record(
    uninterrupted: Uninterrupted, tmp_path: Path
) -> None:
    settings = uninterrupted.after(tmp_path)
    lake, session = open_lake(settings), build_session(settings, "retable tests")
    for window in uninterrupted.windows.values():
        replay_again(session, lake, window, "again")
    last = max(uninterrupted.windows)
    assert gold(lake) == uninterrupted.gold[last]
    assert record(lake) == uninterrupted.record[last]
    assert_balanced(lake)


def is_committed(lake: Lake, file: str) -> bool:
    """Say whether a snapshot of gold has this data file, on whatever branch."""
    (table,) = (table for table in gold_tables(lake) if file.startswith(table.location().removeprefix("file:")))
    return any(
        entry.data_file.file_path.removeprefix("file:") == file
        for snapshot in table.snapshots()
        for manifest in snapshot.manifests(table.io)
        for entry in manifest.fetch_manifest_entry(table.io)
    )
