"""Record due windows, then land one: `spark-submit land.py --settings S --source N --window W --run-id R`."""

from retable.job import run_stage
from retable.land.spark import land

if __name__ == "__main__":
    run_stage("land", land)
