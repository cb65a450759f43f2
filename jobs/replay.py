"""Replay one decoded window of a source: `spark-submit replay.py --settings S --source N --window W --run-id R`."""

from retable.job import run_stage
from retable.replay.spark import replay

if __name__ == "__main__":
    run_stage("replay", replay)
