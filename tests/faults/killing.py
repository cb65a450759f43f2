"""Lets a replay die in a process of its own, and makes sure that it did, and where."""

import subprocess
import sys
from pathlib import Path

from faults.uninterrupted import NOW, Uninterrupted
from faults.victim import NEEDS_NO_JVM

LAST = 0
Seam = tuple[str, int]
"""How the text of a step ends, and how many of them come before it dies; LAST is as many as there are."""

_VICTIM = Path(__file__).with_name("victim.py")


def kill(whole: Uninterrupted, checkpoint: str, lake: Path, run_id: str, seam: Seam) -> str:
    """Let the replay of a checkpoint's window die at a seam, and say what it was killed at."""
    step, number = seam
    number = number or sum(text.endswith(step) for text in whole.steps[checkpoint])
    arguments = [lake / "retable.toml", whole.windows[checkpoint], run_id, NOW, step, number]
    command = [sys.executable, _VICTIM, *arguments]
    victim = subprocess.run([*map(str, command)], capture_output=True, text=True, timeout=180)
    assert victim.returncode != 0, f"{step!r} did not come {number} times, and the replay was not killed"
    assert step in NEEDS_NO_JVM or "py4j" in victim.stderr.lower(), victim.stderr
    assert victim.stdout, victim.stderr
    killed_at = victim.stdout.splitlines()[-1]
    assert killed_at.endswith(step)
    return killed_at
