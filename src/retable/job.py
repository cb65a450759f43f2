"""What every job does around its stage: arguments in, Spark up, one JSON line out, an exit code."""

import argparse
import json
import sys
from collections.abc import Callable
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

from retable.config import load_settings
from retable.exits import exiting
from retable.ledger.catalog import open_lake
from retable.ledger.rows import StageReport
from retable.session import build_session


def run_stage(name: str, stage: Callable[..., StageReport]) -> None:
    """Run one stage of one window as spark-submit asks for it, and print its report as one line of JSON.

    A held table is no failure: the report and the ledger name it, and the exit code is 0.
    """
    parser = argparse.ArgumentParser(description=f"The stage {name} of one window of a source.")
    for option in ("--settings", "--source", "--window", "--run-id"):
        parser.add_argument(option, required=True)
    args = parser.parse_args()
    with exiting():
        settings = load_settings(Path(args.settings))
        lake, source = open_lake(settings), settings.source(args.source)
        spark = build_session(settings, f"retable {name} {args.source} {args.window}")
        report = stage(spark, lake, source, args.window, args.run_id, datetime.now(UTC))
        sys.stdout.write(json.dumps(asdict(report)) + "\n")
