"""Measure how long commands take to start, compared with the import of the libraries that they need.

`retable --help` needs typer and rich, `retable status` needs pyiceberg's SQL catalog. A command and its import run in
turns, each in a new process. The result is the ratio of their processor times. `status` reads a small simulated lake.

    python -m bench.start
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

from bench.replay.measure import note, ratio, seconds, show

_RETABLE = [sys.executable, "-c", "from retable.cli import main; main()"]
_PAIRS = {
    "--help": ([*_RETABLE, "--help"], [sys.executable, "-c", "import typer, rich"]),
    "status": ([*_RETABLE, "status"], [sys.executable, "-c", "import pyiceberg.catalog.sql"]),
}


def processor_seconds(command: list[str], folder: Path) -> float:
    """Run a command and return the processor time of its process, in seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, cwd=folder, env={**os.environ, "COLUMNS": "100"}, check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def make_lake(folder: Path) -> None:
    """Make a lake with two replayed hours of a simulated shop."""
    note("a small lake")
    for words in (["simulate", ".", "--hours", "2", "--changes", "40"], ["run", "shop"]):
        subprocess.run([*_RETABLE, *words], cwd=folder, check=True, capture_output=True)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.start", description="How long commands take to start.")
    parser.add_argument("--turns", type=int, default=9)
    turns = parser.parse_args().turns
    rows = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make_lake(folder)
        for command, pair in _PAIRS.items():
            ours, theirs = zip(*([processor_seconds(each, folder) for each in pair] for _ in range(turns)), strict=True)
            rows.append([f"retable {command}", seconds(ours), seconds(theirs), ratio(ours, theirs)])
    show("Commands start", ("command", "processor seconds", "its libraries", "ratio"), rows)


if __name__ == "__main__":
    main()
