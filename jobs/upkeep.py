"""Keep tables small: `spark-submit upkeep.py --settings S --run-id R [-- TABLE|SOURCE ...]`; without any, all."""

import argparse
import json
import sys
from dataclasses import asdict
from datetime import UTC, datetime

from retable.exit_codes import exiting
from retable.job import hold_lifeline
from retable.ledger.lake.catalog import open_lake
from retable.ledger.runs import counted
from retable.session import build_session
from retable.settings.load import load_settings
from retable.upkeep.inspection import choose, places
from retable.upkeep.report import check_damaged
from retable.upkeep.spark import upkeep

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Compaction, expiry and orphan files.")
    for option, is_needed in {"--settings": True, "--run-id": True, "--source": False}.items():
        parser.add_argument(option, required=is_needed)
    parser.add_argument("tables", nargs="*")
    args = parser.parse_args()
    hold_lifeline()
    with exiting(), counted(open_lake(settings := load_settings(args.settings))) as lake:
        spark = build_session(settings, "retable upkeep")
        kept = upkeep(spark, lake, choose(places(lake), args.tables), args.run_id, lambda: datetime.now(UTC))
        sys.stdout.write(json.dumps([asdict(each) for each in kept]) + "\n")
        check_damaged(kept)
