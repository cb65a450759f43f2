"""All stages of a window in one JVM: `spark-submit window.py --settings S --source N --window W --run-id R`."""

from retable.decode.spark import decode
from retable.job import run_stages
from retable.land.spark import land
from retable.replay.spark import replay

if __name__ == "__main__":
    run_stages("window", [land, decode, replay])
