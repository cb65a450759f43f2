"""`kill -9` of the JVM at every seam of a replay, twice, then a plain run."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from faults.uninterrupted import (
    NOW,
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
from retable.config import load_settings
from retable.decode.spark import decode
from retable.ledger.catalog import Lake, open_lake
from retable.session import build_session

VICTIM = Path(__file__).with_name("victim.py")
SHORT_LIFE = {"JDK_JAVA_OPTIONS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"}
LAST = 0
LEAVING = (": expanded", ": deleted", ": before publishing")

Seam = tuple[str, int]
"""How the text of a step ends, and at the how manieth of them."""

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


def test_a_window_that_is_decoded_anew_and_killed_when_replayed_leaves_no_old_record(
    uninterrupted: Uninterrupted, tmp_path: Path
) -> None:
    window = uninterrupted.windows["cp1_dml"]
    settings = uninterrupted.before("cp1_dml", tmp_path)
    toml = (tmp_path / "retable.toml").read_text(encoding="utf-8")
    for text in (f"{toml}max_message = 1024\n", toml):
        (tmp_path / "retable.toml").write_text(text, encoding="utf-8")
        settings = load_settings(tmp_path / "retable.toml")
        lake, session = open_lake(settings), build_session(settings, "retable tests")
        report = decode(session, lake, settings.source("erp"), window, "first", NOW)
        if report.counts["quarantined"]:
            replay_again(session, lake, window, "first")

    assert rows(lake) != uninterrupted.rows["cp1_dml"]
    kill(uninterrupted, "cp1_dml", tmp_path, "first", (": published", LAST))
    replay_again(session, lake, window, "first")
    assert gold(lake) == uninterrupted.gold["cp1_dml"]
    assert_balanced(lake)


def test_every_window_once_more_changes_neither_gold_nor_the_record(
    spark: SparkSession, uninterrupted: Uninterrupted, tmp_path: Path
) -> None:
    settings = uninterrupted.after(tmp_path)
    lake, session = open_lake(settings), build_session(settings, "retable tests")
    for window in uninterrupted.windows.values():
        replay_again(session, lake, window, "again")
    last = next(reversed(uninterrupted.windows))
    assert gold(lake) == uninterrupted.gold[last]
    assert record(lake) == uninterrupted.record[last]
    assert_balanced(lake)


def kill(uninterrupted: Uninterrupted, checkpoint: str, folder: Path, run_id: str, seam: Seam) -> str:
    """Let a replay die at a seam, and say what it was killed at."""
    step, number = seam
    number = number or sum(text.endswith(step) for text in uninterrupted.steps[checkpoint])
    window = uninterrupted.windows[checkpoint]
    command = [sys.executable, str(VICTIM), str(folder / "retable.toml"), window, run_id, step, str(number)]
    victim = subprocess.run(command, capture_output=True, text=True, timeout=180, env=os.environ | SHORT_LIFE)
    assert victim.returncode != 0, f"no {step} came, and the replay was not killed"
    assert step == LAST_STEP or "py4j" in victim.stderr.lower(), victim.stderr
    assert victim.stdout, victim.stderr
    killed_at = victim.stdout.splitlines()[-1]
    assert killed_at.endswith(step)
    return killed_at


def is_committed(lake: Lake, file: str) -> bool:
    """Say whether a snapshot of gold has this data file, on whatever branch."""
    (table,) = (table for table in gold_tables(lake) if file.startswith(table.location().removeprefix("file:")))
    return any(
        entry.data_file.file_path.removeprefix("file:") == file
        for snapshot in table.snapshots()
        for manifest in snapshot.manifests(table.io)
        for entry in manifest.fetch_manifest_entry(table.io)
    )
