"""`kill -9` of the JVM at every seam of a replay, twice, then a plain run."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

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
from retable.ledger.catalog import Lake, open_lake
from retable.session import build_session

VICTIM = Path(__file__).with_name("victim.py")
SHORT_LIFE = {"JDK_JAVA_OPTIONS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"}
LAST = 0
LEAVING = (": expanded", ": deleted", ": before publishing")

Seam = tuple[str, int]
SEAMS: dict[str, tuple[str, Seam, Seam]] = {
    "data files written, not committed": ("cp1_dml", (DATA_FILE, 3), (DATA_FILE, 1)),
    "expanded": ("cp2_columns", ("gold_shop.customers: expanded", 1), ("gold_shop.customers: expanded", 1)),
    "between delete and append": (
        "cp2_columns",
        ("gold_shop.customers: deleted", 1),
        ("gold_shop.customers: deleted", 1),
    ),
    "before the transaction": (
        "cp3_types",
        ("gold_shop.all_types: before publishing", 1),
        ("gold_shop.all_types: before publishing", 1),
    ),
    "after the transactions, before the ledger": ("cp3_types", (": published", LAST), (LAST_STEP, 1)),
    "all but the ledger": ("cp2_columns", (LAST_STEP, 1), (LAST_STEP, 1)),
    "between two tables": ("cp4_tables", (": done", 2), (": done", 8)),
    "renamed": ("cp4_tables", ("gold_crm.stock_archive: renamed", 1), ("gold_crm.stock_archive: deleted", 1)),
}


@pytest.mark.parametrize("seam", SEAMS)
def test_a_replay_that_is_killed_twice_and_run_again_gives_the_same_gold(
    seam: str, uninterrupted: Uninterrupted, tmp_path: Path
) -> None:
    checkpoint, *deaths = SEAMS[seam]
    window = uninterrupted.windows[checkpoint]
    settings = uninterrupted.before(checkpoint, tmp_path)
    lake = open_lake(settings)
    whole = [rows(lake), uninterrupted.rows[checkpoint]]
    for run_id, (text, number) in zip(("first", "second"), deaths, strict=True):
        number = number or sum(step.endswith(text) for step in uninterrupted.steps[checkpoint])
        killed_at = kill(tmp_path / "retable.toml", window, run_id, text, number)
        assert killed_at.endswith(text)
        if text == DATA_FILE:
            assert not is_committed(lake, killed_at)
        if text.endswith(LEAVING):
            assert left_behind(lake)
        for identity, seen in rows(lake).items():
            assert seen in [state.get(identity) for state in whole], identity

    # Whoever schedules runs again under the name of the run that died.
    replay_again(build_session(settings, "retable tests"), lake, window, "second")
    assert gold(lake) == uninterrupted.gold[checkpoint]
    assert record(lake) == uninterrupted.record[checkpoint]
    assert_balanced(lake)
    assert left_behind(lake) == []


def kill(settings: Path, window: str, run_id: str, seam: str, number: int) -> str:
    """Let a replay die, and say what it was killed at."""
    command = [sys.executable, str(VICTIM), str(settings), window, run_id, seam, str(number)]
    victim = subprocess.run(command, capture_output=True, text=True, timeout=180, env=os.environ | SHORT_LIFE)
    assert victim.returncode != 0, "the replay was not killed"
    assert victim.stdout, victim.stderr
    assert seam == LAST_STEP or "py4j" in victim.stderr.lower(), victim.stderr
    return victim.stdout.splitlines()[-1]


def is_committed(lake: Lake, file: str) -> bool:
    """Say whether a snapshot of gold has this data file, on whatever branch."""
    (table,) = (table for table in gold_tables(lake) if file.startswith(table.location().removeprefix("file:")))
    return any(
        entry.data_file.file_path.removeprefix("file:") == file
        for snapshot in table.snapshots()
        for manifest in snapshot.manifests(table.io)
        for entry in manifest.fetch_manifest_entry(table.io)
    )
