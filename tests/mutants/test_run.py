"""Bugs that are planted by hand: each fits the core as it is, and one by which tests do not end is caught in time."""

import subprocess
import time
from pathlib import Path

import pytest

from mutants.run import FOLDER, LIMIT_S, ROOT, run

PATCHES = sorted(FOLDER.glob("*.patch"))


def is_there(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.parametrize("patch", PATCHES, ids=lambda path: path.stem)
def test_a_patch_fits_the_core(patch: Path) -> None:
    subprocess.run(["patch", "-p1", "--dry-run", "--quiet", "-i", str(patch)], cwd=ROOT, check=True)


def test_tests_that_do_not_end_are_ended_with_all_that_they_began_and_count_as_caught(tmp_path: Path) -> None:
    found = run(tmp_path, ("sh", "-c", "sleep 600 & echo $! > pid; wait"), limit_s=1)
    assert found.verdict == f"caught: ran into the limit of {LIMIT_S} s"
    child, until = int((tmp_path / "pid").read_text(encoding="utf-8")), time.monotonic() + 10
    while is_there(child) and time.monotonic() < until:
        time.sleep(0.05)
    assert not is_there(child)


def test_tests_that_pass_have_caught_nothing(tmp_path: Path) -> None:
    assert run(tmp_path, ("true",)).verdict is None
