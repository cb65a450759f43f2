"""The benchmark of the decoder still runs: every format, ours and the stock reader. What it measures is no test."""

import subprocess
import sys
from pathlib import Path

from retable.decode.registry import FORMATS

BENCH = Path(__file__).parents[2] / "bench" / "decode.py"


def test_every_format_is_measured_against_the_stock_reader() -> None:
    command = [sys.executable, str(BENCH), "--messages", "20", "--turns", "1"]
    found = subprocess.run(command, capture_output=True, text=True, check=True)
    assert [line.split()[0] for line in found.stdout.splitlines()[1:]] == list(FORMATS)
