"""Replay one decoded window of a source: `spark-submit replay.py --settings S --source N --window W --run-id R`."""

from retable.gold.spark import replay
from retable.job import run_stage

if __name__ == "__main__":
    run_stage("replay", replay)
