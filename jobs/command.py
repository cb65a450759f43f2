"""One command of `retable` that needs Spark: `spark-submit command.py --settings S --run-id R -- ARGUMENT ...`."""

import argparse
import sys

from retable.cli import main
from retable.job import hold_lifeline

_DONE_BUT_HELD = 2

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="A command of retable.")
    parser.add_argument("--settings", required=True)
    parser.add_argument("--run-id", required=True)
    parser.add_argument("--source")
    parser.add_argument("arguments", nargs="+")
    args = parser.parse_args()
    hold_lifeline()
    sys.argv = ["retable", "--settings", args.settings, *args.arguments]
    try:
        main()
    except SystemExit as end:
        # A held table is recorded in the lake, and is no failure of the job.
        sys.exit(0 if end.code == _DONE_BUT_HELD else end.code)
