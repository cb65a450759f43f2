"""Record due windows, then land one: `spark-submit land.py --settings S --source N --window W --run-id R`."""

from datetime import datetime

from pyspark.sql import SparkSession

from retable.job import run_stage
from retable.land.files import list_objects
from retable.land.spark import land
from retable.ledger.catalog import Lake
from retable.ledger.rows import StageReport
from retable.ledger.windows import record_windows
from retable.model.window import window_start
from retable.source_settings import SourceSettings


def record_and_land(
    spark: SparkSession, lake: Lake, source: SourceSettings, window: str, run_id: str, now: datetime
) -> StageReport:
    record_windows(lake, source, lambda: list_objects(source), window_start(window) + source.every, now)
    return land(spark, lake, source, window, run_id, now)


if __name__ == "__main__":
    run_stage("land", record_and_land)
