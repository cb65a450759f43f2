"""Decode one landed window of a source: `spark-submit decode.py --settings S --source N --window W --run-id R`."""

from retable.decode.spark import decode
from retable.job import run_stage

if __name__ == "__main__":
    run_stage("decode", decode)
